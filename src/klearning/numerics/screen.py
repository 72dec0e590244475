"""One place that is drawn over and over: lines of a terminal, or the output of a notebook's cell."""

import sys
import threading
import time
from typing import Any


def in_notebook() -> bool:
    """Whether what is shown goes to a notebook, which knows no cursor that moves up."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Screen:
    """Shows something that Rich can draw, in the place of what was shown before."""

    def __init__(self) -> None:
        from rich.live import Live

        self._output: Any = None  # a notebook's, once there is one
        self._live = None if in_notebook() else Live(auto_refresh=False, transient=False)

    def open(self) -> None:
        if self._live is not None:
            self._live.start()

    def show(self, what: Any) -> None:
        if self._live is not None:
            self._live.update(what, refresh=True)
        elif self._output is not None:
            self._output.update(what)
        else:
            from IPython.display import display

            self._output = display(what, display_id=True)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


class ProgressBar:
    """How many of ``total`` are done, and how long the rest will take; told from any thread."""

    PAUSE = 0.25  # seconds between two drawings

    def __init__(self, what: str, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, auto_refresh=False)
        self._job = self._bar.add_task(what, total=total)
        self._screen, self._shown, self._one = Screen(), 0.0, threading.Lock()

    def __enter__(self) -> "ProgressBar":
        self._screen.open()
        self._draw()
        return self

    def __exit__(self, *_: object) -> None:
        self._draw()
        self._screen.close()

    def __call__(self, count: int) -> None:
        """So many more are done."""
        with self._one:
            self._bar.advance(self._job, count)
            if time.monotonic() - self._shown > self.PAUSE:
                self._draw()

    def _draw(self) -> None:
        self._shown = time.monotonic()
        self._screen.show(self._bar.make_tasks_table(self._bar.tasks))
