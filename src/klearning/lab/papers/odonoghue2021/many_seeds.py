"""Figure 2 for a hundred thousand seeds, with those of its agents that a GPU plays.

The first `SCOUTS` seeds of an agent are run first. If most of them fail to solve a depth, no more are run there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.papers.claims import Claim, interval_text
from klearning.lab.papers.odonoghue2021.figure2 import FIGURES as ON_CPU
from klearning.lab.papers.odonoghue2021.figure2 import QUICK_DEPTHS, LearningTime
from klearning.lab.papers.odonoghue2021.learning_times import Times, most_seeds, table_by_depth
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, K_SCHEDULE, THOMPSON
from klearning.numerics.statistics import mean_interval, median_time
from klearning.numerics.types import Floats

PLAYERS = (K_OPTIMAL, K_SCHEDULE, THOMPSON, "RLSVI", "BEB × 0.01")  # those that a GPU plays
SEEDS, QUICK_SEEDS = 100_000, 1000
CAP = 10_000
SCOUTS = 1000


@dataclass(frozen=True, eq=False)
class ManySeeds(LearningTime):
    """Figure 2 as far as a GPU plays it."""

    seeds: int = SEEDS
    cap: int = CAP

    looks: ClassVar[Sequence[int]] = (SCOUTS,)

    @property
    def file(self) -> str:
        return f"{self.name}_gpu_{self.protocol.name}"

    def small(self) -> Self:
        return replace(self, depths=QUICK_DEPTHS[self.protocol.name], seeds=QUICK_SEEDS)

    def runs(self) -> dict[tuple[str, int, int], Spec]:
        """By label, depth and first seed. Times are kept, and what became of a seed that was run to the cap."""
        spans = {0: min(self.seeds, SCOUTS), SCOUTS: self.seeds - SCOUTS}
        return {
            (label, depth, first): make_spec(
                self.protocol.world_data(depth), self.protocol.contestants()[label], self.protocol.prior,
                episodes=self.cap, seeds=range(first, first + count), protocol=self.protocol.name, stop="solved",
                keep=[self.cap], device="gpu",
            )
            for label in PLAYERS
            for depth in self.depths
            for first, count in spans.items()
            if count > 0
        }  # fmt: skip

    def claims(self, results: Times) -> list[Claim]:
        """None: they are about agents that a GPU does not play."""
        return []

    def table(self, results: Times) -> str:
        return mean_table(results, self.cap)


GPU_FIGURES = tuple(ManySeeds(protocol=figure.protocol, depths=figure.depths) for figure in ON_CPU)


def mean_table(times: Times, cap: int) -> str:
    """Means with their intervals, in Markdown."""
    note = (
        f"Mean episodes until solved with its 95% interval, {most_seeds(times):,} seeds; after a stroke the share of "
        "seeds that solved, if not all did (the mean is theirs); >: most of the first "
        f"{SCOUTS:,} seeds needed longer than the cap of {cap:,} episodes, and no more were run."
    )
    return table_by_depth(times, lambda t: _cell(t, cap), note)


def _cell(t: Floats, cap: int) -> str:
    solved = t[np.isfinite(t)]
    share = "" if solved.size == t.size else f" / {solved.size / t.size:.5g}"
    if not np.isfinite(median_time(t)):
        return f"> {cap:,}{share}"
    return interval_text(mean_interval(solved), ",.2f") + share
