"""What is being compiled, and for what: said once it has taken longer than anybody waits without asking."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PATIENCE = 2.0  # seconds

_purpose: ContextVar[str] = ContextVar("purpose", default="")


@contextmanager
def compiling_for(purpose: str) -> Iterator[None]:
    """Name what kernels are needed for. Inside another such block, the outer name stays."""
    token = None if _purpose.get() else _purpose.set(purpose)
    try:
        yield
    finally:
        if token is not None:
            _purpose.reset(token)


class Announcer:
    """Adds up the time that each purpose compiles, and says so once, while it goes on."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.current = threading.local()

    @contextmanager
    def compiling(self, kernel: str, kept: bool) -> Iterator[None]:
        """While a kernel, and the kernels that it calls, are compiled; ``kept`` says whether they will be cached."""
        if getattr(self.current, "began", None) is not None:
            self._say_if_long(kept)
            yield
            return
        self.current.purpose = _purpose.get() or kernel
        self.current.began = time.monotonic()
        try:
            yield
            self._say_if_long(kept)
        finally:
            purpose = self.current.purpose
            self.spent[purpose] = self.spent.get(purpose, 0.0) + time.monotonic() - self.current.began
            self.current.began = None

    def _say_if_long(self, kept: bool) -> None:
        purpose = self.current.purpose
        spent = self.spent.get(purpose, 0.0)
        if spent + time.monotonic() - self.current.began > PATIENCE:
            self.spent[purpose] = -float("inf")  # said
            once = (
                "once on this machine"
                if kept
                else "in every run, because no folder for a cache can be written; set NUMBA_CACHE_DIR to one"
            )
            say(f"compiling kernels for {purpose} ({once}; Ctrl-C waits for it) ...")


def say(text: str) -> None:
    """One line to standard error, if there is one: some services close it."""
    if sys.stderr is not None:
        print(f"klearning: {text}", file=sys.stderr)


announcer = Announcer()
