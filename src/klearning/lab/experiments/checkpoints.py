"""Checkpoints, written now and then, and used by the next process that does the same work.

It is an archive of arrays behind its own checksum. It names the work and the versions that wrote it; what is broken, of
another work or by other versions is dropped, and the work begins again: it takes longer, and ends in the same bytes. Of
other versions, or another type of CPU, a warning tells.
"""

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from klearning.lab.experiments.store import MOST_BYTES, StoreError, differences, packed, versions
from klearning.numerics.files import checksum, checksum_of, json_from, opened, unpack, write_whole
from klearning.numerics.types import Arrays

CHECKSUM_BYTES = 32
CHECKPOINT_SECONDS = 10.0  # between two of them


class Stopped(Exception):
    """Asked to stop; the checkpoint is written."""


class TimedOut(Exception):
    """It took longer than it may; the checkpoint is written, so that it can go on."""


class Watch:
    """Looks, between two pieces of work, whether a checkpoint is due, time is up, or somebody asks to stop."""

    def __init__(
        self, save: Callable[[], None], checkpoint_seconds: float, timeout: float, should_stop: Callable[[], bool]
    ) -> None:
        self.save, self.checkpoint_seconds, self.timeout, self.should_stop = (
            save, checkpoint_seconds, timeout, should_stop,
        )  # fmt: skip
        self.began = self.saved = time.monotonic()

    def look(self, place: str) -> None:
        """Go on, with a checkpoint if one is due; or write one and raise `Stopped` or `TimedOut`."""
        now, stop = time.monotonic(), self.should_stop()
        late = now - self.began > self.timeout
        if late or stop or now - self.saved > self.checkpoint_seconds:
            self.save()
            self.saved = time.monotonic()
        if stop:
            raise Stopped
        if late:
            raise TimedOut(f"not done after {self.timeout:g} s, {place}")


def write_checkpoint(path: Path, name: str, arrays: Arrays) -> None:
    """Keep what was done so far of the work of this name."""
    work = json.dumps({"name": name, "versions": versions()}).encode()
    data = packed(arrays | {"work": np.frombuffer(work, np.uint8)})
    try:
        write_whole(path, bytes.fromhex(checksum(data)) + data, links=False)
    except OSError as error:
        raise StoreError(f"cannot write to the store {path.parents[1]}: {error.strerror or error}") from None


def read_checkpoint(path: Path, name: str) -> Arrays:
    """The checkpoint of this name and these versions; ValueError if there is none."""
    try:
        with opened(path, MOST_BYTES) as file:
            found = bytes.fromhex(checksum_of(file, CHECKSUM_BYTES))
            file.seek(0)
            if file.read(CHECKSUM_BYTES) != found:
                raise ValueError("the checkpoint has another checksum")
            arrays = unpack(file, most=MOST_BYTES)[1]
    except OSError as error:
        raise ValueError(f"no checkpoint: {error}") from None
    work = json_from(arrays.pop("work", np.empty(0)).tobytes())
    if not isinstance(work, dict) or work.get("name") != name or not isinstance(work.get("versions"), dict):
        raise ValueError("the checkpoint is of another work")
    if other := differences(work["versions"], versions()):
        text = f"{name[:12]} starts again: its checkpoint was written with {other}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        raise ValueError("the checkpoint is by other versions")
    return arrays
