"""A notice on standard error if compilation takes long: what is compiled, and for what."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PATIENCE = 2.0  # seconds before a notice

_purpose: ContextVar[str] = ContextVar("purpose", default="")


@contextmanager
def compiling_for(purpose: str) -> Iterator[None]:
    """Name the purpose of compilation in this block; an outer block's purpose takes precedence."""
    token = None if _purpose.get() else _purpose.set(purpose)
    try:
        yield
    finally:
        if token is not None:
            _purpose.reset(token)


class Current(threading.local):
    """The compilation under way in a thread."""

    purpose = ""
    began: Any = None  # a time


class Announcer:
    """Sums the compilation time per purpose, and prints one notice if it exceeds `PATIENCE`."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.current = Current()

    @contextmanager
    def compiling(self, kernel: str, cached: bool) -> Iterator[None]:
        """Wraps the compilation of a kernel and of the kernels it calls; ``cached``: whether they will be cached."""
        if self.current.began is not None:
            self._notify_if_long(cached)
            yield
            return
        self.current.purpose = _purpose.get() or kernel
        self.current.began = time.monotonic()
        try:
            yield
            self._notify_if_long(cached)
        finally:
            purpose = self.current.purpose
            self.spent[purpose] = self.spent.get(purpose, 0.0) + time.monotonic() - self.current.began
            self.current.began = None

    def _notify_if_long(self, cached: bool) -> None:
        purpose = self.current.purpose
        spent = self.spent.get(purpose, 0.0)
        if spent + time.monotonic() - self.current.began > PATIENCE:
            self.spent[purpose] = -float("inf")  # only one notice
            once = (
                "once on this machine"
                if cached
                else "in every run, because no cache folder is writable; set NUMBA_CACHE_DIR to one that is"
            )
            notify(f"compiling kernels for {purpose} ({once}; Ctrl-C waits for it) ...")


def notify(text: str) -> None:
    """Print a line to standard error, unless it is closed."""
    if sys.stderr is not None:
        print(f"klearning: {text}", file=sys.stderr)


announcer = Announcer()
