"""New: what a wrong prior costs. One thing is wrong at a time: noise, reward mean, reward spread, Dirichlet mass; or
the agent is told more than the prior says, which transitions are possible or all of them."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from klearning.agents.k_learning import KLearning
from klearning.agents.psrl import PSRL
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Prior
from klearning.beliefs.rewards import Gaussian
from klearning.beliefs.transitions import Dirichlet
from klearning.experiments.batch import TOLD, Batch, get
from klearning.experiments.spec import make_spec
from klearning.experiments.statistics import mean_interval
from klearning.experiments.store import Store
from klearning.figures.canvas import new_grid, series, styled
from klearning.trials.agent import Agent

NOISE = 0.05  # little against what actions differ by; but for the shop of which the till is read, where it is not
SEEDS = 10


class Case(NamedTuple):
    """A world, how long it is played, the Dirichlet mass that suits it, and the span of its optimal values."""

    world: dict[str, Any]
    episodes: int
    mass: float
    span: float

    @property
    def reward(self) -> Gaussian:
        return Gaussian(0.0, 1.0, self.world["noise"])

    @property
    def prior(self) -> Prior:
        return Prior(self.reward, Dirichlet(self.mass), self.span)


CASES = {
    "DeepSea, depth 10": Case({"name": "deep_sea", "depth": 10, "noise": NOISE}, 500, 0.3, 1.0),
    "DeepSea, depth 20": Case({"name": "deep_sea", "depth": 20, "noise": NOISE}, 1000, 0.3, 1.0),
    "RiverSwim": Case({"name": "river_swim", "noise": NOISE}, 1000, 1.0, 6.2),
    "inventory": Case({"name": "inventory", "noise": NOISE}, 500, 1.0, 0.7),
    "inventory, noise 0.38": Case({"name": "inventory", "noise": 0.38}, 500, 1.0, 0.7),
}
AGENTS: dict[str, Agent] = {
    "K-learning, reward": KLearning(),
    "K-learning, sharp": KLearning(bonus="sharp"),
    "Thompson sampling": PSRL(),
}
Level = float | str
USUAL: dict[str, Level] = {"prior mean of rewards": 0.0, "told of transitions": "nothing"}  # elsewhere 1
AXES: dict[str, tuple[Level, ...]] = {
    "stated noise / true noise": (0.1, 0.3, 1.0, 3.0, 10.0),
    "prior mean of rewards": (-1.0, -0.3, 0.0, 0.3, 1.0),
    "prior sd of rewards": (0.1, 0.3, 1.0, 3.0),
    "Dirichlet mass / usual mass": (0.1, 0.3, 1.0, 3.0, 10.0),
    "told of transitions": TOLD,
}


def batch(case: Case, agent: Agent, axis: str, level: Level, seeds: int = SEEDS) -> Batch:
    """The case with one thing changed; at its own level nothing is."""
    prior, reward, told = case.prior, case.reward, "nothing"
    if axis == "stated noise / true noise":
        prior = replace(prior, reward=replace(reward, noise=reward.noise * float(level)))
    elif axis == "prior mean of rewards":
        prior = replace(prior, reward=replace(reward, mean=float(level)))
    elif axis == "prior sd of rewards":
        prior = replace(prior, reward=replace(reward, sd=float(level)))
    elif axis == "Dirichlet mass / usual mass":
        prior = replace(prior, transitions=Dirichlet(case.mass * float(level)))
    else:
        told = str(level)
    spec = make_spec(case.world, agent, prior, episodes=case.episodes, protocol="misspecified")
    return Batch(spec, seeds, (case.episodes,), told)


def batches(seeds: int = SEEDS) -> list[Batch]:
    return [
        batch(case, agent, axis, level, seeds)
        for case in CASES.values()
        for agent in AGENTS.values()
        for axis, levels in AXES.items()
        for level in levels
    ]


Results = dict[str, dict[str, dict[str, dict[Level, Floats]]]]  # case, agent, axis, level: regret of every seed


def read(store: Store, seeds: int = SEEDS) -> Results:
    return {
        name: {
            who: {
                axis: {x: get(store, batch(case, agent, axis, x, seeds)).regret[:, -1] for x in levels}
                for axis, levels in AXES.items()
            }
            for who, agent in AGENTS.items()
        }
        for name, case in CASES.items()
    }


@styled
def draw(results: Results, command: str) -> Any:
    figure, grid = new_grid(len(results), len(AXES), width=11.5, height=2.1 * len(results))
    for row, (name, by_agent) in zip(grid, results.items()):
        for axes, axis in zip(row, AXES):
            _panel(axes, axis, {who: by_axis[axis] for who, by_axis in by_agent.items()})
            axes.set_ylim(0.0, 1.05 * _most(by_agent))
        row[0].set_ylabel(f"{name}\nregret", fontsize=8)
    for axes, axis in zip(grid[-1], AXES):
        axes.set_xlabel(axis, fontsize=8)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=8, ncols=len(labels))
    seeds = len(next(iter(results.values()))["Thompson sampling"]["told of transitions"]["nothing"])
    lengths = ", ".join(f"{case.episodes}" for case in CASES.values())
    figure.supxlabel(f"regret after {lengths} episodes; mean of {seeds} seeds, bars: 95%; {command}", fontsize=6)
    return figure


def _most(by_agent: dict[str, dict[str, dict[Level, Floats]]]) -> float:
    return max(float(x.mean()) for by_axis in by_agent.values() for levels in by_axis.values() for x in levels.values())


def _panel(axes: Any, axis: str, by_agent: dict[str, dict[Level, Floats]]) -> None:
    for i, (who, by_level) in enumerate(by_agent.items()):
        at = np.arange(len(by_level)) + 0.08 * (i - 1)
        means = [mean_interval(x) for x in by_level.values()]
        style = series(i)
        axes.plot(at, [m.estimate for m in means], label=who, linewidth=1.2, markersize=3.5, **style)
        for x, m in zip(at, means):
            axes.plot([x, x], [m.low, m.high], color=style["color"], linewidth=1.0)
    levels = list(next(iter(by_agent.values())))
    right = levels.index(USUAL.get(axis, 1.0))
    axes.axvline(right, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(levels)), [_shown(x) for x in levels], fontsize=7)


def _shown(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else {"transitions": "all"}.get(level, level)


def table(results: Results) -> str:
    """Mean regret of every case, agent and level, in Markdown; in bold where nothing is changed."""
    lines = ["| | " + " | ".join(f"{name}: {who}" for name in results for who in AGENTS) + " |"]
    lines.append("|---|" + "---|" * (len(results) * len(AGENTS)))
    for axis, levels in AXES.items():
        for x in levels:
            mark = "**" if x == USUAL.get(axis, 1.0) else ""
            cells = [by_axis[axis][x].mean() for by_agent in results.values() for by_axis in by_agent.values()]
            lines.append(
                f"| {mark}{axis}: {_shown(x)}{mark} | " + " | ".join(f"{mark}{c:.0f}{mark}" for c in cells) + " |"
            )
    return "\n".join(lines) + "\n"
