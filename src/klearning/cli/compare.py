"""`klearning compare`: agents side by side in a world of ours, with tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from klearning.arrays import checks
from klearning.cli.completing import CONTESTANT, WORLD, WORLD_OPTION, Name, as_json, prior_options
from klearning.cli.display import progress, save_picture, show_json, show_paragraph, show_table
from klearning.cli.doors import find_maker
from klearning.cli.options import build, build_prior, option_values, parse, prior_data
from klearning.cli.stores import run_sweep
from klearning.cli.teaching import Command
from klearning.comparison import METRICS, drawing
from klearning.comparison.compare import compare as compare_runs
from klearning.comparison.telling import agent_table, pair_table, title
from klearning.experiments.spec import Spec, make_spec
from klearning.experiments.store import Store
from klearning.trials.agent import Agent
from klearning.trials.run import Runs, run

EXAMPLES = (
    "klearning compare deep_sea KLearning PSRL -w depth=6 --episodes 200",
    "klearning compare bandit KLearning KLearning,bonus=sharp PSRL -w means=0.1,0.5,0.9 -n 100 --against PSRL",
    "klearning compare deep_sea KLearning PSRL -w depth=5 -n 100 --metric solved --store out/sea --json",
)


class Contestant(NamedTuple):
    """An agent as it was typed."""

    word: str
    agent: Agent
    data: dict[str, Any]


@click.command(cls=Command, short_help="Compare agents in a world of ours, with tests.", examples=EXAMPLES)
@click.argument("world", type=WORLD)
@click.argument("agents", nargs=-1, required=True, type=CONTESTANT, metavar="AGENT AGENT...")
@click.option(
    "-w", "--world-option", "world_options", multiple=True, type=WORLD_OPTION, metavar="NAME=VALUE",
    help="of the world, e.g. depth=20; `klearning worlds` lists them",
)  # fmt: skip
@prior_options
@click.option("-n", "--episodes", default=1000, show_default=True)
@click.option("-s", "--seeds", default="30", show_default=True, help="how many, or which: 0,3,7")
@click.option(
    "--metric", default="regret", show_default=True, type=Name(lambda: METRICS), metavar="NAME",
    help="what is compared: " + ", ".join(METRICS),
)  # fmt: skip
@click.option("--against", metavar="AGENT", type=CONTESTANT, help="compare all with this one only")
@click.option(
    "--store", "store_path", type=click.Path(path_type=Path), help="keep the runs; what it has is not run again"
)
@click.option("--threads", type=int, help="default: all cores")
@click.option(
    "--out", default="out/compare.png", show_default=True, type=click.Path(path_type=Path), help="the picture"
)
@click.option("--no-figure", is_flag=True, help="draw nothing")
@as_json
def compare(
    world: str,
    agents: Sequence[str],
    world_options: Sequence[str],
    prior_options: Sequence[str],
    episodes: int,
    seeds: str,
    metric: str,
    against: str | None,
    store_path: Path | None,
    threads: int | None,
    out: Path,
    no_figure: bool,
    as_json: bool,
) -> None:
    """Let two or more AGENTs learn in WORLD and say what their runs tell.

    An AGENT is a name, its options after commas (KLearning,bonus=sharp), or your own: file.py:Name or module:Name.
    There are intervals for each, tests between them adjusted by Holm's rule, the places that these leave open, and one
    sentence. Agents of different classes share no chances, and are compared as two samples; variants of one class
    meet the same ones, and are compared seed by seed.
    """
    maker = find_maker("world", world)
    contestants = [read_contestant(word) for word in agents]
    if len({contestant.word for contestant in contestants}) < max(2, len(contestants)):
        raise ValueError(f"agents={' '.join(agents)!r} are not two or more that differ: give each once")
    place = build(maker, "world", world_options)
    prior = prior_data(prior_options)
    numbers = _seeds(seeds)
    checks.choice("metric", metric, METRICS)
    if against is not None:
        checks.choice("against", against, agents)
    if metric == "solved" and place.goal is None:
        raise ValueError(f"metric='solved', but {world} has no goal: give 'regret' or 'return'")
    if store_path is None:
        knows = build_prior(prior_options, place)
        with progress("episodes", episodes * len(numbers) * len(contestants)) as advance:
            results = {
                c.word: run(c.agent, place, prior=knows, episodes=episodes, seeds=numbers, threads=threads,
                            progress=advance)
                for c in contestants
            }  # fmt: skip
    else:
        data = {"name": maker.__name__, **option_values(maker, "world", world_options)}
        specs = {
            c.word: [make_spec(data, c.data, prior, episodes=episodes, seed=seed) for seed in numbers]
            for c in contestants
        }
        results = _from_store(specs, Store(store_path), threads)
    result = compare_runs(results, metric, against=against)
    if as_json:
        show_json(result.data())
    else:
        for heads, rows, name in ((*agent_table(result), title(result)), (*pair_table(result), "")):
            show_table([dict(zip(heads, row, strict=True)) for row in rows], title=name)
        show_paragraph(result.sentence, "")
    if not no_figure:
        save_picture(lambda: drawing.draw(result), out, err=as_json)


def read_contestant(word: str) -> Contestant:
    """An agent from its name and the options after it: KLearning,bonus=sharp."""
    name, *options = word.split(",")
    maker = find_maker("agent", name)
    return Contestant(
        word, build(maker, "agent", options), {"name": maker.__name__, **option_values(maker, "agent", options)}
    )


def _seeds(text: str) -> list[int]:
    chosen = parse(text)
    return chosen if isinstance(chosen, list) else list(range(checks.whole("seeds", chosen)))


def _from_store(specs: dict[str, list[Spec]], store: Store, threads: int | None) -> dict[str, Runs]:
    """Run what is missing, and read all of it back."""
    tally = run_sweep([spec for own in specs.values() for spec in own], store, threads=threads)
    if tally.failed:
        raise OSError(f"{len(tally.failed)} runs failed: without them there is nothing to compare")
    return {word: store.runs(own) for word, own in specs.items()}
