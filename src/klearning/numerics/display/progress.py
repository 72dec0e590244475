"""Progress on a terminal or in the output of a notebook's cell, by Rich."""

import sys
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, Task

HOUR = 3600.0


def in_notebook() -> bool:
    """Whether output goes to a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class LiveDisplay:
    """Shows a Rich renderable in place of the one before.

    Rich's own display in a notebook needs ipywidgets, and a saved notebook would not show it.
    """

    def __init__(self) -> None:
        from rich.live import Live

        self._output: Any = None  # of a notebook's cell
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
    """A bar that is advanced by calls, from any thread."""

    PAUSE = 0.25  # seconds between two drawings

    def __init__(self, what: str, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, auto_refresh=False)
        self._task = self._bar.add_task(what, total=total)
        self._display, self._drawn, self._lock = LiveDisplay(), 0.0, threading.Lock()

    def __enter__(self) -> "ProgressBar":
        self._display.open()
        self._draw()
        return self

    def __exit__(self, *_: object) -> None:
        self._draw()
        self._display.close()

    def __call__(self, count: int) -> None:
        """Add ``count`` to what is done."""
        with self._lock:
            self._bar.advance(self._task, count)
            if time.monotonic() - self._drawn > self.PAUSE:
                self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._display.show(self._bar.make_tasks_table(self._bar.tasks))


def hidden_progress() -> "Progress":
    """Rich's counters and estimates without a display. A task's first step, which may compile, is not in its speed."""
    from rich.progress import Progress

    return Progress(disable=True, speed_estimate_period=HOUR)


def pace(task: "Task") -> list[str]:
    """The speed of a task and the time left, as in ["12.5 per second", "0:03:20 left"]; empty if unknown so far."""
    if not task.speed:
        return []
    speed = f"{task.speed:,.1f} per second" if task.speed >= 1.0 else f"{1.0 / task.speed:.0f} s each"
    return [speed, f"{timedelta(seconds=task.time_remaining)} left"] if task.time_remaining else [speed]
