"""Many runs: what the store has is skipped, the rest is handed to an executor; failures do not spread.

An executor calls ``job(spec)`` for every spec, somewhere, some time, and yields outcomes as they come; a job looks
now and then whether it is `stopping`. The local one uses threads, for the kernels hold no lock; a cluster's would call
``execute(spec, Store(path))`` on its machines and needs to know nothing else.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple, Protocol

from klearning.arrays.compiled import announce_compilation
from klearning.experiments.runner import Stopped, execute
from klearning.experiments.spec import Spec
from klearning.experiments.store import Store, StoreError


class Outcome(NamedTuple):
    """A run that ended: well where ``error`` is empty."""

    spec: Spec
    error: str


class Executor(Protocol):
    """Where runs are run."""

    def run(self, job: Callable[[Spec], None], specs: Sequence[Spec]) -> Iterator[Outcome]:
        """Do the job for every spec; yield each outcome when it is there."""

    def stopping(self) -> bool:
        """Whether jobs should write their checkpoints and end."""


class LocalExecutor:
    """Threads of this process."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._stop = threading.Event()

    def stopping(self) -> bool:
        return self._stop.is_set()

    def run(self, job: Callable[[Spec], None], specs: Sequence[Spec]) -> Iterator[Outcome]:
        with ThreadPoolExecutor(self.workers) as pool:
            futures = {pool.submit(job, spec): spec for spec in specs}
            try:
                for future in as_completed(futures):
                    error = future.exception()
                    if isinstance(error, StoreError):
                        raise error  # a full disk is no fault of one run
                    if not isinstance(error, Stopped):
                        yield Outcome(futures[future], f"{type(error).__name__}: {error}" if error else "")
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise


class Result(NamedTuple):
    """How a sweep went."""

    done: int
    skipped: int
    failed: list[Outcome]


def sweep(
    specs: Iterable[Spec],
    store: Store,
    *,
    executor: Executor | None = None,
    timeout: float = float("inf"),
    checkpoint_seconds: float = 10.0,
    progress: Callable[[int], None] = lambda episodes: None,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> Result:
    """Run every spec that the store does not have. ``progress`` is told of episodes, ``finished`` of runs.

    One run's failure, or its taking longer than ``timeout`` seconds, is reported and leaves the others alone. What is
    under way when the process ends goes on from its last checkpoint in the next sweep.
    """
    wanted = list({spec.name: spec for spec in specs}.values())
    missing = [spec for spec in wanted if spec not in store]
    where = executor or LocalExecutor()
    if missing:
        announce_compilation()

    def job(spec: Spec) -> None:
        if spec not in store:  # another process may have finished it meanwhile
            execute(
                spec,
                store,
                checkpoint_seconds=checkpoint_seconds,
                timeout=timeout,
                should_stop=where.stopping,
                progress=progress,
            )

    done, failed = 0, []
    for outcome in where.run(job, missing):
        finished(outcome)
        if outcome.error:
            failed.append(outcome)
        else:
            done += 1
    return Result(done, len(wanted) - len(missing), failed)
