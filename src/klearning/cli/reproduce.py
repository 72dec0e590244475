"""`klearning reproduce`: a paper's experiments."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from klearning.cli.completing import Name, as_json
from klearning.cli.display import progress, say, show_heading, show_json
from klearning.cli.options import depth_list
from klearning.cli.stores import run_sweep
from klearning.cli.teaching import Command
from klearning.lab.experiments.batch import Batch, Whole, missing_batches, play_missing
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import run_batches
from klearning.numerics import checks

if TYPE_CHECKING:
    from klearning.lab.papers.paper import Extent  # papers are read only when one is run
    from klearning.lab.papers.publish import Publication

EXAMPLES = (
    "klearning reproduce --quick",
    "klearning reproduce figure2 --quick --seeds 2 --depths 4:6:2 --protocol text",
    "klearning reproduce figure3 --protocol text --json",
    "klearning reproduce figure2 --protocol text --device gpu",
)


def figure_names() -> Iterable[str]:
    """Papers, and the figures of all of them."""
    from klearning.lab.papers import PAPERS

    return [*PAPERS, *(name for paper in PAPERS.values() for name in paper.figure_names)]


def protocol_names() -> Iterable[str]:
    from klearning.lab.papers import PAPERS

    return [name for paper in PAPERS.values() for name in paper.protocols]


@click.command(cls=Command, short_help="Run the paper's experiments and check it.", examples=EXAMPLES)
@click.argument("words", nargs=-1, type=Name(figure_names), metavar="[PAPER] [FIGURES]...")
@click.option("--quick", is_flag=True, help="a smaller version, in a minute or two")
@click.option(
    "--seeds", type=int,
    help="seeds of figure 2 (default 5, as in the paper; 30 draws intervals; on a GPU 100,000) and of studies",
)  # fmt: skip
@click.option("--depths", help="depths of figure 2: FROM:TO:STEP, or a list: 10,20,50")
@click.option("--protocol", type=Name(protocol_names), metavar="TEXT", help="text (fitted) or printed; default both")
@click.option("--device", default="cpu", show_default=True, help="cpu, or gpu for figure 2 with very many seeds")
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="where figures go")
@as_json
def reproduce(
    words: Sequence[str],
    quick: bool,
    seeds: int | None,
    depths: str | None,
    protocol: str | None,
    device: str,
    store_path: Path,
    out: Path,
    as_json: bool,
) -> None:
    """Run the paper's experiments, draw FIGURES (default: all of the paper) and check its claims.

    Three studies take minutes more and run only by name: `study` (Bayes regret on thousands of MDPs),
    `misspecification` (wrong priors) and `knowledge` (what a span, a support, a prior buys).

    Runs are kept in a store: what is there is not run again, and an interrupted call goes on where it was.
    With --seeds 30 figure 2 has intervals; where most of an agent's first 5, 10 or 20 seeds fail, no more are run.
    Without --quick it takes the paper's seeds and depths, and many minutes.
    With --device gpu figure 2 has 100,000 seeds, for those of its agents that a GPU plays.
    """
    from klearning.lab import report as reports
    from klearning.lab.figures import canvas
    from klearning.lab.papers import DEFAULT, PAPERS
    from klearning.lab.papers.publish import publish

    canvas.need_matplotlib()
    named = bool(words) and words[0] in PAPERS
    options = {
        "seeds": None if seeds is None else checks.whole("seeds", seeds),
        "depths": None if depths is None else depth_list(depths),
    }
    typed = {
        "--seeds": seeds,
        "--depths": depths,
        "--protocol": protocol,
        "--device": None if device == "cpu" else device,
    }
    line = ["klearning reproduce", *words, *(f"{name} {value}" for name, value in typed.items() if value is not None)]
    command = " ".join([*line, "--quick"] if quick else line)
    paper = PAPERS[words[0] if named else DEFAULT]
    extent = paper.extent(
        words[1:] if named else words, command, quick=quick, protocol=protocol, device=device, options=options
    )
    store = Store(store_path)
    run_stages(extent, store)
    run_studies(extent.batches(), extent.wholes(), store)
    publication = publish(extent, store, out)
    reports.write(store, out / "report.html")
    if as_json:
        show_json({name: [claim.data() for claim in claims] for name, claims in publication.claims.items()})
    else:
        show(publication)
        say(f"\nfigures, claims.md and report.html are in {out}: open the last in a browser")


def run_stages(extent: "Extent", store: Store) -> None:
    """Run what is wanted, then what is wanted now that this is there, until nothing is added."""
    stage: list[Spec] = []
    while len(wanted := extent.wanted(store)) > len(stage):
        if stage:
            say("further seeds, where most of the first do not fail", err=True)
        stage = wanted
        if run_sweep(stage, store).failed:
            sys.exit(1)


def show(publication: "Publication") -> None:
    for name, claims in publication.claims.items():
        say()
        show_heading(name)
        for claim in claims:
            say(f"  {claim.mark} {claim.sentence}\n      {claim.numbers}")
    for name, numbers in publication.tables.items():
        say()
        show_heading(name)
        say(numbers)


def run_studies(batches: list[Batch], wholes: list[Whole], store: Store) -> None:
    """Run what is missing with a display of progress."""
    missing = missing_batches(batches, store)
    with progress("runs", sum(batch.seeds for batch in missing)) as advance:
        run_batches(missing, store, progress=advance)
    if wholes:
        with progress("runs", sum(whole.seeds for whole in wholes)) as advance:
            play_missing(wholes, store, advance)
