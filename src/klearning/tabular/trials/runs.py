"""`Runs`: what a batch of seeds produced, whatever played them: a trial in a world, a match, a GPU, or a store.

The numbers of one seed are arrays by name (`Arrays`): ``values``, ``returns``, ``hits`` and ``diagnostic_…`` by
episode, and ``optimal_value``. `at_points` keeps some of the episodes, with what cannot be told from these alone.
`stacked` puts seeds together, and `Runs.of` makes the result.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from klearning.numerics import checks
from klearning.numerics.display.frames import data_frame
from klearning.numerics.display.plots import Axes, axes_or_new
from klearning.numerics.display.summaries import html_summary, text_summary
from klearning.numerics.statistics import FEWEST, Interval, mean_interval, median_interval
from klearning.numerics.types import Arrays, Flags, Floats, Ints
from klearning.tabular.trials import regret

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_LINES = 50  # seeds that are drawn one by one; more are drawn as quantiles
BANDS = ((0.025, 0.975, 0.12), (0.25, 0.75, 0.2))  # quantiles, and how dark the band between them is
BAND_POINTS = 40  # episodes at which an interval is drawn
GRID = 25  # episodes, evenly apart in logarithms, to which a power is fitted
A_DECADE = 10  # episodes that keep="points" keeps
SEED_BYTES = 128  # at least, of every seed
DIAGNOSTIC = "diagnostic_"  # before the name of what an agent says of every episode


class Setting(Protocol):
    """Who met what: an agent with a prior in a world, or against an opponent in a game."""

    @property
    def agent(self) -> Any: ...
    @property
    def world(self) -> Any: ...
    @property
    def prior(self) -> Any: ...
    @property
    def opponent(self) -> Any: ...


class Meeting(NamedTuple):
    """A `Setting` of objects that are there."""

    agent: Any
    world: Any
    prior: Any
    opponent: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """All that a batch of seeds produced. Arrays are (seeds, points), or one number per seed.

    ``points`` are the episodes that were kept, counted from 1: all of them, unless the caller chose some by ``keep``.
    A run that ended early, because it was solved, has nan after its end. In a game an episode is a round.
    """

    setting: Setting
    seeds: Sequence[int]
    points: Ints
    optimal_values: Floats  # (seeds,): of the world of each seed; in a game, the value of the game
    values: Floats  # exact value of the policy of an episode
    returns: Floats  # what was collected
    hits: Flags  # whether the goal was reached
    regret: Floats  # exact and cumulative
    first_hit: Floats  # (seeds,): first episode that reached the goal; nan if none did
    solved: Floats  # (seeds,): first episode by which 10% of the episodes so far reached the goal; nan if none
    diagnostics: dict[str, Floats]  # what the agent says of an episode
    visits: Floats | None = None  # (seeds, S, A), over all episodes; in a game of every pair of moves
    seconds: float = np.nan  # nan if they were read from a store, which keeps no clock
    policies: Floats | None = None  # (seeds, rounds, columns), our mixtures in a game, if they were kept
    opponents: Floats | None = None  # (seeds, rounds, rows), the opponent's; in Markov games a state's before the last
    snapshots: Arrays = field(default_factory=dict)  # (seeds, times, …): the agent as it was, if its spec asks for it
    spec: Any = None  # the plain data that it was run from, if it was read from a store

    @classmethod
    def of(
        cls, setting: Setting, seeds: Sequence[int], arrays: Mapping[str, NDArray[Any]], points: Ints | None = None,
        seconds: float = np.nan, spec: Any = None,
    ) -> "Runs":  # fmt: skip
        """From arrays with an axis of seeds; without ``points`` they have all episodes, and the rest follows."""
        best = np.broadcast_to(np.asarray(arrays["optimal_value"], np.float64), len(seeds))
        if points is None:
            arrays = {**arrays, **_derived(best, arrays)}
        return cls(
            setting=setting,
            seeds=seeds,
            points=np.arange(1, arrays["values"].shape[1] + 1) if points is None else np.asarray(points),
            optimal_values=best,
            values=arrays["values"],
            returns=arrays["returns"],
            hits=arrays["hits"],
            regret=arrays["regret"],
            first_hit=arrays["first_hit"],
            solved=arrays["solved"],
            diagnostics=_named(DIAGNOSTIC, arrays),
            visits=arrays.get("visits"),
            seconds=seconds,
            policies=arrays.get("policies"),
            opponents=arrays.get("opponents"),
            snapshots=_named("snapshot_", arrays),
            spec=spec,
        )

    @property
    def agent(self) -> Any:
        return self.setting.agent

    @property
    def world(self) -> Any:
        """The world, or the game."""
        return self.setting.world

    @property
    def prior(self) -> Any:
        return self.setting.prior

    @property
    def opponent(self) -> Any:
        """Who was met in a game; None in a world."""
        return self.setting.opponent

    @property
    def optimal_value(self) -> float:
        """Of the world; the mean if every seed has a world of its own."""
        first = self.optimal_values[0]
        return float(first if (self.optimal_values == first).all() else self.optimal_values.mean())

    @property
    def episodes(self) -> int:
        """The last episode of any seed that was kept."""
        return int(self.points[-1])

    @property
    def ran(self) -> Ints:
        """The last kept episode that each seed played: before the last of all if it ended when solved."""
        count = np.isfinite(self.values).sum(axis=1)
        return np.where(count > 0, self.points[np.maximum(count - 1, 0)], 0)

    @property
    def keeps_all(self) -> bool:
        """Whether every episode was kept."""
        return len(self.points) == self.episodes

    @property
    def last_regret(self) -> Floats:
        """Per seed, at the last kept episode that it played."""
        count = np.isfinite(self.values).sum(axis=1)
        return self.regret[np.arange(len(count)), np.maximum(count - 1, 0)]

    @property
    def cumulative_bound(self) -> Floats:
        """Σ f so far, f the agent's own bound on the value of the optimum; ValueError if it states none."""
        if "cumulative_bound" in self.diagnostics:
            return self.diagnostics["cumulative_bound"]
        if "bound" not in self.diagnostics:
            raise ValueError(f"{type(self.agent).__name__} states no bound: use an agent whose diagnostics have one")
        return np.cumsum(self.diagnostics["bound"], axis=1)

    @property
    def promised_regret(self) -> Floats:
        """Σ_t (f_t − V^{π_t}), whose mean is that of Σ_t Φ_t: the agent's own bound on its regret."""
        return self.cumulative_bound - self.optimal_values[:, None] * self.points + self.regret

    def at(self, points: Sequence[int] | Ints) -> "Runs":
        """The same at some of the episodes that were kept."""
        chosen = np.asarray(points, np.int64)
        columns = self._columns(chosen)
        said = dict(self.diagnostics)
        if "bound" in said:
            said["cumulative_bound"] = self.cumulative_bound
        some = {name: getattr(self, name)[:, columns] for name in ("values", "returns", "hits", "regret")}
        diagnostics = {name: x[:, columns] for name, x in said.items()}
        return replace(self, points=chosen, diagnostics=diagnostics, policies=None, opponents=None, **some)

    def powers(self, first: int | None = None) -> Floats:
        """Per seed the slope of log regret against log episodes, by least squares: 1 is linear, ½ a square root.

        From episode ``first``, by default a tenth of all. Nan if the regret is not above zero throughout.
        """
        grid = power_points(self.episodes, first)
        some = np.ascontiguousarray(self.regret[:, self._columns(grid)])
        logs = np.log(np.where(some > 0.0, some, np.nan))
        t = np.log(grid) - np.log(grid).mean()
        terms = np.ascontiguousarray(logs * t)  # summed row by row: a seed does not depend on others
        slopes: Floats = terms.sum(axis=1) / (t @ t)
        return slopes

    def summary(self) -> str:
        """How it went, in a few lines: means and medians over the seeds, with 95% intervals."""
        return text_summary(self._title(), self._facts())

    def frame(self) -> "DataFrame":
        """A pandas data frame, one row per seed and kept episode.

        Columns are seed, episode (from 1), value (exact, of that episode's policy), regret (cumulative, exact), return
        (what was collected), hit (whether the goal was reached, if there is one), and the agent's diagnostics.
        """
        columns: dict[str, Any] = {
            "seed": np.repeat(self.seeds, len(self.points)),
            "episode": np.tile(self.points, len(self.seeds)),
            **{name: self._series(name).ravel() for name in self._names()},
        }
        return data_frame(columns | {"hit": self.hits.ravel()} if self.has_goal else columns)

    def plot(self, ax: Axes | None = None, what: str = "regret", label: str | None = None) -> Axes:
        """The mean over the seeds by episode with a 95% interval, and a thin line per seed; returns Matplotlib's axes.

        The interval is that of `summary`, and needs ten seeds. Above 50 seeds, bands hold the middle half and 95% of
        them. ``what`` is "regret", "value", "return" or one of
        the agent's diagnostics. Draw several on the same ``ax`` to compare them; the ``label`` is by default the
        agent's name. Ticks below are the seeds' first hits of the goal.
        """
        checks.choice("what", what, self._names())
        axes, lines = axes_or_new(ax), self._series(what)
        name = label if label is not None else type(self.agent).__name__
        (mean,) = axes.plot(self.points, lines.mean(axis=0), linewidth=2, label=f"{name}, mean of {len(lines):,}")
        colour = mean.get_color()
        if len(lines) >= FEWEST:
            mean.set_label(f"{mean.get_label()}, 95% interval")
            axes.fill_between(*_interval_band(self.points, lines), color=colour, alpha=0.35, linewidth=0)
        if len(lines) > MOST_LINES:
            for low, high, alpha in BANDS:
                band = np.quantile(lines, [low, high], axis=0)
                axes.fill_between(self.points, *band, color=colour, alpha=alpha, linewidth=0)
        for line in lines if 1 < len(lines) <= MOST_LINES else ():
            axes.plot(self.points, line, color=colour, linewidth=0.6, alpha=0.35)
        hits = self.first_hit[np.isfinite(self.first_hit)]
        if hits.size and what == "regret" and len(lines) <= MOST_LINES:
            name = "first hit of a seed"
            again = name in axes.get_legend_handles_labels()[1]
            axes.plot(hits, np.zeros_like(hits), "|", color=colour, markersize=12, label=None if again else name)
        ylabel = "cumulative regret" if what == "regret" else what
        axes.set(xlabel=self.unit, ylabel=ylabel, title=self.place)
        axes.legend(frameon=False)
        return axes

    @property
    def has_goal(self) -> bool:
        """Whether an episode can reach a goal; a game has none."""
        return self.opponent is None and self.world.goal is not None

    @property
    def unit(self) -> str:
        """The name of an episode: in a game a round."""
        return "episode" if self.opponent is None else "round"

    def _columns(self, points: Ints) -> Ints:
        """Where these episodes are kept."""
        columns = np.searchsorted(self.points, points)
        kept = columns < len(self.points)
        if missing := points[~kept | (self.points[np.where(kept, columns, 0)] != points)].tolist():
            raise ValueError(f"episode {missing[0]} was not kept: run it with keep='all', or with it among the points")
        return columns

    def _names(self) -> list[str]:
        return ["value", "regret", "return", *self.diagnostics]

    def _series(self, name: str) -> Floats:
        """(seeds, points)."""
        ours = {"value": self.values, "regret": self.regret, "return": self.returns}
        return ours[name] if name in ours else self.diagnostics[name]

    @property
    def place(self) -> str:
        """The name of the world; of a game with the opponent's."""
        name = str(self.world.name)
        return name if self.opponent is None else f"{name} against {self.opponent.name}"

    def _title(self) -> str:
        counted = ((len(self.seeds), "seed"), (self.episodes, self.unit))
        size = " × ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for n, noun in counted)
        clock = f", {self.seconds:.3g} s" if np.isfinite(self.seconds) else ""
        return f"{self.agent!r} in {self.place}: {size}{clock}"

    def _facts(self) -> dict[str, str]:
        recent = max(1, self.episodes // 10) if self.keeps_all else 1
        last = f"last {recent:,} {self.unit}s" if recent > 1 else f"last {self.unit}"
        game, best = self.opponent is not None, round(self.optimal_value, 12) + 0.0  # rounding is not shown
        facts = {
            "prior": repr(self.prior),
            "value of the game" if game else "optimal value": f"{best:.4g}",
            f"regret after {self.episodes:,}": shown(mean_interval(self.regret[:, -1])),
            f"value, {last}": shown(mean_interval(self.values[:, -recent:].mean(axis=1))),
            f"return, {last}": shown(mean_interval(self.returns[:, -recent:].mean(axis=1))),
        }
        if len(self.seeds) > MOST_LINES:
            low, middle, high = np.quantile(self.regret[:, -1], [0.025, 0.5, 0.975])
            facts["regret of the seeds"] = f"median {middle:.4g}, 95% between {low:.4g} and {high:.4g}"
            if np.isfinite(self.seconds):
                rate = len(self.seeds) * self.episodes / self.seconds
                facts[f"{self.unit}s a second"] = f"{rate:,.0f}"
        if game and self.keeps_all and self.episodes > 1 and np.isfinite(powers := self.powers()).all():
            facts["regret grows as rounds to the power"] = shown(mean_interval(powers))
        if self.has_goal:
            for name, times in (("first hit", self.first_hit), ("solved", self.solved)):
                median = median_interval(times)
                middle = f"median {shown(median)}" if np.isfinite(median.estimate) else "by fewer than half"
                facts[name] = f"{middle}; {np.isfinite(times).sum():,} of {len(times):,} seeds"
        if len(self.seeds) < FEWEST:
            facts["intervals"] = f"none below {FEWEST} seeds"
        return facts

    def __repr__(self) -> str:
        return f"Runs({self._title()})"

    def _repr_html_(self) -> str:
        return html_summary(self._title(), self._facts())


def _interval_band(points: Ints, lines: Floats) -> tuple[Ints, Floats, Floats]:
    """Some of the points, and the ends of the mean's interval there; nan if there is none. Within what was measured."""
    at = np.unique(np.linspace(0, len(points) - 1, BAND_POINTS).round().astype(int))
    intervals = [mean_interval(np.ascontiguousarray(lines[:, i])) for i in at]
    low, high = np.clip([(x.low, x.high) for x in intervals], np.nanmin(lines), np.nanmax(lines)).T
    return points[at], low, high


def shown(x: Interval) -> str:
    """An estimate with its interval, if it has one."""
    return f"{x.estimate:.4g}" + ("" if np.isnan(x.low) else f" [{x.low:.4g}, {x.high:.4g}]")


def _named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}


def _derived(optimal: Any, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Results that follow from the values and hits of all episodes."""
    return {
        "regret": regret.cumulative_regret(np.asarray(optimal)[..., None], arrays["values"]),
        "first_hit": regret.first_hit(arrays["hits"]),
        "solved": regret.time_to_solve(arrays["hits"]),
    }


def at_points(arrays: Mapping[str, NDArray[Any]], points: Sequence[int]) -> Arrays:
    """Of all episodes of one seed these alone, from 1; nan after its end. Regret and bounds are summed before."""
    ran = len(arrays["values"])
    kept = np.array([t for t in points if t <= ran], np.int64) - 1
    some = {**arrays, **_derived(arrays["optimal_value"], arrays)}
    if f"{DIAGNOSTIC}bound" in some:
        some[f"{DIAGNOSTIC}cumulative_bound"] = np.cumsum(some[f"{DIAGNOSTIC}bound"])
    by_episode = ("values", "returns", "hits", "regret")
    return {
        name: np.asarray(_padded(x[kept], len(points)) if name in by_episode or name.startswith(DIAGNOSTIC) else x)
        for name, x in some.items()
    }


def stacked(seeds: Sequence[Mapping[str, NDArray[Any]]]) -> Arrays:
    """The arrays of several seeds with an axis of seeds before the others; those that ended early, padded."""
    length = max(len(arrays["values"]) for arrays in seeds)
    together = {}
    for name in seeds[0]:
        long = name in ("values", "returns", "hits") or name.startswith(DIAGNOSTIC)
        together[name] = np.stack([_padded(arrays[name], length) if long else arrays[name] for arrays in seeds])
    return together


def _padded(x: NDArray[Any], length: int) -> NDArray[Any]:
    """The last axis made longer: by nan, of flags by False."""
    *others, short = x.shape
    if short == length:
        return x
    return np.concatenate([x, np.full((*others, length - short), False if x.dtype == np.bool_ else np.nan)], axis=-1)


def joined(parts: Sequence[Runs]) -> Runs:
    """Runs of one setting put together, seed after seed. Those of other lengths are padded by nan."""
    first = parts[0]
    if len(parts) == 1:
        return first
    longest = max(parts, key=lambda runs: len(runs.points))
    length = len(longest.points)

    def together(name: str) -> Any:
        arrays = [getattr(runs, name) for runs in parts]
        return None if any(x is None for x in arrays) else np.concatenate(arrays)

    def series(arrays: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([_padded(x, length) for x in arrays])

    changes: dict[str, Any] = {
        **{name: together(name) for name in ("optimal_values", "first_hit", "solved", "visits")},
        **{name: series([getattr(runs, name) for runs in parts]) for name in ("values", "returns", "hits", "regret")},
        "seeds": tuple(seed for runs in parts for seed in runs.seeds),
        "points": longest.points,
        "diagnostics": {name: series([runs.diagnostics[name] for runs in parts]) for name in first.diagnostics},
        "snapshots": {name: np.concatenate([runs.snapshots[name] for runs in parts]) for name in first.snapshots},
    }
    return replace(first, policies=None, opponents=None, **changes)


def geometric_points(episodes: int, a_decade: int = A_DECADE) -> tuple[int, ...]:
    """1 … episodes, about evenly spaced on a logarithmic axis."""
    count = 1 + round(a_decade * np.log10(max(episodes, 1)))
    return tuple(int(t) for t in np.unique(np.rint(np.geomspace(1, episodes, max(count, 1)))))


def power_points(episodes: int, first: int | None = None) -> Ints:
    """The episodes to whose regret `Runs.powers` fits a power."""
    begin = max(1, episodes // 10) if first is None else checks.whole("first", first)
    if begin >= episodes:
        raise ValueError(f"first={begin} leaves no episode of {episodes} to fit: give a smaller number, or play more")
    return np.unique(np.geomspace(begin, episodes, GRID).round().astype(int))


def points_to_keep(keep: str | Sequence[int], episodes: int) -> tuple[int, ...]:
    """The episodes that are kept, rising to the last one; none of them means all."""
    if isinstance(keep, str):
        checks.choice("keep", keep, ("all", "points"))
        return () if keep == "all" else geometric_points(episodes)
    if not isinstance(keep, Sequence | np.ndarray):
        raise ValueError(f"keep={keep!r} is not a list: give 'all', 'points', or the episodes")
    points = tuple(checks.whole("keep", t) for t in keep)
    if not points or points[-1] != episodes or any(b <= a for a, b in pairwise(points)):
        raise ValueError(f"keep={list(points)} must rise from 1 or more to the last episode, {episodes}")
    return points


def seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Which seeds are meant: the first N from 0, or these."""
    listed = isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str)
    which: Any = seeds if listed else range(checks.whole("seeds", seeds, high=sys.maxsize))
    checks.fits("seeds", seeds, SEED_BYTES * len(which))
    numbers = tuple(checks.whole(f"seeds[{i}]", s, 0) for i, s in enumerate(which))
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds={seeds!r} is empty or has repeats: give how many, or distinct numbers")
    return numbers
