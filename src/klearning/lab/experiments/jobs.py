"""Work as plain data: a job says what is to be done, into which store and within which limits; `do` does it.

A job is text and numbers, and so is its outcome. Anything that can carry them and call `do` can work: another thread,
another process, another machine that sees the store.
"""

from collections.abc import Callable
from typing import NamedTuple

from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS, Stopped
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import Spec, spec_from_json
from klearning.lab.experiments.store import Store, StoreError


class Job(NamedTuple):
    """``Job(**json.loads(json.dumps(job._asdict())))`` is the same job."""

    work: str  # canonical JSON of one part of a spec
    store: str  # path
    timeout: float | None = None  # seconds; None: as long as it takes
    checkpoint_seconds: float = CHECKPOINT_SECONDS

    @property
    def spec(self) -> Spec:
        return spec_from_json(self.work)

    @property
    def name(self) -> str:
        """Of the work: under it the store keeps its checkpoint, and its result."""
        return self.spec.name


class Outcome(NamedTuple):
    """How a job ended."""

    job: Job
    end: str  # "done", "failed", "stopped" (when asked to) or "no store" (it cannot be written: no fault of the job)
    error: str = ""  # empty if there is none

    @property
    def spec(self) -> Spec:
        """Of the work that it was."""
        return self.job.spec


def do(
    job: Job,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda episodes: None,
) -> Outcome:
    """Do a job; what goes wrong is said in the outcome.

    ``progress`` is told of episodes: of all of them in the end, those that were there among them.
    """
    try:
        spec, store = job.spec, Store(job.store)
        if spec in store:  # another process may have finished it meanwhile
            progress(int(store.get(spec).ran.sum()))
            return Outcome(job, "done")
        execute(
            spec, store,
            timeout=float("inf") if job.timeout is None else job.timeout, checkpoint_seconds=job.checkpoint_seconds,
            should_stop=should_stop, progress=progress,
        )  # fmt: skip
    except Stopped:
        return Outcome(job, "stopped")
    except StoreError as error:
        return Outcome(job, "no store", str(error))
    except Exception as error:
        return Outcome(job, "failed", f"{type(error).__name__}: {error}")
    return Outcome(job, "done")
