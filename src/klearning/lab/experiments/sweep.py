"""Many runs: what the store has is skipped, the rest goes as jobs to an executor; failures do not spread."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import NamedTuple

from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS
from klearning.lab.experiments.executors import Executor
from klearning.lab.experiments.executors.threads import LocalExecutor
from klearning.lab.experiments.jobs import Job, Outcome
from klearning.lab.experiments.spec import Spec
from klearning.lab.experiments.store import Store, StoreError

__all__ = ["LocalExecutor", "Outcome", "Tally", "sweep"]


class Tally(NamedTuple):
    """How a sweep went, in runs; a part of a spec that failed is one outcome."""

    done: int
    skipped: int
    failed: list[Outcome]


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
    """Run every part of a spec that the store has not, or has broken. ``progress`` is told of episodes.

    One failure, or taking longer than ``timeout`` seconds, is reported and leaves the others alone. What is
    under way when the process ends resumes from its last checkpoint in the next sweep, whose progress is told of what
    the checkpoint has. ``finished`` is told of every part.
    """
    wanted = {part.name: part for spec in specs for part in spec.parts}
    limit, path = None if timeout == float("inf") else timeout, str(store.path.absolute())
    missing = {part.canonical: part for part in store.missing(wanted.values())}
    jobs = [Job(work, path, limit, checkpoint_seconds) for work in missing]
    done, failed = 0, []
    with closing(_outcomes(jobs, executor, progress)) as outcomes:
        for outcome in outcomes:
            finished(outcome)
            if outcome.error:
                failed.append(outcome)
            else:
                done += missing[outcome.job.work].seeds
    runs = sum(part.seeds for part in wanted.values())
    return Tally(done, runs - sum(part.seeds for part in missing.values()), failed)


def _outcomes(
    jobs: list[Job], executor: Executor | None, progress: Callable[[int], None]
) -> Generator[Outcome, None, None]:
    """Of all jobs that were not stopped. That the store cannot be written ends them all: it is not the fault of one."""
    if jobs:
        with closing((executor or LocalExecutor()).run(jobs, progress)) as outcomes:
            for outcome in outcomes:
                if outcome.end == "no store":
                    raise StoreError(outcome.error)
                if outcome.end != "stopped":
                    yield outcome
