"""Observations as features: what networks and tiles are given.

A point of Discrete is a whole number. All else is one vector whose parts have about unit mean square: a bounded part of
a Box is shifted and scaled as if it were uniform between its bounds, an unbounded one is asinh(x), linear near zero
and logarithmic far from it; Discrete parts of a Dict or Tuple are unit vectors times √n, and bits are ±1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

UNBOUNDED = 1e6  # a bound that is further away is none
ROOT_3 = 3.0**0.5

Vector = NDArray[np.float32]
Read = Callable[[Any], Vector]


class Features:
    """Of the points of an observation space; ``size`` is how many, or how many whole numbers there are."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.whole = isinstance(space, spaces.Discrete)
        if isinstance(space, spaces.Discrete):
            self.size, self._start = int(space.n), int(space.start)
            return
        self._read, self.size = reader(space, space)

    @property
    def like(self) -> NDArray[Any]:
        """Some features."""
        return np.zeros((), np.int32) if self.whole else np.zeros(self.size, np.float32)

    def __call__(self, observation: Any) -> NDArray[Any]:
        if self.whole:
            try:
                number = int(observation) - self._start
            except (TypeError, ValueError):
                number = -1
            if not 0 <= number < self.size:
                raise ValueError(f"observation={observation!r} is not in {self.space}")
            return np.array(number, np.int32)
        try:
            x = self._read(observation)
        except (TypeError, ValueError, KeyError, IndexError):
            raise ValueError(f"observation={observation!r} is not in {self.space}") from None
        if x.size != self.size:
            raise ValueError(f"observation={observation!r} has {x.size} features, {self.space} has {self.size}")
        if not np.isfinite(x).all():
            raise ValueError(f"observation={observation!r} is not finite: fix the simulator")
        return x


def reader(space: spaces.Space[Any], whole: spaces.Space[Any]) -> tuple[Read, int]:
    """How a point of the space becomes a vector, and how long that is; ``whole`` is named in errors."""
    match space:
        case spaces.Discrete():
            n, start = int(space.n), int(space.start)
            return lambda point: _unit(int(point) - start, n), n
        case spaces.MultiDiscrete():
            sizes, starts = space.nvec.ravel().tolist(), np.ravel(space.start).tolist()
            return lambda point: np.concatenate(
                [_unit(int(k) - s, n) for k, s, n in zip(np.ravel(point), starts, sizes, strict=True)]
            ), sum(sizes)
        case spaces.MultiBinary():
            return lambda point: 2.0 * np.asarray(point, np.float32).ravel() - 1.0, int(np.prod(space.shape))
        case spaces.Box():
            return _box(space), int(np.prod(space.shape))
        case spaces.Tuple():
            parts = [reader(part, whole) for part in space.spaces]
            size = sum(size for _, size in parts)
            return lambda point: np.concatenate([read(x) for (read, _), x in zip(parts, point, strict=True)]), size
        case spaces.Dict():
            named = {name: reader(part, whole) for name, part in space.spaces.items()}
            size = sum(size for _, size in named.values())
            return lambda point: np.concatenate([read(point[name]) for name, (read, _) in named.items()]), size
    raise ValueError(
        f"observation space {whole} has no features: {type(space).__name__} is none of Box, Discrete, MultiDiscrete, "
        "MultiBinary, Dict and Tuple; wrap the environment in gymnasium.wrappers.TransformObservation"
    )


def _unit(number: int, size: int) -> Vector:
    if not 0 <= number < size:
        raise ValueError(number)
    x = np.zeros(size, np.float32)
    x[number] = size**0.5
    return x


def _box(space: spaces.Box) -> Read:
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED) & (low < high)
    middle = np.where(bounded, (low + high) / 2.0, 0.0).astype(np.float32)
    scale = np.where(bounded, 2.0 * ROOT_3 / np.where(bounded, high - low, 1.0), 1.0).astype(np.float32)
    if bounded.all():
        return lambda point: (np.asarray(point, np.float32).ravel() - middle) * scale
    free = ~bounded

    def read(point: Any) -> Vector:
        x = (np.asarray(point, np.float32).ravel() - middle) * scale
        x[free] = np.arcsinh(x[free])
        return x

    return read
