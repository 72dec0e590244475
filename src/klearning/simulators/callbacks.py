"""Callbacks for `learn`.

`CSVWriter` and `TensorBoardWriter` write files, `LiveView` shows a table in a terminal or notebook, `EvalCallback`
plays without learning, `StopWhenSure` and `StopAtReturn` stop. Anything may be a callback: it is called with the
`EpisodeReport` of every episode, and stops learning by returning False.
"""

import csv
import io
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from klearning.numerics import checks
from klearning.numerics.display.frames import data_frame
from klearning.numerics.display.progress import LiveDisplay, hidden_progress, pace
from klearning.numerics.files import MOST_TEXT, append, is_stdout, opened
from klearning.simulators.actor import WAYS
from klearning.simulators.environments import check_environment
from klearning.simulators.episode_report import EpisodeReport
from klearning.simulators.evaluation import play_returns
from klearning.simulators.learner import Learner
from klearning.tabular.models.sweeps import hard_sweep
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.plan import solve
from klearning.tabular.optimism.proof import layers_depend

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table


class CSVWriter:
    """One line per episode. The first episode sets the columns; missing values stay empty.

    The ``path`` is a file, to which lines are added, or "-" for stdout.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = checks.file_path("path", path)
        self._columns: list[str] = []

    def __call__(self, report: EpisodeReport) -> None:
        row = {"episode": report.episode, **report.numbers()}
        if not self._columns:
            self._columns = [*row, *(name for name in ("value", "regret") if name not in row)]
            self._check_header()
        self._write([row.get(name, "") for name in self._columns])

    def _check_header(self) -> None:
        """Begin a new file, or continue one that has the same columns."""
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

    Shows the last episode, and the mean over the last hundred: return, steps, the agent's diagnostics (K-learning:
    temperature, bound and gap) and, with ``evaluate_every``, the regret. ``episodes`` is how many are
    to come, or ``steps`` of the environment, if that is known: then it shows the time that is left.
    """

    WINDOW = 100

    def __init__(self, per_second: float = 4.0, episodes: int | None = None, steps: int | None = None) -> None:
        self._display, self._progress = LiveDisplay(), hidden_progress()
        self._pause, self._shown = 1.0 / per_second, 0.0
        self._recent: list[dict[str, float]] = []
        self._last: EpisodeReport | None = None
        self._counts_steps = steps is not None
        self._progress.add_task("", total=steps if self._counts_steps else episodes)
        self._progress.add_task("steps", total=None)

    def __enter__(self) -> "LiveView":
        self._display.open()
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None:
            self._display.show(self.table())
        self._display.close()

    def __call__(self, report: EpisodeReport) -> None:
        self._last = report
        limited, steps = self._progress.task_ids
        self._progress.advance(limited, report.steps if self._counts_steps else 1)
        self._progress.advance(steps, report.steps)
        self._recent = [*self._recent[1 - self.WINDOW :], report.numbers()]
        now = time.monotonic()
        if now - self._shown > self._pause:
            self._shown = now
            self._display.show(self.table())

    def table(self) -> "Table":
        """The lines shown."""
        from rich.table import Table

        episode = 0 if self._last is None else self._last.episode
        title = f"episode {episode:,}"
        task, steps = self._progress.tasks
        if self._counts_steps:
            title += f", step {task.completed:,.0f} of {task.total:,.0f}"
        elif task.remaining is not None:
            title += f" of {episode + task.remaining:,.0f}"
        speed = [] if self._counts_steps or not steps.speed else [f"{steps.speed:,.0f} steps per second"]
        table = Table(title=", ".join([title, *pace(task), *speed]))
        for heading in ("", "last episode", f"mean of {len(self._recent)}"):
            table.add_column(heading, justify="right" if heading else "left")
        names = list(dict.fromkeys(name for row in self._recent for name in row))
        for name in names:
            values = [row[name] for row in self._recent if name in row]
            table.add_row(name, f"{values[-1]:.4g}", f"{sum(values) / len(values):.4g}")
        return table

    def __repr__(self) -> str:
        return "LiveView()"


class EvalCallback:
    """A callback: every N episodes, mean returns of greedy and of soft play in an environment of its own.

    ``rows`` holds them, `frame` as a data frame: ``episode``, ``steps`` of the environment until then, and a column per
    way. Give it a separate environment, because it is reset.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], every: int = 50, episodes: int = 10, how: str | Sequence[str] = WAYS,
        seed: int = 0,
    ) -> None:  # fmt: skip
        check_environment(env)
        self.env, self.every, self.episodes = env, checks.whole("every", every), checks.whole("episodes", episodes)
        self.how = tuple(checks.choice("how", way, WAYS) for way in ((how,) if isinstance(how, str) else how))
        self.seed = checks.whole("seed", seed, 0)
        self.rows: list[dict[str, float]] = []
        self._steps = 0

    def __call__(self, report: EpisodeReport) -> None:
        self._steps += report.steps
        if report.episode % self.every == 0:
            means = {
                way: float(
                    np.mean(play_returns(report.learner, self.env, episodes=self.episodes, how=way, seed=self.seed))
                )
                for way in self.how
            }
            self.rows.append({"episode": report.episode, "steps": self._steps, **means})

    def frame(self) -> "DataFrame":
        """One row per evaluation."""
        return data_frame({name: [row[name] for row in self.rows] for name in ("episode", "steps", *self.how)})

    def __repr__(self) -> str:
        return f"EvalCallback({self.env}, every={self.every}, episodes={self.episodes}, how={self.how})"


class StopWhenSure:
    """Stop once an episode of the greedy policy is known to lose no more than ``loss`` against the best.

    It checks every N episodes, which costs one more plan, and stops after ``times`` such checks in a row. The last
    `greedy_loss` is ``bound``, and ``proved`` says whether it is proved. Needs an agent that has a belief.
    """

    def __init__(self, loss: float, *, every: int = 10, times: int = 3) -> None:
        self.loss = checks.number("loss", loss, 0.0, above=True)
        self.every, self.times = checks.whole("every", every), checks.whole("times", times)
        self.bound, self.proved = np.inf, False
        self._in_a_row = 0

    def __call__(self, report: EpisodeReport) -> bool | None:
        if report.episode % self.every:
            return None
        self.bound, self.proved = greedy_loss(report.learner)
        self._in_a_row = self._in_a_row + 1 if self.bound <= self.loss else 0
        return self._in_a_row < self.times

    def __str__(self) -> str:
        sure = "at most" if self.proved else "an estimated"
        return repr(self) if np.isinf(self.bound) else f"greedy episodes lose {sure} {self.bound:.3g} on average"

    def __repr__(self) -> str:
        return f"StopWhenSure(loss={self.loss:g}, every={self.every}, times={self.times})"


def greedy_loss(learner: Learner) -> tuple[float, bool]:
    """What an episode of the greedy policy loses against the best, on average over the belief, and if that is proved.

    Let f be the bound of a plan with the agent's bonus (`split` if it has none of ours), and J the value of the greedy
    policy in the mean model. If f bounds the expected optimal value (`Plan.proved`) and layers are independent, then
    E[V* − V^greedy | data] ≤ f − J. With a stationary prior, or a learner that forgets, f − J is an estimate.
    """
    if not isinstance(learner, Learner):
        raise ValueError(f"learner={learner!r} is not a Learner: nothing else has a belief to judge by")
    belief = learner.belief
    own = getattr(learner.agent, "bonus", None)
    plan = solve(belief, bonus=own if own in BONUSES else "split", tolerance=1e-6)
    model = belief.posterior().model
    value = hard_sweep(model, model.reward, np.zeros((belief.actions, belief.states)), np.zeros(belief.states))
    return plan.bound - float(value), plan.proved and not layers_depend(belief)


class StopAtReturn:
    """Stop once the mean return of the last ``episodes`` episodes has reached ``target``."""

    def __init__(self, target: float, episodes: int = 100) -> None:
        self.target = checks.number("target", target, -np.inf)
        self.recent: deque[float] = deque(maxlen=checks.whole("episodes", episodes))

    def __call__(self, report: EpisodeReport) -> bool:
        self.recent.append(report.collected)
        return len(self.recent) < (self.recent.maxlen or 0) or float(np.mean(self.recent)) < self.target

    def __str__(self) -> str:
        mean = f"{np.mean(self.recent):.4g}" if self.recent else "–"
        return f"the last {len(self.recent)} episodes returned {mean} on average, and {self.target:g} is asked for"

    def __repr__(self) -> str:
        return f"StopAtReturn(target={self.target:g}, episodes={self.recent.maxlen})"
