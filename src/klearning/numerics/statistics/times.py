"""Censored times: numbers of episodes, NaN if the cap came first.

A censored run is not dropped: it counts as longer than the cap.
"""

import numpy as np

from klearning.numerics.statistics.intervals import FEWEST, Interval
from klearning.numerics.types import Floats


def median_time(times: Floats) -> float:
    """The median, with unsolved runs as the longest; NaN if half of the runs or more are unsolved."""
    median = float(np.median(np.where(np.isnan(times), np.inf, times)))
    return median if np.isfinite(median) else np.nan


def median_interval(times: Floats, level: float = 0.95) -> Interval:
    """The median time with the interval of order statistics that covers at least ``level`` for any distribution.

    An infinite end is not bounded by the data.
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


def binomial_half(n: int) -> Floats:
    """P(Binomial(n, ½) = k), k = 0..n."""
    k = np.arange(1, n + 1)
    log = np.concatenate([[0.0], np.cumsum(np.log((n - k + 1) / k))]) - n * np.log(2.0)
    return np.exp(log)
