"""No signal handler runs while a kernel does: Ctrl-C waits the few microseconds or milliseconds until it has returned.

Python runs signal handlers in the main thread, between any two bytecodes. When a kernel returns a record, Numba makes
it by calling back into Python, and an exception that a handler raises there is lost or ends the process. So for the
time of a call every handler is replaced by one that takes note, and what was noted is handed to the real one after it.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps: fifteen times as fast without its enumerations
import signal
import threading
from contextlib import ContextDecorator
from types import FrameType, TracebackType
from typing import Any

CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class Uninterrupted(ContextDecorator):
    """``with uninterrupted:`` holds signals back until the block is left; so does a function under ``@uninterrupted``.

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
            handler = _signal.getsignal(number)
            if callable(handler) and handler is not self.stand_in:
                self.real[number] = handler
                _signal.signal(number, self.stand_in)

    def _step_back(self) -> None:
        for number, handler in self.real.items():
            if _signal.getsignal(number) is self.stand_in:
                _signal.signal(number, handler)


uninterrupted = Uninterrupted()
