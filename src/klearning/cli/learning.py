"""`klearning run`, and the lists of agents and worlds."""

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from klearning import checks
from klearning.agents import AGENTS
from klearning.cli.display import progress
from klearning.cli.options import build, build_prior, parse
from klearning.simulate import Runs
from klearning.simulate import run as simulate
from klearning.worlds import SOURCES, WORLDS


@click.command()
@click.argument("world", default="deep_sea")
@click.argument("agent", default="KLearning")
@click.option("-w", "--world-option", "world_options", multiple=True, metavar="NAME=VALUE", help="e.g. depth=20")
@click.option("-a", "--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE", help="e.g. bonus=sharp")
@click.option(
    "-p", "--prior-option", "prior_options", multiple=True, metavar="NAME=VALUE",
    help="reward=gaussian (mean, sd, noise) or reward=beta (a, b); mass; span; stationary=yes",
)  # fmt: skip
@click.option("-n", "--episodes", default=1000, show_default=True)
@click.option("-s", "--seeds", default="5", show_default=True, help="how many, or which: 0,3,7")
@click.option("--threads", type=int, help="default: all cores")
@click.option("--out", default="out/run.png", show_default=True, type=click.Path(path_type=Path), help="the picture")
@click.option("--no-figure", is_flag=True, help="draw nothing")
@click.option("--json", "as_json", is_flag=True, help="print the numbers as JSON instead of a table")
def run(
    world: str,
    agent: str,
    world_options: Sequence[str],
    agent_options: Sequence[str],
    prior_options: Sequence[str],
    episodes: int,
    seeds: str,
    threads: int | None,
    out: Path,
    no_figure: bool,
    as_json: bool,
) -> None:
    """Let AGENT learn in WORLD, then show a table and draw its regret.

    \b
    klearning run
    klearning run deep_sea KLearning -w depth=30 -a temperature=schedule --episodes 5000
    klearning run river_swim KLearning -w horizon=40 -p mass=1 --seeds 0,1,2
    klearning run bandit KLearning -w means=0.1,0.5,0.9 -w noise=bernoulli -p reward=beta
    """
    place = build(WORLDS[checks.choice("world", world, WORLDS)], "world", world_options)
    learner = build(AGENTS[checks.choice("agent", agent, AGENTS)], "agent", agent_options)
    prior = build_prior(prior_options)
    chosen = parse(seeds)
    numbers = chosen if isinstance(chosen, list) else [chosen]
    total = episodes * (len(numbers) if isinstance(chosen, list) else checks.whole("seeds", chosen))
    if not no_figure:
        from klearning.figures import canvas, learning

        canvas.need_matplotlib()  # before the work, not after
    with progress("episodes", total) as advance:
        runs = simulate(learner, place, prior=prior, episodes=episodes, seeds=chosen, threads=threads, progress=advance)
    if as_json:
        click.echo(json.dumps(summary(runs), indent=2))
    else:
        Console().print(table(runs))
    if not no_figure:
        canvas.save(learning.draw(runs), out)
        click.echo(f"drawn: {out}", err=as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")
def agents(as_json: bool) -> None:
    """List the agents, with their papers and parameters."""
    print_list("agent", {name: (cls, cls.paper) for name, cls in AGENTS.items()}, as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")
def worlds(as_json: bool) -> None:
    """List the worlds, with where they come from and their parameters."""
    print_list("world", {name: (make, SOURCES[name]) for name, make in WORLDS.items()}, as_json)


def print_list(kind: str, entries: dict[str, tuple[Any, str]], as_json: bool) -> None:
    """One line each: name, what it is, its source, its parameters with their defaults."""
    found: list[dict[str, Any]] = [
        {
            kind: name,
            "what": (inspect.getdoc(thing) or "").split("\n")[0],
            "source": source,
            "parameters": {p.name: str(p.default) for p in inspect.signature(thing).parameters.values()},
        }
        for name, (thing, source) in entries.items()
    ]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for entry in found:
        parameters = ", ".join(f"{name}={default}" for name, default in entry["parameters"].items())
        click.secho(entry[kind], bold=True)
        for line in (entry["what"].replace("``", ""), entry["source"], parameters and f"parameters: {parameters}"):
            if line:
                click.echo(f"    {line}")


def summary(runs: Runs) -> dict[str, Any]:
    def listed(x: Any) -> list[float | None]:
        return [float(v) if np.isfinite(v) else None for v in x]

    return {
        "agent": str(runs.agent),
        "world": runs.world.name,
        "episodes": runs.values.shape[1],
        "seeds": list(runs.seeds),
        "optimal_value": runs.optimal_value,
        "regret": listed(runs.regret[:, -1]),
        "first_hit": listed(runs.first_hit),
        "solved": listed(runs.solved),
        "last_value": listed(runs.values[:, -1]),
        "seconds": runs.seconds,
    }


def table(runs: Runs) -> Table:
    """One line a seed and their mean; the goal's columns only where the world has a goal."""
    episodes = runs.values.shape[1]
    speed = runs.values.size / runs.seconds
    rows = Table(
        title=f"{runs.agent} on {runs.world.name}: {episodes} episodes",
        caption=f"optimal value {runs.optimal_value:.4g}; {speed:,.0f} episodes a second",
    )
    columns = {"regret": (runs.regret[:, -1], "{:.4g}"), "value of the last policy": (runs.values[:, -1], "{:.4g}")}
    if runs.world.goal is not None:
        columns = {"first hit": (runs.first_hit, "{:.0f}"), "solved": (runs.solved, "{:.0f}"), **columns}
    rows.add_column("seed", justify="right")
    for heading in columns:
        rows.add_column(heading, justify="right")
    for i, seed in enumerate(runs.seeds):
        rows.add_row(str(seed), *(format.format(x[i]).replace("nan", "–") for x, format in columns.values()))
    rows.add_section()
    rows.add_row("mean", *(format.format(x.mean()).replace("nan", "–") for x, format in columns.values()))
    return rows
