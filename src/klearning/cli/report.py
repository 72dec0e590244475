"""`klearning report`: one HTML file that shows what a store holds."""

import webbrowser
from pathlib import Path

import click

from klearning.cli.completing import as_json
from klearning.cli.display import say, show_json
from klearning.cli.teaching import Command
from klearning.experiments.store import Store


@click.command(
    cls=Command,
    short_help="Show a store as one HTML file.",
    examples=["klearning report", "klearning report out/store --output mine.html --open"],
)
@click.argument("store", default="out/store", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", default="out/report.html", show_default=True, type=click.Path(path_type=Path, dir_okay=False)
)
@click.option("--open", "open_it", is_flag=True, help="show it in the browser")
@as_json
def report(store: Path, output: Path, open_it: bool, as_json: bool) -> None:
    """Show what a STORE (default: out/store) holds as one interactive HTML file that needs no network."""
    from klearning import report as reports

    runs = reports.write(Store(store, create=False), output)
    size = output.stat().st_size
    if as_json:
        show_json({"file": str(output), "runs": runs, "bytes": size})
    else:
        say(f"{output}: {runs:,} runs, {size / 1e6:.1f} MB")
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise OSError(f"no browser could be started: open {output} in one yourself")
