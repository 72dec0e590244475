"""Where compiled kernels are kept, so that only the first run on a machine compiles.

A compiled function is cached on disk together with everything it calls, but Numba looks only at the function's own file
to decide whether the cached copy is still good. The folder is therefore named after all sources that hold kernels: edit
any of them and everything is compiled afresh. A machine without a folder that can be written compiles every time, and
what is garbled in the folder is compiled again: a cache can be lost, and nothing else.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]


def sources_digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {numba.config.BOUNDSCHECK}".encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        source = path.read_bytes()
        if any(mark in source for mark in (b"@kernel", b"def kernel", b"by_record(", b"@intrinsic")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(source)
    return digest.hexdigest()[:16]


def usable_folder() -> Path | None:
    """The folder of these sources, made and tried out; None where nothing can be written."""
    try:
        given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
        folder = Path(given or Path.home() / ".cache") / "klearning" / sources_digest()
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".{os.getpid()}.{os.urandom(4).hex()}"
        trial.touch()
        trial.unlink()
    except (OSError, RuntimeError):  # the latter: a user without a home
        return None
    return folder


FOLDER = usable_folder()


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


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's, which takes what it cannot read for absent, and lets one process write at a time.

    Two that write different signatures of one kernel at once would give both the same file.
    """

    def __init__(self, function: Callable[..., Any], within: bool) -> None:
        super().__init__(function)
        index: Any = self._cache_file
        name = Path(index._index_name).stem + within * "-within"
        self._cache_file: Any = CacheFile(self._cache_path, name, index._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a garbled file may raise anything; it is written over when the kernel is compiled
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError), _locked():  # a full disk: it will be compiled again
            super().save_overload(sig, data)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    assert FOLDER is not None  # there is no cache without
    with (FOLDER / ".lock").open("wb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cache_of(function: Callable[..., Any], within: bool) -> KernelCache | None:
    """The cache of one kernel, of what Python calls or of what is called ``within`` kernels; None where none can be."""
    if FOLDER is None:
        return None
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(FOLDER)
    try:
        return KernelCache(function, within)
    except (OSError, RuntimeError):  # no source file to stamp it with
        return None
    finally:
        numba.config.CACHE_DIR = before


@cache
def announce_compilation() -> None:
    """Say, once, that the first run on this machine compiles; drop caches of sources long gone."""
    if FOLDER is None:
        _say("compiling its kernels (under a minute; Ctrl-C waits for it), as in every run: there is no folder to keep "
             "them in; name one that can be written with NUMBA_CACHE_DIR")  # fmt: skip
    elif not any(FOLDER.rglob("*.nbi")):
        _say("compiling its kernels, once on this machine (under a minute; Ctrl-C waits for it) ...")
        with contextlib.suppress(OSError):
            for old in FOLDER.parent.iterdir():
                if old != FOLDER and time.time() - old.stat().st_mtime > 7 * 86400:
                    shutil.rmtree(old, ignore_errors=True)


def _say(text: str) -> None:
    if sys.stderr is not None:  # closed, as some services have it
        print(f"klearning: {text}", file=sys.stderr)
