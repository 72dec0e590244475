"""The files of a job in a store, as bytes, so that work can begin in one store and end in another elsewhere."""

from typing import NamedTuple

from klearning.lab.experiments.jobs import Job
from klearning.lab.experiments.store import MOST_BYTES, Store, StoreError
from klearning.numerics.files import read_bytes, write_whole


class JobFiles(NamedTuple):
    """The files of a finished job, or the checkpoint of one under way."""

    name: str
    files: dict[str, bytes]
    checkpoint: bytes = b""


def pack(job: Job, name: str) -> JobFiles:
    """The job's files in its store now. ``name`` is the job's, passed because computing it takes long."""
    store = Store(job.store)
    try:
        checkpoint = read_bytes(store.checkpoint(name), MOST_BYTES)
    except FileNotFoundError:
        checkpoint = b""
    return JobFiles(name, store.files(name), checkpoint)


def unpack(sent: JobFiles, store: Store) -> None:
    """Put it into a store, file for file as it was; a result takes the place of its checkpoint."""
    if sent.files:
        store.put_files(sent.name, sent.files)
    elif sent.checkpoint:
        try:
            write_whole(store.checkpoint(sent.name), sent.checkpoint, links=False)
        except OSError as error:
            raise StoreError(f"cannot write to the store {store.path}: {error.strerror or error}") from None
