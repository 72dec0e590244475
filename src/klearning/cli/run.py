"""`klearning run`: an agent in a world of ours, with exact regret."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from klearning.cli.display import progress, save_picture, say, show_json, show_table
from klearning.cli.entries import read_entries
from klearning.cli.help import Command
from klearning.cli.options import parse
from klearning.cli.param_types import (
    AGENT_OR_PLAYER,
    COUNT,
    WORLD_OR_GAME,
    agent_options,
    as_json,
    opponent_option,
    prior_options,
    world_options,
)
from klearning.games.simplex import in_words
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics import checks
from klearning.numerics.display.canvas import COLOURS, new_figure, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.files import check_writable, write_file
from klearning.tabular.trials.runs import MOST_LINES, Runs, geometric_points

FRAMES_A_DECADE = 25  # of a film, by episodes

EXAMPLES = (
    "klearning run",
    "klearning run deep_sea KLearning -w depth=30 -a temperature=schedule --episodes 5000",
    "klearning run river_swim KLearning -w horizon=40 -p mass=1 --seeds 0,1,2",
    "klearning run bandit KLearning -w means=0.1,0.5,0.9 -w noise=bernoulli -p reward=beta",
    "klearning run inventory PSRL --no-figure --json",
    "klearning run deep_sea KLearning -w depth=20 --seeds 100000 --episodes 500 --device gpu",
    "klearning run rock_paper_scissors KLearning --opponent best_response",
    "klearning run deep_sea KLearning -w depth=10 -n 200 --seeds 1 --film out/film.html",
)


@click.command(cls=Command, short_help="Run an agent in a built-in world.", examples=EXAMPLES)
@click.argument("world", default="deep_sea", type=WORLD_OR_GAME)
@click.argument("agent", default="KLearning", type=AGENT_OR_PLAYER)
@world_options
@agent_options
@opponent_option
@prior_options
@click.option("-n", "--episodes", type=COUNT, default=1000, show_default=True, help="episodes per seed")
@click.option("-s", "--seeds", default="5", show_default=True, help="number of seeds, or a list: 0,3,7")
@click.option("--threads", type=int, help="number of threads; default: one per core")
@click.option("--device", default="cpu", show_default=True, help="cpu, or gpu for very many seeds at once")
@click.option("--keep", default="all", show_default=True, help="all episodes, or points: ten per power of ten")
@click.option(
    "--out", default="out/run.png", show_default=True, type=click.Path(path_type=Path), help="file of the figure"
)
@click.option("--no-figure", is_flag=True, help="draw no figure")
@click.option(
    "--film", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.html",
    help="write an HTML animation of how the first seed learns",
)  # fmt: skip
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
    keep: str,
    out: Path,
    no_figure: bool,
    film: Path | None,
    as_json: bool,
) -> None:
    """Run AGENT in WORLD, print a table and draw the regret.

    Regret is exact: the optimal value minus the value of each episode's policy, not minus the observed return. WORLD
    and AGENT may be your own: file.py:Name or module:Name.

    WORLD may be a game (see `klearning games`), played against an opponent. Episodes are then rounds, and regret is the
    value of the game minus the expected payoff of the two policies.
    """
    if not no_figure:
        check_writable(out)
    if film is not None:
        check_writable(film)
        if device != "cpu":
            raise ValueError(f"film={str(film)!r} shows runs on the CPU: leave --film or --device out")
    chosen = parse(seeds)
    count = len(chosen) if isinstance(chosen, list) else checks.whole("seeds", chosen)
    [entry] = read_entries(world, world_options, [(agent, agent_options)], opponent, prior_options)
    if device != "cpu" and entry.unit != "episodes":
        raise ValueError(f"device={device!r} plays no games: leave --device out")
    more = {} if device == "cpu" else {"device": device}
    with progress(entry.unit, episodes * count) as advance:
        runs = entry.play(episodes=episodes, seeds=chosen, threads=threads, progress=advance, keep=keep, **more)
    show_result(runs, as_json)
    if not no_figure:
        save_picture(lambda: draw(runs), out, err=as_json)
    if film is not None:
        frames = geometric_points(episodes, FRAMES_A_DECADE)
        spec = entry.spec(episodes=episodes, seeds=[runs.seeds[0]], snapshots=frames)
        write_file(film, film_of(spec).encode(), parents=True)
        say(f"filmed: {film}", err=as_json)


def film_of(spec: Spec) -> str:
    """The page of a run, which is played again with snapshots."""
    from klearning.lab import report

    with TemporaryDirectory() as folder:
        store = Store(folder)
        execute(spec, store)
        return report.film(report.summarise(store))


def show_result(runs: Runs, as_json: bool) -> None:
    """Numbers for programs, a table of seeds, or a few lines on very many of them."""
    if as_json:
        show_json(summary(runs))
    elif len(runs.seeds) <= MOST_LINES:
        show_runs(runs)
    else:
        say(runs.summary())


def summary(runs: Runs) -> dict[str, Any]:
    """Numbers for programs: one per seed, in lists."""
    times = {"first_hit": runs.first_hit.tolist(), "solved": runs.solved.tolist()}
    return {
        "agent": str(runs.agent),
        "world": runs.world.name,
        **({} if runs.opponent is None else {"opponent": str(runs.opponent)}),
        "episodes": runs.episodes,
        "seeds": list(runs.seeds),
        "optimal_value": runs.optimal_value,
        "regret": runs.regret[:, -1].tolist(),
        **(times if runs.has_goal else {}),
        "last_value": runs.values[:, -1].tolist(),
        "seconds": runs.seconds,
    }


def show_runs(runs: Runs) -> None:
    """One line per seed and their mean; the goal's columns only if the world has a goal."""
    columns = {"regret": runs.regret[:, -1], "value of the last policy": runs.values[:, -1]}
    where, best = f"on {runs.world.name}", f"optimal value {runs.optimal_value:.4g}"
    if runs.opponent is not None:
        recent = max(1, runs.episodes // 10) if runs.keeps_all else 1
        last = runs.values[:, -recent:].mean(axis=1)
        columns = {"regret": runs.regret[:, -1], f"value of the last {recent:,} rounds": last}
        where = f"in {runs.world.name} against {runs.opponent}"
        best = f"value of the game {in_words(runs.optimal_value)}"
    elif runs.has_goal:
        columns = {"first hit": runs.first_hit, "solved": runs.solved, **columns}
    speed = len(runs.seeds) * runs.episodes / runs.seconds
    show_table(
        [{"seed": seed, **{name: float(x[i]) for name, x in columns.items()}} for i, seed in enumerate(runs.seeds)],
        title=f"{runs.agent} {where}: {runs.episodes} {runs.unit}s",
        caption=f"{best}; {speed:,.0f} {runs.unit}s a second",
        last={"seed": "mean", **{name: float(np.mean(x)) for name, x in columns.items()}},
    )


@styled
def draw(runs: Runs) -> Picture:
    """Cumulative regret; a tick on the axis for a seed's first hit of the goal, if there is one."""
    figure, axes = new_figure()
    axes.set_prop_cycle(color=COLOURS)
    runs.plot(axes)
    axes.set_xlim(1, max(2, runs.episodes))
    against = f" against {runs.opponent}" if runs.opponent is not None else ""
    figure.supxlabel(f"{runs.agent}{against}\n{runs.prior}", fontsize=6)
    return figure
