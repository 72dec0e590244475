"""A learner's file: an archive of arrays (npz) with one member of JSON. Loading it executes nothing.

The JSON says what the file is, which version wrote it, all settings and the state of every random stream; the arrays
are the agent's memory and the episode under way. The JSON holds the SHA-256 of all the rest. A file in another version
of the format is an error that says so.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from klearning.numerics.files import EPOCH, arrays_to_bytes, json_from, opened, unpack, unpacked_bytes, write_file
from klearning.numerics.types import Arrays
from klearning.version import __version__

FORMAT = "klearning learner"
VERSION = 1
HEADER = "learner.json"

# what building from settings that nobody wrote may raise, in our code or in Gymnasium's
NOT_OURS = (IndexError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError)

Check = Callable[[dict[str, Any], Arrays], object]


def write_archive(path: Path, settings: Mapping[str, Any], arrays: Arrays, check: Check) -> None:
    """Write a learner to ``path``, or leave what is there as it was.

    Before anything is written the file is read back, and given to ``check``, which raises ValueError if no learner can
    be built of it: what is saved can be loaded.
    """
    plain = json.loads(json.dumps(settings, default=lambda number: number.item()))  # people write settings in NumPy too
    header = {"format": FORMAT, "version": VERSION, "klearning": __version__, **plain}
    header["checksum"] = _checksum(header, arrays)
    buffer = io.BytesIO(arrays_to_bytes(arrays))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), json.dumps(header, indent=1))
    try:
        check(*_read(buffer))
    except (KeyError, *NOT_OURS) as error:
        raise ValueError(f"cannot save to {path}, because it could not be loaded again: {error}") from None
    write_file(path, buffer.getvalue())


def read_archive(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Settings and arrays of a file that is whole, and not of a later version."""
    try:
        with opened(path, unpacked_bytes(), links=True) as file:
            return _read(file)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None


def _read(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """The same of an open file; the ValueError has yet to name it. Only plain arrays are read: nothing is executed."""
    try:
        text, arrays = unpack(file, HEADER)
        header = json_from(text or b"null")
    except ValueError as error:
        raise ValueError(f"is not an archive of a learner, or not a whole one ({error}): use another copy") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("holds no learner: save one with learner.save(path)")
    if header.get("version") != VERSION:
        raise ValueError(
            f"was written by klearning {header.get('klearning')} in version {header.get('version')} of the "
            f"format; this is {__version__}, which reads version {VERSION}: use the klearning that wrote it"
        )
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise ValueError("is damaged, its checksum is wrong: use another copy")
    return header, arrays


def _checksum(header: Mapping[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
