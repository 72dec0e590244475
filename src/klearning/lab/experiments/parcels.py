"""What a store has of a job, as bytes: so that work can begin in one store and end in another, on another machine."""

from typing import NamedTuple

from klearning.lab.experiments.jobs import Job
from klearning.lab.experiments.store import MOST_BYTES, Store, StoreError
from klearning.numerics.files import read_bytes, write_whole


class Parcel(NamedTuple):
    """The files of a finished run, or the checkpoint of work under way; a finished part of a batch is a checkpoint."""

    name: str
    files: dict[str, bytes]
    checkpoint: bytes = b""


def pack(job: Job, name: str) -> Parcel:
    """What the job's store has of it now. ``name`` is the job's, which takes longer to find than to keep."""
    store = Store(job.store)
    try:
        checkpoint = read_bytes(store.checkpoint(name), MOST_BYTES)
    except FileNotFoundError:
        checkpoint = b""
    return Parcel(name, store.files(name), checkpoint)


def unpack(parcel: Parcel, store: Store) -> None:
    """Put it into a store, file for file as it was; a result takes the place of its checkpoint."""
    if parcel.files:
        store.put_files(parcel.name, parcel.files)
    elif parcel.checkpoint:
        try:
            write_whole(store.checkpoint(parcel.name), parcel.checkpoint, links=False)
        except OSError as error:
            raise StoreError(f"cannot write to the store {store.path}: {error.strerror or error}") from None
