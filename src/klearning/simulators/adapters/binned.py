"""Bins for numbers: a `Box` of an observation as a `MultiDiscrete` one, so that a tabular agent can learn from it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiDiscrete, Space, Tuple

from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints
from klearning.simulators.numbering import UNBOUNDED
from klearning.simulators.random_play import random_play

BINS = 10
MOST_BINS = 1_000_000  # of a dimension

Path = tuple[Any, ...]  # names and positions that lead to a part of an observation


class Binned(gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Cut the numbers of an observation into bins: a `Box`, or every `Box` of floats within a `Dict` or `Tuple`.

    ``bins`` is one number or one per dimension: so many equal parts from ``low`` to ``high``, by default the ends of
    the box. These are one number, or one per dimension with None where the box's own is meant. What lies outside is in
    the end bin of its side.

    ``edges`` are cuts of your own in place of equal parts: the numbers at which a bin ends and the next begins, in
    order (three of them make four bins); for all dimensions, or one list per dimension with None for equal parts.

    Within a `Dict` each may be given by name, ``bins={"sensors": 10}``, nested as the space is, and within a `Tuple` by
    position, ``bins={0: 10}``; boxes that are not named have 10 equal bins. Boxes of whole numbers are left alone there
    unless they are named. A box of several axes is flattened.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[int] | Mapping[Any, Any] = BINS,
        low: Any = None,
        high: Any = None,
        edges: Any = None,
    ) -> None:
        _check_single(env)
        gymnasium.utils.RecordConstructorArgs.__init__(self, bins=bins, low=low, high=high, edges=edges)
        gymnasium.ObservationWrapper.__init__(self, env)
        self.cuts = {
            place.path: Cuts(place)
            for place in _places(env.observation_space, {"bins": bins, "low": low, "high": high, "edges": edges})
        }
        self.observation_space = _binned_space(env.observation_space, self.cuts)

    @classmethod
    def from_quantiles(
        cls,
        env: gymnasium.Env[Any, Any],
        bins: int | Sequence[int] | Mapping[Any, Any] = BINS,
        *,
        episodes: int = 20,
        seed: int = 0,
        horizon: int | None = None,
    ) -> "Binned":
        """Bins that random play fills evenly: their edges are quantiles of what ``episodes`` of it showed.

        They need no ends. Where few different numbers were seen there are fewer bins. What random play never reaches is
        in the end bins, however much of it there is: look at ``env.edges``, and where that matters give your own.
        """
        _check_single(env)
        places = _places(env.observation_space, {"bins": bins})
        seen: list[list[Floats]] = [[] for _ in places]
        for step in random_play(env, "quantiles", episodes, seed, horizon):
            for place, numbers in zip(places, seen, strict=True):
                numbers.append(_flat(place, _at(step.observation, place.path)))
        edges: Any = {}
        for place, numbers in zip(places, seen, strict=True):
            columns, counts = np.stack(numbers).T, _bins(place)
            cuts = [_quantiles(column, int(n)) for column, n in zip(columns, counts, strict=True)]
            edges = _set(edges, place.path, cuts)
        return cls(env, edges=edges)

    @property
    def edges(self) -> Any:
        """Where bins end, a list of numbers per dimension; by name where the observation has names."""
        edges: Any = {}
        for path, cuts in self.cuts.items():
            edges = _set(edges, path, [cuts.inner(i) for i in range(len(cuts.bins))])
        return edges

    def observation(self, observation: Any) -> Any:
        """The bin of every number."""
        return _binned(observation, self.env.observation_space, self.cuts)


class Place(NamedTuple):
    """A box within an observation, and what was said of it."""

    path: Path
    box: Box
    settings: dict[str, Any]

    def name(self, of: str) -> str:
        """For errors: ``low['sensors']``."""
        return of + "".join(f"[{part!r}]" for part in self.path)


class Cuts:
    """The bins of one box: equal parts of every dimension, or those between its edges."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.edges = _edges(place)
        self.bins = _bins(place, self.edges)
        self.low, self.high = (_ends(place, side, self.edges) for side in ("low", "high"))
        for i in np.flatnonzero(self.low >= self.high):
            low, high = (place.name(side) for side in ("low", "high"))
            raise ValueError(f"{low}[{i}]={self.low[i]:g} is not below {high}[{i}]={self.high[i]:g}: give low < high")

    def __call__(self, x: Any) -> Ints:
        numbers = _flat(self.place, x)
        part = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        bins = np.minimum((part * self.bins).astype(np.int64), self.bins - 1)
        for i, edges in self.edges.items():
            bins[i] = np.searchsorted(edges, numbers[i], side="right")
        return bins

    def inner(self, i: int) -> list[float]:
        """Where the bins of dimension i end, but for the last."""
        equal = np.linspace(self.low[i], self.high[i], int(self.bins[i]) + 1)[1:-1]
        inner: list[float] = self.edges.get(i, equal).tolist()
        return inner


def _check_single(env: Any) -> None:
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise ValueError(
            f"env={env!r} is a vector of {env.num_envs} environments: bin each of them, as in "
            "gymnasium.make_vec(…, wrappers=[kl.Binned]) or SyncVectorEnv([lambda: kl.Binned(gymnasium.make(…)), …])"
        )


# Which boxes there are


def _places(space: Space[Any], settings: dict[str, Any]) -> list[Place]:
    """The boxes to cut; an error where there is none, or where something else was named."""
    places = list(_within(space, settings, (), named=isinstance(space, Box)))
    if not places:
        raise ValueError(f"observation_space={space!r} cannot be binned: give an environment with a Box of numbers")
    return places


def _within(space: Space[Any], settings: dict[str, Any], path: Path, named: bool) -> Iterator[Place]:
    if isinstance(space, Dict | Tuple):
        parts = _parts(space)
        for setting, value in settings.items():
            for name in value if isinstance(value, Mapping) else ():
                if name not in parts:
                    known = ", ".join(map(repr, parts))
                    raise ValueError(f"{setting}={value!r} names {name!r}, which is not observed: give one of {known}")
        for name, part in parts.items():
            inside = {setting: _part_of(setting, value, name) for setting, value in settings.items()}
            by_name = any(isinstance(value, Mapping) and name in value for value in settings.values())
            yield from _within(part, inside, (*path, name), by_name)
        return
    if named and (not isinstance(space, Box) or np.prod(space.shape) == 0):
        where = "".join(f"[{part!r}]" for part in path)
        raise ValueError(f"observation{where} is {space!r} and cannot be binned: name only a Box of numbers")
    if isinstance(space, Box) and (named or np.dtype(space.dtype).kind == "f"):
        place = Place(path, space, settings)
        for setting, value in settings.items():
            if isinstance(value, Mapping):
                raise ValueError(f"{place.name(setting)}={value!r} has names, and {space!r} has none: give numbers")
        yield place


def _parts(space: Dict | Tuple[Any]) -> dict[Any, Space[Any]]:
    return dict(space.spaces) if isinstance(space, Dict) else dict(enumerate(space.spaces))


def _part_of(setting: str, value: Any, name: Any) -> Any:
    """What a setting says of a part: its own where there are names, else the same for all."""
    if not isinstance(value, Mapping):
        return value
    return value.get(name, BINS if setting == "bins" else None)


# From numbers to bins


def _binned_space(space: Space[Any], cuts: dict[Path, Cuts], path: Path = ()) -> Space[Any]:
    if path in cuts:
        return MultiDiscrete(cuts[path].bins)
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


def _flat(place: Place, x: Any) -> Floats:
    numbers: Floats = np.asarray(x, np.float64).ravel()
    for i in np.flatnonzero(np.isnan(numbers)):
        raise ValueError(
            f"{place.name('observation')}[{i}] is nan: there is no bin for it, and the environment should not say so"
        )
    return numbers


def _at(x: Any, path: Path) -> Any:
    for part in path:
        x = x[part]
    return x


def _set(tree: Any, path: Path, value: Any) -> Any:
    """A tree of names with a value at the end of a path."""
    if not path:
        return value
    return {**tree, path[0]: _set(tree.get(path[0], {}), path[1:], value)}


# What was said of a box


def _quantiles(x: Floats, bins: int) -> list[float]:
    """Inner edges that share out what was seen, each a number that was: no bin is empty."""
    cuts = np.unique(np.quantile(x, np.arange(1, bins) / bins, method="higher"))
    inner: list[float] = cuts[(cuts > x.min()) & np.isfinite(cuts)].tolist()
    return inner


def _size(place: Place) -> int:
    return int(np.prod(place.box.shape))


def _bins(place: Place, edges: Mapping[int, Floats] | None = None) -> Ints:
    bins, field, size = place.settings["bins"], place.name("bins"), _size(place)
    if isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str):
        if len(bins) != size:
            raise ValueError(f"{field} has {len(bins)} entries: give {size}, one per dimension, or one number for all")
        counts = np.array([checks.whole(f"{field}[{i}]", n, 1, MOST_BINS) for i, n in enumerate(bins)], np.int64)
    else:
        counts = np.full(size, checks.whole(field, bins, 1, MOST_BINS), np.int64)
    for i, cuts in (edges or {}).items():
        counts[i] = len(cuts) + 1
    return counts


def _edges(place: Place) -> dict[int, Floats]:
    """The edges of every dimension that has some."""
    given, field, size = place.settings.get("edges"), place.name("edges"), _size(place)
    if given is None:
        return {}
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise ValueError(f"{field}={given!r} is no list: give numbers in order, or one such list per dimension")
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


def _ends(place: Place, side: str, edges: Mapping[int, Floats]) -> Floats:
    """The given ends, the box's own where None; an error where neither is finite and there are no edges."""
    given, field = place.settings[side], place.name(side)
    box = np.asarray(getattr(place.box, side), np.float64).ravel()
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
