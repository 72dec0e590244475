"""A policy to be used elsewhere: plain arrays or JSON, which a few lines without this package can read.

Both forms hold, for every observation that has a number, the number of the best action at every step, and the same for
all observations that were never met. Numbers that are cut into bins are there as bins, with their edges beside.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from klearning.numerics import checks
from klearning.numerics.files import arrays_to_bytes, write_file
from klearning.numerics.types import Arrays, Ints
from klearning.simulators.space_index import SpaceIndex, named_parts, plain
from klearning.version import __version__

if TYPE_CHECKING:
    from klearning.simulators.learner import Learner

FORMAT = "klearning policy"
VERSION = 1


def export(learner: "Learner", path: str | Path) -> None:
    """See `Learner.export`."""
    path = checks.file_path("path", path)
    forms = {".npz": _as_npz, ".json": _as_json}
    if path.suffix not in forms:
        raise ValueError(f"path={str(path)!r} ends neither in .npz nor in .json: give one of them")
    view, count = learner.view, learner.observations.count
    best = view.greedy.argmax(axis=0).reshape(learner.horizon, view.width)
    columns = np.minimum(1 + np.arange(count), view.width - 1)
    never_met = best[:, view.width - 1] if learner.observations.grows else best[:, :0]
    write_file(path, forms[path.suffix](learner.observations, learner.actions, best[:, columns], never_met))


def edge_arrays(observations: SpaceIndex) -> Arrays:
    """``edges_0``, …: where the bins of an observation's numbers end, for those that are cut into bins."""
    return {f"edges_{i}": edges for i, edges in observations.edges.items()}


def _as_npz(observations: SpaceIndex, actions: SpaceIndex, best: Ints, never_met: Ints) -> bytes:
    arrays = {"best": best, "never_met": never_met, **edge_arrays(observations)}
    for index in (observations, actions):
        points = index.numbered_points()
        parts = named_parts(index.field, points)
        arrays[f"{index.field}s"] = np.array(list(parts.values()), np.int64).reshape(len(parts), len(points)).T
        arrays[f"{index.field}_parts"] = np.array(list(parts))
    return arrays_to_bytes(arrays)


def _as_json(observations: SpaceIndex, actions: SpaceIndex, best: Ints, never_met: Ints) -> bytes:
    parts = named_parts("observation", observations.numbered_points())
    data = {
        "format": FORMAT,
        "version": VERSION,
        "klearning": __version__,
        "horizon": len(best),
        "observations": list(zip(*parts.values(), strict=True)),
        "observation_parts": list(parts),
        "edges": [observations.edges[i].tolist() if i in observations.edges else None for i in range(len(parts))],
        "actions": [plain(point) for point in actions.numbered_points()],
        "best": best.tolist(),
        "never_met": never_met.tolist(),
    }
    return json.dumps(data).encode()
