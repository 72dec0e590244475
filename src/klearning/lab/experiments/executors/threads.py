"""Threads of this process."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from klearning.lab.experiments.jobs import Job, Outcome, do
from klearning.tabular.trials.threads import on_threads


class LocalExecutor:
    """Runs N jobs at a time, by default as many as there are cores."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers
        self._asked = threading.Event()

    def stop(self) -> None:
        """Ask all jobs to write their checkpoints and end."""
        self._asked.set()

    def run(self, jobs: Sequence[Job], progress: Callable[[int], None]) -> Generator[Outcome, None, None]:
        def work(job: Job, closed: Callable[[], bool]) -> Outcome:
            return do(job, should_stop=lambda: closed() or self._asked.is_set(), progress=progress)

        self._asked.clear()
        with closing(on_threads(work, jobs, self.workers)) as pairs:
            for _, outcome in pairs:
                yield outcome


EXECUTOR = LocalExecutor
