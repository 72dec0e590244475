"""`klearning run`: an agent in a world of ours, with exact regret."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from klearning.cli.completing import (
    ENTRANT,
    PLACE,
    WORLD_OPTION,
    agent_options,
    as_json,
    opponent_option,
    prior_options,
)
from klearning.cli.display import progress, save_picture, show_json, show_table
from klearning.cli.doors import find_maker
from klearning.cli.matches import is_match, read_match
from klearning.cli.options import build, build_prior, parse
from klearning.cli.teaching import Command
from klearning.games.matches import Matches, play
from klearning.lab.experiments.match_data import build_pairing
from klearning.lab.figures import learning
from klearning.numerics import checks
from klearning.numerics.files import check_writable
from klearning.numerics.types import Floats
from klearning.tabular.trials.run import MOST_LINES, Runs
from klearning.tabular.trials.run import run as simulate

EXAMPLES = (
    "klearning run",
    "klearning run deep_sea KLearning -w depth=30 -a temperature=schedule --episodes 5000",
    "klearning run river_swim KLearning -w horizon=40 -p mass=1 --seeds 0,1,2",
    "klearning run bandit KLearning -w means=0.1,0.5,0.9 -w noise=bernoulli -p reward=beta",
    "klearning run inventory PSRL --no-figure --json",
    "klearning run deep_sea KLearning -w depth=20 --seeds 100000 --episodes 500 --device gpu",
    "klearning run rock_paper_scissors KLearning --opponent best_response",
)


@click.command(cls=Command, short_help="Let an agent learn in a world of ours.", examples=EXAMPLES)
@click.argument("world", default="deep_sea", type=PLACE)
@click.argument("agent", default="KLearning", type=ENTRANT)
@click.option(
    "-w", "--world-option", "world_options", multiple=True, type=WORLD_OPTION, metavar="NAME=VALUE",
    help="of the world, e.g. depth=20; `klearning worlds` lists them",
)  # fmt: skip
@agent_options
@opponent_option
@prior_options
@click.option("-n", "--episodes", default=1000, show_default=True)
@click.option("-s", "--seeds", default="5", show_default=True, help="how many, or which: 0,3,7")
@click.option("--threads", type=int, help="default: all cores")
@click.option("--device", default="cpu", show_default=True, help="cpu, or gpu for very many seeds at once")
@click.option("--out", default="out/run.png", show_default=True, type=click.Path(path_type=Path), help="the picture")
@click.option("--no-figure", is_flag=True, help="draw nothing")
@as_json
def run(
    world: str,
    agent: str,
    world_options: Sequence[str],
    agent_options: Sequence[str],
    opponent: str | None,
    prior_options: Sequence[str],
    episodes: int,
    seeds: str,
    threads: int | None,
    device: str,
    out: Path,
    no_figure: bool,
    as_json: bool,
) -> None:
    """Let AGENT learn in WORLD, then show a table and draw its regret.

    Regret is exact: the value of every episode's policy below the optimum, not what the episode happened to collect.
    WORLD and AGENT may be your own: file.py:Name, or module:Name.

    WORLD may be a game, with an opponent (`klearning games` lists games and players). Episodes are its rounds, and
    regret is its value less the payoff of both mixtures.
    """
    if not no_figure:
        check_writable(out)
    chosen = parse(seeds)
    count = len(chosen) if isinstance(chosen, list) else checks.whole("seeds", chosen)
    if is_match(world, opponent):
        pair = build_pairing(*read_match(world, world_options, agent, agent_options, opponent, prior_options))
        with progress("rounds", episodes * count) as advance:
            matches = play(
                pair.agent, pair.game, pair.opponent, episodes, chosen,
                prior=pair.belief, threads=threads, progress=advance,
            )  # fmt: skip
        show_json(match_summary(matches)) if as_json else show_matches(matches)
        if not no_figure:
            save_picture(lambda: learning.draw(matches), out, err=as_json)
        return
    place = build(find_maker("world", world), "world", world_options)
    learner = build(find_maker("agent", agent), "agent", agent_options)
    prior = build_prior(prior_options, place)
    with progress("episodes", episodes * count) as advance:
        runs = simulate(
            learner, place, prior=prior, episodes=episodes, seeds=chosen, threads=threads, progress=advance,
            device=device,
        )  # fmt: skip
    if as_json:
        show_json(summary(runs) if isinstance(runs, Runs) else runs.data())
    elif isinstance(runs, Runs) and (device == "cpu" or count <= MOST_LINES):
        show_runs(runs)
    else:
        print(runs.summary())
    if not no_figure:
        save_picture(lambda: learning.draw(runs), out, err=as_json)


def match_summary(matches: Matches) -> dict[str, Any]:
    return {
        "agent": str(matches.agent),
        "world": matches.game.name,
        "opponent": str(matches.opponent),
        "episodes": matches.values.shape[1],
        "seeds": list(matches.seeds),
        "optimal_value": matches.game.value,
        "regret": matches.regret[:, -1].tolist(),
        "last_value": matches.values[:, -1].tolist(),
        "seconds": matches.seconds,
    }


def show_matches(matches: Matches) -> None:
    """One line a seed and their mean."""
    recent = max(1, matches.values.shape[1] // 10)
    columns = {
        "regret": matches.regret[:, -1],
        f"value of the last {recent:,} rounds": matches.values[:, -recent:].mean(axis=1),
    }
    speed = matches.values.size / matches.seconds
    title = f"{matches.agent} in {matches.game.name} against {matches.opponent}: {matches.values.shape[1]} rounds"
    value = round(matches.game.value, 9)  # rounding is not shown
    show_seeds(matches.seeds, columns, title, f"value of the game {value:.4g}; {speed:,.0f} rounds a second")


def summary(runs: Runs) -> dict[str, Any]:
    return {
        "agent": str(runs.agent),
        "world": runs.world.name,
        "episodes": runs.values.shape[1],
        "seeds": list(runs.seeds),
        "optimal_value": runs.optimal_value,
        "regret": runs.regret[:, -1].tolist(),
        "first_hit": runs.first_hit.tolist(),
        "solved": runs.solved.tolist(),
        "last_value": runs.values[:, -1].tolist(),
        "seconds": runs.seconds,
    }


def show_runs(runs: Runs) -> None:
    """One line a seed and their mean; the goal's columns only where the world has a goal."""
    columns = {"regret": runs.regret[:, -1], "value of the last policy": runs.values[:, -1]}
    if runs.world.goal is not None:
        columns = {"first hit": runs.first_hit, "solved": runs.solved, **columns}
    speed = runs.values.size / runs.seconds
    title = f"{runs.agent} on {runs.world.name}: {runs.values.shape[1]} episodes"
    show_seeds(runs.seeds, columns, title, f"optimal value {runs.optimal_value:.4g}; {speed:,.0f} episodes a second")


def show_seeds(seeds: Sequence[int], columns: Mapping[str, Floats], title: str, caption: str) -> None:
    """One line a seed, and the mean."""
    show_table(
        [{"seed": seed, **{name: float(x[i]) for name, x in columns.items()}} for i, seed in enumerate(seeds)],
        title=title,
        caption=caption,
        last={"seed": "mean", **{name: float(np.mean(x)) for name, x in columns.items()}},
    )
