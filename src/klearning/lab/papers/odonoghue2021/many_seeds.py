"""Figure 2 for a hundred thousand seeds, with those of its agents that a GPU plays.

The first `SCOUTS` seeds of an agent go up to the cap. Where half of them or fewer solve a depth, no more are run there.
Else all seeds are played for as long as 99 of a hundred scouts took, and the few that have not solved it by then are
played again, from their first episode up to the cap: a seed's numbers do not depend on those beside it.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from klearning import gpu
from klearning.lab.experiments.batch import arrays_of
from klearning.lab.experiments.store import Store
from klearning.lab.papers.claims import table
from klearning.lab.papers.figure import Figure
from klearning.lab.papers.odonoghue2021.figure2 import FIGURES as ON_CPU
from klearning.lab.papers.odonoghue2021.figure2 import QUICK_DEPTHS, draw
from klearning.lab.papers.odonoghue2021.learning_times import Times, most_seeds
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, K_SCHEDULE, TEXT, THOMPSON, DeepSeaProtocol
from klearning.numerics.statistics import mean_interval, median_time
from klearning.numerics.types import Arrays, Floats
from klearning.simulators.codec import agent_data, prior_data
from klearning.tabular.trials.agent import Agent

VERSION = 1
PLAYERS = (K_OPTIMAL, K_SCHEDULE, THOMPSON, "RLSVI", "BEB × 0.01")  # those with a form on the device
SEEDS, QUICK_SEEDS = 100_000, 1000
CAP = 10_000
SCOUTS = 1000
MOST = 0.99  # of the scouts


@dataclass(frozen=True, eq=False)
class Crowd:
    """All seeds of an agent at one depth."""

    protocol: DeepSeaProtocol
    label: str
    depth: int
    seeds: int
    cap: int

    @property
    def agent(self) -> Agent:
        return self.protocol.contestants()[self.label]

    @property
    def canonical(self) -> str:
        world, prior = self.protocol.world_data(self.depth), prior_data(self.protocol.prior)
        data = {"kind": "crowd", "version": VERSION, "device": "gpu", "scouts": SCOUTS, "most": MOST, "cap": self.cap}
        data |= {"agent": agent_data(self.agent), "world": world, "prior": prior, "seeds": self.seeds}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @property
    def name(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def play(self) -> Arrays:
        """Times to solve, nan where the cap came first: of all seeds, or of the scouts where most of them fail."""
        seeds = np.arange(self.seeds)
        scouts = self._times(seeds[:SCOUTS], self.cap)
        if self.seeds <= SCOUTS or np.isfinite(scouts).mean() <= 0.5:
            return {"solved": scouts}
        others = seeds[SCOUTS:]
        times = self._times(others, math.ceil(np.nanquantile(scouts, MOST)))
        if (slow := np.isnan(times)).any():
            times[slow] = self._times(others[slow], self.cap)
        return {"solved": np.concatenate([scouts, times])}

    def _times(self, seeds: Any, episodes: int) -> Floats:
        times: Floats = gpu.solved_times(
            self.agent, self.protocol.world(self.depth), self.protocol.prior, episodes, seeds.tolist()
        )
        return times


@dataclass(frozen=True, eq=False)
class ManySeeds(Figure[Times]):
    """Figure 2 as far as a GPU plays it."""

    name: str = "figure2"
    protocol: DeepSeaProtocol = TEXT
    depths: Sequence[int] = ()
    seeds: int = SEEDS
    cap: int = CAP

    @property
    def file(self) -> str:
        return f"{self.name}_gpu_{self.protocol.name}"

    def small(self) -> Self:
        return replace(self, depths=QUICK_DEPTHS[self.protocol.name], seeds=QUICK_SEEDS)

    def wholes(self) -> dict[tuple[str, int], Crowd]:
        """By label and depth."""
        return {
            (label, depth): Crowd(self.protocol, label, depth, self.seeds, self.cap)
            for label in PLAYERS
            for depth in self.depths
        }

    def read(self, store: Store) -> Times:
        times: Times = {}
        for (label, depth), crowd in self.wholes().items():
            times.setdefault(label, {})[depth] = arrays_of(store, crowd)["solved"]
        return times

    def draw(self, results: Times, command: str) -> Any:
        return draw(results, self.protocol, self.cap, command)

    def table(self, results: Times) -> str:
        return mean_table(results, self.cap)


GPU_FIGURES = tuple(ManySeeds(protocol=figure.protocol, depths=figure.depths) for figure in ON_CPU)


def mean_table(times: Times, cap: int) -> str:
    """Means with their intervals, in Markdown."""
    depths = list(times[K_OPTIMAL])
    rows = [[label, *(_cell(by_depth[d], cap) for d in depths)] for label, by_depth in times.items()]
    note = (
        f"Mean episodes until solved with its 95% interval, {most_seeds(times):,} seeds; after a stroke the share of "
        "seeds that solved, where not all did (the mean is theirs); >: half or more of the first "
        f"{SCOUTS:,} seeds needed longer than the cap of {cap:,} episodes, and no more were run."
    )
    return f"{table(['agent', *(f'L = {d}' for d in depths)], rows)}\n{note}\n"


def _cell(t: Floats, cap: int) -> str:
    solved = t[np.isfinite(t)]
    share = "" if solved.size == t.size else f" / {solved.size / t.size:.5g}"
    if not np.isfinite(median_time(t)):
        return f"> {cap:,}{share}"
    mean, low, high = mean_interval(solved)
    return f"{mean:,.2f} [{low:,.2f}, {high:,.2f}]{share}"
