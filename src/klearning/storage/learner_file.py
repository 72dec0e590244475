"""A learner's file: an archive of arrays (npz) with one member of JSON. Loading it executes nothing.

The JSON says what the file is, which version wrote it, all settings and the state of every random stream; the arrays
are the agent's memory and the episode under way. The JSON holds the SHA-256 of all the rest. A later version of
klearning reads files of every earlier one; a file of a later one is an error that says so.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from klearning.arrays.types import Arrays
from klearning.storage.codec import BESIDE
from klearning.storage.files import EPOCH, array_from_bytes, arrays_to_bytes, json_from, members, write_whole
from klearning.version import __version__

FORMAT = "klearning learner"
VERSION = 2
HEADER = "learner.json"


def write_archive(path: Path, settings: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a learner to ``path``, or leave what is there as it was."""
    plain = json.loads(json.dumps(settings, default=lambda number: number.item()))  # people write settings in NumPy too
    header = {"format": FORMAT, "version": VERSION, "klearning": __version__, **plain}
    header["checksum"] = _checksum(header, arrays)
    buffer = io.BytesIO(arrays_to_bytes(arrays))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EPOCH), json.dumps(header, indent=1))
    try:
        write_whole(path, buffer.getvalue())
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def read_archive(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Settings and arrays of a file that is whole, and not of a later version."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    header, arrays = _parse(path, data)
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} holds no learner: save one with learner.save(path)")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise ValueError(
            f"{path} was written by klearning {header.get('klearning')} in version {header.get('version')} of the "
            f"format; this is {__version__}, which reads up to {VERSION}: upgrade klearning"
        )
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise ValueError(f"{path} is damaged, its checksum is wrong: use another copy")
    try:
        return _upgraded(header), arrays
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not what this version of klearning writes: {error!r}") from None


def _upgraded(header: dict[str, Any]) -> dict[str, Any]:
    """The header in its present form; version 1 had another one for priors."""
    if header["version"] > 1:
        return header
    prior = header["prior"]
    transitions = {"kind": "known", "transitions": BESIDE}
    if prior["mass"] is not None:
        transitions = {"kind": "dirichlet", "mass": prior["mass"], **({"support": BESIDE} if prior["blocks"] else {})}
    reward = {**prior["reward"], "kind": prior["reward"]["kind"].lower()}
    parts = {"reward": reward, "transitions": transitions, "span": prior["span"], "stationary": prior["stationary"]}
    return {**header, "prior": parts}


def _parse(path: Path, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays; only plain arrays are read, so that nothing can be executed."""
    try:
        parts = members(data)
        header = json_from(parts.pop(HEADER, b"null"))
        arrays = {} if header is None else _arrays(parts)
    except ValueError as error:
        raise ValueError(f"{path} is no archive of a learner, or not a whole one ({error}): use another copy") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} holds no learner: save one with learner.save(path)")
    return header, arrays


def _arrays(parts: Mapping[str, bytes]) -> Arrays:
    return {name.removesuffix(".npy"): array_from_bytes(name, part) for name, part in parts.items()}


def _checksum(header: Mapping[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
