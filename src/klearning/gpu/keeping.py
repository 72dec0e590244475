"""Results kept of seeds while a device plays them: every episode, or some of them and running counts.

Both give arrays with an axis of seeds, as `klearning.tabular.trials.runs` names them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.batch import THREADS, Batch, Chunk, on_host
from klearning.gpu.layout import Log, zeros
from klearning.gpu.random import ZERO
from klearning.numerics.types import Arrays, Floats
from klearning.tabular.trials.runs import DIAGNOSTIC

SOLVED = 0.1  # the share of episodes that must have reached the goal


class KeepAll:
    """Every episode, copied to the host after every launch."""

    def __init__(self, optimal: float | Floats, batch: Batch, names: Sequence[str]) -> None:
        self.optimal, self.batch, self.names = optimal, batch, names
        self.chunks: list[Chunk] = []

    def add(self, log: Log, count: int) -> None:
        """The next ``count`` episodes."""
        self.chunks.append(on_host(log, len(self.names), count))

    def arrays(self) -> Arrays:
        talk = self._together("diagnostics", 2)
        return {
            "optimal_value": _by_seed(self.optimal, len(self.batch.seeds)),
            "values": self._together("values", 1),
            "returns": self._together("returns", 1),
            "hits": self._together("hits", 1, np.bool_),
            **{f"{DIAGNOSTIC}{name}": talk[m] for m, name in enumerate(self.names)},
            "visits": visits_on_host(self.batch),
        }

    def _together(self, field: str, axis: int, kind: Any = np.float64) -> Any:
        """All episodes of one field."""
        together = np.concatenate([getattr(chunk, field) for chunk in self.chunks], axis=axis)
        return np.ascontiguousarray(together, kind)


class Counted(NamedTuple):
    """Running counts of every seed, on the device; a time of 0 means none yet."""

    optimal: Any  # float64, as all sums
    regret: Any
    bound: Any
    reached: Any  # how often the goal was
    first_hit: Any
    solved: Any


class Points(NamedTuple):
    """The episodes that are kept, on the device: (points, seeds)."""

    regret: Any  # float64
    cumulative_bound: Any  # float64
    values: Any
    returns: Any
    hits: Any
    diagnostics: Any  # (points, names, seeds)


@cuda.jit
def count_along(log: Any, x: Any, kept: Any, row: Any, names: Any, bound: Any, first: Any, count: Any) -> None:
    """Bring every seed up to date. Episode t is kept in row ``row[t]``, if that is not −1."""
    i = cuda.grid(1)
    if i >= x.regret.size:
        return
    for j in range(count):
        x.regret[i] += x.optimal[i] - log.values[j, i]
        if bound >= 0:
            x.bound[i] += log.diagnostics[j, bound, i]
        x.reached[i] += log.hits[j, i]
        t = first + j + 1
        if log.hits[j, i] > ZERO and x.first_hit[i] == ZERO:
            x.first_hit[i] = t
        if x.reached[i] >= SOLVED * t and x.solved[i] == ZERO:
            x.solved[i] = t
        k = row[first + j]
        if k >= 0:
            kept.regret[k, i], kept.cumulative_bound[k, i] = x.regret[i], x.bound[i]
            kept.values[k, i], kept.returns[k, i] = log.values[j, i], log.returns[j, i]
            kept.hits[k, i] = log.hits[j, i]
            for m in range(names):
                kept.diagnostics[k, m, i] = log.diagnostics[j, m, i]


class KeepPoints:
    """Some episodes; sums and times are counted on the device, so that no others are copied."""

    def __init__(
        self, optimal: float | Floats, batch: Batch, names: Sequence[str], points: Sequence[int], episodes: int
    ) -> None:
        seeds, self.names, self.points = len(batch.seeds), names, np.array(points)
        self.counted: Any = Counted(
            cuda.to_device(_by_seed(optimal, seeds)),
            *(zeros((seeds,), np.float64) for _ in range(2)), *(zeros((seeds,)) for _ in range(3)),
        )  # fmt: skip
        rows = (len(points), seeds)
        self.kept: Any = Points(
            zeros(rows, np.float64), zeros(rows, np.float64), zeros(rows), zeros(rows), zeros(rows),
            zeros((len(points), max(len(names), 1), seeds)),
        )  # fmt: skip
        row = np.full(episodes, -1, np.int32)
        row[self.points - 1] = np.arange(len(points))
        self.row, self.played = cuda.to_device(row), 0
        self.bound = names.index("bound") if "bound" in names else -1

    def add(self, log: Log, count: int) -> None:
        """The next ``count`` episodes."""
        x, threads = self.counted, min(THREADS, self.counted.regret.size)
        grid = -(-x.regret.size // threads)
        count_along[grid, threads](log, x, self.kept, self.row, len(self.names), self.bound, self.played, count)
        self.played += count

    def solved_share(self) -> float:
        """Of the seeds, as far as they were played."""
        return float((self.counted.solved.copy_to_host() > 0.0).mean())

    def arrays(self) -> Arrays:
        """On the host; times are nan if there were none, and points that were not reached are nan."""
        there = {name: x.copy_to_host().astype(np.float64).T for name, x in self.kept._asdict().items()}
        talk = dict(zip(self.names, there.pop("diagnostics").transpose(1, 0, 2), strict=False))
        if self.bound >= 0:
            talk["cumulative_bound"] = there["cumulative_bound"]
        series = {name: there[name] for name in ("values", "returns", "hits", "regret")}
        series |= {f"{DIAGNOSTIC}{name}": x for name, x in talk.items()}
        for x in series.values():
            x[:, self.points > self.played] = np.nan
        times = {name: getattr(self.counted, name).copy_to_host().astype(float) for name in ("first_hit", "solved")}
        for x in times.values():
            x[x == 0.0] = np.nan
        hits = series.pop("hits") == 1.0
        return {"optimal_value": self.counted.optimal.copy_to_host(), **series, "hits": hits, **times}


def visits_on_host(batch: Batch) -> Floats:
    """(seeds, S, A)."""
    visits: Floats = batch.counts.visits.copy_to_host().T.astype(np.float64)
    return visits.reshape(-1, batch.shape.states, batch.shape.actions)


def _by_seed(optimal: float | Floats, seeds: int) -> Floats:
    return np.array(np.broadcast_to(optimal, (seeds,)), np.float64)
