"""Where compiled kernels are kept, so that only the first run on a machine compiles.

One file per kernel and signature. Its name ends with a digest of everything that the code depends on: the source of the
kernel's module and of every module that it imports, directly or not; the types of the arguments, records with the names
of their fields; the versions of Python, NumPy and Numba; the type of processor. So a file is never out of date, and an
edit compiles again only what it can have changed.

A machine without a folder that can be written compiles every time. A damaged file is compiled again. Files that were
not used for a month are removed.

A file holds machine code, and what Numba writes beside it: to load it is to trust it. So the folder is its owner's
alone, and one that others own or may write is not used.
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

COMPILER = tuple(f"klearning.numerics.{name}" for name in ("cache", "lane_code", "linking", "references"))
ENDING = ".kernel"
DAY = 86400.0
LONGEST_UNUSED = 30 * DAY
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
IMPORT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.M
)
DIGEST = hashlib.sha256().digest_size


@cache
def folder() -> Path | None:
    """The folder of the cache, made and tried out; None if none can be written."""
    try:
        given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
        path = Path(given or Path.home() / ".cache").absolute() / PACKAGE / "kernels"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(path):
            return None
        trial = path / f".{os.getpid()}.{os.urandom(4).hex()}"
        trial.touch()
        trial.unlink()
    except (OSError, RuntimeError):  # the latter: a user without a home
        return None
    return path


def is_private(path: Path) -> bool:
    """Whether nobody else can put a file into a folder; on systems without such owners, yes."""
    if not hasattr(os, "getuid"):
        return True
    found = path.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others


def key_of(function: Callable[..., Any], arguments: tuple[Any, ...], role: str = "") -> str | None:
    """The name of a kernel's code for these types of arguments; None if its source cannot be read."""
    module, name = function.__module__, function.__qualname__
    modules = {module, *records_among(arguments)}
    sources = {one: source_digest(one) for one in sorted(modules)}
    if "<locals>" in name or not all(sources.values()):
        return None
    facts = (role, module, name, function.__code__.co_firstlineno, sources, [*map(described, arguments)], machine())
    return f"{module}.{name}.{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


@cache
def machine() -> tuple[Any, ...]:
    """Everything besides a kernel's source and types that its code depends on."""
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
    """A type of Numba's; records with the names of their fields, which Numba leaves out."""
    if hasattr(kind, "record"):
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
        kind = getattr(kind, "record", kind)
        if isinstance(kind, numba.types.BaseTuple):
            modules |= records_among(kind)
        if isinstance(kind, numba.types.BaseNamedTuple):
            modules.add(kind.instance_class.__module__)
    return modules


@cache
def source_digest(module: str) -> str | None:
    """Of the source of a module and of all that it imports, directly or not; None if it has no source."""
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
    """The modules that a module imports when it is imported: those of this package, and others that are not installed.

    An import inside a function of this package is not one of them: no kernel sees what it brings.
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
    """The source of a module that is of this package, or loaded and not installed: installed ones have versions."""
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
    """The folders of installed packages and of Python itself."""
    return tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Size(NamedTuple):
    """Of the cache."""

    files: int
    bytes: int


def size() -> Size:
    place = folder()
    sizes = [path.stat().st_size for path in place.glob(f"*{ENDING}")] if place is not None else []
    return Size(len(sizes), sum(sizes))


def packed(value: Any) -> bytes:
    """As Numba writes what it caches."""
    return cast(bytes, serialize.dumps(value))


def unpacked(content: bytes) -> Any:
    return cloudpickle.loads(content)


def read(key: str) -> Any:
    """What was kept under a key; None if nothing was, or if it is damaged."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{ENDING}"
    try:
        content = path.read_bytes()
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)  # it is in use
    except OSError:
        return None
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None
    return unpacked(content[DIGEST:])


def keep(key: str, value: Any) -> None:
    """Keep something under a key, if there is a folder and the disk is not full."""
    place = folder()
    if place is None:
        return
    content = packed(value)
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
    """Remove what nobody has used for a month, once in a process."""
    place = folder()
    with contextlib.suppress(OSError):
        for path in place.iterdir() if place is not None else ():
            if time.time() - path.stat().st_mtime > LONGEST_UNUSED:
                path.unlink()
