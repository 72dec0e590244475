"""New: what a value span, a support, a prior buys, bonus by bonus, on DeepSea and RiverSwim: a table.

Every bonus that there is takes part; a new one has its lines here as soon as it is in `BONUSES`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from klearning.lab.experiments.batch import Batch, BatchRecord, get
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import table
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.cases import NOISE, SEEDS, Case
from klearning.numerics.statistics import mean_interval, median_time
from klearning.numerics.types import Floats
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.optimism.bonuses import BONUSES

CASES = {
    "DeepSea, depth 10": Case({"name": "deep_sea", "depth": 10, "noise": NOISE}, 10_000, 0.3, 1.0),
    "DeepSea, depth 20": Case({"name": "deep_sea", "depth": 20, "noise": NOISE}, 10_000, 0.3, 1.0),
    "RiverSwim": Case({"name": "river_swim", "noise": NOISE}, 2_000, 1.0, 6.2),
}
STATIONARY = "that nothing changes with the step"
KNOWN = (
    "nothing more", "a value span", "reward sd 0.3", "a third of the mass", "the support",
    "the support and a value span", "all transitions", STATIONARY,
)  # fmt: skip


Key = tuple[str, str, str]  # bonus, what is known, case


@dataclass(frozen=True, eq=False)
class Knowledge(Figure[dict[Key, BatchRecord]]):
    """A table, no picture."""

    name: str = "knowledge"
    seeds: int = SEEDS
    by_name_only: ClassVar[bool] = True

    def small(self) -> Self:
        return replace(self, seeds=3)

    def batches(self) -> dict[Key, Batch]:
        return {
            (bonus, known, name): batch(CASES[name], bonus, known, self.seeds)
            for bonus, known, name in keys()
            if can_be_known(CASES[name], known)
        }

    def read(self, store: Store) -> dict[Key, BatchRecord]:
        return {key: get(store, one) for key, one in self.batches().items()}

    def table(self, results: dict[Key, BatchRecord]) -> str:
        """First hit / solved on DeepSea, medians, – where most seeds never do; regret on RiverSwim."""
        cells = {key: _cell(results[key]) if key in results else "" for key in keys()}
        rows = [
            (f"`{bonus}`", known, *(cells[bonus, known, name] for name in CASES))
            for bonus in BONUSES
            for known in KNOWN
        ]
        return table(("bonus", "the agent is told", *CASES), rows)


FIGURES = (Knowledge(),)


def keys() -> Iterator[Key]:
    return ((bonus, known, name) for bonus in BONUSES for known in KNOWN for name in CASES)


def can_be_known(case: Case, known: str) -> bool:
    """The layers of DeepSea differ: nobody can know that they do not."""
    return not (known == STATIONARY and case.world["name"] == "deep_sea")


def batch(case: Case, bonus: str, known: str, seeds: int = SEEDS) -> Batch:
    prior, told = case.prior, "nothing"
    if known == STATIONARY:
        prior = replace(prior, stationary=True)
    if "value span" in known:
        prior = replace(prior, span=case.span)
    if known == "reward sd 0.3":
        prior = replace(prior, reward=Gaussian(0.0, 0.3, NOISE))
    if known == "a third of the mass":
        prior = replace(prior, transitions=Dirichlet(case.mass / 3.0))
    if "support" in known:
        told = "support"
    if known == "all transitions":
        told = "transitions"
    return case.batch(KLearning(bonus=bonus), prior, "knowledge", seeds, told)


def _cell(results: BatchRecord) -> str:
    if results.batch.spec.world["name"] == "deep_sea":
        return " / ".join(_time(times) for times in (results.first_hit, results.solved))
    mean = mean_interval(results.regret[:, -1])
    return f"{mean.estimate:.0f} [{mean.low:.0f}, {mean.high:.0f}]"


def _time(times: Floats) -> str:
    median = median_time(times)
    return f"{median:.0f}" if np.isfinite(median) else "–"
