"""Statistics that say what they know: intervals with tested coverage, times with censoring, paired comparisons.

Times are numbers of episodes, nan where the cap came first. Such a run is not dropped: it took longer than the cap.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from klearning.arrays.types import Floats

__all__ = [
    "FEWEST",
    "MANY",
    "RESAMPLES",
    "Comparison",
    "Interval",
    "Survival",
    "binomial_half",
    "fraction_interval",
    "holm",
    "kaplan_meier",
    "mean_interval",
    "median_interval",
    "median_time",
    "paired_difference",
    "paired_sign_test",
]

FEWEST = 10  # seeds below which no interval is given: at 5, a nominal 95% covers some 75% on skewed data
RESAMPLES = 4000
MANY = 2000  # values beyond which a mean is normal enough, and resamples of them are gigabytes


class Interval(NamedTuple):
    """An estimate and its interval; nan bounds where there are too few seeds for one."""

    estimate: float
    low: float
    high: float


def mean_interval(x: Floats, level: float = 0.95, seed: int = 0) -> Interval:
    """The mean of x with a bootstrap-t interval, which follows skewness where Student's t does not.

    Where more than half of the values are one and the same, the few others decide both mean and spread of a resample,
    and the interval is wild unless there are at least `FEWEST` of them: below that there is none.
    """
    n, mean = len(x), float(np.mean(x))
    spread = float(np.std(x, ddof=1)) if n > 1 else np.nan
    if n < FEWEST or not np.isfinite(mean):
        return Interval(mean, np.nan, np.nan)
    apart = n - int(np.unique(x, return_counts=True)[1].max())  # from the commonest value
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


def fraction_interval(successes: int, trials: int, level: float = 0.95) -> Interval:
    """A share with Wilson's interval."""
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return Interval(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


def median_time(times: Floats) -> float:
    """The median with unsolved runs counted as longer than any; nan where half or more of them are unsolved."""
    median = float(np.median(np.where(np.isnan(times), np.inf, times)))
    return median if np.isfinite(median) else np.nan


def median_interval(times: Floats, level: float = 0.95) -> Interval:
    """The median time with the interval between order statistics that covers at least ``level``, whatever the law.

    An infinite end means that the data do not bound it.
    """
    n = len(times)
    ordered = np.sort(np.where(np.isnan(times), np.inf, times))
    if n < FEWEST:
        return Interval(median_time(times), np.nan, np.nan)
    # P(X_(k) ≤ median < X_(n+1−k)) = 1 − 2·P(Binomial(n, ½) < k)
    below = np.cumsum(binomial_half(n))
    k = int(np.searchsorted(below, (1.0 - level) / 2.0, side="right"))
    if k == 0:
        return Interval(median_time(times), -np.inf, np.inf)
    return Interval(median_time(times), float(ordered[k - 1]), float(ordered[n - k]))


class Survival(NamedTuple):
    """The Kaplan–Meier estimate: after each time at which something was solved, the share not yet solved."""

    times: Floats
    share: Floats


def kaplan_meier(times: Floats, caps: Floats) -> Survival:
    """The share of runs not yet solved, where run i was watched for caps[i] episodes and is nan where not solved."""
    solved = np.isfinite(times)
    watched = np.where(solved, times, caps)
    events = np.unique(times[solved])
    at_risk = np.array([(watched >= t).sum() for t in events], dtype=float)
    died = np.array([(times[solved] == t).sum() for t in events], dtype=float)
    return Survival(events, np.cumprod(1.0 - died / at_risk))


class Comparison(NamedTuple):
    """a against b on the same worlds and seeds: the mean difference a − b, and the chance of one as large by luck."""

    difference: Interval
    p_value: float


def paired_difference(a: Floats, b: Floats, seed: int = 0) -> Comparison:
    """Mean of a − b, pair by pair, with a sign-flip permutation test; what is not finite is no finding."""
    d = np.asarray(a) - np.asarray(b)
    if not np.isfinite(d).all():
        return Comparison(Interval(np.nan, np.nan, np.nan), 1.0)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (RESAMPLES, len(d)))
    flipped = np.abs((signs * d).mean(axis=1))
    p = (1.0 + (flipped >= abs(d.mean()) * (1.0 - 1e-12)).sum()) / (RESAMPLES + 1.0)
    return Comparison(mean_interval(d, seed=seed), float(min(p, 1.0)))


def paired_sign_test(a: Floats, b: Floats) -> float:
    """Two-sided p-value that a is below b as often as above; unsolved (nan) is above all, equal pairs say nothing."""
    x, y = (np.where(np.isnan(v), np.inf, v) for v in (a, b))
    below, above = int((x < y).sum()), int((x > y).sum())
    n = below + above
    if n == 0:
        return 1.0
    return float(min(1.0, 2.0 * binomial_half(n)[: min(below, above) + 1].sum()))


def holm(p_values: Floats) -> Floats:
    """p-values adjusted by Holm's step-down rule, so that the chance of any false claim among them keeps its level."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def binomial_half(n: int) -> Floats:
    """P(Binomial(n, ½) = k), k = 0..n."""
    k = np.arange(1, n + 1)
    log = np.concatenate([[0.0], np.cumsum(np.log((n - k + 1) / k))]) - n * np.log(2.0)
    return np.exp(log)
