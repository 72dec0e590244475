"""When Ctrl-C is heard: not while a kernel runs, but from the first moment of the command on.

No signal handler runs while a kernel does: it waits the few microseconds or milliseconds until that has returned.

Python runs signal handlers in the main thread, between any two bytecodes. When a kernel returns a record, Numba makes
it by calling back into Python, and an exception that a handler raises there is lost or ends the process. So for the
time of a call every handler is replaced by one that takes note, and what was noted is handed to the real one after it.

The command `klearning` imports for a second before its own code runs, and a Ctrl-C in that second would be a traceback
out of somebody's module. So the package imports this first, which lets the command, and nobody else, `leave` at once.
"""

import os
import signal
import sys
import threading
from _signal import getsignal  # type: ignore[import-not-found]  # signal.getsignal looks up an enum each time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

STOPPED = 130  # the exit code of a command that was interrupted
CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class Uninterrupted:
    """``with uninterrupted:`` holds signals back until the block is left.

    In a thread other than the main one, where no handler runs, and inside another such block it does nothing.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.real: dict[int, Any] = {}  # the handlers that ours stands in for
        self.noted: list[tuple[int, FrameType | None]] = []
        self.stand_in = self._note

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Take note inside a block. Outside of one, where an interrupt came while handlers were changed, pass on."""
        if self.depth:
            self.noted.append((number, frame))
        else:
            self.real[number](number, frame)

    def __enter__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        depth = self.depth
        try:
            self.depth = depth + 1
            if depth == 0:
                self._stand_in()
        except BaseException:
            self.depth = depth
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        self.depth -= 1
        if self.depth:
            return
        noted, self.noted = self.noted, []
        try:
            self._step_back()
        finally:
            for number, frame in noted:
                self.real[number](number, frame)

    def _stand_in(self) -> None:
        for number in CATCHABLE:
            handler = getsignal(number)
            if callable(handler) and handler is not self.stand_in:
                self.real[number] = handler
                signal.signal(number, self.stand_in)

    def _step_back(self) -> None:
        for number, handler in self.real.items():
            if getsignal(number) is self.stand_in:
                signal.signal(number, handler)


uninterrupted = Uninterrupted()


def leave(number: int, frame: FrameType | None) -> None:
    """Ctrl-C where a command has nothing to lose."""
    os.write(2, b"klearning: stopped\n")
    os._exit(STOPPED)


def hear_command() -> None:
    """Where this process is the command `klearning`, leave at Ctrl-C, until it says otherwise."""
    as_module = ("-m", "klearning") in zip(sys.orig_argv, sys.orig_argv[1:])
    if (as_module or Path(sys.argv[0]).stem == "klearning") and getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


@contextmanager
def interruptible() -> Iterator[None]:
    """While a command does its work Ctrl-C is a KeyboardInterrupt; before and after that it leaves."""
    if getsignal(signal.SIGINT) is not leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)


def finish() -> None:
    """All is done, and while Python tidies up a command can no longer be interrupted."""
    if getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


hear_command()
