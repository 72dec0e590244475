"""A deep learner's table of recent observations, and the export of its policy for NumPy."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from klearning.deep.features import box_scaling, of_bytes
from klearning.numerics import checks
from klearning.numerics.display.frames import data_frame
from klearning.numerics.files import arrays_to_bytes, write_file
from klearning.simulators.explanations import SUBJECTS
from klearning.simulators.policy_export import edge_arrays
from klearning.simulators.space_index import SpaceIndex, named_parts

if TYPE_CHECKING:
    from pandas import DataFrame

    from klearning.deep.learner import DeepLearner

MOST_ROWS = 1000  # of the last observations


def table(learner: "DeepLearner", by: str) -> "DataFrame":
    """See `DeepLearner.table`."""
    checks.choice("by", by, SUBJECTS)
    x, count = _last_features(learner), learner.actions.count
    values, visits = learner._action_values(x), learner._visits(x)
    points: dict[str, Any] = named_parts("feature", list(x))
    if learner.features.whole:  # the number of a point of Discrete
        space: Any = learner.features.space
        points = {"observation": (x + int(space.start)).tolist()}
    best, n = values.argmax(axis=1), len(x)
    if by == "observation":
        actions = named_parts("action", [learner.actions.point(a) for a in best.tolist()])
        facts: dict[str, Any] = {
            "value": values.max(axis=1),
            "uncertainty": np.nan,
            "visits": visits.sum(axis=1),
            "met": True,
        }
        return data_frame({**points, **actions, **facts})
    rows: dict[str, Any] = {
        **{name: np.repeat(np.array(part), count) for name, part in points.items()},
        **named_parts("action", [learner.actions.point(a) for a in range(count)] * n),
        "value": values.ravel(), "uncertainty": np.nan, "visits": visits.ravel(),
        "probability": learner._policy(x, "soft").ravel(),
        "best": (best[:, None] == np.arange(count)).ravel(),
    }  # fmt: skip
    return data_frame(rows)


def _last_features(learner: "DeepLearner") -> NDArray[Any]:
    """Of the last observations in the replay buffer, each once."""
    seen = int(learner.memory.seen)
    kept = min(seen, learner.agent.capacity)
    if kept == 0:
        raise ValueError("nothing was met yet: let it learn, or ask for values([observation, …])")
    last = np.arange(seen - min(kept, MOST_ROWS), seen) % learner.agent.capacity
    x: NDArray[Any] = np.unique(np.asarray(learner.memory.ring.x)[last], axis=0)
    return x


class Input(NamedTuple):
    """How one number of an observation becomes features: scaled, or a unit vector of length √``one_hot``."""

    middle: float
    scale: float = 1.0
    one_hot: int = 0
    asinh: bool = False


def inputs(space: spaces.Space[Any]) -> Iterator[Input]:
    """Number by number, as `Features` reads them."""
    match space:
        case spaces.Discrete():
            yield Input(int(space.start), one_hot=int(space.n))
        case spaces.MultiDiscrete():
            for n, start in zip(space.nvec.ravel().tolist(), np.ravel(space.start).tolist(), strict=True):
                yield Input(start, one_hot=n)
        case spaces.MultiBinary():
            yield from [Input(0.0)] * int(np.prod(space.shape))
        case spaces.Box():
            if of_bytes(space):
                yield from [Input(0.0)] * int(np.prod(space.shape))
                return
            middle, scale, free = box_scaling(space)
            for m, s, curved in zip(middle.tolist(), scale.tolist(), free.tolist(), strict=True):
                yield Input(m, s, asinh=curved)
        case spaces.Tuple():
            for part in space.spaces:
                yield from inputs(part)
        case spaces.Dict():
            for part in space.spaces.values():
                yield from inputs(part)


def export(learner: "DeepLearner", path: str | Path) -> None:
    """See `DeepLearner.export`."""
    path = checks.file_path("path", path)
    if path.suffix != ".npz":
        raise ValueError(f"path={str(path)!r} does not end in .npz: give a path that does, for networks")
    if learner.features.own is not None:
        raise ValueError(f"features={learner.features.own!r} is code, which a file does not hold: export its networks")
    if learner.agent.network is not None:
        raise ValueError("network is code, which a file does not hold: export layers, or save the learner")
    networks, weights = learner.agent.deployed(learner.memory)
    columns = list(inputs(learner.features.space))
    actions = named_parts("action", learner.actions.numbered_points())
    arrays: dict[str, Any] = {name: np.array([getattr(c, name) for c in columns]) for name in Input._fields}
    scaling = learner.memory.scaling
    arrays |= {
        "centre": np.asarray(scaling.centre),
        "gain": np.asarray(scaling.gain),
        "network_weights": weights,
        "normalised": np.array(learner.agent.normalised),
        "layers": np.array(len(networks)),
    }
    for i, layer in enumerate(networks):
        arrays |= {f"weight_{i}": np.asarray(layer["weight"]), f"bias_{i}": np.asarray(layer["bias"])}
    arrays |= {"actions": np.array(list(actions.values()), np.int64).T, "action_parts": np.array(list(actions))}
    if learner.bins is not None:
        arrays |= edge_arrays(SpaceIndex("observation", learner.observation_space, True, learner.bins))
    write_file(path, arrays_to_bytes(arrays))
