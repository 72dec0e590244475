"""`klearning reproduce`: the paper's experiments."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from klearning import checks
from klearning.cli.options import depth_list
from klearning.cli.stores import run_sweep
from klearning.experiments.store import Store


@click.command()
@click.argument("figures", nargs=-1)
@click.option("--quick", is_flag=True, help="a smaller version, in a minute or two")
@click.option("--seeds", type=int, help="seeds of figure 2 (default 5, as in the paper; 30 draws intervals)")
@click.option("--depths", help="depths of figure 2: FROM:TO:STEP, or a list: 10,20,50")
@click.option("--protocol", help="text (fitted) or printed; default both")
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="where figures go")
def reproduce(
    figures: Sequence[str],
    quick: bool,
    seeds: int | None,
    depths: str | None,
    protocol: str | None,
    store_path: Path,
    out: Path,
) -> None:
    """Run the paper's experiments, draw FIGURES (default: all) and check its claims.

    Runs are kept in a store: what is there is not run again, and an interrupted call goes on where it was.

    \b
    klearning reproduce
    klearning reproduce figure2 --seeds 30 --depths 10:50:10 --protocol text
    """
    from klearning import report as reports
    from klearning.figures import canvas
    from klearning.papers.odonoghue2021 import reproduce as paper
    from klearning.papers.odonoghue2021.protocols import PROTOCOLS

    canvas.need_matplotlib()
    extent = paper.QUICK if quick else paper.Extent()
    words = ["klearning", "reproduce", *figures]
    if figures:
        extent = replace(extent, figures=tuple(checks.choice("figure", name, paper.FIGURES) for name in figures))
    if seeds is not None:
        extent = replace(extent, seeds=checks.whole("seeds", seeds))
        words += ["--seeds", str(seeds)]
    if depths is not None:
        extent = replace(extent, depths=dict.fromkeys(PROTOCOLS, depth_list(depths)))
        words += ["--depths", depths]
    if protocol is not None:
        extent = replace(extent, protocols=(checks.choice("protocol", protocol, PROTOCOLS),))
        words += ["--protocol", protocol]
    words += ["--quick"] if quick else []
    extent = replace(extent, command=" ".join(words))
    store = Store(store_path)
    run_sweep(paper.specs(extent), store)
    out.mkdir(parents=True, exist_ok=True)
    for name, claims in paper.publish(extent, store, out).items():
        click.secho(f"\n{name}", bold=True)
        for claim in claims:
            click.echo(f"  {claim.mark} {claim.sentence}\n      {claim.numbers}")
    reports.write(store, out / "report.html")
    click.echo(f"\nfigures, claims.md and report.html are in {out}: open the last in a browser")
