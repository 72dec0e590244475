"""Threads of this process."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from klearning.lab.experiments.jobs import Job, Outcome, do
from klearning.tabular.trials.threads import on_threads


class LocalExecutor:
    """Runs N jobs at a time, by default as many as there are cores."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers

    def run(self, jobs: Sequence[Job], progress: Callable[[int], None]) -> Generator[Outcome, None, None]:
        def work(job: Job, closed: Callable[[], bool]) -> Outcome:
            return do(job, should_stop=closed, progress=progress)

        with closing(on_threads(work, jobs, self.workers)) as pairs:
            for _, outcome in pairs:
                yield outcome


EXECUTOR = LocalExecutor
