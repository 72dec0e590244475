"""Callbacks for `learn`: mirrors of what happens that can never fail a run.

`CSVWriter` and `TensorBoardWriter` write files, `LiveView` shows a table in a terminal or notebook. Anything may be a
callback: it is called with the `EpisodeReport` of every episode, and stops learning by returning False.
"""

import csv
import io
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from klearning.numerics.files import MOST_TEXT, append, is_stdout, opened
from klearning.numerics.screen import Screen
from klearning.simulators.pace import Pace


@dataclass(frozen=True)
class EpisodeReport:
    """One episode, as callbacks see it."""

    episode: int  # 1, 2, …
    collected: float  # the return
    steps: int
    terminated: bool
    diagnostics: dict[str, float]  # what the agent said of its plan
    value: float | None = None  # the exact value of the policy, where the model is known and this episode was evaluated
    regret: float | None = None  # what the optimum is above that
    learner: Any = field(default=None, repr=False, compare=False)  # who learns, for whoever looks further

    def numbers(self) -> dict[str, float]:
        """Everything that is a number, by name."""
        known = {"value": self.value, "regret": self.regret}
        rest = {name: float(x) for name, x in known.items() if x is not None}
        return {"return": self.collected, "steps": float(self.steps), **self.diagnostics, **rest}


Callback = Callable[[EpisodeReport], Any]


def guarded(callback: Callback) -> Callable[[EpisodeReport], bool]:
    """The callback as `learn` calls it: whether to go on.

    It may say no, by False or StopIteration; any other failure is a warning, and its last call.
    """
    failed = False

    def call(report: EpisodeReport) -> bool:
        nonlocal failed
        if failed:
            return True
        try:
            answer = callback(report)
        except StopIteration:
            return False
        except Exception as error:
            failed = True
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"{callback!r} failed and is not called again: {reason}", RuntimeWarning, stacklevel=2)
            return True
        return not (isinstance(answer, bool | np.bool_) and not answer)  # None is no answer

    return call


class CSVWriter:
    """One line per episode; columns are those of the first episode, values that come later and rarely stay empty.

    The ``path`` is a file, to which lines are added, or "-" for stdout.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._columns: list[str] = []

    def __call__(self, report: EpisodeReport) -> None:
        row = {"episode": report.episode, **report.numbers()}
        if not self._columns:
            self._columns = [*row, *(name for name in ("value", "regret") if name not in row)]
            self._check_header()
        self._write([row.get(name, "") for name in self._columns])

    def _check_header(self) -> None:
        """Begin a new file, or go on with one that has the same columns."""
        first = ""
        if not is_stdout(self.path):
            with suppress(FileNotFoundError), opened(self.path, links=True) as file:
                first = file.readline(MOST_TEXT).decode()
        if not first:
            self._write(self._columns)
        elif next(csv.reader([first])) != self._columns:
            raise ValueError(f"{self.path} has other columns: give another path")

    def _write(self, cells: list[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        append(self.path, line.getvalue())

    def __repr__(self) -> str:
        return f"CSVWriter({str(self.path)!r})"


class TensorBoardWriter:
    """Scalars for TensorBoard; needs the extra ``tensorboard``."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ImportError("TensorBoardWriter needs tensorboardX: pip install tensorboardX") from None
        self.folder = Path(folder)
        self._writer = SummaryWriter(str(folder))

    def __call__(self, report: EpisodeReport) -> None:
        for name, value in report.numbers().items():
            self._writer.add_scalar(name, value, report.episode)

    def close(self) -> None:
        self._writer.close()

    def __repr__(self) -> str:
        return f"TensorBoardWriter({str(self.folder)!r})"


class LiveView:
    """A table that follows learning, in a terminal or a notebook.

    Use as ``with LiveView() as view: learn(..., callbacks=[view])``.

    Shows the last episode, and the mean over the last hundred: return, steps, what the agent says (K-learning:
    temperature, bound and gap) and the regret, where ``evaluate_every`` lets it be known. ``episodes`` is how many are
    to come, or ``steps`` of the environment, where that is known: then it shows the time that is left.
    """

    WINDOW = 100

    def __init__(self, per_second: float = 4.0, episodes: int | None = None, steps: int | None = None) -> None:
        self._screen = Screen()
        self._pause, self._shown = 1.0 / per_second, 0.0
        self._recent: list[dict[str, float]] = []
        self._last: EpisodeReport | None = None
        self._counts_steps = steps is not None
        self._pace = Pace(steps if self._counts_steps else episodes)
        self._steps = Pace()

    def __enter__(self) -> "LiveView":
        self._screen.open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None:
            self._screen.show(self.table())
        self._screen.close()

    def __call__(self, report: EpisodeReport) -> None:
        self._last = report
        self._pace.advance(report.steps if self._counts_steps else 1)
        self._steps.advance(report.steps)
        self._recent = [*self._recent[1 - self.WINDOW :], report.numbers()]
        now = time.monotonic()
        if now - self._shown > self._pause:
            self._shown = now
            self._screen.show(self.table())

    def table(self) -> Any:
        """What is shown."""
        from rich.table import Table

        episode = 0 if self._last is None else self._last.episode
        title = f"episode {episode:,}"
        if self._counts_steps:
            title += f", step {self._pace.done:,} of {self._pace.total:,}"
        elif self._pace.total is not None:
            title += f" of {episode + self._pace.total - self._pace.done:,}"
        speed = self._steps.rate
        steps = [] if self._counts_steps or speed is None else [f"{speed:,.0f} steps a second"]
        table = Table(title=", ".join([title, *self._pace.words(), *steps]))
        for heading in ("", "last episode", f"mean of {len(self._recent)}"):
            table.add_column(heading, justify="right" if heading else "left")
        names = list(dict.fromkeys(name for row in self._recent for name in row))
        for name in names:
            values = [row[name] for row in self._recent if name in row]
            table.add_row(name, f"{values[-1]:.4g}", f"{sum(values) / len(values):.4g}")
        return table

    def __repr__(self) -> str:
        return "LiveView()"
