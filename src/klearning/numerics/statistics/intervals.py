"""Confidence intervals with tested coverage: of a mean, an interquartile mean, a fraction.

Runs in several worlds are strata, one array per world; resamples are drawn within each of them.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from klearning.numerics.types import Floats

FEWEST = 10  # seeds for an interval: with 5, a nominal 95% covers about 75% on skewed data
RESAMPLES = 4000
MANY = 2000  # above it a mean is nearly normal, and resamples would take gigabytes


class Interval(NamedTuple):
    """An estimate with its interval; NaN bounds if there are too few seeds."""

    estimate: float
    low: float
    high: float


def mean_interval(x: Floats, level: float = 0.95, seed: int = 0) -> Interval:
    """The mean of x with a bootstrap-t interval, which unlike Student's t adapts to skewness.

    If more than half of the values are equal, the few others determine both mean and spread of a resample. The interval
    is unreliable then, and NaN unless at least `FEWEST` values differ from the commonest.
    """
    n, mean = len(x), float(np.mean(x))
    spread = float(np.std(x, ddof=1)) if n > 1 else np.nan
    if n < FEWEST or not np.isfinite(mean):
        return Interval(mean, np.nan, np.nan)
    apart = n - int(np.unique(x, return_counts=True)[1].max())  # values that differ from the commonest
    if apart == 0:
        return Interval(mean, mean, mean)
    if apart < min(FEWEST, n / 2):
        return Interval(mean, np.nan, np.nan)
    tail = (1.0 - level) / 2.0
    if n > MANY:
        half = NormalDist().inv_cdf(1.0 - tail) * spread / np.sqrt(n)
        return Interval(mean, mean - half, mean + half)
    draws = x[np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))]
    spreads = draws.std(axis=1, ddof=1)
    usable = spreads > 0.0
    t = (draws.mean(axis=1)[usable] - mean) / spreads[usable]
    low, high = np.quantile(t, [1.0 - tail, tail])
    return Interval(mean, mean - float(low) * spread, mean - float(high) * spread)


def fraction_interval(successes: float, trials: float, level: float = 0.95) -> Interval:
    """A fraction with Wilson's interval."""
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return Interval(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


Strata = Sequence[Floats]  # one array per world


def stratified_mean(strata: Strata, level: float = 0.95, seed: int = 0) -> Interval:
    """The mean over worlds of their means, equally weighted, with a bootstrap-t interval."""
    if len(strata) == 1:
        return mean_interval(strata[0], level, seed)
    mean = float(np.mean([np.mean(x) for x in strata]))
    if not _enough(strata) or not np.isfinite(mean):
        return Interval(mean, np.nan, np.nan)
    rng, K = np.random.default_rng(seed), len(strata)
    error = np.sqrt(sum(np.var(x, ddof=1) / len(x) for x in strata)) / K
    means, variances = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for x in strata:
        draws = resamples(x, rng)
        means += draws.mean(axis=1) / K
        variances += draws.var(axis=1, ddof=1) / len(x) / K**2
    return studentised(mean, float(error), means - mean, np.sqrt(variances), level)


def interquartile_mean(strata: Strata) -> float:
    """IQM: the mean of the middle half of all numbers, without a quarter (rounded down) at either end."""
    return float(_middle(np.concatenate(strata)[None])[0])


def interquartile_interval(strata: Strata, level: float = 0.95, seed: int = 0) -> Interval:
    """The IQM with a percentile interval, widened by √(n/(n − 1)) for n seeds per world.

    The spread of resamples is too small by this factor. A bootstrap-t, which is better for means, is unreliable here:
    the middle half of a resample may be a few equal numbers.
    """
    middle = interquartile_mean(strata)
    if not _enough(strata) or not np.isfinite(middle):
        return Interval(middle, np.nan, np.nan)
    rng, sizes = np.random.default_rng(seed), [len(x) for x in strata]
    middles = _middle(np.concatenate([resamples(x, rng) for x in strata], axis=1))
    tail, n = (1.0 - level) / 2.0, len(sizes) / sum(1.0 / size for size in sizes)
    low, high = middle + np.sqrt(n / (n - 1.0)) * (np.quantile(middles, [tail, 1.0 - tail]) - middle)
    return Interval(middle, float(low), float(high))


def _middle(rows: Floats) -> Floats:
    """The IQM of every row."""
    g = rows.shape[1] // 4
    kept: Floats = np.sort(rows, axis=1)[:, g : rows.shape[1] - g]
    return kept.mean(axis=1)


def resamples(x: Floats, rng: np.random.Generator) -> Floats:
    """Resamples of x with replacement, one per row."""
    drawn: Floats = x[rng.integers(0, len(x), (RESAMPLES, len(x)))]
    return drawn


def studentised(
    estimate: float, error: float, apart: Floats, errors: Floats, level: float, constant: bool = False
) -> Interval:
    """The bootstrap-t interval, from quantiles of ``apart/errors``, the studentised deviations of resamples.

    NaN if one resample in twenty has no spread: a few values would determine everything.
    """
    if constant:
        return Interval(estimate, estimate, estimate)
    usable = errors > 1e-9 * error
    if error == 0.0 or usable.mean() < 0.95:
        return Interval(estimate, np.nan, np.nan)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(apart[usable] / errors[usable], [1.0 - tail, tail])
    return Interval(estimate, estimate - float(low) * error, estimate - float(high) * error)


def _enough(strata: Strata) -> bool:
    """Whether there are enough seeds for an interval: in all, and five per world for a spread within it."""
    return sum(map(len, strata)) >= FEWEST and (len(strata) == 1 or min(map(len, strata)) >= 5)


def optimality_gap(scores: Strata, level: float = 0.95, seed: int = 0) -> Interval:
    """The mean shortfall of scores below 1, the optimum; scores above 1 count as 1."""
    return stratified_mean([np.maximum(0.0, 1.0 - x) for x in scores], level, seed)


class Profile(NamedTuple):
    """The share of runs at or below each threshold, with pointwise Wilson intervals."""

    thresholds: Floats
    share: Floats
    low: Floats
    high: Floats


def performance_profile(x: Floats, thresholds: Floats, level: float = 0.95) -> Profile:
    """The share of runs at or below each threshold; NaN (never solved) is above all."""
    counts = [int(np.sum(np.where(np.isnan(x), np.inf, x) <= threshold)) for threshold in thresholds]
    ends = np.array([fraction_interval(count, len(x), level) for count in counts]).reshape(-1, 3)
    return Profile(np.asarray(thresholds), *ends.T)
