"""A notice on standard error if compilation takes long: what is compiled, and for what."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

PATIENCE = 2.0  # seconds before a notice

_purpose: ContextVar[str] = ContextVar("purpose", default="")


class compiling_for:
    """Names the purpose of compilation in a block or a function; an outer block's purpose takes precedence."""

    __slots__ = ("purpose", "token")  # not a generator, which takes a microsecond: planning takes a hundred

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self.token: Token[str] | None = None

    def __enter__(self) -> None:
        self.token = None if _purpose.get() else _purpose.set(self.purpose)

    def __exit__(self, *_: object) -> None:
        if self.token is not None:
            _purpose.reset(self.token)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        purpose = self.purpose

        @wraps(function)
        def named(*arguments: P.args, **keywords: P.kwargs) -> R:
            with compiling_for(purpose):  # each call has its own: threads call at the same time
                return function(*arguments, **keywords)

        return named


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
