"""A film of what a learner of networks thinks of a plane: two observed numbers across it, all others held still.

A callback for `kl.learn`. Frames are packed as those of tabular runs are (`films.py`), and the same player shows them;
the page is written again with every frame, whole, so that it can be looked at while learning goes on.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from klearning.lab.report.charts import plain
from klearning.lab.report.document import document
from klearning.lab.report.films import FULL, MOST_ACTIONS, pack
from klearning.numerics import checks
from klearning.numerics.display.markup import Html, element, folded, number, paragraph, section, table
from klearning.numerics.files import write_file
from klearning.numerics.types import Floats
from klearning.simulators.episode_report import EpisodeReport
from klearning.simulators.learner import Learner

MOST = 60  # frames: then every second one goes, and half as many come
UNBOUNDED = 1e6  # a bound that is further away is none
MILESTONES = 8


class Frame(NamedTuple):
    """After an episode."""

    episode: int
    collected: float
    values: Floats  # (cells,)
    visits: Floats  # (actions, cells)
    policy: Floats  # (actions, cells)


class PlaneFilm:
    """Write a page with the values, visits and policy of a learner of networks over two observed numbers.

    ``axes`` are these two, of a Box of numbers; ``low`` and ``high`` their ends, by default those of the Box; ``names``
    are theirs, and ``actions`` those of the actions. All other numbers are in the middle of their range, or 0.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        axes: Sequence[int] = (0, 1),
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
        cells: int = 32,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        title: str = "",
    ) -> None:
        self.path, self.cells, self.title = Path(path), checks.whole("cells", cells, 2), title
        self.axes = _pair("axes", [checks.whole("axes", axis, 0) for axis in axes])
        self.names = _pair("names", names or [f"observation {axis}" for axis in self.axes])
        self._ends = [None if ends is None else _pair(name, ends) for name, ends in (("low", low), ("high", high))]
        self._actions = actions
        self.frames: list[Frame] = []
        self._points: Any = None
        self._seed = 0
        self._every = 1

    def __call__(self, report: EpisodeReport) -> None:
        if self._points is None:
            self.prepare(report.learner)
        if (report.episode - 1) % self._every == 0:
            self.frames.append(self._frame(report))
            if len(self.frames) > MOST:
                self.frames, self._every = self.frames[::2], 2 * self._every
            self.write()

    def prepare(self, learner: Any) -> None:
        """Where its plane lies; ValueError if there is none."""
        if isinstance(learner, Learner):  # it has numbered what it met
            name = type(learner.agent).__name__
            raise ValueError(f"{name} has no values between what it observed: film an agent of klearning.deep")
        space, self._seed = learner.observation_space, learner.seed
        if not isinstance(space, spaces.Box):
            raise ValueError(f"observation space {space} is not a Box of numbers: a plane needs one")
        size, count = int(np.prod(space.shape)), learner.actions.count
        if self.axes[0] == self.axes[1] or max(self.axes) >= size:
            raise ValueError(f"axes={self.axes} must name two of the {size} numbers of {space}")
        if count > MOST_ACTIONS or (self._actions is not None and len(self._actions) != count):
            raise ValueError(f"actions={self._actions} are not names of {count} actions, of which {MOST_ACTIONS} fit")
        bounds = np.stack([space.low.ravel(), space.high.ravel()]).astype(np.float64)
        free = (np.abs(bounds) >= UNBOUNDED).any(axis=0)
        self.bounds = bounds[:, list(self.axes)]
        for i, ends in enumerate(self._ends):
            if ends is not None:
                self.bounds[i] = ends
        for axis, a, b in zip(self.axes, *self.bounds, strict=True):
            if not (abs(a) < UNBOUNDED and abs(b) < UNBOUNDED and a < b):
                raise ValueError(f"axis {axis} of {space} is from {a:g} to {b:g}: give low= and high= with its ends")
        points = np.tile(np.where(free, 0.0, bounds.mean(axis=0)), (self.cells, self.cells, 1))
        across, up = (np.linspace(a, b, 2 * self.cells + 1)[1::2] for a, b in self.bounds.T)  # middles of cells
        points[..., self.axes[0]], points[..., self.axes[1]] = across, up[::-1, None]  # the highest row on top
        self._points = points.reshape(-1, *space.shape).astype(space.dtype)

    def _frame(self, report: EpisodeReport) -> Frame:
        learner = report.learner
        values, visits = learner.values(self._points)[0], learner.visits(self._points).T
        return Frame(report.episode, report.collected, values, visits, learner.policies(self._points)[0].T)

    def write(self) -> None:
        """The page, with the frames so far."""
        write_file(self.path, self.page().encode(), parents=True)

    def page(self) -> str:
        """The page. The same frames give the same bytes."""
        count = len(self.frames[0].policy)
        actions = list(self._actions or (f"action {a}" for a in range(count)))
        rows = [self.cells] * self.cells
        ends = [
            {"name": name, "low": a, "high": b} for name, a, b in zip(self.names, *self.bounds.tolist(), strict=True)
        ]
        stage = {
            "title": self.title or "Plane", "rows": rows, "next": [[-1] * self.cells**2] * count, "actions": actions,
            "goal": None, "prize": None, "axes": ends,
        }  # fmt: skip
        film = {
            "label": self.title or "Values", "family": "plane", "seed": self._seed, "stage": 0, "measure": "return",
            "t": [frame.episode for frame in self.frames], "found": None, "first": None,
            "regret": plain([frame.collected for frame in self.frames]),
            "low": plain([frame.values.min() for frame in self.frames]),
            "high": plain([frame.values.max() for frame in self.frames]),
            "unit": plain([max(1.0, frame.visits.max() / FULL) for frame in self.frames]), "policy": True,
            "data": base64.b64encode(b"".join(pack(*frame[2:]) for frame in self.frames)).decode(),
        }  # fmt: skip
        data = {"charts": {}, "films": [film], "stages": [stage], "opening": [0]}
        lead = f"What networks think of a plane of what they observe, up to episode {self.frames[-1].episode:,}."
        return document(self._body(), [], data, lead, "klearning.lab.report.PlaneFilm", self.title or "Watch it learn")

    def _body(self) -> Html:
        (x, y), ((x0, y0), (x1, y1)) = self.names, self.bounds
        caption = (
            f"From left to right {x}, {number(x0)} to {number(x1)}; upwards {y}, {number(y0)} to {number(y1)}. Every "
            "frame has its own scale. Values are those of the best action; K-learning's include the worth of exploring "
            "later on. Visits are by tiles: how often steps nearby were seen."
        )
        at = sorted({round(i) for i in np.linspace(0, len(self.frames) - 1, MILESTONES)})
        rows = [
            [f"{f.episode:,}", number(f.collected), f"{number(f.values.min())} to {number(f.values.max())}"]
            for f in (self.frames[i] for i in at)
        ]
        numbers = folded(
            "The numbers as a table", table("Frames", ["episode", "return", "values"], rows), class_="numbers"
        )
        see = paragraph(
            "Press play. The stronger a cell’s colour, the more it is worth in the learner’s own eyes.", class_="see"
        )
        player = element("div", class_="films", id="films")
        figure = element("figure", see, player, element("figcaption", caption), numbers, class_="exhibit")
        return section("watch", self.title or "Watch it learn", figure, short="Watch")


def _pair(name: str, values: Sequence[Any]) -> tuple[Any, Any]:
    if len(values) != 2:
        raise ValueError(f"{name}={values!r} are not two: give one for each axis of the plane")
    return values[0], values[1]
