"""Ctrl-C in the command `klearning`, from its first moment to its last.

The command imports for a second before any code of its own runs, and a Ctrl-C in that second would be a traceback out
of somebody's module. So the package imports this before all else: the command, and nobody else, then leaves at once,
until it has something to lose. What this imports is there when Python has begun; the module `signal` is not.
"""

import os
import sys
from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]
from types import FrameType

STOPPED = 130  # the exit code of a command that was interrupted


def leave(number: int, frame: FrameType | None) -> None:
    """Ctrl-C where a command has nothing to lose."""
    os.write(2, b"klearning: stopped\n")
    os._exit(STOPPED)


class Interruptible:
    """``with Interruptible():`` a command does its work, and Ctrl-C is a KeyboardInterrupt; elsewhere it leaves."""

    def __enter__(self) -> None:
        self.leaving = getsignal(SIGINT) is leave
        if self.leaving:
            signal(SIGINT, default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self.leaving:
            signal(SIGINT, leave)


def finish() -> None:
    """All is done: while Python tidies up, the command can no longer be interrupted."""
    if getsignal(SIGINT) is leave:
        signal(SIGINT, SIG_IGN)


def is_command() -> bool:
    """Whether this process is the script `klearning`, or `python -m klearning`."""
    script = sys.argv[0].endswith((f"{os.sep}klearning", f"{os.sep}klearning.exe"))
    return script or ("-m", "klearning") in zip(sys.orig_argv, sys.orig_argv[1:])


if is_command() and getsignal(SIGINT) is default_int_handler:  # not where it is ignored
    signal(SIGINT, leave)
