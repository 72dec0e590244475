"""New: what a wrong prior costs. One thing is wrong at a time: noise, reward mean, reward spread, Dirichlet mass; or
the agent is told more than the prior says, which transitions are possible or all of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from klearning.lab.experiments.spec import HINTS, Spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import table
from klearning.lab.papers.odonoghue2021.cases import NOISE, SEEDS, Case, CaseStudy
from klearning.numerics.display.canvas import new_grid, series, styled
from klearning.numerics.display.plots import Picture
from klearning.numerics.statistics import mean_interval
from klearning.numerics.types import Floats
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent

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
    "told of transitions": HINTS,
}


Key = tuple[str, str, str, Level]  # case, agent, axis, level
Results = dict[Key, Floats]  # regret of every seed


@dataclass(frozen=True, eq=False)
class Misspecification(CaseStudy[Results]):
    """Every case, agent, axis and level."""

    name: str = "misspecification"

    def runs(self) -> dict[Key, Spec]:
        return {
            (name, who, axis, x): spec(CASES[name], AGENTS[who], axis, x, self.seeds) for name, who, axis, x in keys()
        }

    def read(self, store: Store) -> Results:
        return {key: runs.regret[:, -1] for key, runs in self.results(store).items()}

    def draw(self, results: Results, command: str) -> Picture:
        return draw(results, self.seeds, command)

    def table(self, results: Results) -> str:
        return markdown(results)


FIGURES = (Misspecification(),)


def keys() -> Iterator[Key]:
    return ((name, who, axis, x) for name in CASES for who in AGENTS for axis, levels in AXES.items() for x in levels)


def spec(case: Case, agent: Agent, axis: str, level: Level, seeds: int = SEEDS) -> Spec:
    """The case with one thing changed; at its own level nothing is."""
    prior, reward, hint = replace(case.prior, span=case.span), case.reward, "nothing"
    if axis == "stated noise / true noise":
        prior = replace(prior, reward=replace(reward, noise=reward.noise * float(level)))
    elif axis == "prior mean of rewards":
        prior = replace(prior, reward=replace(reward, mean=float(level)))
    elif axis == "prior sd of rewards":
        prior = replace(prior, reward=replace(reward, sd=float(level)))
    elif axis == "Dirichlet mass / usual mass":
        prior = replace(prior, transitions=Dirichlet(case.mass * float(level)))
    else:
        hint = str(level)
    return case.spec(agent, prior, "misspecified", seeds, hint)


@styled
def draw(results: Results, seeds: int, command: str) -> Picture:
    figure, grid = new_grid(len(CASES), len(AXES), width=11.5, height=2.1 * len(CASES))
    for row, name in zip(grid, CASES):
        most = max(float(regret.mean()) for (case, *_), regret in results.items() if case == name)
        for axes, axis in zip(row, AXES):
            _panel(axes, axis, {who: [results[name, who, axis, x] for x in AXES[axis]] for who in AGENTS})
            axes.set_ylim(0.0, 1.05 * most)
        row[0].set_ylabel(f"{name}\nregret", fontsize=8)
    for axes, axis in zip(grid[-1], AXES):
        axes.set_xlabel(axis, fontsize=8)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", frameon=False, fontsize=8, ncols=len(labels))
    lengths = ", ".join(f"{case.episodes}" for case in CASES.values())
    figure.supxlabel(f"regret after {lengths} episodes; mean of {seeds} seeds, bars: 95%; {command}", fontsize=6)
    return figure


def _panel(axes: Any, axis: str, by_agent: dict[str, list[Floats]]) -> None:
    for i, (who, by_level) in enumerate(by_agent.items()):
        at = np.arange(len(by_level)) + 0.08 * (i - 1)
        means = [mean_interval(x) for x in by_level]
        style = series(i)
        axes.plot(at, [m.estimate for m in means], label=who, linewidth=1.2, markersize=3.5, **style)
        for x, m in zip(at, means):
            axes.plot([x, x], [m.low, m.high], color=style["color"], linewidth=1.0)
    levels = AXES[axis]
    axes.axvline(levels.index(USUAL.get(axis, 1.0)), color="0.6", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(levels)), [_shown(x) for x in levels], fontsize=7)


def _shown(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else {"transitions": "all"}.get(level, level)


def markdown(results: Results) -> str:
    """Mean regret of every case, agent and level; in bold if nothing is changed."""
    columns = [(name, who) for name in CASES for who in AGENTS]
    rows = []
    for axis, levels in AXES.items():
        for x in levels:
            mark = "**" if x == USUAL.get(axis, 1.0) else ""
            cells = [f"{results[name, who, axis, x].mean():.0f}" for name, who in columns]
            rows.append([f"{mark}{cell}{mark}" for cell in (f"{axis}: {_shown(x)}", *cells)])
    return table(["", *(f"{name}: {who}" for name, who in columns)], rows)
