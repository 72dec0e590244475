"""`compare`: intervals for each agent, tests between them, and the places that these leave open.

Places: an agent is behind those that beat it and before those that it beats, by tests adjusted so that the chance of
any false one keeps its level. Ranks in between stay open, for all agents at once: a rank is an interval, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from klearning.lab.comparison import drawing, text
from klearning.lab.comparison.samples import METRICS, Metric, Sample, metric_of, pairing, samples_of
from klearning.numerics import checks
from klearning.numerics.display.frames import data_frame
from klearning.numerics.display.plots import Picture, pyplot_figure
from klearning.numerics.statistics import (
    RESAMPLES,
    Chance,
    Contrast,
    Interval,
    chance_below,
    fraction_interval,
    holm,
    interquartile_interval,
    mean_difference,
    median_interval,
    optimality_gap,
    paired_chance_below,
    paired_difference,
    stratified_mean,
)

if TYPE_CHECKING:
    from pandas import DataFrame

TABLES = ("agents", "pairs", "runs")
MANY_PAIRS = 100  # beyond which 4,000 shuffles cannot give a p-value that survives Holm's rule
NOTHING = Interval(np.nan, np.nan, np.nan)


class Standing(NamedTuple):
    """One agent: how many runs, what they came to, and from which to which place it may be."""

    agent: str
    runs: int
    mean: Interval  # nan of times
    iqm: Interval  # of the middle half; nan of times
    median: Interval  # of times in one world; nan of all else
    solved: Interval  # share of runs; nan of all but times
    gap: Interval  # optimality gap, if several worlds have one scale; nan elsewhere
    first: int
    last: int


class Pair(NamedTuple):
    """Two agents: the difference of their means, how often the first is ahead, and how sure that is."""

    a: str
    b: str
    difference: Interval  # mean of a − mean of b; nan of times
    improvement: Interval  # probability that a run of a is better than one of b
    p_value: float
    adjusted: float  # by Holm's rule, for all pairs that were tested
    test: str
    ahead: str  # who is better in these runs, sure or not


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A comparison of agents by their runs. Prints as a table with one sentence; `plot` and `frame` show more."""

    metric: str
    samples: tuple[Sample, ...]
    standings: tuple[Standing, ...]  # the best first
    pairs: tuple[Pair, ...]
    against: str | None = None
    level: float = 0.95
    worlds: tuple[str, ...] = field(default=())

    @property
    def measure(self) -> Metric:
        return METRICS[self.metric]

    @property
    def sentence(self) -> str:
        """The conclusion, with the tests behind it."""
        return text.sentence(self)

    def __str__(self) -> str:
        return text.text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(text.html(self))

    def plot(self) -> Picture:
        """A Matplotlib figure: means and IQM with intervals, performance profiles, probabilities of improvement.

        A notebook shows it by itself; elsewhere call its ``show()`` or ``savefig()``.
        """
        return drawing.draw(self, pyplot_figure())

    def frame(self, table: str = "agents") -> "DataFrame":
        """A pandas DataFrame: a line per agent, or per tested pair ("pairs"), or per run ("runs")."""
        return data_frame(text.columns(self, checks.choice("table", table, TABLES)))

    def data(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        return text.data(self)


def compare(
    results: Mapping[str, Any],
    metric: str = "regret",
    *,
    against: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare agents by their runs: intervals, tests with Holm's rule, rankings, one sentence.

    ``results`` are runs by the name of an agent, two or more. Under each name is

    - `Runs`: a number per seed. Agents of different classes share nothing by having the same seeds, and are compared as
      two samples; variants of one class meet the same random streams, and are compared seed by seed;
    - `Runs` of one game against one opponent: the same;
    - a list of `Runs`, in worlds drawn from one law: a number per world, and pairs if all have the same worlds;
    - numbers, one per run, from anywhere;
    - any of these by world, {"a world": runs, …}: then every world counts the same, regret is a share of what random
      play loses there (0: the optimum throughout), and resamples and permutations stay within a world.

    ``metric`` is "regret" (cumulative, exact), "return" (mean per episode) or "solved" (episodes until solved; nan is
    longer than any). ``against`` names one agent that the others are compared with, in place of all pairs.
    """
    measure = metric_of(metric)
    return contest(samples_of(results, measure), metric, against=against, level=level, seed=seed)


def contest(
    samples: Sequence[Sample],
    metric: str = "regret",
    *,
    against: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """`compare` of what is in numbers already."""
    measure = metric_of(metric)
    if not isinstance(level, float) or not 0.5 <= level < 1.0:
        raise ValueError(f"level={level!r} is not a level: give a number from 0.5 to below 1, for example 0.95")
    if against is not None:
        checks.choice("against", against, [sample.name for sample in samples])
    chosen = [(a, b) for a, b in combinations(samples, 2) if against is None or against in (a.name, b.name)]
    shuffles = RESAMPLES * (1 + len(chosen) // MANY_PAIRS)
    tested = [_tested(a, b, measure, level, seed, shuffles) for a, b in chosen]
    adjusted = holm(np.array([pair.p_value for pair in tested]))
    pairs = tuple(pair._replace(adjusted=float(p)) for pair, p in zip(tested, adjusted, strict=True))
    standings = [_standing(sample, pairs, measure, level, seed, len(samples)) for sample in samples]
    ranked = sorted(standings, key=lambda standing: _rank(standing, measure))
    worlds = tuple(samples[0].numbers)
    return Comparison(metric, tuple(samples), tuple(ranked), pairs, against, level, worlds)


def _tested(a: Sample, b: Sample, measure: Metric, level: float, seed: int, shuffles: int) -> Pair:
    """Two agents, by the test that fits what their runs share."""
    shared = pairing(a, b)
    sign = 1.0 if measure.lower else -1.0
    contrast = Contrast(NOTHING, 1.0)
    if shared:
        x, y = a.pooled, b.pooled
        chance = paired_chance_below(sign * x, sign * y, level)
        if not measure.censored:
            contrast = paired_difference(x, y, seed, level, shuffles)
    else:
        chance = chance_below([sign * x for x in a.strata], [sign * y for y in b.strata], seed, level, shuffles)
        if not measure.censored:
            contrast = mean_difference(a.strata, b.strata, seed, level, shuffles)
    result: Chance | Contrast = chance if measure.censored else contrast
    first = chance.probability.estimate >= 0.5 if measure.censored else sign * contrast.difference.estimate <= 0.0
    ahead = a.name if first else b.name
    test = _name(shared, measure)
    return Pair(a.name, b.name, contrast.difference, chance.probability, result.p_value, np.nan, test, ahead)


def _name(shared: str, measure: Metric) -> str:
    if shared:
        return f"{'sign test' if measure.censored else 'sign flips'}, paired by {shared}"
    return "Brunner–Munzel, permuted" if measure.censored else "Welch’s t, permuted"


def _standing(sample: Sample, pairs: Sequence[Pair], measure: Metric, level: float, seed: int, agents: int) -> Standing:
    sure = [pair for pair in pairs if pair.adjusted <= 1.0 - level and sample.name in (pair.a, pair.b)]
    ahead = sum(pair.ahead != sample.name for pair in sure)
    x = sample.pooled
    times, one = measure.censored, len(sample.numbers) == 1
    return Standing(
        sample.name,
        len(x),
        NOTHING if times else stratified_mean(sample.strata, level, seed),
        NOTHING if times else interquartile_interval(sample.strata, level, seed),
        median_interval(x, level) if times and one else NOTHING,
        fraction_interval(int(np.isfinite(x).sum()), len(x), level) if times else NOTHING,
        NOTHING if times or one else _gap(sample, measure, level, seed),
        1 + ahead,
        agents - (len(sure) - ahead),
    )


def _gap(sample: Sample, measure: Metric, level: float, seed: int) -> Interval:
    """Regret that is a share is 1 − a score, and never below 0: its mean is the optimality gap."""
    scores = [1.0 - x for x in sample.strata] if measure.lower else sample.strata
    return optimality_gap(scores, level, seed)


def _rank(standing: Standing, measure: Metric) -> tuple[float, ...]:
    if measure.censored:
        median = standing.median.estimate
        return (standing.first, np.inf if np.isnan(median) else median, -standing.solved.estimate)
    return (standing.mean.estimate if measure.lower else -standing.mean.estimate,)
