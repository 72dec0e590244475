"""Reading and writing files safely: writes are atomic, reads are bounded, and nothing is pickled.

The package writes through `write_whole`, and reads stores and saved learners through `opened`. Both accept regular
files only: no folders, pipes, sockets or devices.
"""

import errno
import glob
import hashlib
import io
import json
import math
import os
import platform
import re
import stat
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from klearning.numerics.checks import memory_bytes

PATIENCE = 3600.0  # seconds after which another machine's write counts as abandoned
UNFINISHED = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})\.(?P<process>\d{1,9})\.[0-9a-f]{8}")
MANY_BYTES = 4 * 2**30  # an archive may unpack to this size on any machine
FEW_BYTES = 64 * 2**20  # an archive may unpack to this size at any compression ratio
MOST_RATIO = 250  # compression ratio beyond FEW_BYTES: `arrays_to_bytes` packs zeros 229 : 1
MOST_TEXT = 4 * 2**20  # bytes of a JSON text: Python's objects take up to 32 times as many
MOST_HEADER = 1024  # bytes of the header of an array
MOST_DIRECTORY = 2**20  # bytes of the directory of an archive, at its end
END, END_64 = 22, 76  # bytes of the records at the end of an archive that locate its directory
CHUNK = 2**20  # bytes to read or hash at a time
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, AttributeError, NotImplementedError, RuntimeError,
    OverflowError, IndexError,
)  # fmt: skip
ARRAY_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[<>=|]?[biufcSU][1-9]\d{0,3})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(\d{1,18},? ?){0,32})\), *\} *\n"
)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # in JSON
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time in archives, so that equal arrays give equal bytes
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


# Arrays


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
    """The arrays of an npz archive; ValueError if it is not one. Loading executes nothing: objects are refused."""
    return unpack(io.BytesIO(data))[1]


def unpack(file: BinaryIO, text: str = "", most: int | None = None) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """The arrays of an npz archive by name, and the bytes of its member ``text``, which may be missing.

    Raises ValueError if it is not an archive, or claims to unpack to more than ``most`` bytes (default:
    `unpacked_bytes`) or to implausibly many for its size.
    """
    size = file.seek(0, os.SEEK_END)
    _check_directory(file, size)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_size(entries, size, unpacked_bytes() if most is None else most)
            words, arrays = b"", {}
            for entry in entries:
                if entry.filename == text:
                    words = _text(archive, entry)
                else:
                    arrays[entry.filename.removesuffix(".npy")] = _array(archive, entry)
            return words, arrays
    except UNREADABLE as error:
        raise ValueError(f"not an archive of arrays: {error}") from None


def unpacked_bytes() -> int:
    """The maximal unpacked size of an archive on this machine."""
    return max(MANY_BYTES, memory_bytes() // 2)


def _check_directory(file: BinaryIO, size: int) -> None:
    """Bound the directory: `zipfile` reads all of it at once, and needs about a kilobyte per member."""
    file.seek(max(size - END - END_64, 0))
    tail = file.read()
    end, before = tail[-END:], tail[:-END]
    if end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ValueError("not an archive of arrays: its end is missing")
    length = int.from_bytes(end[12:16], "little")
    if before[:4] == b"PK\x06\x06":  # beyond 4 GB the length is there, and all bits are set here
        length = max(length % (2**32 - 1), int.from_bytes(before[40:48], "little"))
    if length > MOST_DIRECTORY:
        raise ValueError(f"its directory has {length:,} bytes, more than {MOST_DIRECTORY:,}")


def _check_size(entries: list[zipfile.ZipInfo], size: int, most: int) -> None:
    """Bound the unpacked size, before anything is unpacked."""
    total = sum(entry.file_size for entry in entries)
    if total > max(FEW_BYTES, MOST_RATIO * size):
        raise ValueError(f"its {size:,} bytes claim to unpack to {total:,}")
    if total > most:
        raise ValueError(f"it unpacks to {total:,} bytes, more than {most:,}")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it has two members of the same name")


@contextmanager
def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[Any]:
    """Open a member; raises ValueError if it is longer than its directory entry says."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{entry.filename} is compressed by an unknown method")
    with archive.open(entry) as file:
        yield file
        if file.read(1):
            raise ValueError(f"{entry.filename} is longer than the directory says")


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > MOST_TEXT:
        raise ValueError(f"{entry.filename} has {entry.file_size:,} bytes, more than {MOST_TEXT:,}")
    with _member(archive, entry) as file:
        return bytes(file.read(entry.file_size))


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array in NumPy's format. Its header is matched, not evaluated, and must fit the size of the data."""
    name = entry.filename
    with _member(archive, entry) as file:
        start = file.read(8)
        wide = 4 if start[6:7] == b"\2" else 2
        length = int.from_bytes(file.read(wide), "little")
        header = ARRAY_HEADER.fullmatch(file.read(min(length, MOST_HEADER)))
        if start[:6] != np.lib.format.MAGIC_PREFIX or header is None:
            raise ValueError(f"{name} is not an array of numbers in NumPy's format")
        shape = tuple(int(n) for n in header["shape"].replace(b",", b" ").split())
        dtype, left = _dtype(name, header["type"].decode()), entry.file_size - 8 - wide - length
        if math.prod(shape) * dtype.itemsize != left:
            raise ValueError(f"{name} is not an array of {dtype} {shape}: it has {left} bytes")
        data = np.empty(left, np.uint8)
        for first in range(0, left, CHUNK):
            part = np.frombuffer(file.read(min(CHUNK, left - first)), np.uint8)
            data[first : first + CHUNK] = part  # ValueError if it is shorter
    flat: NDArray[Any] = data.view(dtype)
    return flat.reshape(shape[::-1]).T if header["fortran"] == b"True" else flat.reshape(shape)


def _dtype(name: str, text: str) -> np.dtype[Any]:
    try:
        return np.dtype(text)
    except TypeError:
        raise ValueError(f"{name} has type {text!r}, which is unknown to NumPy") from None


def json_from(text: str | bytes) -> Any:
    """The value of a JSON text; raises ValueError if it is invalid, too long or nested too deeply."""
    if len(text) > MOST_TEXT:
        raise ValueError(f"its JSON has {len(text):,} bytes, more than {MOST_TEXT:,}")
    try:
        data = json.loads(text)
        if SURROGATE.search(text.decode() if isinstance(text, bytes) else text):
            json.dumps(data, ensure_ascii=False).encode()  # ValueError if it has a lone surrogate
        return data
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


# Reading


def opened(path: Path | str, most: float = math.inf, *, links: bool = False) -> BinaryIO:
    """Open a regular file of at most ``most`` bytes for reading. The OSError names what else it is.

    ``links`` follows symbolic links: for paths given by the user, not for files of a store.
    """
    return os.fdopen(_open(path, most, links)[0], "rb")


def read_bytes(path: Path | str, most: float = MOST_TEXT) -> bytes:
    """The content of a regular file of at most ``most`` bytes, not a link; OSError otherwise."""
    handle, size = _open(path, most, False)
    try:
        parts = [os.read(handle, size + 1)]
        while parts[-1] and sum(map(len, parts)) <= most:
            parts.append(os.read(handle, CHUNK))
    finally:
        os.close(handle)
    return b"".join(parts)


def _open(path: Path | str, most: float, links: bool) -> tuple[int, int]:
    """A handle of a file, and its size."""
    check_regular(Path(path).stat() if links else os.lstat(path))  # before opening: opening a device may have effects
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))
    try:
        status = os.fstat(handle)
        check_regular(status)
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"it has {status.st_size:,} bytes, more than {most:,}")
    except OSError:
        os.close(handle)
        raise
    return handle, status.st_size


def check_regular(status: os.stat_result) -> None:
    """OSError unless this is a regular file."""
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")


def is_folder(path: Path) -> bool:
    """Whether the path is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether the path is a regular file, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


# Writing


def write_file(path: Path, data: bytes, *, parents: bool = False) -> None:
    """Write a file at a path given by the user, with its parent folders if ``parents``."""
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def write_whole(path: Path, data: bytes, *, links: bool = True) -> None:
    """Replace a file atomically.

    Of a symbolic link the target is replaced; without ``links`` it is an error. So is anything but a regular file.
    """
    path, mode = target_of(path, links=links)
    unfinished = unfinished_path(path)
    for sibling in path.parent.glob(f".{glob.escape(path.name)}.*"):  # left by killed writers
        if is_abandoned(sibling):
            with suppress(OSError):
                sibling.unlink()
    try:
        with unfinished.open("xb") as file:
            if mode is not None:
                with suppress(OSError):  # not every file system has modes
                    os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_folder(path.parent)


def target_of(path: Path, *, links: bool = True) -> tuple[Path, int | None]:
    """The file that a write to ``path`` replaces, and its mode if it exists. OSError unless it is a regular file."""
    target = Path(os.path.realpath(path)) if links and path.is_symlink() else path
    try:
        status = path.stat(follow_symlinks=links)
    except FileNotFoundError:
        return target, None
    check_regular(status)
    if target is not path and not os.path.samestat(status, target.stat()):
        raise OSError(errno.EINVAL, "its link target has no name")
    return target, stat.S_IMODE(status.st_mode)


def check_writable(path: Path) -> None:
    """Raise OSError early if `write_file` would refuse an existing ``path``."""
    if is_stdout(path):
        raise OSError(f"cannot write {path}: it is the standard output; give the path of a file")
    try:
        target_of(path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def is_stdout(path: Path) -> bool:
    """Whether a path stands for the standard output."""
    return str(path) in ("-", "/dev/stdout")


def append(path: Path, text: str) -> None:
    """Append a text to a regular file, created if missing, or write it to stdout."""
    if is_stdout(path):
        sys.stdout.write(text)
        return
    target, _ = target_of(path)
    with target.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def unfinished_path(path: Path) -> Path:
    """A temporary name for a write in progress, with the machine and process that write."""
    return path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.{os.urandom(4).hex()}")


def is_abandoned(path: Path) -> bool:
    """Whether this is an unfinished write that will not be finished.

    Either its process ran on this machine and is gone, or it ran elsewhere and an hour has passed.
    """
    match = UNFINISHED.fullmatch(path.name)
    if not path.name.startswith("."):
        return False
    if match is not None and match["machine"] == _machine():
        return not _is_alive(int(match["process"]))
    try:
        return time.time() - path.lstat().st_mtime > PATIENCE
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
    """Flush the directory entries of a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def checksum_of(file: BinaryIO, first: int = 0) -> str:
    """The checksum of an open file from byte ``first`` on, in chunks."""
    left = file.seek(0, os.SEEK_END) - first
    file.seek(first)
    digest = hashlib.sha256()
    while part := file.read(min(left, CHUNK)):
        digest.update(part)
        left -= len(part)
    return digest.hexdigest()
