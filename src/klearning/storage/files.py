"""Files that are whole or not there: written under another name, flushed, renamed. Arrays are never pickled."""

import glob
import hashlib
import io
import json
import math
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
MANY_BYTES = 4 * 2**30  # that an archive may unpack to on any machine
FEW_BYTES = 64 * 2**20  # that nobody minds, however well they are packed
MOST_RATIO = 250  # beyond: zeros, packed as `arrays_to_bytes` does, are 229 : 1
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, AttributeError, NotImplementedError, RuntimeError)
PLAIN = "biufcSU"  # kinds of dtype
ARRAY_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[<>=|]?[A-Za-z]\d{0,4})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(\d{1,18},? ?){0,32})\), *\} *\n"
)
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
    return {name.removesuffix(".npy"): array_from_bytes(name, raw) for name, raw in members(data).items()}


def members(data: bytes) -> dict[str, bytes]:
    """What an archive holds, by name; ValueError where it is none, or says that it holds more than is believable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_size(entries, len(data))
            return {entry.filename: _read(archive, entry) for entry in entries}
    except UNREADABLE as error:
        raise ValueError(f"not an archive of arrays: {error}") from None


def _check_size(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Before anything is unpacked."""
    total = sum(entry.file_size for entry in entries)
    if total > max(FEW_BYTES, MOST_RATIO * size):
        raise ValueError(f"its {size:,} bytes say that they unpack to {total:,}")
    if total > max(MANY_BYTES, memory_bytes() // 2):  # for a while there are two of each array
        raise ValueError(f"it unpacks to {total:,} bytes, more than half of this machine's memory: use a larger one")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it holds two things of one name")


def memory_bytes() -> int:
    """Of this machine; 0 where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """One member, and not a byte more than it says that it has."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{entry.filename} is packed in a way that is not ours")
    with archive.open(entry) as file:
        data = file.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise ValueError(f"{entry.filename} is not as long as it says")
    return data


def array_from_bytes(name: str, data: bytes) -> NDArray[Any]:
    """One array in NumPy's format. Its header is matched, not evaluated; its size must be that of what follows."""
    wide = 4 if data[6:7] == b"\2" else 2
    first = 8 + wide + int.from_bytes(data[8 : 8 + wide], "little")
    header = ARRAY_HEADER.fullmatch(data[8 + wide : first])
    if data[:6] != np.lib.format.MAGIC_PREFIX or header is None:
        raise ValueError(f"{name} is no array of numbers in NumPy's format")
    dtype, fortran = np.dtype(header["type"].decode()), header["fortran"] == b"True"
    shape = tuple(int(n) for n in header["shape"].replace(b",", b" ").split())
    if dtype.kind not in PLAIN or math.prod(shape) * dtype.itemsize != len(data) - first:
        raise ValueError(f"{name} is no array of {dtype} {shape}: it has {len(data) - first} bytes")
    flat = np.frombuffer(data, dtype, offset=first)
    return flat.reshape(shape[::-1]).T.copy(order="F") if fortran else flat.reshape(shape).copy()


def json_from(text: str | bytes) -> Any:
    """What a JSON text says; ValueError where it is none, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


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
