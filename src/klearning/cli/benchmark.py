"""`klearning benchmark`: bsuite and Gymnasium problems."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from klearning.cli.display import progress, save_picture, show_json, show_table
from klearning.cli.help import Command, Group
from klearning.cli.options import build
from klearning.cli.param_types import LEARNING_AGENT, Name, agent_options, as_json
from klearning.cli.user_imports import find_learning_agent
from klearning.lab.benchmarks.bsuite import scores as bsuite_scores
from klearning.lab.benchmarks.bsuite import sweep
from klearning.lab.benchmarks.gymnasium import control as control_problems
from klearning.lab.benchmarks.gymnasium import toy_text
from klearning.numerics import checks
from klearning.numerics.files import check_writable, json_from, read_bytes
from klearning.simulators.actor import MakesLearner


@click.group(
    cls=Group,
    short_help="Run bsuite and Gymnasium benchmarks.",
    examples=["klearning benchmark gymnasium CliffWalking --agents K-learning"],
)
def benchmark() -> None:
    """Run standard benchmarks: bsuite's sweeps, Gymnasium's toy problems and classic control."""


BSUITE_EXAMPLES = (
    "klearning benchmark bsuite bandit PSRL --first 2 --episodes 100",
    "klearning benchmark bsuite deep_sea KLearning -a bonus=sharp --first 3 --episodes 200 --json",
    "klearning benchmark bsuite catch DeepKLearning --first 1 --episodes 20",
)


@benchmark.command(cls=Command, examples=BSUITE_EXAMPLES)
@click.argument("experiment", default="deep_sea", type=Name(lambda ctx: sweep.EXPERIMENTS))
@click.argument("agent", default="KLearning", type=LEARNING_AGENT)
@agent_options
@click.option("-n", "--episodes", type=click.IntRange(1), help="default: bsuite's own number, 10,000 or 1,000")
@click.option("-s", "--seed", default=0, show_default=True)
@click.option("--first", type=click.IntRange(1), help="run only the first N settings of the sweep", metavar="N")
@as_json
def bsuite(
    experiment: str,
    agent: str,
    agent_options: Sequence[str],
    episodes: int | None,
    seed: int,
    first: int | None,
    as_json: bool,
) -> None:
    """Run bsuite's sweep EXPERIMENT and score it as bsuite does.

    Every agent can run deep_sea, deep_sea_stochastic and bandit. The continuous states of catch, mountain_car, cartpole
    and cartpole_swingup need an agent of klearning.deep (DeepKLearning, DQN, …).
    """
    learner = build(find_learning_agent(agent), "agent", agent_options)
    settings = sweep.EXPERIMENTS[checks.choice("experiment", experiment, sweep.EXPERIMENTS)].settings[:first]
    results = []
    with progress("settings", len(settings)) as advance:
        for setting in settings:
            results.append(sweep.run_setting(experiment, setting, learner, episodes, seed))
            advance(1)
    score = sweep.score(experiment, results)
    rows = [{**r.setting, "episodes": int(r.episodes[-1]), "total": float(r.totals[-1])} for r in results]
    if as_json:
        show_json({"experiment": experiment, "agent": str(learner), "score": score, "rows": rows})
        return
    what = "bad episodes" if experiment.startswith("deep_sea") else "regret"
    table = [{what if name == "total" else name: value for name, value in row.items()} for row in rows]
    show_table(table, title=f"{learner} in bsuite's {experiment}: score {score:.3f}")


@benchmark.command(
    cls=Command,
    short_help="Draw bsuite's radar chart.",
    examples=[
        "klearning benchmark radar sea.json bandit.json",
        "klearning benchmark radar sea.json bandit.json --out radar.png --json",
    ],
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--out", default="out/radar.png", show_default=True, type=click.Path(path_type=Path), help="file of the figure"
)
@as_json
def radar(files: Sequence[Path], out: Path, as_json: bool) -> None:
    """Draw bsuite's radar chart, one area per agent, from FILES of scores.

    Make the FILES by `klearning benchmark bsuite EXPERIMENT AGENT --json > FILE`. An axis is what bsuite says that
    experiments test (exploration, noise, …), and shows the mean of their scores.
    """
    check_writable(out)
    scores: dict[str, dict[str, float]] = {}
    for file in files:
        try:
            data = json_from(read_bytes(file))
            agent, experiment, score = str(data["agent"]), str(data["experiment"]), float(data["score"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{file} is not what `klearning benchmark bsuite … --json` prints") from None
        checks.choice("experiment", experiment, bsuite_scores.TAGS)
        scores.setdefault(agent, {})[experiment] = score
    if as_json:
        show_json({agent: bsuite_scores.by_tag(own) for agent, own in scores.items()})
    save_picture(lambda: bsuite_scores.radar(scores), out, err=as_json)


GYMNASIUM_EXAMPLES = (
    "klearning benchmark gymnasium CliffWalking --agents K-learning,PSRL --seeds 5",
    "klearning benchmark gymnasium FrozenLake --agents random --seeds 1 --most 100 --json",
    "klearning benchmark gymnasium CliffWalking --tune --seeds 1",
)


@benchmark.command(
    cls=Command, short_help="Count episodes until the greedy policy is near-optimal.", examples=GYMNASIUM_EXAMPLES
)
@click.argument("problems", nargs=-1, type=Name(lambda ctx: toy_text.PROBLEMS))
@click.option("--agents", "names", help="parts of agents' names, e.g. K-learning,PSRL; default: all agents")
@click.option("-s", "--seeds", default=3, show_default=True, type=click.IntRange(1))
@click.option("--most", type=click.IntRange(1), metavar="N", help="give up after N episodes")
@click.option("--tune", is_flag=True, help="search the settings of textbook Q-learning instead of running agents")
@as_json
def gymnasium(
    problems: Sequence[str], names: str | None, seeds: int, most: int | None, tune: bool, as_json: bool
) -> None:
    """Count the episodes until the greedy policy reaches 95% of the optimum, in Gymnasium's PROBLEMS (default: all)."""
    chosen = [checks.choice("problem", name, toy_text.PROBLEMS) for name in problems] or list(toy_text.PROBLEMS)
    if tune:
        rows, title = tuned_settings(chosen, seeds), "textbook Q-learning: best settings"
    else:
        rows, title = episodes_needed(chosen, names, seeds, most), f"episodes until {toy_text.SHARE:.0%} of the optimum"
    if as_json:
        show_json(rows)
    else:
        show_table(rows, title=title)


CONTROL_EXAMPLES = (
    "klearning benchmark control MountainCar DQN --seeds 1 --episodes 1",
    "klearning benchmark control CartPole DeepKLearning --seeds 1 --episodes 2 --json",
)


@benchmark.command(cls=Command, short_help="Learn a problem of classic control.", examples=CONTROL_EXAMPLES)
@click.argument("problem", type=Name(lambda ctx: control_problems.PROBLEMS))
@click.argument("agent", default="DeepKLearning", type=LEARNING_AGENT)
@agent_options
@click.option("-n", "--episodes", type=click.IntRange(1), help="episodes of learning; default: 150, 100, 60 and 200")
@click.option("-s", "--seeds", default=3, show_default=True, type=click.IntRange(1))
@as_json
def control(
    problem: str, agent: str, agent_options: Sequence[str], episodes: int | None, seeds: int, as_json: bool
) -> None:
    """Learn PROBLEM (MountainCar, CartPole, Acrobot or LunarLander) and evaluate the greedy policy.

    Needs an agent of klearning.deep. Reports the mean return of the greedy policy, and of the last 20 episodes of
    learning.
    """
    checks.choice("problem", problem, control_problems.PROBLEMS)
    learner = build(find_learning_agent(agent), "agent", agent_options)
    if not isinstance(learner, MakesLearner):
        raise ValueError(f"agent={agent!r} is tabular, and {problem} has continuous states: give one of klearning.deep")
    rows = []
    with progress("seeds", seeds) as advance:
        for seed in range(seeds):
            rows.append({"seed": seed, **control_problems.deployed(problem, learner, episodes, seed)})
            advance(1)
    if as_json:
        show_json({"problem": problem, "agent": str(learner), "rows": rows})
    else:
        show_table(rows, title=f"{learner} in {problem}")


def tuned_settings(problems: Sequence[str], seeds: int) -> list[dict[str, Any]]:
    rows = []
    with progress("problems", len(problems)) as advance:
        for name in problems:
            for mean, setting in toy_text.tune_textbook(toy_text.PROBLEMS[name], seeds)[:5]:
                rows.append({"problem": name, "episodes": mean, **setting._asdict()})
            advance(1)
    return rows


def episodes_needed(problems: Sequence[str], names: str | None, seeds: int, most: int | None) -> list[dict[str, Any]]:
    """One row per problem and agent, with the episodes that each seed needed."""
    agents = [agent for agent in toy_text.AGENTS if names is None or any(part in agent for part in names.split(","))]
    if not agents:
        raise ValueError(f"agents={names!r} matches no agent: give parts of {', '.join(map(repr, toy_text.AGENTS))}")
    rows = []
    with progress("runs", len(problems) * len(agents) * seeds) as advance:
        for name in problems:
            for agent in agents:
                outcomes = []
                for seed in range(seeds):
                    made = toy_text.AGENTS[agent]()
                    outcomes.append(toy_text.episodes_needed(toy_text.PROBLEMS[name], made, seed, most))
                    advance(1)
                found = {"episodes": [o.episodes for o in outcomes], "value": [o.value for o in outcomes]}
                rows.append({"problem": name, "agent": agent, "optimum": outcomes[0].optimum, **found})
    return rows
