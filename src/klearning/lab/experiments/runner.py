"""Run one part of a spec in chunks, with checkpoints, so that a killed run resumes and ends with the same bytes."""

from collections.abc import Callable
from contextlib import closing

import numpy as np

from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS, Watch, read_checkpoint, write_checkpoint
from klearning.lab.experiments.results import has_goal
from klearning.lab.experiments.runnables import Runnable, runnable
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics.types import Arrays

Snapshots = dict[int, Arrays]  # by how many episodes were played


def execute(
    spec: Spec,
    store: Store,
    *,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    timeout: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda episodes: None,
) -> None:
    """Run a part of a spec to its end, from its checkpoint if there is one, and put the result into the store.

    ``progress`` is told of episodes, first of all of those that the checkpoint has.
    """
    runs, snapshots = _begin(spec, store)
    if runs.played:
        progress(runs.played)

    def save() -> None:
        write_checkpoint(store.checkpoint(spec.name), spec.name, runs.state() | _stacked(snapshots))

    watch = Watch(save, checkpoint_seconds, timeout, should_stop)
    if not runs.done:
        with closing(runs.chunks(spec.snapshots)) as chunks:
            for count in chunks:
                progress(count)
                if runs.played in spec.snapshots:
                    snapshots[runs.played] = runs.snapshot()
                if runs.done:
                    break
                watch.look(f"at episode {runs.played} of {spec.episodes * spec.seeds}")
    arrays = runs.result()
    ran = len(arrays["hits"])
    kept = arrays | _stacked({t: parts for t, parts in snapshots.items() if t <= ran})
    store.put(spec, kept, goal=bool(arrays["hits"].any()) or has_goal(spec))


def _begin(spec: Spec, store: Store) -> tuple[Runnable, Snapshots]:
    """The run as its checkpoint has it; from its first episode if there is none that fits."""
    path = store.checkpoint(spec.name)
    if path.exists():
        try:
            arrays, begun = read_checkpoint(path, spec.name), runnable(spec)
            begun.restore(arrays)
            return begun, _snapshots(spec, begun, arrays)
        except (ValueError, KeyError):
            path.unlink(missing_ok=True)
    return runnable(spec), {}


def _stacked(snapshots: Snapshots) -> Arrays:
    """One array per part of a snapshot, if there are any."""
    parts = next(iter(snapshots.values()), {})
    return {f"snapshot_{part}": np.stack([snapshot[part] for snapshot in snapshots.values()]) for part in parts}


def _snapshots(spec: Spec, runs: Runnable, arrays: Arrays) -> Snapshots:
    """The inverse of `_stacked`; they must look like one that is taken now."""
    times = [t for t in spec.snapshots if t <= runs.played]
    parts = runs.snapshot() if times else {}
    for part, now in parts.items():
        x = arrays[f"snapshot_{part}"]
        if (x.shape, x.dtype) != ((len(times), *now.shape), now.dtype):
            raise ValueError(f"snapshot_{part} has shape {x.shape}, not {(len(times), *now.shape)}")
    return {t: {part: arrays[f"snapshot_{part}"][i] for part in parts} for i, t in enumerate(times)}
