"""Executors: where jobs are done. One file each in this folder, found by its name.

A file `name.py` here defines ``EXECUTOR``, which makes one for a number of workers, and perhaps settings by name; then
`EXECUTORS` has it, and ``klearning sweep --executor name``. One of your own, from anywhere, is handed to `sweep`, or
added to `EXECUTORS`.
"""

from collections.abc import Callable, Generator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from klearning.lab.experiments.jobs import Job, Outcome, do


class Executor(Protocol):
    """Carries jobs to where they are done, and outcomes back."""

    def run(self, jobs: Sequence[Job], progress: Callable[[int], None]) -> Generator[Outcome, None, None]:
        """``do(job)`` for every job, somewhere, some time; yield each outcome when it is there.

        ``progress`` may be told of what `do` tells its own. When the generator is closed, or an interrupt arrives,
        what waits is dropped, and what is under way is asked to stop.
        """


EXECUTORS: dict[str, Callable[..., Executor]] = {
    module.name: import_module(f"{__name__}.{module.name}").EXECUTOR for module in iter_modules(__path__)
}

__all__ = ["EXECUTORS", "Executor", "Job", "Outcome", "do"]
