"""How much of a transition row is unseen: Beta(α0, n), on a few knots.

A row of the posterior is P = (1−B)·P_seen + B·U with B ~ Beta(α0, n), U a draw from the prior. Here B is replaced by a
law on knots 0 = b_0 < … < b_m = 1 that dominates it in convex order: what falls between two knots is moved to them in
proportion, so that the mean stays. Whatever is convex in b can only grow by it, and no special function is left in the
sweep, only in the table of weights ω_k(n), which is made once (docs/evidence/better_bonus.md).
"""

from functools import cache
from math import lgamma, log
from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats, Ints
from klearning.beliefs.distributions import Rule, gauss_beta

KNOTS = np.linspace(0.0, 1.0, 16) ** 2  # denser towards 0, where B is after many visits; two or four lanes of them
DENSE = 32  # every count up to here has a row of its own in the table
RATIO = 1.1  # beyond, rows are this far apart
MOST = 1e6
REACH = 60.0  # e-folds of (1 − b)^n after which the rest of a cell is nothing
HEAVY = 12.0  # a mass above which 64 nodes in a whole cell are too few
PANELS = 8
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


class Unseen(NamedTuple):
    """What the price of unknown transitions needs: the table, how often rows were seen, and room to work in."""

    mass: float  # α0, spread evenly over the next layer; 0 where a support holds it
    knots: Floats
    counts: Ints  # that have a row in the table
    weights: Floats  # ω(n, k)
    log_weights: Floats
    moves: Floats  # (A, rows) transitions seen: the posterior's own array
    span: Floats  # by layer, how far apart values of the next one may be; inf where nothing is stated
    chance: Floats  # per knot, of a row: ω_k and all that tilts it, up to a factor
    S: Floats  # of the next layer: mean_i exp(b_k (V_i − top)/τ)
    V: Floats  # and its means under these weights: of V, H, C, D and the slope g = V′ − V/τ
    H: Floats
    C: Floats
    D: Floats
    g: Floats
    variance: Floats  # of g


def unseen_arrays(mass: float, moves: Floats, span: Floats) -> Unseen:
    """For rows that were seen ``moves`` times."""
    none = np.zeros((1, KNOTS.size))
    counts, weights, logs = table(mass) if mass > 0.0 else (np.zeros(1, np.int64), none, none)
    return Unseen(mass, KNOTS, counts, weights, logs, moves, span, *np.zeros((8, KNOTS.size)))


@cache
def table(mass: float) -> tuple[Ints, Floats, Floats]:
    """Counts, and for each the law on the knots that dominates Beta(mass, count) in convex order, and its logarithms.

    Far from the bulk the weights are tiny and will meet exp of large numbers, so each must be right relative to
    itself: every cell is integrated on its own, never taken as a difference of distribution functions.
    """
    far = np.geomspace(DENSE * RATIO, MOST, int(np.log(MOST / DENSE) / np.log(RATIO)))
    counts = np.unique(np.concatenate([np.arange(DENSE + 1), np.round(far)])).astype(np.int64)
    weights = np.zeros((counts.size, KNOTS.size))
    weights[0, -1] = 1.0  # nothing seen: B = 1
    for row, n in enumerate(counts[1:].tolist(), 1):
        log_norm = lgamma(mass) + lgamma(n) - lgamma(mass + n)
        for k in range(KNOTS.size - 1):
            low, high = KNOTS[k : k + 2]
            at, log_mass = cell(mass, n, low, high)
            chance, up = np.exp(log_mass - log_norm), (at - low) / (high - low)
            weights[row, k + 1] += chance @ up
            weights[row, k] += chance @ (1.0 - up)
    weights /= weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return counts, weights, np.log(weights)


def cell(mass: float, n: float, low: float, high: float) -> tuple[Floats, Floats]:
    """Nodes in a cell and the logs of b^(mass−1) (1−b)^(n−1) db there."""
    if mass > HEAVY:
        return heavy_cell(mass, n, low, high)
    return first_cell(mass, n, high) if low == 0.0 else later_cell(mass, n, low, high)


def later_cell(mass: float, n: float, low: float, high: float) -> tuple[Floats, Floats]:
    """In a cell away from 0: Gauss–Legendre in −log(1−b)."""
    if high == 1.0 and n <= NODES.size:  # a polynomial
        half = 0.5 * (high - low)
        at = low + half * (NODES + 1.0)
        return at, (mass - 1.0) * np.log(at) + (n - 1.0) * np.log1p(-at) + np.log(half * NODE_WEIGHTS)
    start = -np.log1p(-low)
    end = min(-np.log1p(-high) if high < 1.0 else np.inf, start + (REACH + mass) / n)
    half = 0.5 * (end - start)
    t = start + half * (NODES + 1.0)
    at = -np.expm1(-t)
    return at, (mass - 1.0) * np.log(at) - n * t + np.log(half * NODE_WEIGHTS)


def first_cell(mass: float, n: float, high: float) -> tuple[Floats, Floats]:
    """In [0, high], where b^(mass−1) may be infinite at 0: Gauss–Jacobi with that weight."""
    end = min(high, (REACH + mass) / n)
    x, w = jacobi_at_zero(mass)
    at = end * x
    return at, np.log(w) + mass * np.log(end) + (n - 1.0) * np.log1p(-at)


@cache
def jacobi_at_zero(mass: float) -> Rule:
    """Nodes and weights for the integral of x^(mass−1) g(x) over [0, 1]: those of Beta(mass, 1), less its norm."""
    x, w = gauss_beta(mass, 1.0, NODES.size)
    return x, w / mass


def heavy_cell(mass: float, n: float, low: float, high: float) -> tuple[Floats, Floats]:
    """For a large mass, whose density is narrow: panels of Gauss–Legendre in x = log(b/(1−b)), about where it is."""

    def height(x: float) -> float:
        return mass * x - (mass + n) * float(np.logaddexp(0.0, x))

    def down(start: float, end: float) -> float:
        """From start towards end until the density, log-concave in x, has fallen to nothing."""
        least = height(start) - REACH
        if height(end) >= least:
            return end
        for _ in range(50):
            middle = 0.5 * (start + end)
            start, end = (middle, end) if height(middle) > least else (start, middle)
        return end

    peak = log(mass / n)
    left = log(low / (1.0 - low)) if low > 0.0 else -np.inf
    right = log(high / (1.0 - high)) if high < 1.0 else max(peak, left) + 2.0 * REACH
    left = max(left, min(peak, right) - REACH)
    top = min(max(peak, left), right)
    edges = np.linspace(down(top, left), down(top, right), PANELS + 1)
    half = 0.5 * np.diff(edges)[:, None]
    x = (edges[:-1, None] + half * (NODES + 1.0)).ravel()
    logs = mass * x - (mass + n) * np.logaddexp(0.0, x) + np.log((half * NODE_WEIGHTS).ravel())
    return np.exp(-np.logaddexp(0.0, -x)), logs


@kernel(inline=True)
def place_of(counts: Ints, n: float) -> int:
    """The last row of the table whose count is at most n."""
    if n <= DENSE:
        return int(n)
    low, high = 0, counts.size
    while high - low > 1:
        middle = (low + high) // 2
        if counts[middle] <= n:
            low = middle
        else:
            high = middle
    return low
