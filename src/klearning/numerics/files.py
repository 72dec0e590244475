"""Files that are whole or not there, and only files: written beside their place, flushed, renamed; never pickled.

Everything that the package writes goes through `write_whole`, and everything that it reads from a store or a saved
learner through `opened`. Neither touches a folder, a pipe, a socket or a device.
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

PATIENCE = 3600.0  # seconds after which a write of another machine is taken for abandoned
UNFINISHED = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})\.(?P<process>\d{1,9})\.[0-9a-f]{8}")
MANY_BYTES = 4 * 2**30  # that an archive may unpack to on any machine
FEW_BYTES = 64 * 2**20  # that an archive may unpack to, however well it is packed
MOST_RATIO = 250  # beyond: zeros, packed as `arrays_to_bytes` does, are 229 : 1
MOST_TEXT = 4 * 2**20  # bytes of a JSON text: Python's objects take up to 32 times as many
MOST_HEADER = 1024  # bytes of the header of an array
MOST_DIRECTORY = 2**20  # bytes of the list of members of an archive, which are at its end
END, END_64 = 22, 76  # bytes at the end of an archive that say where that list is
CHUNK = 2**20  # bytes that are read or hashed at a time
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, AttributeError, NotImplementedError, RuntimeError,
    OverflowError, IndexError,
)  # fmt: skip
ARRAY_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[<>=|]?[biufcSU][1-9]\d{0,3})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(\d{1,18},? ?){0,32})\), *\} *\n"
)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a sign, as JSON writes it
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time written into archives, so that equal arrays give equal bytes
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

    ValueError if it is not an archive, or says that it unpacks to more than ``most`` bytes (default: `unpacked_bytes`),
    or to more than is believable for its size.
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
    """The most that an archive may unpack to on this machine."""
    return max(MANY_BYTES, memory_bytes() // 2)


def _check_directory(file: BinaryIO, size: int) -> None:
    """The list of members is short: `zipfile` reads all of it at once, and needs about a kilobyte per member."""
    file.seek(max(size - END - END_64, 0))
    tail = file.read()
    end, before = tail[-END:], tail[:-END]
    if end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ValueError("not an archive of arrays: its end is missing")
    length = int.from_bytes(end[12:16], "little")
    if before[:4] == b"PK\x06\x06":  # beyond 4 GB the length stands there, and here all bits are set
        length = max(length % (2**32 - 1), int.from_bytes(before[40:48], "little"))
    if length > MOST_DIRECTORY:
        raise ValueError(f"the list of its members has {length:,} bytes, more than {MOST_DIRECTORY:,}")


def _check_size(entries: list[zipfile.ZipInfo], size: int, most: int) -> None:
    """Before anything is unpacked."""
    total = sum(entry.file_size for entry in entries)
    if total > max(FEW_BYTES, MOST_RATIO * size):
        raise ValueError(f"its {size:,} bytes say that they unpack to {total:,}")
    if total > most:
        raise ValueError(f"it unpacks to {total:,} bytes, and at most {most:,} are read here")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it holds two things of one name")


def memory_bytes() -> int:
    """The memory of this machine; 0 if it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


@contextmanager
def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[Any]:
    """One member to be read, to its end and not a byte more than it says that it has."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{entry.filename} is packed in a way that is not ours")
    with archive.open(entry) as file:
        yield file
        if file.read(1):
            raise ValueError(f"{entry.filename} is longer than it says")


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > MOST_TEXT:
        raise ValueError(f"{entry.filename} has {entry.file_size:,} bytes, more than {MOST_TEXT:,}")
    with _member(archive, entry) as file:
        return bytes(file.read(entry.file_size))


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array in NumPy's format. Its header is matched, not evaluated; its size must be that of what follows."""
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
        raise ValueError(f"{name} is of type {text!r}, which NumPy does not know") from None


def json_from(text: str | bytes) -> Any:
    """What a JSON text says; ValueError if it says nothing, or is too long or nested too deeply."""
    if len(text) > MOST_TEXT:
        raise ValueError(f"its JSON has {len(text):,} bytes, more than {MOST_TEXT:,}")
    try:
        data = json.loads(text)
        if SURROGATE.search(text.decode() if isinstance(text, bytes) else text):
            json.dumps(data, ensure_ascii=False).encode()  # ValueError if it has half of a sign
        return data
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


# Reading


def opened(path: Path | str, most: float = math.inf, *, links: bool = False) -> BinaryIO:
    """A regular file of at most ``most`` bytes, open to be read. OSError says what else it is.

    A file that somebody named may be reached by ``links``; those of a store may not.
    """
    return os.fdopen(_open(path, most, links)[0], "rb")


def read_bytes(path: Path | str, most: float = MOST_TEXT) -> bytes:
    """All of a regular file of at most ``most`` bytes, which is not a link; OSError if it is something else."""
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
    check_regular(Path(path).stat() if links else os.lstat(path))  # first: to open a device may do something
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
    """Whether a folder is there itself, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether a regular file is there itself, and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


# Writing


def write_file(path: Path, data: bytes, *, parents: bool = False) -> None:
    """Write a file that somebody named, with the folders above it if ``parents``; an OSError says which and why."""
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def write_whole(path: Path, data: bytes, *, links: bool = True) -> None:
    """Replace a file, or leave it as it was.

    A symbolic link stays, and the file that it leads to is replaced; without ``links`` it is refused. So is all else
    that is not a regular file.
    """
    path, mode = target_of(path, links=links)
    unfinished = unfinished_path(path)
    for sibling in path.parent.glob(f".{glob.escape(path.name)}.*"):  # of writers that were killed
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
    """The file that a write to ``path`` replaces, and its mode if it is there. OSError unless it is a regular file."""
    target = Path(os.path.realpath(path)) if links and path.is_symlink() else path
    try:
        status = path.stat(follow_symlinks=links)
    except FileNotFoundError:
        return target, None
    check_regular(status)
    if target is not path and not os.path.samestat(status, target.stat()):
        raise OSError(errno.EINVAL, "it leads to a file that has no name")
    return target, stat.S_IMODE(status.st_mode)


def check_writable(path: Path) -> None:
    """OSError, before any work is done, if ``path`` is there and `write_file` would refuse it."""
    if is_stdout(path):
        raise OSError(f"cannot write {path}: it is the standard output, give the path of a file")
    try:
        target_of(path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def is_stdout(path: Path) -> bool:
    """Whether a person means the standard output. Only what is written once, in order, can go there."""
    return str(path) in ("-", "/dev/stdout")


def append(path: Path, text: str) -> None:
    """Put a text behind the end of a regular file, which is made if it is not there; or write it to stdout."""
    if is_stdout(path):
        sys.stdout.write(text)
        return
    target, _ = target_of(path)
    with target.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


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
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def checksum_of(file: BinaryIO, first: int = 0) -> str:
    """The checksum of an open file from its byte ``first`` on, with little memory."""
    left = file.seek(0, os.SEEK_END) - first
    file.seek(first)
    digest = hashlib.sha256()
    while part := file.read(min(left, CHUNK)):
        digest.update(part)
        left -= len(part)
    return digest.hexdigest()
