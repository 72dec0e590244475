"""One run of a spec: in chunks, with checkpoints, so that a killed run goes on where it was, to the same bytes."""

from collections.abc import Callable

import numpy as np

from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS, Watch, read_checkpoint, write_checkpoint
from klearning.lab.experiments.courses import COURSES, Course
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store
from klearning.numerics.types import Arrays
from klearning.tabular.trials import regret

Pictures = dict[int, Arrays]  # snapshots, by how many episodes were played


def execute(
    spec: Spec,
    store: Store,
    *,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    timeout: float = np.inf,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda episodes: None,
) -> None:
    """Run a spec to its end, from its checkpoint if there is one, and put the result into the store.

    ``progress`` is told of episodes, first of all of those that the checkpoint has.
    """
    course, pictures = _begin(spec, store)
    if course.played:
        progress(course.played)

    def save() -> None:
        write_checkpoint(store.checkpoint(spec.name), spec.name, course.state() | _stacked(pictures))

    watch = Watch(save, checkpoint_seconds, timeout, should_stop)
    chunks, over = course.chunks(spec.snapshots), _is_over(spec, course)
    while not over:
        progress(next(chunks))
        if course.played in spec.snapshots:
            pictures[course.played] = course.picture()
        over = _is_over(spec, course)
        if not over:
            watch.look(f"at episode {course.played} of {spec.episodes}")
    store.put(spec, _result(spec, course, pictures))


def _begin(spec: Spec, store: Store) -> tuple[Course, Pictures]:
    """The run as its checkpoint has it; from its first episode where there is none that fits."""
    begin = COURSES[spec.kind]
    path = store.checkpoint(spec.name)
    if path.exists():
        try:
            arrays, begun = read_checkpoint(path, spec.name), begin(spec)
            begun.restore(arrays)
            return begun, _pictures(spec, begun, arrays)
        except (ValueError, KeyError):
            path.unlink(missing_ok=True)
    return begin(spec), {}


def _is_over(spec: Spec, course: Course) -> bool:
    return course.done or (spec.stop == "solved" and bool(np.isfinite(_solved(course))))


def _solved(course: Course) -> float:
    return float(regret.time_to_solve(course.hits)) if course.played else np.nan


def _stacked(pictures: Pictures) -> Arrays:
    """One array per part of a picture, if there are any pictures."""
    parts = next(iter(pictures.values()), {})
    return {f"snapshot_{part}": np.stack([picture[part] for picture in pictures.values()]) for part in parts}


def _pictures(spec: Spec, course: Course, arrays: Arrays) -> Pictures:
    """The inverse of `_stacked`; they must look like one that is taken now."""
    times = [t for t in spec.snapshots if t <= course.played]
    parts = course.picture() if times else {}
    for part, now in parts.items():
        x = arrays[f"snapshot_{part}"]
        if (x.shape, x.dtype) != ((len(times), *now.shape), now.dtype):
            raise ValueError(f"snapshot_{part} has shape {x.shape}, not {(len(times), *now.shape)}")
    return {t: {part: arrays[f"snapshot_{part}"][i] for part in parts} for i, t in enumerate(times)}


def _result(spec: Spec, course: Course, pictures: Pictures) -> Arrays:
    """What is kept. A run that stops when solved is cut at that very episode, wherever its last chunk ended."""
    ran = course.played
    if spec.stop == "solved" and np.isfinite(_solved(course)):
        ran = int(_solved(course))
    arrays = course.result(ran)
    if spec.stop == "never":
        arrays["visits"] = course.visits
    return arrays | _stacked({t: picture for t, picture in pictures.items() if t <= ran})
