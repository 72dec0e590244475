"""Ctrl-C in the command `klearning`, from its first moment to its last.

The command imports for a second before any code of its own runs, and a Ctrl-C in that second would be a traceback out
of somebody's module. So the package imports this before all else: the command, and nobody else, then leaves at once,
until it has something to lose. What this imports is there when Python has begun; the module `signal` is not.

Once it works, Ctrl-C is a KeyboardInterrupt, and Python drops those that a handler raises in the callback of a weak
reference or in a `__del__`. Every import ends in such a callback: one interrupt in 200 is lost there. So one that was
dropped comes again.
"""

import _signal  # type: ignore[import-not-found]
import atexit
import os
import sys
from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal

MYPY = False  # to those who check types it is true; the module `typing` is not there when Python has begun
if MYPY:
    from types import FrameType
    from typing import Any

STOPPED = 130  # the exit code of a command that was interrupted
AGAIN = 0.01  # seconds until an interrupt that was dropped comes again: by then what dropped it is over
TIMER = getattr(_signal, "setitimer", None)  # not in Windows


def leave(number: int, frame: "FrameType | None") -> None:
    """Ctrl-C where a command has nothing to lose."""
    os.write(2, b"klearning: stopped\n")
    os._exit(STOPPED)


def repeat(dropped: "Any") -> None:
    """What `sys.unraisablehook` is while a command works."""
    if dropped.exc_type is KeyboardInterrupt:
        TIMER(_signal.ITIMER_REAL, AGAIN)  # type: ignore[misc]
    else:
        sys.__unraisablehook__(dropped)


class Interruptible:
    """``with Interruptible():`` a command does its work, and Ctrl-C is a KeyboardInterrupt; elsewhere it leaves."""

    def __enter__(self) -> None:
        self.leaving, self.heard = getsignal(SIGINT) is leave, False
        if self.leaving:
            if TIMER is not None:
                signal(_signal.SIGALRM, self.interrupt)
                sys.unraisablehook = repeat
            signal(SIGINT, self.interrupt)

    def interrupt(self, number: int, frame: "FrameType | None") -> None:
        self.heard = True
        raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.leaving:
            signal(SIGINT, leave)
            if TIMER is not None:
                TIMER(_signal.ITIMER_REAL, 0.0)
                sys.unraisablehook = sys.__unraisablehook__
                signal(_signal.SIGALRM, _signal.SIG_DFL)
            if self.heard and kind is not None and issubclass(kind, ImportError):
                raise KeyboardInterrupt  # an extension that was being imported turned the one into the other


def finish(code: int) -> None:
    """All is done: while Python tidies up, the command can no longer be interrupted.

    A command that was interrupted does what is registered for its end, and leaves before Python takes modules apart:
    an extension that was imported by half, as JAX by somebody's simulator, crashes there.
    """
    if getsignal(SIGINT) is leave:
        signal(SIGINT, SIG_IGN)
        if code == STOPPED:
            atexit._run_exitfuncs()
            os._exit(code)


def is_command() -> bool:
    """Whether this process is the script `klearning`, or `python -m klearning`."""
    script = sys.argv[0].endswith((f"{os.sep}klearning", f"{os.sep}klearning.exe"))
    return script or ("-m", "klearning") in zip(sys.orig_argv, sys.orig_argv[1:])


if is_command() and getsignal(SIGINT) is default_int_handler:  # not where it is ignored
    signal(SIGINT, leave)
