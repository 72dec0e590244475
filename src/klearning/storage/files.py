"""Files that are whole or not there: written under another name, flushed, renamed. Arrays are never pickled."""

import glob
import hashlib
import io
import os
import platform
import re
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PATIENCE = 3600.0  # seconds after which a write of another machine is taken for abandoned
UNFINISHED = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})\.(?P<process>\d+)\.[0-9a-f]{8}")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time written into archives, so that equal arrays give equal bytes


def arrays_to_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """An npz archive that depends on the arrays alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(arrays[name], order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", EPOCH), member.getvalue(), zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def arrays_from_bytes(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an npz archive; ValueError where it is none. Loading executes nothing: objects are refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, AttributeError, NotImplementedError) as error:
        raise ValueError(f"not an archive of arrays: {error}") from None


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file, or leave it as it was."""
    unfinished = unfinished_path(path)
    for sibling in path.parent.glob(f".{glob.escape(path.name)}.*"):  # of writers that were killed
        if is_abandoned(sibling):
            sibling.unlink(missing_ok=True)
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_folder(path.parent)


def unfinished_path(path: Path) -> Path:
    """The name under which something is written until it is whole: it tells who writes."""
    return path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.{os.urandom(4).hex()}")


def is_abandoned(path: Path) -> bool:
    """Whether this is an unfinished write that nobody will finish.

    Its process was on this machine and is gone; or it was on another, or is not told, and an hour has passed.
    """
    match = UNFINISHED.fullmatch(path.name)
    if not path.name.startswith("."):
        return False
    if match is not None and match["machine"] == _machine():
        return not _is_alive(int(match["process"]))
    try:
        return time.time() - path.stat().st_mtime > PATIENCE
    except OSError:
        return False


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def flush_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
