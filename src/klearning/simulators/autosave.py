"""Saving while it learns: now and then, at the end, and on an interrupt."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klearning.numerics.files import check_writable
from klearning.numerics.interrupts import uninterrupted
from klearning.simulators.actor import Actor
from klearning.simulators.episode_report import Callback, EpisodeReport

SECONDS = 30.0  # between two times that a learner is saved
TIMES = 20.0  # as long as the last one took, at least: large learners take long


@contextmanager
def autosave(learner: Actor, path: str | Path | None) -> Iterator[list[Callback]]:
    """A callback that saves to this path now and then; saves at the end, too, however it comes."""
    if path is None:
        yield []
        return
    path = Path(path)
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    last, pause = time.monotonic(), SECONDS

    def save_at_times(report: EpisodeReport) -> None:
        nonlocal last, pause
        start = time.monotonic()
        if start - last > pause:
            learner.save(path)
            last = time.monotonic()
            pause = max(SECONDS, TIMES * (last - start))

    try:
        yield [save_at_times]
    finally:
        with uninterrupted:
            if learner.episodes_done > 0:
                learner.save(path)
