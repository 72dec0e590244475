"""`klearning compare`: agents in a world, or players in a game, with statistical tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from klearning.cli.display import progress, save_picture, show_json, show_paragraph, show_table
from klearning.cli.entries import Entry, is_match, read_entries
from klearning.cli.help import Command
from klearning.cli.options import parse
from klearning.cli.param_types import (
    AGENT_WITH_OPTIONS,
    COUNT,
    WORLD_OR_GAME,
    Name,
    as_json,
    opponent_option,
    prior_options,
    world_options,
)
from klearning.cli.stores import run_sweep
from klearning.lab.comparison import METRICS, drawing
from klearning.lab.comparison.compare import compare as compare_runs
from klearning.lab.comparison.text import agent_table, pair_table, title
from klearning.lab.experiments.store import Store
from klearning.numerics import checks
from klearning.numerics.files import check_writable
from klearning.tabular.trials.runs import Runs

EXAMPLES = (
    "klearning compare deep_sea KLearning PSRL -w depth=6 --episodes 200",
    "klearning compare bandit KLearning KLearning,bonus=sharp PSRL -w means=0.1,0.5,0.9 -n 100 --against PSRL",
    "klearning compare deep_sea KLearning PSRL -w depth=5 -n 100 --metric solved --store out/sea --json",
    "klearning compare rock_paper_scissors KLearning UCB Thompson --opponent best_response -n 500",
)


@click.command(cls=Command, short_help="Compare agents in a world, with statistical tests.", examples=EXAMPLES)
@click.argument("world", type=WORLD_OR_GAME)
@click.argument("agents", nargs=-1, required=True, type=AGENT_WITH_OPTIONS, metavar="AGENT AGENT...")
@world_options
@opponent_option
@prior_options
@click.option("-n", "--episodes", type=COUNT, default=1000, show_default=True, help="episodes per seed")
@click.option("-s", "--seeds", default="30", show_default=True, help="number of seeds, or a list: 0,3,7")
@click.option(
    "--metric", default="regret", show_default=True, type=Name(lambda ctx: METRICS), metavar="NAME",
    help="quantity to compare: " + ", ".join(METRICS),
)  # fmt: skip
@click.option("--against", metavar="AGENT", type=AGENT_WITH_OPTIONS, help="compare every agent with this one only")
@click.option(
    "--store", "store_path", type=click.Path(path_type=Path), help="store runs in this folder, and reuse those it has"
)
@click.option("--threads", type=int, help="number of threads; default: one per core")
@click.option(
    "--out", default="out/compare.png", show_default=True, type=click.Path(path_type=Path), help="file of the figure"
)
@click.option("--no-figure", is_flag=True, help="draw no figure")
@as_json
def compare(
    world: str,
    agents: Sequence[str],
    world_options: Sequence[str],
    opponent: str | None,
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
    """Run two or more AGENTs in WORLD and compare them.

    An AGENT is a name with options after commas (KLearning,bonus=sharp), or your own: file.py:Name or module:Name. The
    output has confidence intervals, pairwise tests adjusted by Holm's rule, rankings and a one-line summary. Variants
    of one class share their random numbers and are compared seed by seed; agents of different classes are compared as
    independent samples.

    WORLD may be a game (see `klearning games`), with one opponent for all agents. Episodes are then rounds.
    """
    if len(set(agents)) < max(2, len(agents)):
        raise ValueError(f"agents={' '.join(agents)!r} must be two or more different agents: give each once")
    checks.choice("metric", metric, METRICS)
    if against is not None:
        checks.choice("against", against, agents)
    if not no_figure:
        check_writable(out)
    if opponent == "self_play":
        raise ValueError("opponent='self_play' differs between agents: name one opponent for all of them")
    words = [(name, options) for name, *options in (word.split(",") for word in agents)]
    entries = dict(zip(agents, read_entries(world, world_options, words, opponent, prior_options), strict=True))
    if metric == "solved" and not all(entry.has_goal for entry in entries.values()):
        why = "is a game" if is_match(world, opponent) else "has no goal"
        raise ValueError(f"metric='solved', but {world} {why}: give 'regret' or 'return'")
    results = _runs(entries, episodes, _seeds(seeds), store_path, threads)
    result = compare_runs(results, metric, against=against)
    if as_json:
        show_json(result.data())
    else:
        for heads, rows, name in ((*agent_table(result), title(result)), (*pair_table(result), "")):
            show_table([dict(zip(heads, row, strict=True)) for row in rows], title=name)
        show_paragraph(result.sentence, "")
    if not no_figure:
        save_picture(lambda: drawing.draw(result), out, err=as_json)


def _runs(
    entries: Mapping[str, Entry], episodes: int, seeds: list[int], store_path: Path | None, threads: int | None
) -> dict[str, Runs]:
    """Results by agent: from the store, if there is one, after running what it lacked."""
    if store_path is None:
        unit = next(iter(entries.values())).unit
        with progress(unit, episodes * len(seeds) * len(entries)) as advance:
            return {
                word: entry.play(episodes=episodes, seeds=seeds, threads=threads, progress=advance)
                for word, entry in entries.items()
            }
    store = Store(store_path)
    specs = {word: [entry.spec(episodes=episodes, seeds=[seed]) for seed in seeds] for word, entry in entries.items()}
    tally = run_sweep([spec for own in specs.values() for spec in own], store, threads=threads)
    if tally.failed:
        raise OSError(f"{len(tally.failed)} runs failed, so there is nothing to compare")
    return {word: store.runs(own) for word, own in specs.items()}


def _seeds(text: str) -> list[int]:
    chosen = parse(text)
    return chosen if isinstance(chosen, list) else list(range(checks.whole("seeds", chosen)))
