"""`klearning report`: one HTML file that shows what a store holds."""

import sys
import webbrowser
from pathlib import Path

import click

from klearning.cli.display import say, show_json
from klearning.cli.help import Command
from klearning.cli.param_types import as_json
from klearning.cli.stores import show_broken
from klearning.lab import report as reports
from klearning.lab.experiments.store import Store
from klearning.numerics.files import check_writable, is_stdout, write_file


@click.command(
    cls=Command,
    short_help="Write a store as one HTML file.",
    examples=["klearning report", "klearning report out/store --output mine.html --title 'My runs' --open"],
)
@click.argument("store", default="out/store", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", default="out/report.html", show_default=True, type=click.Path(path_type=Path, dir_okay=False),
    help="HTML file, or - for stdout",
)  # fmt: skip
@click.option("--title", default="", help="title of the page; default: the store's folder")
@click.option("--open", "open_it", is_flag=True, help="open it in the browser")
@as_json
def report(store: Path, output: Path, title: str, open_it: bool, as_json: bool) -> None:
    """Write the runs of a STORE (default: out/store) as one interactive HTML file, which needs no network."""
    piped = is_stdout(output)
    if piped and (as_json or open_it):
        raise ValueError(f"--output {output} goes to stdout: leave {'--json' if as_json else '--open'} out")
    if not piped:
        check_writable(output)
    summary = reports.summarise(Store(store, create=False))
    page = reports.build(summary, title).encode()
    runs, size = len(summary.runs), len(page)
    if piped:
        sys.stdout.flush()
        sys.stdout.buffer.write(page)
    else:
        write_file(output, page, parents=True)
    show_broken(summary.unreadable)
    if as_json:
        show_json({"file": str(output), "runs": runs, "bytes": size})
    else:
        say(f"{output}: {runs:,} runs, {size / 1e6:.1f} MB", err=piped)
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise OSError(f"no browser could be started: open {output} in one yourself")
