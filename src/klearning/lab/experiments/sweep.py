"""Many runs: what the store has is skipped, the rest goes as jobs to an executor; failures do not spread."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import NamedTuple

from klearning.lab.experiments.batch import Batch, has, missing_batches, put_parts
from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS
from klearning.lab.experiments.executors import Executor
from klearning.lab.experiments.executors.threads import LocalExecutor
from klearning.lab.experiments.jobs import Job, Outcome
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store, StoreError

__all__ = ["BatchFailed", "LocalExecutor", "Outcome", "Tally", "run_batches", "sweep"]


class Tally(NamedTuple):
    """How a sweep went."""

    done: int
    skipped: int
    failed: list[Outcome]


class BatchFailed(RuntimeError):
    """A run of a batch failed; without it there is no batch."""


def sweep(
    specs: Iterable[Spec],
    store: Store,
    *,
    executor: Executor | None = None,
    timeout: float = float("inf"),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: Callable[[int], None] = lambda episodes: None,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> Tally:
    """Run every spec that the store has not, or has broken. ``progress`` is told of episodes, ``finished`` of runs.

    One run's failure, or its taking longer than ``timeout`` seconds, is reported and leaves the others alone. What is
    under way when the process ends goes on from its last checkpoint in the next sweep, whose progress is told of what
    the checkpoint has.
    """
    distinct = {spec.name: spec for spec in specs}
    limit = None if timeout == float("inf") else timeout
    path = str(store.path.absolute())
    jobs = [Job("run", spec.canonical, path, limit, checkpoint_seconds) for spec in store.missing(distinct.values())]
    done, failed = 0, []
    with closing(_outcomes(jobs, executor, progress)) as outcomes:
        for outcome in outcomes:
            finished(outcome)
            if outcome.error:
                failed.append(outcome)
            else:
                done += 1
    return Tally(done, len(distinct) - len(jobs), failed)


def run_batches(
    batches: Iterable[Batch],
    store: Store,
    *,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int], None] = lambda runs: None,
) -> int:
    """Run every batch that the store has not, or has broken; returns how many. ``progress`` is told of single runs."""
    missing, done = missing_batches(batches, store), 0
    batch_of = {part.canonical: batch for batch in missing for part in batch.parts()}
    left = Counter(batch.name for batch in batch_of.values())
    jobs = [Job("part", work, str(store.path.absolute())) for work in batch_of]
    with closing(_outcomes(jobs, executor or LocalExecutor(threads), progress)) as outcomes:
        for outcome in outcomes:
            batch = batch_of[outcome.job.work]
            if outcome.error:
                raise BatchFailed(f"batch {batch.name[:12]} of {batch.spec.agent['name']}: {outcome.error}")
            left[batch.name] -= 1
            if left[batch.name]:
                continue
            if not put_parts(store, batch) and not has(store, batch):
                raise StoreError(f"parts of batch {batch.name[:12]} are gone from {store.path}: run it again")
            done += 1
    return done


def _outcomes(
    jobs: list[Job], executor: Executor | None, progress: Callable[[int], None]
) -> Generator[Outcome, None, None]:
    """Of all jobs that were not stopped. That the store cannot be written ends them all: it is no fault of one."""
    if jobs:
        with closing((executor or LocalExecutor()).run(jobs, progress)) as outcomes:
            for outcome in outcomes:
                if outcome.end == "no store":
                    raise StoreError(outcome.error)
                if outcome.end != "stopped":
                    yield outcome
