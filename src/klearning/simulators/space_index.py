"""Spaces as numbers: every observation and every action of a simulator gets one.

A point of `Discrete`, `MultiDiscrete`, `MultiBinary`, a `Box` of whole numbers, a `Box` that is cut into bins, or a
`Tuple` or `Dict` of these, is a few whole numbers, each below a known size. Points are numbered as they come, or
counted through if they are not too many.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from klearning.numerics.types import Floats, Ints
from klearning.simulators.bins import UNBOUNDED, Bins, Cuts, Path, interval_text

MOST = 1_000_000  # points that may be counted through
MANY = 10**18  # points: how many there are beyond is not counted
WIDEST = 2**62  # whole numbers of a box are told apart between minus this and this, so that their range is in 64 bits


Key = tuple[int, ...]


class SpaceIndex:
    """Numbers for the points of a space; ``field`` names it in errors, ``bins`` cut the numbers in it."""

    def __init__(self, field: str, space: spaces.Space[Any], grows: bool, bins: Bins | None = None) -> None:
        self.field, self.space, self.bins = field, space, bins
        self.sizes: list[int] = []  # of the whole numbers that a point is made of
        self.edges: dict[int, Floats] = {}  # of those that are bins, by their position
        cuts = {} if bins is None else bins.cuts
        self._read, self._write = _Readers(self.sizes, self.edges, cuts, space).of(field, space, ())
        self.points = _product(self.sizes)
        self.grows = grows
        self.count = 0 if grows else self.points  # points that have a number
        if self.count > MOST:
            raise ValueError(_too_many(field, space, self.points))
        self.known: dict[Key, int] = {}
        self.number = self._number_found if grows else self._number_mixed
        self.point = self._point_met if grows else self._point
        self._start: int | None = None
        if isinstance(space, spaces.Discrete):  # the usual case, a microsecond faster
            self._start = int(space.start)
            self.number = self._number_met if grows else self._number_discrete
            if not grows:
                self.point = self._start.__add__

    number: Callable[[Any], int]  # of a point
    point: Callable[[int], Any]  # of a number, as the space has it

    def __reduce__(self) -> tuple[Any, ...]:
        """For those who send learners to other processes: how points are read is found out again there."""
        return _restored, (self.field, self.space, self.grows, self.bins, [*self.known])

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
        return not self.grows or self._key(point) in self.known

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` points that were met."""
        while self.grows and self.count > count:
            self.known.popitem()
            self.count -= 1

    def restore(self, keys: Sequence[Sequence[int]]) -> None:
        """Number these points, in their order: the first that were met."""
        if self.grows:
            self.known = {tuple(key): i for i, key in enumerate(keys)}
            self.count = len(self.known)

    def all_points(self) -> list[Any]:
        """All points of the space, counted through."""
        return [self._point(number) for number in range(self.points)]

    def numbered_points(self) -> list[Any]:
        """All points that have a number, in its order."""
        return [self._write(list(key)) for key in self.known] if self.grows else self.all_points()

    def readable(self, point: Any) -> Any:
        """A point as numbers, lists and dicts, with intervals for bins."""
        if self.bins is None:
            return plain(point)
        parts = list(named_parts(self.field, [point]).items())
        shown = {
            name.removeprefix(f"{self.field}."): interval_text(self.edges[i], part) if i in self.edges else part
            for i, (name, [part]) in enumerate(parts)
        }
        return next(iter(shown.values())) if len(shown) == 1 else shown

    def _point_met(self, number: int) -> Any:
        return self._write(list(list(self.known)[number]))

    def _point(self, number: int) -> Any:
        key = []
        for size in reversed(self.sizes):
            key.append(number % size)
            number //= size
        return self._write(key[::-1])


def named_parts(name: str, points: Sequence[Any]) -> dict[str, list[Any]]:
    """Points of a space as columns: one per number that a point is made of, named as pandas' `json_normalize` does."""
    rows = [dict(_parts(name, point)) for point in points]
    return {column: [row[column] for row in rows] for column in (rows[0] if rows else {name: None})}


def _parts(name: str, point: Any) -> Iterator[tuple[str, Any]]:
    plain_point = plain(point)
    if isinstance(plain_point, dict | list):
        pairs = plain_point.items() if isinstance(plain_point, dict) else enumerate(plain_point)
        for key, part in pairs:
            yield from _parts(f"{name}.{key}", part)
    else:
        yield name, plain_point


def plain(point: Any) -> Any:
    """A point of a space as numbers, lists and dicts: what JSON can hold."""
    if isinstance(point, Mapping):
        return {str(key): plain(part) for key, part in point.items()}
    if isinstance(point, tuple | list):
        return [plain(part) for part in point]
    return point.tolist() if isinstance(point, np.ndarray | np.generic) else point


def _product(sizes: Sequence[int]) -> int:
    """Of all sizes, up to `MANY`: that of a million sizes is a number that takes long to find."""
    points = 1
    for size in sizes if 0 not in sizes else [0]:
        points = min(points * size, MANY)
        if points == MANY:
            break
    return points


def _restored(field: str, space: spaces.Space[Any], grows: bool, bins: Bins | None, keys: list[Key]) -> SpaceIndex:
    numbers = SpaceIndex(field, space, grows, bins)
    numbers.restore(keys)
    return numbers


Reader = Callable[[Any], list[int]]
Writer = Callable[[list[int]], Any]  # takes what it needs off the front of the list


class _Readers(NamedTuple):
    """How to read points into whole numbers from 0, and to write them from these, part by part."""

    sizes: list[int]  # of the parts so far
    edges: dict[int, Floats]
    cuts: Mapping[Path, Cuts]
    whole: spaces.Space[Any]  # for advice

    def of(self, field: str, space: spaces.Space[Any], path: Path) -> tuple[Reader, Writer]:
        if path in self.cuts:
            return self._of_bins(self.cuts[path])
        if isinstance(space, spaces.Discrete):
            start = int(space.start)
            self.sizes.append(int(space.n))
            return lambda x: [index(x) - start], lambda key: key.pop(0) + start
        if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary) or _is_integer_box(space):
            return self._of_array(space)
        if isinstance(space, spaces.Tuple):
            parts = [self.of(f"{field}[{i}]", part, (*path, i)) for i, part in enumerate(space.spaces)]
            return (
                lambda x: [k for (read, _), p in zip(parts, x, strict=True) for k in read(p)],
                lambda key: tuple(write(key) for _, write in parts),
            )
        if isinstance(space, spaces.Dict):
            named = {name: self.of(f"{field}[{name!r}]", p, (*path, name)) for name, p in space.spaces.items()}
            return _dict_reader(named), lambda key: {name: write(key) for name, (_, write) in named.items()}
        raise ValueError(f"{field} space {space} is not discrete: {_advice(field, space, self.whole)}")

    def _of_bins(self, cuts: Cuts) -> tuple[Reader, Writer]:
        self.edges.update(enumerate(cuts.edges, start=len(self.sizes)))
        self.sizes.extend(len(edges) + 1 for edges in cuts.edges)
        count = len(cuts.edges)

        def read(x: Any) -> list[int]:
            bins: list[int] = cuts(x).tolist()
            return bins

        return read, lambda key: np.array(_taken(key, count), cuts.dtype)

    def _of_array(self, space: Any) -> tuple[Reader, Writer]:
        low, ranges = _ranges(space)
        self.sizes.extend(ranges)

        def read(x: Any) -> list[int]:
            array = np.asarray(x)
            if array.shape != low.shape or array.dtype.kind not in "iub":
                raise ValueError("another shape, or no whole numbers")
            parts: list[int] = (array.astype(np.int64) - low).ravel().tolist()
            return parts

        def write(key: list[int]) -> Any:
            return np.asarray(np.array(_taken(key, low.size), np.int64).reshape(low.shape) + low, space.dtype)

        return read, write


def _taken(key: list[int], count: int) -> list[int]:
    """The first entries, taken off the list."""
    parts = key[:count]
    del key[:count]
    return parts


def _is_integer_box(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and np.dtype(space.dtype).kind in "biu"


def _advice(field: str, space: spaces.Space[Any], whole: spaces.Space[Any]) -> str:
    """Advice for a space that is not discrete."""
    if not isinstance(space, spaces.Box):
        return "wrap the environment, to give Discrete, MultiDiscrete, a Box of whole numbers, Tuple or Dict"
    if field.startswith("action"):
        return (
            "let the agent choose among a few actions: table = […], env = gymnasium.wrappers.TransformAction(env, "
            "table.__getitem__, gymnasium.spaces.Discrete(len(table)))"
        )
    if all(np.abs([box.low, box.high]).max(initial=0.0) < UNBOUNDED for box in _float_boxes(whole)):
        return "bin it first: env = kl.Binned(env, bins=10); on the command line: --bins 10"
    return (
        "bin it first: env = kl.Binned.from_quantiles(env, bins=10), or kl.Binned(env, bins=10, low=…, high=…); "
        "on the command line: --bins 10 --quantiles"
    )


def _float_boxes(space: spaces.Space[Any]) -> list[spaces.Box]:
    if isinstance(space, spaces.Tuple | spaces.Dict):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return [box for part in parts for box in _float_boxes(part)]
    return [space] if isinstance(space, spaces.Box) and not _is_integer_box(space) else []


def _too_many(field: str, space: spaces.Space[Any], points: int) -> str:
    number = f"{points:,}" if points < MANY else "more than 10^18"
    fix = (
        "merge some of them in a wrapper"
        if field == "action"
        else "leave grow_states=True, which numbers them as they come"
    )
    return f"{field} space {space} has {number} points, and at most {MOST:,} can be counted through: {fix}"


def _dict_reader(named: dict[Any, tuple[Reader, Writer]]) -> Reader:
    def read(x: Any) -> list[int]:
        if len(x) != len(named):
            raise ValueError("names that the space does not have")
        return [k for name, (read_part, _) in named.items() for k in read_part(x[name])]

    return read


def _ranges(space: Any) -> tuple[Ints, list[int]]:
    """The least number in every place of an array, and how many there may be."""
    if isinstance(space, spaces.MultiDiscrete):
        return np.asarray(space.start, np.int64), [int(n) for n in space.nvec.ravel()]
    if isinstance(space, spaces.MultiBinary):
        zeros = np.zeros(space.shape, np.int64)
        return zeros, [2] * zeros.size
    low = [max(int(x), -WIDEST) for x in space.low.ravel()]
    high = [min(int(x), WIDEST - 1) for x in space.high.ravel()]
    return np.array(low, np.int64).reshape(space.shape), [max(b - a + 1, 0) for a, b in zip(low, high, strict=True)]
