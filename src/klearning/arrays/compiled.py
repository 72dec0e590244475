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
from collections.abc import Callable, Mapping
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
import numba.extending
import numpy as np

from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.types import Floats, Ints

index = np.uint64  # an unsigned index needs no check for negative ones, which would keep loops from vectorising


Function = TypeVar("Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        source = path.read_bytes()
        if any(mark in source for mark in (b"@kernel", b"def kernel", b"by_record(")):
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
    return compiled if _is_plain(function) else cast(Function, Kernel(compiled))


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


def by_record(kernels: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """One name for several kernels: the class of the record that is the last argument says which is called.

    In a kernel the choice is made when it is compiled, and costs nothing.
    """

    def chosen(*arguments: Any) -> Any:
        return kernels[type(arguments[-1])](*arguments)

    @numba.extending.overload(chosen)  # type: ignore[untyped-decorator]
    def choose(*arguments: Any) -> Any:
        one = kernels[arguments[-1].instance_class]

        def call(*arguments: Any) -> Any:
            return one(*arguments)

        return call

    return chosen


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
