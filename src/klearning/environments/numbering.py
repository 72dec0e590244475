"""Discrete spaces as numbers: every observation and every action of a simulator gets one.

A point of `Discrete`, `MultiDiscrete`, `MultiBinary`, or a `Tuple` or `Dict` of these, is a few whole numbers, each
below a known size. Points are numbered as they come, or counted through where they are not too many.
"""

from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces

MOST = 1_000_000  # points that may be counted through


Key = tuple[int, ...]


class Numbering:
    """Numbers for the points of a discrete space; ``field`` names it in errors."""

    def __init__(self, field: str, space: spaces.Space[Any], discover: bool) -> None:
        self.field, self.space = field, space
        self.sizes: list[int] = []
        self._read, self._write = _reader(field, space, self.sizes)
        self.points = prod(self.sizes)
        self.discovers = discover
        self.count = 0 if discover else self.points  # points that have a number
        if self.count > MOST:
            raise ValueError(f"{field} space {space} has {self.points} points: at most {MOST:,} can be counted through")
        self.known: dict[Key, int] = {}
        self.number = self._number_found if discover else self._number_mixed
        self._start: int | None = None
        if isinstance(space, spaces.Discrete):  # the usual case, a microsecond faster
            self._start = int(space.start)
            self.number = self._number_met if discover else self._number_discrete

    number: Callable[[Any], int]

    def __reduce__(self) -> tuple[Any, ...]:
        """For those who send learners to other processes: how points are read is found out again there."""
        return _remembering, (self.field, self.space, self.discovers, [*self.known])

    def _number_met(self, point: Any) -> int:
        try:
            k = self.known.get((index(point) - self._start,))  # type: ignore[operator]
        except TypeError:
            raise self._outside(point) from None
        return self._number_found(point) if k is None else k

    def _number_discrete(self, point: Any) -> int:
        try:
            k = index(point) - self._start  # type: ignore[operator]
        except TypeError:
            k = -1
        if 0 <= k < self.count:
            return k
        raise self._outside(point)

    def _number_mixed(self, point: Any) -> int:
        return self.mixed(self._key(point))

    def mixed(self, key: Key) -> int:
        """Counted through, the last part fastest."""
        k = 0
        for part, size in zip(key, self.sizes, strict=True):
            k = k * size + part
        return k

    def _number_found(self, point: Any) -> int:
        """A point that was never met gets the next number."""
        key = self._key(point)
        k = self.known.get(key)
        if k is None:
            k = self.known[key] = self.count
            self.count += 1
        return k

    def _key(self, point: Any) -> Key:
        try:
            key = tuple(self._read(point))
        except (TypeError, ValueError, KeyError, IndexError):
            raise self._outside(point) from None
        if len(key) != len(self.sizes) or not all(0 <= k < n for k, n in zip(key, self.sizes, strict=True)):
            raise self._outside(point)
        return key

    def _outside(self, point: Any) -> ValueError:
        return ValueError(f"{self.field}={point!r} is outside {self.space}: give a point of the space")

    def knows(self, point: Any) -> bool:
        """Whether a point of the space has a number already."""
        return not self.discovers or self._key(point) in self.known

    def forget(self, count: int) -> None:
        """Keep the first ``count`` points that were met."""
        while self.discovers and self.count > count:
            self.known.popitem()
            self.count -= 1

    def remember(self, keys: Sequence[Sequence[int]]) -> None:
        """Number these points, in their order: the first that were met."""
        if self.discovers:
            self.known = {tuple(key): i for i, key in enumerate(keys)}
            self.count = len(self.known)

    def all_points(self) -> list[Any]:
        """All points of the space, counted through."""
        return [self._point(number) for number in range(self.points)]

    def point(self, number: int) -> Any:
        """The point of a number, as the space has it."""
        return self._write(list(list(self.known)[number])) if self.discovers else self._point(number)

    def _point(self, number: int) -> Any:
        if self._start is not None:
            return number + self._start
        key = []
        for size in reversed(self.sizes):
            key.append(number % size)
            number //= size
        return self._write(key[::-1])


def _remembering(field: str, space: spaces.Space[Any], discover: bool, keys: list[Key]) -> Numbering:
    numbering = Numbering(field, space, discover)
    numbering.remember(keys)
    return numbering


Reader = Callable[[Any], list[int]]


Writer = Callable[[list[int]], Any]  # takes what it needs off the front of the list


def _reader(field: str, space: spaces.Space[Any], sizes: list[int]) -> tuple[Reader, Writer]:
    """How to read a point into whole numbers from 0, and to write it from them; appends their sizes."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        sizes.append(int(space.n))
        return lambda x: [index(x) - start], lambda key: key.pop(0) + start
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _array_reader(space, sizes)
    if isinstance(space, spaces.Tuple):
        parts = [_reader(f"{field}[{i}]", part, sizes) for i, part in enumerate(space.spaces)]
        return (
            lambda x: [k for (read, _), p in zip(parts, x, strict=True) for k in read(p)],
            lambda key: tuple(write(key) for _, write in parts),
        )
    if isinstance(space, spaces.Dict):
        named = {name: _reader(f"{field}[{name!r}]", part, sizes) for name, part in space.spaces.items()}
        return _dict_reader(named), lambda key: {name: write(key) for name, (_, write) in named.items()}
    hint = "bin it first: env = kl.Binned(env, bins=10)" if isinstance(space, spaces.Box) else "wrap the environment"
    raise ValueError(f"{field} space {space} is not discrete: {hint}, to give Discrete, MultiDiscrete, Tuple or Dict")


def _dict_reader(named: dict[Any, tuple[Reader, Writer]]) -> Reader:
    def read(x: Any) -> list[int]:
        if len(x) != len(named):
            raise ValueError("names that the space does not have")
        return [k for name, (read_part, _) in named.items() for k in read_part(x[name])]

    return read


def _array_reader(space: spaces.MultiDiscrete | spaces.MultiBinary, sizes: list[int]) -> tuple[Reader, Writer]:
    if isinstance(space, spaces.MultiDiscrete):
        nvec, start = np.asarray(space.nvec), np.asarray(space.start)
    else:
        start = np.zeros(space.shape, np.int64)
        nvec = start + 2
    sizes += [int(n) for n in nvec.ravel()]

    def read(x: Any) -> list[int]:
        array = np.asarray(x)
        if array.shape != nvec.shape or array.dtype.kind not in "iub":
            raise ValueError("another shape, or no whole numbers")
        return [int(k) for k in (array.astype(np.int64) - start).ravel()]

    def write(key: list[int]) -> Any:
        parts = [key.pop(0) for _ in range(nvec.size)]
        return (np.array(parts, np.int64).reshape(nvec.shape) + start).astype(space.dtype)

    return read, write
