"""Bins: how the numbers of an observation become whole numbers, so that a tabular agent can learn from them.

A bin holds the numbers from one edge up to the next. Equal bins have edges too: the least floats x at which
⌊n (x − low)/(high − low)⌋ reaches 1, 2, …, n − 1. So edges alone say where every number goes, in a file as in a reader
of an exported policy.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, MultiDiscrete, Space, Tuple

from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints

BINS = 10
MOST_BINS = 1_000_000  # of a dimension
UNBOUNDED = float(np.finfo(np.float32).max)  # some environments say infinity so

Path = tuple[Any, ...]  # names and positions that lead to a part of an observation


class Bins:
    """The bins of an observation ``space``: of a `Box`, or of every `Box` of floats within a `Dict` or `Tuple`.

    ``bins``, ``low``, ``high`` and ``edges`` are as in `Binned`.
    """

    def __init__(
        self,
        space: Space[Any],
        bins: int | Sequence[int] | Mapping[Any, Any] = BINS,
        low: Any = None,
        high: Any = None,
        edges: Any = None,
    ) -> None:
        self.space = space  # of observations
        settings = {"bins": bins, "low": low, "high": high, "edges": edges}
        self.cuts = {part.path: Cuts(part) for part in boxes_to_cut(space, settings)}
        self.binned_space = _binned_space(space, self.cuts)

    def cut(self, observation: Any) -> Any:
        """The bin of every number; an observation that is in bins already is returned as it is."""
        return _binned(observation, self.space, self.cuts)

    @property
    def edges(self) -> Any:
        """Where bins end, a list of numbers per dimension; by name where the observation has names."""
        return nested({path: [edges.tolist() for edges in cuts.edges] for path, cuts in self.cuts.items()})

    def check_same(self, other: "Bins") -> None:
        """ValueError if another's edges differ from these; it shows both."""
        mine, theirs = ({tuple(path): edges for path, edges in bins.data()} for bins in (self, other))
        for path in {**mine, **theirs}:
            if mine.get(path) != theirs.get(path):
                raise ValueError(
                    f"bins of {_name('observation', path)} have edges {_short(theirs.get(path))}, and the learner's "
                    f"have {_short(mine.get(path))}: give the same bins, or none, for the learner has its own"
                )

    def data(self) -> list[Any]:
        """As plain data: the path of every part that is cut, and its edges."""
        return [[list(path), [edges.tolist() for edges in cuts.edges]] for path, cuts in self.cuts.items()]

    @classmethod
    def from_data(cls, space: Space[Any], data: Any) -> "Bins":
        """The inverse of `data`."""
        bins = cls(space, edges=nested({tuple(path): edges for path, edges in data}))
        if bins.data() != [[list(path), edges] for path, edges in data]:
            raise ValueError(f"bins {data!r} are not those of {space}")
        return bins

    def __repr__(self) -> str:
        return f"Bins({self.space}, edges={self.edges})"


def nested(parts: Mapping[Path, Any]) -> Any:
    """Values by path as a tree of names."""
    tree: Any = {}
    for path, value in parts.items():
        if not path:
            return value
        *above, last = path
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree


def interval(edges: Floats, number: int) -> tuple[float, float]:
    """The ends of a bin, as `readable`; the first has no lower one, the last no upper one."""
    ends = [-np.inf, *readable(edges), np.inf]
    return ends[number], ends[number + 1]


def readable(edges: Sequence[float] | Floats) -> list[float]:
    """Edges to twelve digits: 0.5 and 0, not 0.4999999999999999 and -5.55e-17."""
    least = 1e-12 * max(map(abs, edges), default=0.0)
    return [float(f"{x:.12g}") if abs(x) > least else 0.0 for x in edges]


def interval_text(edges: Floats, number: int) -> str:
    """The same as a person reads it."""
    low, high = interval(edges, number)
    if np.isinf(low):
        return f"below {high:.4g}" if high < np.inf else "any"
    return f"from {low:.4g}" if np.isinf(high) else f"{low:.4g} to {high:.4g}"


def _short(edges: list[list[float]] | None) -> str:
    if edges is None:
        return "none"
    return "[" + ", ".join("[" + ", ".join(f"{x:.4g}" for x in readable(part)) + "]" for part in edges) + "]"


class Part(NamedTuple):
    """A box within an observation, and what was said of it."""

    path: Path
    box: Box
    settings: dict[str, Any]

    def name(self, of: str) -> str:
        """For errors: ``low['sensors']``."""
        return _name(of, self.path)

    @property
    def size(self) -> int:
        return int(np.prod(self.box.shape))


class Cuts:
    """The bins of one box: where they end, per dimension."""

    def __init__(self, part: Part) -> None:
        self.part = part
        given = _given_edges(part)
        counts = bin_counts(part)
        low, high = (_ends(part, side, given) for side in ("low", "high"))
        for i in np.flatnonzero(low >= high):
            below = f"{part.name('low')}[{i}]={low[i]:g} is not below {part.name('high')}[{i}]={high[i]:g}"
            raise ValueError(f"{below}: give low < high")
        self.edges = [
            given[i] if i in given else equal_edges(low[i], high[i], int(counts[i])) for i in range(part.size)
        ]
        # bins have another type than the numbers that they are of: an array tells which of the two it holds
        self.dtype = np.dtype(np.int32 if part.box.dtype == np.int64 else np.int64)

    @property
    def space(self) -> MultiDiscrete:
        return MultiDiscrete([len(edges) + 1 for edges in self.edges], dtype=self.dtype.type)

    def __call__(self, x: Any) -> Ints:
        if isinstance(x, np.ndarray) and x.dtype == self.dtype and x.shape == (len(self.edges),):
            return x
        numbers = flat_numbers(self.part, x).tolist()
        return np.array(
            [edges.searchsorted(number, "right") for edges, number in zip(self.edges, numbers, strict=True)], self.dtype
        )


def equal_edges(low: float, high: float, bins: int) -> Floats:
    """The least float of every bin but the first, among this many equal ones from low to high."""
    k = np.arange(1, bins)
    below, above = (_ordered(np.full(k.shape, end)) for end in (low, high))  # its bin is less than k, or at least k
    while (below + 1 < above).any():
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        less = ((_float(middle) - low) / (high - low) * bins).astype(np.int64) < k
        below, above = np.where(less, middle, below), np.where(less, above, middle)
    return _float(above)


def _ordered(x: Floats) -> Ints:
    """Floats as whole numbers in the same order."""
    bits = (x + 0.0).view(np.int64)  # -0 is 0
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _float(ordered: Ints) -> Floats:
    """The inverse."""
    return np.where(ordered < 0, np.iinfo(np.int64).min - ordered, ordered).view(np.float64)


# Which boxes there are


def boxes_to_cut(space: Space[Any], settings: dict[str, Any]) -> list[Part]:
    """ValueError if there is none, or if something else was named."""
    parts = list(_within(space, settings, (), named=isinstance(space, Box)))
    if not parts:
        raise ValueError(f"observation_space={space!r} cannot be binned: give an environment with a Box of numbers")
    return parts


def _within(space: Space[Any], settings: dict[str, Any], path: Path, named: bool) -> Iterator[Part]:
    if isinstance(space, Dict | Tuple):
        yield from _within_parts(space, settings, path)
        return
    if named and (not isinstance(space, Box) or np.prod(space.shape) == 0):
        raise ValueError(f"{_name('observation', path)} is {space!r} and cannot be binned: name only a Box of numbers")
    if isinstance(space, Box) and (named or np.dtype(space.dtype).kind == "f"):
        part = Part(path, space, settings)
        for setting, value in settings.items():
            if isinstance(value, Mapping):
                raise ValueError(f"{part.name(setting)}={value!r} has names, and {space!r} has none: give numbers")
        yield part


def _within_parts(space: "Dict | Tuple[Any]", settings: dict[str, Any], path: Path) -> Iterator[Part]:
    parts = dict(space.spaces) if isinstance(space, Dict) else dict(enumerate(space.spaces))
    for setting, value in settings.items():
        for name in value if isinstance(value, Mapping) else ():
            if name not in parts:
                known = ", ".join(map(repr, parts))
                raise ValueError(f"{setting}={value!r} names {name!r}, which is not observed: give one of {known}")
    for name, part in parts.items():
        inside = {setting: _part_of(setting, value, name) for setting, value in settings.items()}
        by_name = any(isinstance(value, Mapping) and name in value for value in settings.values())
        yield from _within(part, inside, (*path, name), by_name)


def _part_of(setting: str, value: Any, name: Any) -> Any:
    """The setting of a part: its own if there are names, else the same for all."""
    if not isinstance(value, Mapping):
        return value
    return value.get(name, BINS if setting == "bins" else None)


def _name(of: str, path: Path) -> str:
    return of + "".join(f"[{part!r}]" for part in path)


# From numbers to bins


def _binned_space(space: Space[Any], cuts: dict[Path, Cuts], path: Path = ()) -> Space[Any]:
    if path in cuts:
        return cuts[path].space
    if isinstance(space, Dict):
        return Dict([(name, _binned_space(part, cuts, (*path, name))) for name, part in space.spaces.items()])
    if isinstance(space, Tuple):
        return Tuple([_binned_space(part, cuts, (*path, i)) for i, part in enumerate(space.spaces)])
    return space


def _binned(x: Any, space: Space[Any], cuts: dict[Path, Cuts], path: Path = ()) -> Any:
    if path in cuts:
        return cuts[path](x)
    if isinstance(space, Dict):
        return {name: _binned(x[name], part, cuts, (*path, name)) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(_binned(x[i], part, cuts, (*path, i)) for i, part in enumerate(space.spaces))
    return x


def flat_numbers(part: Part, x: Any) -> Floats:
    numbers: Floats = np.asarray(x, np.float64).ravel()
    for i in np.flatnonzero(np.isnan(numbers)):
        raise ValueError(
            f"{part.name('observation')}[{i}] is nan: there is no bin for it, and the environment should not say so"
        )
    return numbers


def quantile_edges(x: Floats, bins: int) -> list[float]:
    """Inner edges that share out what was seen, each a number that was: no bin is empty."""
    cuts = np.unique(np.quantile(x, np.arange(1, bins) / bins, method="higher"))
    inner: list[float] = cuts[(cuts > x.min()) & np.isfinite(cuts)].tolist()
    return inner


# Settings of a box


def bin_counts(part: Part) -> Ints:
    """How many equal bins each dimension has."""
    bins, field, size = part.settings["bins"], part.name("bins"), part.size
    if not isinstance(bins, Sequence | np.ndarray) or isinstance(bins, str):
        return np.full(size, checks.whole(field, bins, 1, MOST_BINS), np.int64)
    if len(bins) != size:
        raise ValueError(f"{field} has {len(bins)} entries: give {size}, one per dimension, or one number for all")
    return np.array([checks.whole(f"{field}[{i}]", n, 1, MOST_BINS) for i, n in enumerate(bins)], np.int64)


def _given_edges(part: Part) -> dict[int, Floats]:
    """The edges of every dimension that was given some."""
    given, field, size = part.settings.get("edges"), part.name("edges"), part.size
    if given is None:
        return {}
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise ValueError(f"{field}={given!r} is not a list: give numbers in order, or one such list per dimension")
    if all(np.isscalar(x) and not isinstance(x, str) for x in given):
        return dict.fromkeys(range(size), _rising(field, given))
    if len(given) != size:
        raise ValueError(f"{field} has {len(given)} entries: give {size}, one list per dimension, or one list for all")
    return {i: _rising(f"{field}[{i}]", cuts) for i, cuts in enumerate(given) if cuts is not None}


def _rising(field: str, cuts: Any) -> Floats:
    numbers = checks.array(field, cuts, (None,))
    if (np.diff(numbers) <= 0.0).any():
        raise ValueError(f"{field}={list(cuts)} does not rise: give every number once, in order")
    return numbers


def _ends(part: Part, side: str, edges: Mapping[int, Floats]) -> Floats:
    """The given ends, the box's own where None; an error if neither is finite and there are no edges."""
    given, field = part.settings[side], part.name(side)
    box = np.asarray(part.box.low if side == "low" else part.box.high, np.float64).ravel()
    try:
        ends = np.array(np.broadcast_to(np.asarray(given, np.float64).ravel(), box.shape))  # None becomes nan
    except (TypeError, ValueError):
        raise ValueError(f"{field}={given!r} does not fit: give one number, or {box.size}, one per dimension") from None
    ends = np.where(np.isnan(ends), box, ends)
    ends[list(edges)] = float(side == "high")  # of no use there
    for i in np.flatnonzero(~(np.abs(ends) < UNBOUNDED)):
        raise ValueError(
            f"{field}[{i}]={ends[i]:g} is unbounded: give {side}=, where the bins of dimension {i} end, or let random "
            "play say where bins are: kl.Binned.from_quantiles(env)"
        )
    return ends
