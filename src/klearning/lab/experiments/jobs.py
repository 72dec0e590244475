"""Work as plain data: a job says what is to be done, into which store and within which limits; `do` does it.

A job is text and numbers, and so is its outcome. Whoever can carry them and call `do` can take work: another thread,
another process, another machine that sees the store.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from klearning.lab.experiments.batch import has, part_from_json, play_part
from klearning.lab.experiments.checkpoints import CHECKPOINT_SECONDS, Stopped
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import Spec, spec_from_json
from klearning.lab.experiments.store import Store, StoreError


class Job(NamedTuple):
    """``Job(**json.loads(json.dumps(job._asdict())))`` is the same job."""

    kind: str  # of WORK: "run" of a spec, or "part" of a batch
    work: str  # canonical JSON of the spec or the part
    store: str  # path
    timeout: float | None = None  # seconds; None: as long as it takes
    checkpoint_seconds: float = CHECKPOINT_SECONDS

    @property
    def name(self) -> str:
        """Of the work: under it the store keeps its checkpoint, and its result."""
        return (spec_from_json if self.kind == "run" else part_from_json)(self.work).name


class Outcome(NamedTuple):
    """How a job ended."""

    job: Job
    end: str  # "done", "failed", "stopped" (when asked to) or "no store" (it cannot be written: no fault of the job)
    error: str = ""  # empty where there is none

    @property
    def spec(self) -> Spec:
        """Of the run that it was."""
        return spec_from_json(self.job.work)


def do(
    job: Job,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda count: None,
) -> Outcome:
    """Do a job; what goes wrong is said in the outcome.

    ``progress`` is told of episodes, or runs of a batch: of all of them in the end, those that were there among them.
    """
    try:
        WORK[job.kind](
            job.work,
            Store(job.store),
            timeout=float("inf") if job.timeout is None else job.timeout,
            checkpoint_seconds=job.checkpoint_seconds,
            should_stop=should_stop,
            progress=progress,
        )
    except Stopped:
        return Outcome(job, "stopped")
    except StoreError as error:
        return Outcome(job, "no store", str(error))
    except Exception as error:
        return Outcome(job, "failed", f"{type(error).__name__}: {error}")
    return Outcome(job, "done")


def _run(work: str, store: Store, *, progress: Callable[[int], None], **limits: Any) -> None:
    spec = spec_from_json(work)
    if spec in store:  # another process may have finished it meanwhile
        progress(store.get(spec).ran)
    else:
        execute(spec, store, progress=progress, **limits)


def _part(work: str, store: Store, *, progress: Callable[[int], None], **limits: Any) -> None:
    part = part_from_json(work)
    if has(store, part.batch):
        progress(len(part.seeds))
    else:
        play_part(part, store, progress=progress, **limits)


WORK: dict[str, Callable[..., None]] = {"run": _run, "part": _part}
