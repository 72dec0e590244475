"""New: what a value span, a support, a prior buys, bonus by bonus, on DeepSea and RiverSwim: a table.

Every bonus takes part except `visits`, whose plans take hundreds of times as long (docs/evidence/visits.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import interval_text, table
from klearning.lab.papers.odonoghue2021.cases import NOISE, SEEDS, Case, CaseStudy
from klearning.numerics.statistics import mean_interval, median_time
from klearning.numerics.types import Floats
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.optimism.bonuses import BONUSES, BonusName
from klearning.tabular.trials.runs import Runs

COMPARED = tuple(name for name in BONUSES if name != "visits")
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


Key = tuple[BonusName, str, str]  # bonus, what is known, case


@dataclass(frozen=True, eq=False)
class Knowledge(CaseStudy[dict[Key, Runs]]):
    """A table, no picture."""

    name: str = "knowledge"

    def runs(self) -> dict[Key, Spec]:
        return {
            (bonus, known, name): spec(CASES[name], bonus, known, self.seeds)
            for bonus, known, name in keys()
            if known != STATIONARY or CASES[name].world["name"] != "deep_sea"  # whose layers differ
        }

    def read(self, store: Store) -> dict[Key, Runs]:
        return self.results(store)

    def table(self, results: dict[Key, Runs]) -> str:
        """First hit / solved on DeepSea, medians, – if most seeds never do; regret on RiverSwim."""
        cells = {key: _cell(results[key]) if key in results else "" for key in keys()}
        rows = [
            (f"`{bonus}`", known, *(cells[bonus, known, name] for name in CASES))
            for bonus in COMPARED
            for known in KNOWN
        ]
        return table(("bonus", "the agent is told", *CASES), rows)


FIGURES = (Knowledge(),)


def keys() -> Iterator[Key]:
    return ((bonus, known, name) for bonus in COMPARED for known in KNOWN for name in CASES)


def spec(case: Case, bonus: BonusName, known: str, seeds: int = SEEDS) -> Spec:
    prior, hint = case.prior, "nothing"
    if known == STATIONARY:
        prior = replace(prior, stationary=True)
    if "value span" in known:
        prior = replace(prior, span=case.span)
    if known == "reward sd 0.3":
        prior = replace(prior, reward=Gaussian(0.0, 0.3, NOISE))
    if known == "a third of the mass":
        prior = replace(prior, transitions=Dirichlet(case.mass / 3.0))
    if "support" in known:
        hint = "support"
    if known == "all transitions":
        hint = "transitions"
    return case.spec(KLearning(bonus=bonus), prior, "knowledge", seeds, hint)


def _cell(results: Runs) -> str:
    if results.spec.world["name"] == "deep_sea":
        return " / ".join(_time(times) for times in (results.first_hit, results.solved))
    return interval_text(mean_interval(results.regret[:, -1]))


def _time(times: Floats) -> str:
    median = median_time(times)
    return f"{median:.0f}" if np.isfinite(median) else "–"
