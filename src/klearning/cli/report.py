"""`klearning report`: one HTML file that shows what a store holds."""

import webbrowser
from pathlib import Path

import click

from klearning.experiments.store import Store


@click.command()
@click.argument("store", default="out/store", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", default="out/report.html", show_default=True, type=click.Path(path_type=Path, dir_okay=False)
)
@click.option("--open", "open_it", is_flag=True, help="show it in the browser")
def report(store: Path, output: Path, open_it: bool) -> None:
    """Show what a STORE (default: out/store) holds as one interactive HTML file that needs no network.

    \b
    klearning report
    klearning report my/store --output mine.html --open
    """
    from klearning import report as reports

    runs = reports.write(Store(store, create=False), output)
    click.echo(f"{output}: {runs:,} runs, {output.stat().st_size / 1e6:.1f} MB")
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise OSError(f"no browser could be started: open {output} in one yourself")
