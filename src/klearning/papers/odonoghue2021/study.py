"""Bayes regret over a thousand MDPs of each of several sizes: against Theorem 1, against what the agent says, and how
it grows.

Mean rewards are Beta(1, 1), rewards coin flips, transitions Dirichlet of mass 1: Assumption 1 holds, with σ = ½. The
theorem is about the bonus `paper` with the schedule; its lemma on the optimal temperature adds that one. `sharp` is
covered too, for it is an upper bound, and nowhere above `paper` (docs/bayes_regret.md); `reward` is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from klearning.agents import PSRL, KLearning
from klearning.beliefs import Beta, Dirichlet, Prior
from klearning.compiled import Floats
from klearning.experiments.batch import Batch, Batched, geometric_points, get
from klearning.experiments.spec import make_spec
from klearning.experiments.statistics import Interval, mean_interval
from klearning.experiments.store import Store
from klearning.papers.odonoghue2021.claims import Claim
from klearning.simulate import Agent
from klearning.theory import regret_bound

PRIOR = Prior(Beta(1.0, 1.0), Dirichlet(mass=1.0))
NOISE = 0.5  # σ of a coin flip
BONUSES, TEMPERATURES = ("paper", "sharp", "reward"), ("optimal", "schedule")
COVERED = ("paper", "sharp")
THOMPSON = "Thompson sampling"
RESAMPLES = 2000


class Size(NamedTuple):
    """Layers, states a layer, actions."""

    L: int
    S: int
    A: int

    @property
    def totals(self) -> tuple[int, int, int]:
        """(L, S, A) with S over all layers, as the theorem counts."""
        return self.L, self.L * self.S, self.A


CENTRE = Size(4, 4, 2)
GRID = {
    "L": (Size(2, 4, 2), CENTRE, Size(8, 4, 2)),
    "S": (Size(4, 2, 2), CENTRE, Size(4, 8, 2)),
    "A": (CENTRE, Size(4, 4, 4), Size(4, 4, 8)),
}
LONG = Size(2, 2, 2)


@dataclass(frozen=True)
class Study:
    """How much is run: worlds and episodes of each size, and of the small one that is watched for long."""

    worlds: int = 1000
    episodes: int = 500
    long_worlds: int = 200
    long_episodes: int = 10_000

    def sizes(self) -> dict[Size, tuple[int, int]]:
        """(worlds, episodes) by size."""
        short = dict.fromkeys((size for line in GRID.values() for size in line), (self.worlds, self.episodes))
        return {**short, LONG: (self.long_worlds, self.long_episodes)}


QUICK = Study(worlds=60, episodes=100, long_worlds=30, long_episodes=1000)


def label(bonus: str, temperature: str) -> str:
    return f"K-learning, {temperature}, {bonus}"


def contestants() -> dict[str, Agent]:
    known: dict[str, Agent] = {
        label(bonus, rule): KLearning(rule, bonus=bonus) for bonus in BONUSES for rule in TEMPERATURES
    }
    return known | {THOMPSON: PSRL()}


def covered() -> list[str]:
    """Those of which the theorem speaks."""
    return [label(bonus, rule) for bonus in COVERED for rule in TEMPERATURES]


def batch(size: Size, agent: Agent, worlds: int, episodes: int) -> Batch:
    world = {"name": "random_mdp", "states": size.S, "actions": size.A, "horizon": size.L}
    spec = make_spec(world, agent, PRIOR, episodes=episodes, protocol="bayes")
    return Batch(spec, worlds, geometric_points(episodes))


def batches(study: Study) -> list[Batch]:
    return [
        batch(size, agent, *extent) for size, extent in study.sizes().items() for agent in contestants().values()
    ]  # fmt: skip


Results = dict[Size, dict[str, Batched]]


def read(store: Store, study: Study) -> Results:
    return {
        size: {name: get(store, batch(size, agent, *extent)) for name, agent in contestants().items()}
        for size, extent in study.sizes().items()
    }
