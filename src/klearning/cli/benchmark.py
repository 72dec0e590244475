"""`klearning benchmark`: the field's own problems."""

from collections.abc import Sequence
from typing import Any

import click

from klearning.arrays import checks
from klearning.cli.completing import AGENT, EXPERIMENT, PROBLEM, agent_options, as_json
from klearning.cli.display import progress, show_json, show_table
from klearning.cli.doors import find_agent
from klearning.cli.options import build
from klearning.cli.teaching import Command, Group


@click.group(
    cls=Group,
    short_help="Run the benchmarks of the field.",
    examples=["klearning benchmark gymnasium CliffWalking --agents K-learning"],
)
def benchmark() -> None:
    """Run the field's own benchmarks: bsuite's sweeps, Gymnasium's small problems."""


BSUITE_EXAMPLES = (
    "klearning benchmark bsuite bandit PSRL --first 2 --episodes 100",
    "klearning benchmark bsuite deep_sea KLearning -a bonus=sharp --first 3 --episodes 200 --json",
)


@benchmark.command(cls=Command, examples=BSUITE_EXAMPLES)
@click.argument("experiment", default="deep_sea", type=EXPERIMENT)
@click.argument("agent", default="KLearning", type=AGENT)
@agent_options
@click.option("-n", "--episodes", default=10_000, show_default=True)
@click.option("-s", "--seed", default=0, show_default=True)
@click.option("--first", type=click.IntRange(1), help="only so many settings of the sweep")
@as_json
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
    from klearning.benchmarks.bsuite import sweep as sweep

    learner = build(find_agent(agent), "agent", agent_options)
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
    what = "regret" if experiment == "bandit" else "bad episodes"
    table = [{**row, what: row.pop("total")} for row in rows]
    show_table(table, title=f"{learner} in bsuite's {experiment}: score {score:.3f}")


GYMNASIUM_EXAMPLES = (
    "klearning benchmark gymnasium CliffWalking --agents K-learning,PSRL --seeds 5",
    "klearning benchmark gymnasium FrozenLake --agents random --seeds 1 --most 100 --json",
    "klearning benchmark gymnasium CliffWalking --tune",
)


@benchmark.command(cls=Command, examples=GYMNASIUM_EXAMPLES)
@click.argument("problems", nargs=-1, type=PROBLEM)
@click.option("--agents", "names", help="a part of an agent's name, or several: K-learning,PSRL (default: all)")
@click.option("-s", "--seeds", default=3, show_default=True, type=click.IntRange(1))
@click.option("--most", type=click.IntRange(1), help="give up after so many episodes")
@click.option("--tune", is_flag=True, help="search the settings of textbook Q-learning instead")
@as_json
def gymnasium(
    problems: Sequence[str], names: str | None, seeds: int, most: int | None, tune: bool, as_json: bool
) -> None:
    """Episodes until the deployed policy is worth 95% of the optimum, in Gymnasium's PROBLEMS (default: all)."""
    from klearning.benchmarks.gymnasium import toy_text

    chosen = [checks.choice("problem", name, toy_text.PROBLEMS) for name in problems] or list(toy_text.PROBLEMS)
    if tune:
        rows, title = tuned_settings(chosen, seeds), "textbook Q-learning: best settings"
    else:
        rows, title = episodes_needed(chosen, names, seeds, most), f"episodes until {toy_text.SHARE:.0%} of the optimum"
    if as_json:
        show_json(rows)
    else:
        show_table(rows, title=title)


def tuned_settings(problems: Sequence[str], seeds: int) -> list[dict[str, Any]]:
    from klearning.benchmarks.gymnasium import toy_text

    rows = []
    with progress("problems", len(problems)) as advance:
        for name in problems:
            for mean, setting in toy_text.tune_textbook(toy_text.PROBLEMS[name], seeds)[:5]:
                rows.append({"problem": name, "episodes": mean, **setting._asdict()})
            advance(1)
    return rows


def episodes_needed(problems: Sequence[str], names: str | None, seeds: int, most: int | None) -> list[dict[str, Any]]:
    """One row for each problem and agent, with what every seed needed."""
    from klearning.benchmarks.gymnasium import toy_text

    agents = [agent for agent in toy_text.AGENTS if names is None or any(part in agent for part in names.split(","))]
    if not agents:
        raise ValueError(f"agents={names!r} matches none: give parts of {', '.join(map(repr, toy_text.AGENTS))}")
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
