"""A policy to be used elsewhere: plain arrays or JSON, which a few lines without this package can read.

Both forms hold, for every observation that has a number, the number of the best action at every step, and the same for
all observations that were never met.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from klearning.numerics.files import arrays_to_bytes, write_file
from klearning.simulators.accounts import named_parts, plain
from klearning.version import __version__

if TYPE_CHECKING:
    from klearning.simulators.knowledge import Knowledge

FORMAT = "klearning policy"
VERSION = 1


def export(learner: "Knowledge", path: str | Path) -> None:
    """See `Learner.export`."""
    path = Path(path)
    forms = {".npz": _as_npz, ".json": _as_json}
    if path.suffix not in forms:
        raise ValueError(f"path={str(path)!r} ends neither in .npz nor in .json: give one of them")
    observations = learner.observations.numbered_points()
    actions = [learner.actions.point(a) for a in range(learner.actions.count)]
    insight = learner.insight
    best = insight.greedy.argmax(axis=0).reshape(learner.horizon, insight.width)
    columns = np.minimum(1 + np.arange(len(observations)), insight.width - 1)
    never_met = best[:, insight.width - 1] if learner.observations.discovers else best[:, :0]
    write_file(path, forms[path.suffix](observations, actions, best[:, columns], never_met))


def _as_npz(observations: list[Any], actions: list[Any], best: Any, never_met: Any) -> bytes:
    arrays = {"best": best, "never_met": never_met}
    for name, points in (("observation", observations), ("action", actions)):
        parts = named_parts(name, points)
        arrays[f"{name}s"] = np.array(list(parts.values()), np.int64).reshape(len(parts), len(points)).T
        arrays[f"{name}_parts"] = np.array(list(parts))
    return arrays_to_bytes(arrays)


def _as_json(observations: list[Any], actions: list[Any], best: Any, never_met: Any) -> bytes:
    data = {
        "format": FORMAT,
        "version": VERSION,
        "klearning": __version__,
        "horizon": len(best),
        "observations": [plain(point) for point in observations],
        "actions": [plain(point) for point in actions],
        "best": best.tolist(),
        "never_met": never_met.tolist(),
    }
    return json.dumps(data).encode()
