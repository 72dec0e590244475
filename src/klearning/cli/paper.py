"""`klearning reproduce`: the paper's experiments."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from klearning.arrays import checks
from klearning.cli.completing import FIGURE, PROTOCOL, as_json
from klearning.cli.display import progress, say, show_heading, show_json
from klearning.cli.options import depth_list
from klearning.cli.stores import run_sweep
from klearning.cli.teaching import Command
from klearning.experiments.batch import Batch, missing_batches
from klearning.experiments.store import Store
from klearning.experiments.sweep import run_batches

EXAMPLES = (
    "klearning reproduce --quick",
    "klearning reproduce figure2 --quick --seeds 2 --depths 4:6:2 --protocol text",
    "klearning reproduce figure3 --protocol text --json",
)


@click.command(cls=Command, short_help="Run the paper's experiments and check it.", examples=EXAMPLES)
@click.argument("figures", nargs=-1, type=FIGURE)
@click.option("--quick", is_flag=True, help="a smaller version, in a minute or two")
@click.option(
    "--seeds", type=int, help="seeds of figure 2 (default 5, as in the paper; 30 draws intervals) and of studies"
)
@click.option("--depths", help="depths of figure 2: FROM:TO:STEP, or a list: 10,20,50")
@click.option("--protocol", type=PROTOCOL, metavar="TEXT", help="text (fitted) or printed; default both")
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="where figures go")
@as_json
def reproduce(
    figures: Sequence[str],
    quick: bool,
    seeds: int | None,
    depths: str | None,
    protocol: str | None,
    store_path: Path,
    out: Path,
    as_json: bool,
) -> None:
    """Run the paper's experiments, draw FIGURES (default: all of the paper) and check its claims.

    Three studies take minutes more and run only by name: `study` (Bayes regret on thousands of MDPs),
    `misspecification` (wrong priors) and `knowledge` (what a span, a support, a prior buys).

    Runs are kept in a store: what is there is not run again, and an interrupted call goes on where it was.
    Without --quick it takes the paper's seeds and depths, and many minutes.
    """
    from klearning import report as reports
    from klearning.figures import canvas
    from klearning.papers.odonoghue2021 import reproduce as paper
    from klearning.papers.odonoghue2021.protocols import PROTOCOLS

    canvas.need_matplotlib()
    extent = paper.QUICK if quick else paper.Extent()
    words = ["klearning", "reproduce", *figures]
    if figures:
        known = (*paper.FIGURES, *paper.STUDIES)
        extent = replace(extent, figures=tuple(checks.choice("figure", name, known) for name in figures))
    if seeds is not None:
        extent = replace(extent, seeds=checks.whole("seeds", seeds), study_seeds=seeds)
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
    specs = paper.specs(extent)
    if specs and run_sweep(specs, store).failed:
        sys.exit(1)
    run_studies(paper.batches(extent), store)
    out.mkdir(parents=True, exist_ok=True)
    found, tables = paper.publish(extent, store, out), paper.tables(extent, store)
    reports.write(store, out / "report.html")
    if as_json:
        show_json({name: [claim._asdict() for claim in claims] for name, claims in found.items()})
        return
    for name, claims in found.items():
        say()
        show_heading(name)
        for claim in claims:
            say(f"  {claim.mark} {claim.sentence}\n      {claim.numbers}")
    for name, numbers in tables:
        say()
        show_heading(name)
        say(numbers)
    say(f"\nfigures, claims.md and report.html are in {out}: open the last in a browser")


def run_studies(batches: list[Batch], store: Store) -> None:
    """Run what is missing with a display of progress."""
    missing = missing_batches(batches, store)
    with progress("runs", sum(batch.seeds for batch in missing)) as advance:
        run_batches(missing, store, progress=advance)
