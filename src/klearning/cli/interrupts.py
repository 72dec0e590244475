"""Ctrl-C in a command: a KeyboardInterrupt while it works, an immediate exit before and after.

Python drops a KeyboardInterrupt that a handler raises in the callback of a weak reference or in a `__del__`. Every
import ends in such a callback, so that one interrupt in 200 would be lost. A dropped interrupt is therefore repeated.
"""

import _signal  # type: ignore[import-not-found]
import atexit
import os
import sys
from signal import SIG_DFL, SIG_IGN, SIGINT, getsignal, signal
from typing import Any

from klearning.numerics.cli_signals import INTERRUPTED, leave

DELAY = 0.01  # seconds until a dropped interrupt is repeated
TIMER = getattr(_signal, "setitimer", None)  # missing on Windows


def repeat(dropped: Any) -> None:
    """Replaces `sys.unraisablehook` while a command works."""
    if dropped.exc_type is KeyboardInterrupt:
        TIMER(_signal.ITIMER_REAL, DELAY)  # type: ignore[misc]
    else:
        sys.__unraisablehook__(dropped)


class Interruptible:
    """``with Interruptible():`` a command works, and Ctrl-C raises KeyboardInterrupt; outside, Ctrl-C exits."""

    def __enter__(self) -> None:
        self.active, self.interrupted = getsignal(SIGINT) is leave, False
        if self.active:
            if TIMER is not None:
                signal(_signal.SIGALRM, self.interrupt)
                sys.unraisablehook = repeat
            signal(SIGINT, self.interrupt)

    def interrupt(self, number: int, frame: object) -> None:
        self.interrupted = True
        raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.active:
            signal(SIGINT, leave)
            if TIMER is not None:
                TIMER(_signal.ITIMER_REAL, 0.0)
                sys.unraisablehook = sys.__unraisablehook__
                signal(_signal.SIGALRM, SIG_DFL)
            if self.interrupted and kind is not None and issubclass(kind, ImportError):
                raise KeyboardInterrupt  # an extension turns one that arrives during its import into ImportError


def finish(code: int) -> None:
    """Ignore Ctrl-C from here on: the command is done, and Python shuts down.

    An interrupted command runs its exit functions and ends before Python tears down modules: a half-imported extension,
    such as JAX in a user's simulator, would crash there.
    """
    if getsignal(SIGINT) is leave:
        signal(SIGINT, SIG_IGN)
        if code == INTERRUPTED:
            atexit._run_exitfuncs()
            os._exit(code)
