"""Times that may be censored: numbers of episodes, nan where the cap came first.

Such a run is not dropped: it took longer than the cap.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.statistics.intervals import FEWEST, Interval
from klearning.numerics.types import Floats


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


def binomial_half(n: int) -> Floats:
    """P(Binomial(n, ½) = k), k = 0..n."""
    k = np.arange(1, n + 1)
    log = np.concatenate([[0.0], np.cumsum(np.log((n - k + 1) / k))]) - n * np.log(2.0)
    return np.exp(log)
