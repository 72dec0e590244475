"""How the kernels are compiled: one decorator, one cache folder.

A compiled function is cached on disk together with everything it calls, but Numba looks only at
the function's own file to decide whether the cached copy is still good. The folder is therefore
named after all sources that hold kernels: edit any of them and everything is compiled afresh.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile

from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.types import Floats, Ints

index = np.uint64  # an unsigned index needs no check for negative ones, which would keep loops from vectorising


Function = TypeVar("Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source or b"def kernel" in source:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(source)
    return digest.hexdigest()[:16]


def _cache_folder() -> Path:
    asked = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(asked or Path.home() / ".cache") / "klearning" / _sources_digest()


CACHE = _cache_folder()


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(*, inline: bool = False, reorder: bool = False) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, *, inline: bool = False, reorder: bool = False) -> Any:
    """Compile a function: no GIL, cached on disk, IEEE semantics except that a*b+c may be fused.

    ``inline`` copies it into its callers (a record of arrays is passed as some hundred words otherwise);
    ``reorder`` lets sums be taken in any order, the same one every time.
    """
    if function is None:
        return lambda f: _compile(f, inline, reorder)
    return _compile(function, inline, reorder)


def _compile(function: Function, inline: bool, reorder: bool) -> Function:
    fused = {"contract", "nsz"}
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        compiled: Function = numba.njit(
            function,
            nogil=True,
            cache=True,
            error_model="numpy",
            fastmath=fused | {"reassoc"} if reorder else fused,
            forceinline=inline,
        )
    finally:
        numba.config.CACHE_DIR = before
    if kept := getattr(getattr(compiled, "_cache", None), "_cache_file", None):
        kept.__class__ = CacheFile
    return compiled if _is_plain(function) else cast(Function, Kernel(compiled))


class CacheFile(IndexDataCacheFile):  # type: ignore[misc]  # Numba is not typed
    """What is cached of a kernel, apart for records of other people's modules.

    Numba's index names the types of all arguments it was ever called with, and cannot be read where one of them is
    missing; nor does it see that the module of one has changed.
    """

    def save(self, key: Any, data: Any) -> None:
        if file := self._for(key):
            super(CacheFile, file).save(key, data)

    def load(self, key: Any) -> Any:
        file = self._for(key)
        return file and super(CacheFile, file).load(key)

    def _for(self, key: Any) -> "CacheFile | None":
        """The file for a signature; none where a record is of a module without source, such as a prompt."""
        digests = [_source_digest(module) for module in sorted(_foreign_modules(key[0]))]
        if not all(digests):
            return None
        if not digests:
            return self
        digest = hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
        return CacheFile(self._cache_path, f"{Path(self._index_name).stem}-{digest}", self._source_stamp)

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):  # what was `__main__` then is another script now
            return {}


def _foreign_modules(types: Iterable[Any]) -> set[str]:
    """The modules of all records among these types of Numba's, except ours."""
    modules: set[str] = set()
    for kind in types:
        if isinstance(kind, numba.types.BaseTuple):
            modules |= _foreign_modules(kind)
        if isinstance(kind, numba.types.BaseNamedTuple):
            modules.add(kind.instance_class.__module__)
    return {module for module in modules if module.partition(".")[0] != "klearning"}


@cache
def _source_digest(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file or not Path(file).is_file():
        return ""
    return hashlib.sha256(module.encode() + Path(file).read_bytes()).hexdigest()


def _is_plain(function: Callable[..., Any]) -> bool:
    """Whether a kernel takes and returns numbers and arrays of them alone, which Numba converts without Python's help.

    Returned arrays are made with some, so they do not count.
    """
    annotations = dict(function.__annotations__)
    returned = annotations.pop("return", Any)
    return returned in (None, bool, int, float) and set(annotations.values()) <= {bool, int, float, Floats, Ints}


class Kernel:
    """A kernel that takes or returns records: no signal arrives while it runs. Other kernels see what it wraps."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        update_wrapper(self, dispatcher.py_func)

    def __call__(self, *arguments: Any) -> Any:
        with uninterrupted:
            return self.dispatcher(*arguments)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_


@cache
def announce_compilation() -> None:
    """Say, once, that the first run on this machine compiles; drop caches of sources long gone."""
    if any(CACHE.rglob("*.nbi")):
        return
    print(
        "klearning: compiling its kernels, once on this machine (under a minute; Ctrl-C waits for it) ...",
        file=sys.stderr,
    )
    with contextlib.suppress(OSError):
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.parent.iterdir():
            if old != CACHE and time.time() - old.stat().st_mtime > 7 * 86400:
                shutil.rmtree(old, ignore_errors=True)
