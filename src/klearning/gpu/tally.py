"""Counting along while seeds are played, on the device: what a `Digest` is made of, so that no episode is copied.

Two small kernels after every launch: one thread per seed for what is kept of it, and one block per episode for sums
over the seeds, which are left as one partial sum per thread.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.batch import THREADS, Batch
from klearning.gpu.layout import F, Log, zeros
from klearning.numerics.types import Floats, Ints

CURVE = 64  # episodes at which quantiles are kept, by powers: 1, 2, 3, 5, …
SOLVED = 0.1  # the share of episodes that must have reached the goal
ZERO, ONE = F(0.0), F(1.0)
VALUE, LOST, SQUARE, SUMS = range(4)


class BySeed(NamedTuple):
    """What is kept of every seed, on the device; a time of 0 is none yet."""

    optimal: Any  # float64
    regret: Any  # float64
    reached: Any  # how often the goal was
    first_hit: Any
    solved: Any
    last: Any  # the value of the last policy


@cuda.jit
def tally_seeds(log: Any, x: Any, lost: Any, first: Any, count: Any) -> None:
    """Bring every seed up to date, and write its cumulative regret by episode."""
    i = cuda.grid(1)
    if i >= x.regret.size:
        return
    for j in range(count):
        x.regret[i] += x.optimal[i] - log.values[j, i]
        lost[j, i] = x.regret[i]
        x.reached[i] += log.hits[j, i]
        t = first + j + 1
        if log.hits[j, i] > ZERO and x.first_hit[i] == ZERO:
            x.first_hit[i] = t
        if x.reached[i] >= SOLVED * t and x.solved[i] == ZERO:
            x.solved[i] = t
    x.last[i] = log.values[count - 1, i]


@cuda.jit
def tally_episodes(log: Any, lost: Any, names: Any, out: Any) -> None:
    """Sums over the seeds of value, regret, its square and what the agent says, a partial sum per thread."""
    j, k, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    for m in range(SUMS + names):
        out[j, m, k] = 0.0
    for i in range(k, lost.shape[1], threads):
        regret = float(lost[j, i])
        out[j, VALUE, k] += log.values[j, i]
        out[j, LOST, k] += regret
        out[j, SQUARE, k] += regret * regret
        for m in range(names):
            out[j, SUMS + m, k] += log.diagnostics[j, m, i]


class Tally:
    """All that is kept of some seeds."""

    def __init__(self, optimal: float | Floats, seeds: int, episodes: int, names: int) -> None:
        best = np.array(np.broadcast_to(optimal, (seeds,)), np.float64)
        empty = (zeros((seeds,), np.float64), *(zeros((seeds,)) for _ in range(4)))
        self.by_seed: Any = BySeed(cuda.to_device(best), *empty)
        self.names, self.threads, self.played = names, min(THREADS, seeds), 0
        self.at = curve_episodes(episodes)
        self.curve = np.zeros((len(self.at), seeds), F)
        self.sums = np.zeros((SUMS + names, episodes))  # over the seeds
        self.lost: Any = None
        self.partial: Any = None
        self.of_seeds: dict[str, Floats] = {}

    def add(self, log: Log, count: int) -> None:
        """The next ``count`` episodes."""
        if self.lost is None:
            most, seeds = log.values.shape
            self.lost = zeros((most, seeds))
            self.partial = zeros((most, SUMS + self.names, self.threads), np.float64)
        grid = -(-self.lost.shape[1] // self.threads)
        tally_seeds[grid, self.threads](log, self.by_seed, self.lost, self.played, count)
        tally_episodes[count, self.threads](log, self.lost, self.names, self.partial)
        partial = self.partial[:count].copy_to_host()
        self.sums[:, self.played : self.played + count] = partial.sum(axis=2).T
        for i in np.flatnonzero((self.at > self.played) & (self.at <= self.played + count)):
            j = int(self.at[i]) - self.played - 1
            self.curve[i] = self.lost[j : j + 1].copy_to_host()[0]
        self.played += count

    def end(self, batch: Batch) -> None:
        """Take it all to the host, and leave the device; times are nan where there were none."""
        self.of_seeds = {name: x.copy_to_host().astype(np.float64) for name, x in self.by_seed._asdict().items()}
        for name in ("first_hit", "solved"):
            self.of_seeds[name][self.of_seeds[name] == 0.0] = np.nan
        self.by_seed = self.lost = self.partial = None


def curve_episodes(episodes: int) -> Ints:
    """Up to `CURVE` of them, from the first to the last."""
    return np.unique(np.round(np.geomspace(1, episodes, CURVE)).astype(np.int64))
