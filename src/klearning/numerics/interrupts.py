"""Signals wait while a kernel runs: Ctrl-C takes effect when it has returned, micro- or milliseconds later.

Python runs signal handlers in the main thread, between any two bytecodes. When a kernel returns a record, Numba calls
back into Python, and an exception that a handler raises there is lost or ends the process. So during a call every
handler is replaced by one that records the signal; the real handlers get recorded signals afterwards.
"""

import _signal  # type: ignore[import-not-found]  # without the enumerations of `signal`, fifteen times as fast
import signal
import threading
from contextlib import ContextDecorator
from types import FrameType, TracebackType
from typing import Any

CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class Uninterrupted(ContextDecorator):
    """``with uninterrupted:`` delays signals until the end of the block; ``@uninterrupted`` until a function returns.

    It does nothing inside another such block, and in threads other than the main one, which run no handlers.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.real: dict[int, Any] = {}  # the replaced handlers
        self.pending: list[tuple[int, FrameType | None]] = []
        self.recorder = self._record

    def _record(self, number: int, frame: FrameType | None) -> None:
        """Record a signal inside a block. Outside, if handlers are just being changed, pass it on."""
        if self.depth:
            self.pending.append((number, frame))
        else:
            self.real[number](number, frame)

    def __enter__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        depth = self.depth
        try:
            self.depth = depth + 1
            if depth == 0:
                self._install()
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
        pending, self.pending = self.pending, []
        try:
            self._uninstall()
        finally:
            for number, frame in pending:
                self.real[number](number, frame)

    def _install(self) -> None:
        for number, handler in zip(CATCHABLE, map(_signal.getsignal, CATCHABLE)):
            if callable(handler) and handler is not self.recorder:
                self.real[number] = handler
                _signal.signal(number, self.recorder)

    def _uninstall(self) -> None:
        for number, handler in self.real.items():
            if _signal.getsignal(number) is self.recorder:
                _signal.signal(number, handler)


uninterrupted = Uninterrupted()
