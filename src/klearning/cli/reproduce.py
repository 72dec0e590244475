"""`klearning reproduce`: a paper's experiments."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from klearning.cli.display import say, show_heading, show_json
from klearning.cli.help import Command
from klearning.cli.options import depth_list
from klearning.cli.param_types import Name, as_json
from klearning.cli.stores import run_sweep
from klearning.lab import report as reports
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers import DEFAULT, PAPERS
from klearning.lab.papers.paper import FigureSelection
from klearning.lab.papers.publish import Publication, publish
from klearning.numerics import checks
from klearning.numerics.display import canvas

EXAMPLES = (
    "klearning reproduce --quick",
    "klearning reproduce figure2 --quick --seeds 2 --depths 4:6:2 --protocol text",
    "klearning reproduce figure3 --protocol text --json",
    "klearning reproduce figure2 --protocol text --device gpu",
)


def figure_names() -> Iterable[str]:
    """Papers, and the figures of all of them."""
    return [*PAPERS, *(name for paper in PAPERS.values() for name in paper.figure_names)]


def protocol_names() -> Iterable[str]:
    return [name for paper in PAPERS.values() for name in paper.protocols]


@click.command(cls=Command, short_help="Reproduce a paper's figures and check its claims.", examples=EXAMPLES)
@click.argument("words", nargs=-1, type=Name(lambda ctx: figure_names()), metavar="[PAPER] [FIGURES]...")
@click.option("--quick", is_flag=True, help="run a smaller version, in a minute or two")
@click.option(
    "--seeds", type=int,
    help="seeds of figure 2 (default: 5, as in the paper; 30 adds intervals; on a GPU: 100,000) and of studies",
)  # fmt: skip
@click.option("--depths", help="depths of figure 2: FROM:TO:STEP, or a list: 10,20,50")
@click.option(
    "--protocol",
    type=Name(lambda ctx: protocol_names()),
    metavar="NAME",
    help="text (fitted) or printed; default: both",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, or gpu for figure 2 with very many seeds")
@click.option("--store", "store_path", default="out/store", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="folder of the figures")
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

    Three studies take several more minutes and run only by name: `study` (Bayes regret on thousands of MDPs),
    `misspecification` (wrong priors) and `knowledge` (the value of a known span, support or prior).

    Runs are stored: an interrupted call resumes, and finished runs are not repeated.
    With --seeds 30 figure 2 has intervals; if most of an agent's first 5, 10 or 20 seeds fail, no more are run.
    Without --quick it uses the paper's seeds and depths, and takes many minutes.
    With --device gpu figure 2 has 100,000 seeds, for the agents that a GPU can run.
    """
    canvas.need_matplotlib()
    options = {
        "seeds": None if seeds is None else checks.whole("seeds", seeds),
        "depths": None if depths is None else depth_list(depths),
    }
    other_device = None if device == "cpu" else device
    typed = {"--seeds": seeds, "--depths": depths, "--protocol": protocol, "--device": other_device}
    line = ["klearning reproduce", *words, *(f"{name} {value}" for name, value in typed.items() if value is not None)]
    command = " ".join([*line, "--quick"] if quick else line)
    name, *figures = words if words and words[0] in PAPERS else (DEFAULT, *words)
    selection = PAPERS[name].select(figures, command, quick=quick, protocol=protocol, device=device, options=options)
    store = Store(store_path)
    run_stages(selection, store)
    publication = publish(selection, store, out)
    reports.write(store, out / "report.html", reports.TITLE)
    if as_json:
        show_json({name: [claim.data() for claim in claims] for name, claims in publication.claims.items()})
    else:
        show(publication)
        say(f"\nfigures, claims.md and report.html are in {out}: open the last in a browser")


def run_stages(selection: FigureSelection, store: Store) -> None:
    """Run what is wanted, then what is wanted now that this is there, until nothing is added."""
    stage: list[Spec] = []
    while len(wanted := selection.wanted(store)) > len(stage):
        if stage:
            say("running further seeds of agents that mostly succeed", err=True)
        stage = wanted
        if run_sweep(stage, store).failed:
            sys.exit(1)


def show(publication: Publication) -> None:
    for name, claims in publication.claims.items():
        say()
        show_heading(name)
        for claim in claims:
            say(f"  {claim.mark} {claim.sentence}\n      {claim.numbers}")
    for name, numbers in publication.tables.items():
        say()
        show_heading(name)
        say(numbers)
