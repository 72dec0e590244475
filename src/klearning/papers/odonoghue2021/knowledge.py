"""New: what a value span, a support, a prior buys, bonus by bonus, on DeepSea and RiverSwim: a table.

Every bonus that there is takes part; a new one has its lines here as soon as it is in `BONUSES`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from klearning.agents.k_learning import KLearning
from klearning.beliefs.belief import Prior
from klearning.beliefs.rewards import Gaussian
from klearning.beliefs.transitions import Dirichlet
from klearning.experiments.batch import Batch, BatchRecord, get
from klearning.experiments.spec import make_spec
from klearning.experiments.statistics import mean_interval, median_time
from klearning.experiments.store import Store
from klearning.optimism.bonuses import BONUSES

SEEDS = 10
NOISE = 0.05


class Case(NamedTuple):
    """A world, the cap on episodes, the Dirichlet mass that suits it, the span of its optimal values."""

    world: dict[str, Any]
    episodes: int
    mass: float
    span: float


CASES = {
    "DeepSea, depth 10": Case({"name": "deep_sea", "depth": 10, "noise": NOISE}, 10_000, 0.3, 1.0),
    "DeepSea, depth 20": Case({"name": "deep_sea", "depth": 20, "noise": NOISE}, 10_000, 0.3, 1.0),
    "RiverSwim": Case({"name": "river_swim", "noise": NOISE}, 2_000, 1.0, 6.2),
}
KNOWN = (
    "nothing more", "a value span", "reward sd 0.3", "a third of the mass", "the support",
    "the support and a value span", "all transitions", "that nothing changes with the step",
)  # fmt: skip


def batch(case: Case, bonus: str, known: str, seeds: int = SEEDS) -> Batch | None:
    """None where it cannot be said of that world: the layers of DeepSea differ."""
    prior, told = Prior(Gaussian(0.0, 1.0, NOISE), Dirichlet(case.mass)), "nothing"
    if known == "that nothing changes with the step":
        if case.world["name"] == "deep_sea":
            return None
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
    agent = KLearning(bonus=bonus)
    spec = make_spec(case.world, agent, prior, episodes=case.episodes, protocol="knowledge")
    return Batch(spec, seeds, (case.episodes,), told)


def batches(seeds: int = SEEDS) -> list[Batch]:
    wanted = [batch(case, bonus, known, seeds) for case in CASES.values() for bonus in BONUSES for known in KNOWN]
    return [one for one in wanted if one is not None]


def table(store: Store, seeds: int = SEEDS) -> str:
    """In Markdown: first hit / solved on DeepSea, medians, – where most seeds never do; regret on RiverSwim."""
    lines = [f"| bonus | the agent is told | {' | '.join(CASES)} |", "|---|---|" + "---|" * len(CASES)]
    for bonus in BONUSES:
        for known in KNOWN:
            found = [batch(case, bonus, known, seeds) for case in CASES.values()]
            cells = ["" if one is None else _cell(get(store, one)) for one in found]
            lines.append(f"| `{bonus}` | {known} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(found: BatchRecord) -> str:
    if found.batch.spec.world["name"] == "deep_sea":
        return " / ".join(_time(x) for x in (found.first_hit, found.solved))
    mean = mean_interval(found.regret[:, -1])
    return f"{mean.estimate:.0f} [{mean.low:.0f}, {mean.high:.0f}]"


def _time(times: Sequence[float] | Any) -> str:
    median = median_time(np.asarray(times))
    return f"{median:.0f}" if np.isfinite(median) else "–"
