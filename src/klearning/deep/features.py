"""Observations as features: what networks and tiles are given.

A point of Discrete is an integer. All else is one vector. A bounded part of a Box is scaled as if it were uniform
between its bounds, with variance 1, and shifted to their middle unless the lower bound is 0: zeros stay zeros. An
unbounded part is asinh(x), linear near zero and logarithmic far from it. Discrete parts of a Dict or Tuple are unit
vectors times √n, and bits are 0 or 1. A Box of bytes is left as it is, and remembered as bytes. Networks see these
features normalised by what was observed (`scaling.py`).

Your own function instead is known by its name, as your own agents and worlds are: files hold the
name and the hash of its source, and the function must be imported before a file is loaded.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from klearning.numerics import checks
from klearning.numerics.registry import Registry

UNBOUNDED = 1e6  # a bound that is further away is none
ROOT_3 = 3.0**0.5

Vector = NDArray[Any]  # of floats, or of bytes
Read = Callable[[Any], Vector]


FEATURES = Registry("features", [])

Function = TypeVar("Function", bound=Callable[[Any], Any])


def register_features(function: Function) -> Function:
    """Make a function that turns an observation into a vector known by its name; a call, or a decorator.

    ``DeepKLearning(features=function)`` does so too. Its numbers should be about as large as 1.
    """
    features_name(function)
    return function


def features_name(features: Any) -> str | None:
    """The name of your own features, registered if they are a function; None for those of the space."""
    if features is None or isinstance(features, str):
        return None if features is None else checks.choice("features", features, FEATURES)
    name = getattr(features, "__name__", "")
    if not callable(features) or not name.isidentifier():
        raise ValueError(f"features={features!r} is not a named function: define one with def")
    FEATURES.register(features)
    return name


class Features:
    """Of the points of an observation space; ``size`` is how many, or how many whole numbers there are."""

    def __init__(self, space: spaces.Space[Any], own: str | None = None) -> None:
        self.space, self.own = space, own
        self.whole = own is None and isinstance(space, spaces.Discrete)
        if own is not None:
            self._read, self.size = _own(own, space)
        elif isinstance(space, spaces.Discrete):
            self.size, self._start = int(space.n), int(space.start)
        else:
            self._read, self.size = reader(space, space)

    @property
    def like(self) -> NDArray[Any]:
        """Some features."""
        if self.whole:
            return np.zeros((), np.int32)
        return np.zeros(self.size, np.uint8 if self.own is None and of_bytes(self.space) else np.float32)

    def __call__(self, observation: Any) -> NDArray[Any]:
        if self.whole:
            try:
                number = int(observation) - self._start
            except (TypeError, ValueError):
                number = -1
            if not 0 <= number < self.size:
                raise ValueError(f"observation={observation!r} is outside {self.space}: give a point of the space")
            return np.array(number, np.int32)
        try:
            x = self._read(observation)
        except (TypeError, ValueError, KeyError, IndexError):
            if self.own is not None:
                raise  # by the reader's own code, which its traceback shows
            raise ValueError(
                f"observation={observation!r} is outside {self.space}: give a point of the space"
            ) from None
        if x.size != self.size:
            raise ValueError(
                f"observation={observation!r} has {x.size} features, {self.space} has {self.size}: give as many"
            )
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise ValueError(f"observation={observation!r} is not finite: fix the simulator")
        return x


def _own(name: str, space: spaces.Space[Any]) -> tuple[Read, int]:
    """Your own features, and how many of them a point of the space has."""
    function, example = FEATURES[name], _example(space)

    def read(point: Any) -> Vector:
        x = np.asarray(function(point), np.float32)
        if x.ndim != 1 or not x.size:
            raise ValueError(
                f"features={name!r} are of shape {x.shape}: let {name} return a vector, one axis of numbers"
            )
        return x

    return read, read(example).size


def _example(space: spaces.Space[Any]) -> Any:
    """A point, which leaves the random stream of the space as it was."""
    twin = deepcopy(space)
    twin.seed(0)
    return twin.sample()


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
            return _bytes(space), int(np.prod(space.shape))
        case spaces.Box():
            return (_bytes if of_bytes(space) else _box)(space), int(np.prod(space.shape))
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


def box_scaling(space: spaces.Box) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """The middle and scale of every number of a box, and which have no bounds: asinh of those is taken."""
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED) & (low < high)
    low, high = np.where(bounded, low, -ROOT_3), np.where(bounded, high, ROOT_3)  # unscaled if unbounded
    middle = np.where(low == 0.0, 0.0, (low + high) / 2.0)
    return middle.astype(np.float32), (2.0 * ROOT_3 / (high - low)).astype(np.float32), ~bounded


def of_bytes(space: spaces.Space[Any]) -> bool:
    """Whether all numbers of a space are bytes: pictures."""
    return isinstance(space, spaces.Box | spaces.MultiBinary) and space.dtype in (np.uint8, np.int8, np.bool_) and (
        isinstance(space, spaces.MultiBinary) or space.low.min() >= 0
    )  # fmt: skip


def _bytes(space: spaces.Space[Any]) -> Read:
    size, highest = int(np.prod(space.shape or ())), 1 if isinstance(space, spaces.MultiBinary) else 255

    def read(point: Any) -> Vector:
        flat = np.array(point).ravel()
        if flat.size != size or not ((flat >= 0) & (flat <= highest)).all():
            raise ValueError(flat.size)
        return flat.astype(np.uint8)

    return read


def _box(space: spaces.Box) -> Read:
    middle, scale, unbounded = box_scaling(space)
    free = unbounded if unbounded.any() else None

    def read(point: Any) -> Vector:
        flat = np.asarray(point, np.float32).ravel()
        if flat.size != middle.size:
            raise ValueError(flat.size)
        x: Vector = (flat - middle) * scale
        if free is not None:
            x[free] = np.arcsinh(x[free])
        return x

    return read
