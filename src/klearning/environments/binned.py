"""Bins for numbers: a `Box` observation as a `MultiDiscrete` one, so that a tabular agent can learn from it."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from numpy.typing import ArrayLike

from klearning.arrays import checks
from klearning.arrays.types import Floats, Ints

UNBOUNDED = float(np.finfo(np.float32).max)  # some environments say infinity so


class Binned(gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Cut every number of a `Box` observation into ``bins`` equal parts.

    ``bins`` is one number or one a dimension. ``low`` and ``high`` are the ends of the first and the last bin,
    by default those of the box; one number, or one a dimension with None where the box's own is meant. What
    lies outside is in the end bin of its side. A box of several axes is flattened.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[int] = 10,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, bins=bins, low=low, high=high)
        gymnasium.ObservationWrapper.__init__(self, env)
        box = env.observation_space
        if not isinstance(box, Box) or np.prod(box.shape) == 0:
            raise ValueError(f"observation_space={box!r} cannot be binned: give an environment with a Box of numbers")
        size = int(np.prod(box.shape))
        self.bins = _bins(bins, size)
        self.low = _ends("low", low, box.low)
        self.high = _ends("high", high, box.high)
        for i in np.flatnonzero(self.low >= self.high):
            raise ValueError(f"low[{i}]={self.low[i]:g} is not below high[{i}]={self.high[i]:g}: give low < high")
        self.observation_space = MultiDiscrete(self.bins)

    def observation(self, observation: Any) -> Ints:
        """The bin of every number."""
        x = np.asarray(observation, np.float64).ravel()
        for i in np.flatnonzero(np.isnan(x)):
            raise ValueError(f"observation[{i}] is nan: there is no bin for it, and the environment should not say so")
        part = (np.clip(x, self.low, self.high) - self.low) / (self.high - self.low)
        return np.minimum((part * self.bins).astype(np.int64), self.bins - 1)


def _bins(bins: Any, size: int) -> Ints:
    if isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str):
        if len(bins) != size:
            raise ValueError(f"bins has {len(bins)} entries: give {size}, one per dimension, or one number for all")
        return np.array([checks.whole(f"bins[{i}]", n) for i, n in enumerate(bins)], np.int64)
    return np.full(size, checks.whole("bins", bins), np.int64)


def _ends(field: str, given: Any, own: Any) -> Floats:
    """The given ends, the box's own where None; an error where neither is finite."""
    box = np.asarray(own, np.float64).ravel()
    try:
        ends = np.array(np.broadcast_to(np.asarray(given, np.float64).ravel(), box.shape))  # None becomes nan
    except (TypeError, ValueError):
        raise ValueError(f"{field}={given!r} does not fit: give one number, or {box.size}, one per dimension") from None
    ends = np.where(np.isnan(ends), box, ends)
    for i in np.flatnonzero(~(np.abs(ends) < UNBOUNDED)):
        raise ValueError(f"{field}[{i}]={ends[i]:g} is unbounded: give {field}=, where the bins of dimension {i} end")
    return ends
