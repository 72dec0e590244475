"""The on-disk cache of compiled kernels, so that only the first run on a machine compiles.

There is one file per kernel and signature. Its name ends with a digest of everything that the code depends on: the
sources of the kernel's module and of its imports, direct or not; the types of the arguments, records with the names of
their fields; the versions of Python, NumPy and Numba; the type of processor. So a file is never out of date, and an
edit recompiles only kernels that it may have changed.

Without a writable folder every run compiles. A damaged file is recompiled. Files unused for a month are removed.

A file holds machine code and Numba's pickled description of it, so loading one means trusting it. The folder must
therefore belong to the user, and nobody else may write to it.
"""

import contextlib
import hashlib
import os
import re
import stat
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba import cloudpickle
from numba.core import serialize
from numba.core.registry import cpu_target

from klearning.numerics.compile.references import Reference, value_of

COMPILER = tuple(
    f"klearning.numerics.{name}" for name in ("compile.cache", "compile.linking", "compile.references", "simd.lowering")
)
ENDING = ".kernel"
DAY = 86400.0
LONGEST_UNUSED = 30 * DAY
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[2]
IMPORT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.M
)
DIGEST = hashlib.sha256().digest_size


@cache
def folder() -> Path | None:
    """The cache folder, created and tested; None if it is not writable."""
    try:
        given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
        path = Path(given or Path.home() / ".cache").absolute() / PACKAGE / "kernels"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(path):
            return None
        trial = path / f".{os.getpid()}.{os.urandom(4).hex()}"
        trial.touch()
        trial.unlink()
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    return path


def is_private(path: Path) -> bool:
    """Whether only the user can write to a folder; true on systems without owners."""
    if not hasattr(os, "getuid"):
        return True
    found = path.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others


def key_of(function: Callable[..., Any], arguments: tuple[Any, ...], role: str = "") -> str | None:
    """The cache key of a kernel for these argument types; None if its source cannot be read."""
    module, name = function.__module__, function.__qualname__
    modules = {module, *records_among(arguments)}
    sources = {one: source_digest(one) for one in sorted(modules)}
    if "<locals>" in name or not all(sources.values()):
        return None
    facts = (role, module, name, function.__code__.co_firstlineno, sources, [*map(described, arguments)], machine())
    return f"{module}.{name}.{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


@cache
def machine() -> tuple[Any, ...]:
    """Everything besides sources and types that compiled code depends on."""
    settings = (
        "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML", "ENABLE_AVX", "LOOP_VECTORIZE", "OPT",
        "SLP_VECTORIZE",
    )  # fmt: skip
    return (
        [source_digest(name) for name in COMPILER],
        sys.implementation.cache_tag, numba.__version__, np.__version__,
        cpu_target.target_context.codegen().magic_tuple(),
        [(name, getattr(numba.config, name, None)) for name in settings],
    )  # fmt: skip


def described(kind: Any) -> str:
    """A Numba type as text; records with their field names, which Numba leaves out."""
    if isinstance(kind, Reference):
        return "&" + described(kind.record)
    if isinstance(kind, numba.types.BaseNamedTuple):
        record = kind.instance_class
        fields = ", ".join(f"{name}: {described(part)}" for name, part in zip(kind.fields, kind, strict=True))
        return f"{record.__module__}.{record.__qualname__}({fields})"
    if isinstance(kind, numba.types.BaseTuple):
        return f"({', '.join(map(described, kind))})"
    return str(kind)


def records_among(kinds: Iterable[Any]) -> set[str]:
    """The modules of all records among these types."""
    modules: set[str] = set()
    for kind in kinds:
        kind = value_of(kind)
        if isinstance(kind, numba.types.BaseTuple):
            modules |= records_among(kind)
        if isinstance(kind, numba.types.BaseNamedTuple):
            modules.add(kind.instance_class.__module__)
    return modules


@cache
def source_digest(module: str) -> str | None:
    """The digest of the sources of a module and its imports, direct or not; None if it has no source."""
    if source_of(module) is None:
        return None
    found, new = {module}, [module]
    while new:
        for other in imports_of(new.pop()):
            if other not in found:
                found.add(other)
                new.append(other)
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + (source_of(name) or b"") + b"\0")
    return digest.hexdigest()


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """The modules that a module imports at its top level: those of this package, and others that are not installed.

    Imports inside functions of this package are left out: kernels cannot see them.
    """
    ours = module.partition(".")[0] == PACKAGE
    package = module if is_package(module) else module.rpartition(".")[0]
    names: list[str] = []
    for indent, base, parts, plain in IMPORT.findall(source_of(module) or b""):
        if ours and indent:
            continue
        if plain:
            names += [part.split()[0] for part in plain.decode().split(",") if part.strip()]
            continue
        with contextlib.suppress(ImportError):
            base = resolve_name(base.decode(), package or None)
            named = [part.split()[0] for part in parts.decode().strip("() \n").split(",") if part.strip()]
            names += [inner if source_of(inner := f"{base}.{part}") is not None else base for part in named]
    return tuple(dict.fromkeys(name for name in names if source_of(name) is not None))


def is_package(module: str) -> bool:
    path = path_of(module)
    return path is not None and path.name == "__init__.py"


@cache
def source_of(module: str) -> bytes | None:
    """The source of a module of this package, or of a loaded module that is not installed (which has no version)."""
    path = path_of(module)
    with contextlib.suppress(OSError):
        return path.read_bytes() if path is not None else None
    return None


def path_of(module: str) -> Path | None:
    if module.partition(".")[0] == PACKAGE:
        path = ROOT.joinpath(*module.split(".")[1:])
        return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)
    file = getattr(sys.modules.get(module), "__file__", None)
    path = Path(file or "")
    return path if path.suffix == ".py" and not any(place in path.parents for place in installed()) else None


@cache
def installed() -> tuple[Path, ...]:
    """The folders of installed packages and of the standard library."""
    return tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Size(NamedTuple):
    """Of the cache on disk."""

    files: int
    bytes: int


def size() -> Size:
    place = folder()
    sizes = [path.stat().st_size for path in place.glob(f"*{ENDING}")] if place is not None else []
    return Size(len(sizes), sum(sizes))


def serialise(value: Any) -> bytes:
    """In Numba's own cache format."""
    return cast(bytes, serialize.dumps(value))


def deserialise(content: bytes) -> Any:
    return cloudpickle.loads(content)


def read(key: str) -> Any:
    """The value stored under a key; None if it is missing or damaged."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{ENDING}"
    try:
        content = path.read_bytes()
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)  # marks it as used
    except OSError:
        return None
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None
    return deserialise(content[DIGEST:])


def write(key: str, value: Any) -> None:
    """Store a value under a key, if there is a folder and the disk is not full."""
    place = folder()
    if place is None:
        return
    content = serialise(value)
    unfinished = place / f".{key[-32:]}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        unfinished.write_bytes(hashlib.sha256(content).digest() + content)
        unfinished.replace(place / f"{key}{ENDING}")
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    remove_unused()


@cache
def remove_unused() -> None:
    """Remove files unused for a month; at most once per process."""
    place = folder()
    with contextlib.suppress(OSError):
        for path in place.iterdir() if place is not None else ():
            if time.time() - path.stat().st_mtime > LONGEST_UNUSED:
                path.unlink()
