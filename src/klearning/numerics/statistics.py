"""Statistics with tested coverage and level; `klearning.lab.comparison` combines them.

- **Means**: confidence intervals of a mean, an interquartile mean (IQM) and a fraction; performance profiles. Runs in
  several worlds are strata, one array per world; resamples are drawn within each of them.
- **Times**: medians of numbers of episodes, NaN if the cap came first. A censored run counts as longer than the cap.
- **Tests**: the difference of two agents' means, and the probability that one beats the other; Holm's rule.

Runs that share random numbers (the same drawn world, the same streams) are tested as pairs, by sign flips. Independent
runs are tested by permuting labels within every world, with studentised statistics. Such a test is exact if both
distributions are equal, and keeps its level for many seeds if only the tested quantity is equal (Janssen 1997; Chung
and Romano 2013). The plain permutation test and the Mann–Whitney test do not.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from klearning.numerics.types import Floats

__all__ = [
    "FEWEST",
    "MANY",
    "RESAMPLES",
    "Chance",
    "Contrast",
    "Interval",
    "Profile",
    "Strata",
    "binomial_half",
    "chance_below",
    "fraction_interval",
    "holm",
    "interquartile_interval",
    "interquartile_mean",
    "mean_difference",
    "mean_interval",
    "median_interval",
    "median_time",
    "optimality_gap",
    "paired_chance_below",
    "paired_difference",
    "paired_sign_test",
    "performance_profile",
    "stratified_mean",
]

FEWEST = 10  # seeds for an interval: with 5, a nominal 95% covers about 75% on skewed data
RESAMPLES = 4000
MANY = 2000  # above it a mean is nearly normal, and resamples would take gigabytes
EQUAL = 1e-9  # relative difference below which statistics are equal up to rounding
Strata = Sequence[Floats]  # one array per world


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
    apart = _apart(x)
    if apart == 0:
        return Interval(mean, mean, mean)
    if apart < min(FEWEST, n / 2):
        return Interval(mean, np.nan, np.nan)
    tail = (1.0 - level) / 2.0
    if n > MANY:
        half = NormalDist().inv_cdf(1.0 - tail) * spread / np.sqrt(n)
        return Interval(mean, mean - half, mean + half)
    draws = resamples(x, np.random.default_rng(seed))
    spreads = draws.std(axis=1, ddof=1)
    usable = spreads > 0.0
    t = (draws.mean(axis=1)[usable] - mean) / spreads[usable]
    low, high = np.quantile(t, [1.0 - tail, tail])
    return Interval(mean, mean - float(low) * spread, mean - float(high) * spread)


def _apart(x: Floats) -> int:
    """How many values differ from the commonest."""
    return len(x) - int(np.unique(x, return_counts=True)[1].max())


def fraction_interval(successes: float, trials: float, level: float = 0.95) -> Interval:
    """A fraction with Wilson's interval."""
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return Interval(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))


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
    counts = [int(np.sum(_as_longest(x) <= threshold)) for threshold in thresholds]
    ends = np.array([fraction_interval(count, len(x), level) for count in counts]).reshape(-1, 3)
    return Profile(np.asarray(thresholds), *ends.T)


def _as_longest(times: Floats) -> Floats:
    """Unsolved runs as the longest."""
    return np.where(np.isnan(times), np.inf, times)


def median_time(times: Floats) -> float:
    """The median, with unsolved runs as the longest; NaN if half of the runs or more are unsolved."""
    median = float(np.median(_as_longest(times)))
    return median if np.isfinite(median) else np.nan


def median_interval(times: Floats, level: float = 0.95) -> Interval:
    """The median time with the interval of order statistics that covers at least ``level`` for any distribution.

    An infinite end is not bounded by the data.
    """
    n = len(times)
    ordered = np.sort(_as_longest(times))
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


class Contrast(NamedTuple):
    """The mean difference a − b and its p-value."""

    difference: Interval
    p_value: float


def paired_difference(a: Floats, b: Floats, seed: int = 0, level: float = 0.95, shuffles: int = RESAMPLES) -> Contrast:
    """The mean of a − b over pairs, with a sign-flip test. Returns NaN and p = 1 if any difference is not finite."""
    d = np.asarray(a) - np.asarray(b)
    if not np.isfinite(d).all():
        return Contrast(Interval(np.nan, np.nan, np.nan), 1.0)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (shuffles, len(d)))
    flipped = np.abs((signs * d).mean(axis=1))
    p = (1.0 + (flipped >= abs(d.mean()) * (1.0 - 1e-12)).sum()) / (shuffles + 1.0)
    return Contrast(mean_interval(d, level, seed), float(min(p, 1.0)))


def paired_sign_test(a: Floats, b: Floats) -> float:
    """Two-sided p-value that a is below b as often as above. NaN (unsolved) is above all; ties are left out."""
    x, y = _as_longest(a), _as_longest(b)
    below, above = int((x < y).sum()), int((x > y).sum())
    n = below + above
    if n == 0:
        return 1.0
    return float(min(1.0, 2.0 * binomial_half(n)[: min(below, above) + 1].sum()))


def holm(p_values: Floats) -> Floats:
    """p-values adjusted by Holm's step-down rule, which controls the family-wise error rate."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def mean_difference(a: Strata, b: Strata, seed: int = 0, level: float = 0.95, shuffles: int = RESAMPLES) -> Contrast:
    """The mean difference of independent runs, averaged over worlds: bootstrap-t interval, permuted Welch's t-test.

    a[k] and b[k] are the numbers of world k. Returns p = 1 without an interval if the difference is not finite.
    """
    K = len(a)
    estimate = float(np.mean([np.mean(x) - np.mean(y) for x, y in zip(a, b, strict=True)]))
    if not np.isfinite(estimate) or min(map(len, [*a, *b])) < 2:
        return Contrast(Interval(estimate, np.nan, np.nan), 1.0)
    rng = np.random.default_rng(seed)
    error = float(np.sqrt(sum(np.var(x, ddof=1) / len(x) for x in [*a, *b])) / K)
    if max(sum(map(len, a)), sum(map(len, b))) > MANY:
        half = NormalDist().inv_cdf(0.5 + level / 2.0) * error
        p = 2.0 * NormalDist().cdf(-abs(estimate) / error) if error else float(estimate == 0.0)
        return Contrast(Interval(estimate, estimate - half, estimate + half), p)
    gaps, variances = np.zeros(shuffles), np.zeros(shuffles)
    for x, y in zip(a, b, strict=True):
        gap, variance = _permuted_welch(x, y, shuffles, rng)
        gaps, variances = gaps + gap / K, variances + variance / K**2
    p = _share_as_large(_ratio(estimate, error), _ratio(gaps, np.sqrt(variances)))
    return Contrast(_welch_interval(a, b, estimate, error, level, rng), p)


def _permuted_welch(x: Floats, y: Floats, shuffles: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The difference of means and its squared standard error, for random labels."""
    n, m = len(x), len(y)
    z = np.concatenate([x, y])
    z = z - z.mean()
    labels = _labels(n, m, shuffles, rng)
    sums, squares = labels @ z, labels @ z**2
    within_x = squares - sums**2 / n
    within_y = (z**2).sum() - squares - sums**2 / m  # the sum of all is zero
    floor = EQUAL * (z**2).sum()
    within_x, within_y = (np.where(w < floor, 0.0, w) for w in (within_x, within_y))
    return sums / n + sums / m, within_x / (n * (n - 1)) + within_y / (m * (m - 1))


def _labels(n: int, m: int, shuffles: int, rng: np.random.Generator) -> Floats:
    """Random labels, one shuffle per row: 1 for n of n + m runs."""
    return rng.permuted(np.tile(np.repeat([1.0, 0.0], [n, m]), (shuffles, 1)), axis=1)


def _welch_interval(
    a: Strata, b: Strata, estimate: float, error: float, level: float, rng: np.random.Generator
) -> Interval:
    if min(sum(map(len, a)), sum(map(len, b))) < FEWEST or not all(_tells(x) for x in [*a, *b]):
        return Interval(estimate, np.nan, np.nan)
    K, gaps, variances = len(a), np.zeros(1), np.zeros(1)
    for x, y in zip(a, b, strict=True):
        for sign, sample in ((1.0, resamples(x, rng)), (-1.0, resamples(y, rng))):
            gaps = gaps + sign * sample.mean(axis=1) / K
            variances = variances + sample.var(axis=1, ddof=1) / sample.shape[1] / K**2
    return studentised(estimate, error, gaps - estimate, np.sqrt(variances), level, constant=error == 0.0)


def _tells(x: Floats) -> bool:
    """Whether resamples of x estimate its spread: all values are equal, or enough differ from the commonest."""
    apart = _apart(x)
    return apart == 0 or apart >= min(FEWEST, len(x) / 2)


class Chance(NamedTuple):
    """The probability that a run of a is below one of b, ties counted half, and the p-value of ½."""

    probability: Interval
    p_value: float


def chance_below(a: Strata, b: Strata, seed: int = 0, level: float = 0.95, shuffles: int = RESAMPLES) -> Chance:
    """The probability that a is below b for independent runs, averaged over worlds; NaN is above all numbers.

    The test is a permuted Brunner–Munzel test, studentised by the spread of placements (the share of b above each run
    of a, and vice versa). The interval uses the same permutations on the log-odds scale. At 0, at 1 and without
    variation it is Wilson's with min(n, m) trials, because the variance is at most p(1 − p)/min(n, m).
    """
    K = len(a)
    pairs = [(_as_longest(x), _as_longest(y)) for x, y in zip(a, b, strict=True)]
    shares, variances = zip(*(_placements(x, y) for x, y in pairs), strict=True)
    p = float(np.mean(shares))
    error = float(np.sqrt(sum(variances)) / K)
    if min(map(len, [*a, *b])) < 2:
        return Chance(Interval(p, np.nan, np.nan), 1.0)
    large = max(sum(map(len, a)), sum(map(len, b))) > MANY
    rng = np.random.default_rng(seed)
    if large:
        p_value = 2.0 * NormalDist().cdf(-abs(p - 0.5) / error) if error else float(p == 0.5)
        quantile = NormalDist().inv_cdf(0.5 + level / 2.0)
    else:
        total, spread = np.zeros(shuffles), np.zeros(shuffles)
        for x, y in pairs:
            share, variance = _permuted_placements(x, y, shuffles, rng)
            total, spread = total + share / K, spread + variance / K**2
        permuted = np.abs(_ratio(total - 0.5, np.sqrt(spread)))
        p_value = _share_as_large(_ratio(p - 0.5, error), permuted)
        quantile = float(np.quantile(permuted, level, method="higher"))
    return Chance(_chance_interval(p, error, quantile, a, b, level), p_value)


def _chance_interval(p: float, error: float, quantile: float, a: Strata, b: Strata, level: float) -> Interval:
    if min(sum(map(len, a)), sum(map(len, b))) < FEWEST:
        return Interval(p, np.nan, np.nan)
    if error == 0.0 or not 0.0 < p < 1.0 or not np.isfinite(quantile):
        trials = len(a) ** 2 / sum(1.0 / min(len(x), len(y)) for x, y in zip(a, b, strict=True))
        return fraction_interval(p * trials, trials, level)
    centre, half = np.log(p / (1.0 - p)), quantile * error / (p * (1.0 - p))
    low, high = (float(1.0 / (1.0 + np.exp(-end))) for end in (centre - half, centre + half))
    return Interval(p, low, high)


def _placements(x: Floats, y: Floats) -> tuple[float, float]:
    """P(x < y) + ½P(x = y), and its squared standard error."""
    above = ((x[:, None] < y) + 0.5 * (x[:, None] == y)).astype(float)
    if min(above.shape) < 2:
        return float(above.mean()), 0.0
    spread = above.mean(axis=1).var(ddof=1) / len(x) + above.mean(axis=0).var(ddof=1) / len(y)
    return float(above.mean()), float(spread)


def _permuted_placements(x: Floats, y: Floats, shuffles: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same for random labels, from counts of each label up to each value, ties half."""
    n, m = len(x), len(y)
    z = np.sort(np.concatenate([x, y]))
    first, last = np.searchsorted(z, z, "left"), np.searchsorted(z, z, "right")
    labels = _labels(n, m, shuffles, rng)
    counts = np.concatenate([np.zeros((shuffles, 1)), np.cumsum(labels, axis=1)], axis=1)
    below = (counts[:, first] + counts[:, last]) / 2.0  # of x, ties half
    of_y = below / n  # the placement of a value labelled y
    of_x = 1.0 - ((first + last) / 2.0 - below) / m  # labelled x: the share of y above it
    share = ((1.0 - labels) * of_y).sum(axis=1) / m
    gap_y, gap_x = of_y - share[:, None], of_x - share[:, None]
    spread = ((1.0 - labels) * gap_y**2).sum(axis=1) / (m * (m - 1)) + (labels * gap_x**2).sum(axis=1) / (n * (n - 1))
    return share, np.where(spread < EQUAL / (n * m), 0.0, spread)


def paired_chance_below(a: Floats, b: Floats, level: float = 0.95) -> Chance:
    """The share of pairs with a below b, ties half, with Wilson's interval and the sign test; NaN is above all."""
    x, y = _as_longest(a), _as_longest(b)
    wins = float((x < y).sum() + 0.5 * (x == y).sum())
    interval = fraction_interval(wins, len(x), level)
    return Chance(interval if len(x) >= FEWEST else Interval(wins / len(x), np.nan, np.nan), paired_sign_test(a, b))


def _ratio(gap: Floats | float, error: Floats | float) -> Floats:
    """gap/error; 0 if the gap is 0, infinite if only the error is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(gap, float), np.asarray(error, float))
    infinite = np.where(np.abs(top) < 1e-12, 0.0, np.copysign(np.inf, top))
    return np.divide(top, bottom, out=infinite, where=bottom > 0.0)


def _share_as_large(statistic: Floats, permuted: Floats) -> float:
    """The p-value: the share of permutations, including the identity, with a statistic at least as large."""
    as_large = np.abs(permuted) >= np.abs(statistic) * (1.0 - EQUAL)
    return float((1.0 + as_large.sum()) / (len(permuted) + 1.0))
