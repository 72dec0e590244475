"""How Bayes regret grows with T, L, S and A: exponents fitted to the study's thousand worlds, with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from klearning.lab.papers.odonoghue2021.study import GRID, LONG, NOISE, Results, Size, contestants
from klearning.lab.theory import regret_bound
from klearning.numerics.statistics import Interval
from klearning.numerics.types import Floats
from klearning.tabular.trials.runs import Runs

RESAMPLES = 2000


class Growth(NamedTuple):
    """How mean regret grows with one of T, L, S, A while the others stay: an exponent with its interval."""

    fitted: Interval
    of_bound: float  # the exponent of the theorem's bound over the same range


def growth(results: Results) -> dict[str, dict[str, Growth]]:
    """By letter and label. L, S and A at the last episode, S a layer; T over the last tenfold of the long runs."""
    exponents: dict[str, dict[str, Growth]] = {"T": {}, **{letter: {} for letter in GRID}}
    for name in contestants():
        exponents["T"][name] = growth_in_time(results[LONG][name])
        for letter, line in GRID.items():
            exponents[letter][name] = growth_in_size(letter, line, [results[size][name] for size in line])
    return exponents


def growth_in_time(runs: Runs) -> Growth:
    late = runs.points >= runs.points[-1] / 10
    L, S, A = (runs.spec.world[key] for key in ("horizon", "states", "actions"))
    bound = regret_bound(Size(L, S, A).totals, runs.points[late], NOISE)
    return fit(runs.points[late], runs.regret[:, late], bound)


def growth_in_size(letter: str, line: Sequence[Size], runs: Sequence[Runs]) -> Growth:
    bound = np.array([regret_bound(size.totals, f.points[-1], NOISE) for size, f in zip(line, runs)])
    last = np.stack([f.regret[:, -1] for f in runs], axis=1)
    return fit(np.array([size._asdict()[letter] for size in line], float), last, bound)


def fit(x: Floats, regret: Floats, bound: Floats, level: float = 0.95) -> Growth:
    """The slope of log mean regret in log x, by least squares, with a percentile interval over resampled worlds.

    A row of ``regret`` is a world (of one seed, at all sizes): rows are resampled whole, so that whatever the columns
    have in common stays in common.
    """
    worlds = len(regret)
    weights = np.random.default_rng(0).multinomial(worlds, np.full(worlds, 1.0 / worlds), RESAMPLES) / worlds
    slopes = _slopes(x, np.log(weights @ regret))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(slopes, [tail, 1.0 - tail])
    slope = float(_slopes(x, np.log(regret.mean(axis=0)))[()])
    return Growth(Interval(slope, float(low), float(high)), float(_slopes(x, np.log(bound))[()]))


def _slopes(x: Floats, y: Floats) -> Floats:
    centred = np.log(x) - np.log(x).mean()
    return np.asarray(y @ centred / (centred @ centred))
