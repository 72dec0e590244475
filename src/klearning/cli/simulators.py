"""`klearning learn`, an agent in any discrete Gymnasium environment; `klearning benchmark`, the field's problems."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
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


@click.command()
@click.argument("environment")
@click.argument("agent", default="KLearning")
@click.option("-e", "--env-option", "env_options", multiple=True, metavar="NAME=VALUE", help="e.g. map_name=8x8")
@click.option("-a", "--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE", help="e.g. bonus=sharp")
@click.option(
    "-p", "--prior-option", "prior_options", multiple=True, metavar="NAME=VALUE",
    help="reward=gaussian (mean, sd, noise) or reward=beta (a, b); mass; span; stationary=no",
)  # fmt: skip
@click.option("-n", "--episodes", default=1000, show_default=True)
@click.option("-s", "--seed", default=0, show_default=True)
@click.option("--horizon", type=int, help="most steps of an episode; default: the environment's time limit")
@click.option("--save", type=click.Path(path_type=Path), help="write the learner here, for kl.load")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="write a line an episode here")
@click.option("--tensorboard", type=click.Path(path_type=Path), help="write scalars for TensorBoard into this folder")
@click.option("--evaluate-every", default=0, help="exact regret every so many episodes, where the model is known")
@click.option("--json", "as_json", is_flag=True, help="print the numbers as JSON instead of a table")
def learn(
    environment: str,
    agent: str,
    env_options: Sequence[str],
    agent_options: Sequence[str],
    prior_options: Sequence[str],
    episodes: int,
    seed: int,
    horizon: int | None,
    save: Path | None,
    csv_path: Path | None,
    tensorboard: Path | None,
    evaluate_every: int,
    as_json: bool,
) -> None:
    """Let AGENT learn in a Gymnasium ENVIRONMENT, and watch it.

    \b
    klearning learn FrozenLake-v1 --episodes 500
    klearning learn CliffWalking-v1 --horizon 100 -p sd=3 -p mass=0.01 --evaluate-every 10 --episodes 100
    klearning learn klearning/DeepSea-v0 PSRL -e depth=20 --save out/diver.npz
    """
    from klearning import training
    from klearning.watching import CSVWriter, LiveView, TensorBoardWriter

    env = _make(environment, env_options)
    learner = build(AGENTS[checks.choice("agent", agent, AGENTS)], "agent", agent_options)
    given = [*prior_options] if any(o.startswith("stationary=") for o in prior_options) else [
        *prior_options, "stationary=yes"]  # fmt: skip
    watchers: list[Callable[..., Any]] = [CSVWriter(csv_path)] if csv_path else []
    with ExitStack() as stack:
        if tensorboard is not None:
            board = TensorBoardWriter(tensorboard)
            stack.callback(board.close)
            watchers.append(board)
        if Console(stderr=True).is_terminal and not as_json:
            watchers.append(stack.enter_context(LiveView()))
        else:
            advance = stack.enter_context(progress("episodes", episodes))
            watchers.append(lambda report: advance(1))
        found = training.learn(
            learner, env, episodes=episodes, seed=seed, horizon=horizon, prior=build_prior(given),
            callbacks=watchers, evaluate_every=evaluate_every,
        )  # fmt: skip
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        found.save(save)
    late = np.array(found.returns[-min(100, episodes) :])
    numbers = {"environment": environment, "agent": str(learner), "episodes": episodes, "seed": seed,
               "mean_return": float(np.mean(found.returns)), "late_return": float(late.mean())}  # fmt: skip
    if as_json:
        click.echo(json.dumps(numbers, indent=2))
    else:
        click.echo(
            f"{learner} in {environment}: mean return {numbers['mean_return']:.4g} over {episodes} episodes, ", nl=False
        )
        click.echo(f"{numbers['late_return']:.4g} over the last {len(late)}")
        if save is not None:
            click.echo(f"saved: {save}")


def _make(environment: str, options: Sequence[str]) -> Any:
    import gymnasium

    import klearning.environments

    klearning.environments.register_environments()
    given = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"environment option {option!r} has no value: write NAME=VALUE")
        given[name] = {"true": True, "false": False}.get(value, parse(value))
    try:
        return gymnasium.make(environment, **given)
    except gymnasium.error.Error as error:
        names = [name for name in gymnasium.registry if not name.startswith(("phys2d", "tabular"))]
        checks.choice("environment", environment, names)
        raise ValueError(f"environment={environment!r} cannot be made: {error}") from None
    except TypeError as error:
        raise ValueError(f"environment={environment!r} does not take these options: {error}") from None


@click.group()
def benchmark() -> None:
    """The field's own benchmarks."""


@benchmark.command()
@click.argument("experiment", default="deep_sea")
@click.argument("agent", default="KLearning")
@click.option("-a", "--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE", help="e.g. bonus=sharp")
@click.option("-n", "--episodes", default=10_000, show_default=True)
@click.option("-s", "--seed", default=0, show_default=True)
@click.option("--first", type=int, help="only so many settings of the sweep")
@click.option("--json", "as_json", is_flag=True, help="print the numbers as JSON instead of a table")
def bsuite(
    experiment: str,
    agent: str,
    agent_options: Sequence[str],
    episodes: int,
    seed: int,
    first: int | None,
    as_json: bool,
) -> None:
    """Run bsuite's sweep EXPERIMENT (deep_sea, deep_sea_stochastic or bandit) and score it as bsuite does."""
    from klearning.benchmarks import bsuite_sweep as sweep

    learner = build(AGENTS[checks.choice("agent", agent, AGENTS)], "agent", agent_options)
    settings = sweep.EXPERIMENTS[checks.choice("experiment", experiment, sweep.EXPERIMENTS)].settings[:first]
    results = []
    with progress("settings", len(settings)) as advance:
        for setting in settings:
            results.append(sweep.run_setting(experiment, setting, learner, episodes, seed))
            advance(1)
    score = sweep.score(experiment, results)
    rows = [{**r.setting, "episodes": int(r.episodes[-1]), "total": float(r.totals[-1])} for r in results]
    if as_json:
        click.echo(
            json.dumps({"experiment": experiment, "agent": str(learner), "score": score, "rows": rows}, indent=2)
        )
        return
    what = "regret" if experiment == "bandit" else "bad episodes"
    table = Table(title=f"{learner} in bsuite's {experiment}: score {score:.3f}")
    for heading in (*settings[0], "episodes", what):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*(f"{value:g}" for value in row.values()))
    Console().print(table)


@benchmark.command()
@click.argument("problems", nargs=-1)
@click.option("--agents", "names", help="a part of an agent's name, or several: K-learning,PSRL (default: all)")
@click.option("-s", "--seeds", default=3, show_default=True)
@click.option("--most", type=int, help="give up after so many episodes")
@click.option("--tune", is_flag=True, help="search the settings of textbook Q-learning instead")
@click.option("--json", "as_json", is_flag=True, help="print the numbers as JSON instead of a table")
def gymnasium(
    problems: Sequence[str], names: str | None, seeds: int, most: int | None, tune: bool, as_json: bool
) -> None:
    """Episodes until the deployed policy is worth 95% of the optimum, in Gymnasium's PROBLEMS (default: all).

    \b
    klearning benchmark gymnasium CliffWalking --agents K-learning,PSRL --seeds 5
    klearning benchmark gymnasium CliffWalking --tune
    """
    from klearning.benchmarks import toy_text

    chosen = [checks.choice("problem", name, toy_text.PROBLEMS) for name in problems] or list(toy_text.PROBLEMS)
    if tune:
        tuned = {name: toy_text.tune_textbook(toy_text.PROBLEMS[name], seeds)[:5] for name in chosen}
        found = [
            {"problem": name, "episodes": mean, **setting._asdict()}
            for name, best in tuned.items()
            for mean, setting in best
        ]
        _show(found, "textbook Q-learning: best settings", as_json)
        return
    agents = [agent for agent in toy_text.AGENTS if names is None or any(part in agent for part in names.split(","))]
    if not agents:
        raise ValueError(f"agents={names!r} matches none: give parts of {', '.join(map(repr, toy_text.AGENTS))}")
    found = []
    with progress("runs", len(chosen) * len(agents) * seeds) as advance:
        for name in chosen:
            for agent in agents:
                outcomes = []
                for seed in range(seeds):
                    problem = toy_text.PROBLEMS[name]
                    outcomes.append(toy_text.episodes_needed(problem, toy_text.AGENTS[agent](), seed, most))
                    advance(1)
                needed, values = [o.episodes for o in outcomes], [o.value for o in outcomes]
                best = outcomes[0].optimum
                found.append({"problem": name, "agent": agent, "optimum": best, "episodes": needed, "value": values})
    _show(found, f"episodes until {toy_text.SHARE:.0%} of the optimum", as_json)


def _show(rows: list[dict[str, Any]], title: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(title=title)
    for heading in rows[0]:
        table.add_column(heading)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
