"""How much of a transition row is unseen: Beta(α0, n), on a few knots.

A row of the posterior is P = (1−B)·P_seen + B·U with B ~ Beta(α0, n), U a draw from the prior. Here B is replaced by a
law on knots 0 = b_0 < … < b_m = 1 that dominates it in convex order: what falls between two knots is moved to them in
proportion, so that the mean stays. Whatever is convex in b can only grow by it, and no special function is left in the
sweep, only in the table of weights ω_k(n), which is made once (docs/evidence/better_bonus.md).
"""

from functools import cache
from math import log
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.simd.operations import LANES
from klearning.numerics.types import Floats, Ints
from klearning.tabular.beliefs.distributions import Rule, gauss_beta, log_sum_exp

# denser towards 0, where B is after many visits; two lanes of them; and squares, for which see `chances_near`
KNOTS = np.linspace(0.0, 1.0, 16) ** 2
DENSE = 32  # every count up to here has a row of its own in the table
RATIO = 1.1  # beyond, rows are this far apart
MOST = 1e6
REACH = 60.0  # e-folds of (1 − b)^n after which the rest of a cell is nothing
HEAVY = 12.0  # a mass above which 64 nodes in a whole cell are too few
PANELS = 8
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


class Seen(NamedTuple):
    """Of the states of a layer and an action, padded to whole lanes: what was seen of their rows, and then φ."""

    V: Floats
    H: Floats
    C: Floats
    D: Floats
    place: Ints  # where the table has the weights of a row
    keep: Floats  # the chance of the coin that makes up for the count of the table, which may be less than the row's


class Unseen(NamedTuple):
    """The inputs of the price of unknown transitions: the table, the visits of rows, and a workspace."""

    mass: float  # α0, spread evenly over the next layer; 0 if a support holds it
    knots: Floats
    counts: Ints  # that have a row in the table
    weights: Floats  # ω(n, k)
    log_weights: Floats
    moves: Floats  # (A, rows) transitions seen: the posterior's own array
    span: Floats  # by layer, how far apart values of the next one may be; inf if nothing is stated
    chance: Floats  # (knots, eight rows): ω_k and all that tilts it, up to a factor
    shift: Floats  # (eight rows): the log of that factor
    S: Floats  # of the next layer, for a mass of at most 1: mean_i exp(b_k (V_i − top)/τ)
    log_S: Floats  # for a larger mass, with which S may be below the range of floats
    x: Floats  # and its means under these weights: of (V − top)/τ, H, C, D and the slope g = V′ − V/τ
    H: Floats
    C: Floats
    D: Floats
    g: Floats
    variance: Floats  # of g
    seen: Seen
    discount: float  # γ


def unseen_arrays(mass: float, moves: Floats, span: Floats, discount: float) -> Unseen:
    """For rows that were seen ``moves`` times."""
    none = np.zeros((1, KNOTS.size))
    counts, weights, logs = table(mass) if mass > 0.0 else (np.zeros(1, np.int64), none, none)
    S, log_S, x, H, C, D, g, variance = np.zeros((8, KNOTS.size))
    width = -(-moves.shape[1] // LANES) * LANES
    row_V, row_H, row_C, row_D, keep = np.zeros((5, width))
    seen = Seen(row_V, row_H, row_C, row_D, np.zeros(width, np.int64), keep)
    chance, shift = np.zeros((KNOTS.size, LANES)), np.zeros(LANES)
    return Unseen(
        mass, KNOTS, counts, weights, logs, moves, span, chance, shift, S, log_S, x, H, C, D, g, variance, seen,
        discount,
    )  # fmt: skip


@cache
def table(mass: float) -> tuple[Ints, Floats, Floats]:
    """Counts, and for each the law on the knots that dominates Beta(mass, count) in convex order, and its logarithms.

    Far from the bulk the weights are tiny, beyond the range of floats too, and will meet exp of large numbers, so each
    logarithm must be right: every cell is integrated on its own, never taken as a difference of distribution functions.
    """
    far = np.geomspace(DENSE * RATIO, MOST, int(np.log(MOST / DENSE) / np.log(RATIO)))
    counts = np.unique(np.concatenate([np.arange(DENSE + 1), np.round(far)])).astype(np.int64)
    logs = np.full((counts.size, KNOTS.size), -np.inf)
    logs[0, -1] = 0.0  # nothing seen: B = 1
    for row, n in enumerate(counts[1:].tolist(), 1):
        for k in range(KNOTS.size - 1):
            low, high = KNOTS[k : k + 2]
            at, log_mass = cell(mass, n, low, high)
            top = log_mass.max()
            chance, up = np.exp(log_mass - top), (at - low) / (high - low)
            logs[row, k] = np.logaddexp(logs[row, k], top + np.log(chance @ (1.0 - up)))
            logs[row, k + 1] = top + np.log(chance @ up)
        logs[row] -= logs[row].max()  # first, so that the sum is 1 to the last digit
        logs[row] -= log_sum_exp(logs[row])
    return counts, np.exp(logs), logs


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
    """In [0, high], where b^(mass−1) may be infinite at 0: a Gauss rule with that weight."""
    end = min(high, (REACH + mass) / n)
    x, w = rule_at_zero(mass)
    at = end * x
    return at, np.log(w) + mass * np.log(end) + (n - 1.0) * np.log1p(-at)


@cache
def rule_at_zero(mass: float) -> Rule:
    """Nodes and weights for the integral of x^(mass−1) g(x) over [0, 1]: Gauss–Jacobi.

    A light mass is next to 0 nearly all, and would drown the rest: there 0 is a node itself (Gauss–Radau), and what
    lies beyond has a rule of its own, that of x^mass · g(x)/x.
    """
    if mass > 1.0:
        x, w = gauss_beta(mass, 1.0, NODES.size)
        return x, w / mass
    x, w = gauss_beta(mass + 1.0, 1.0, NODES.size)
    w = w / ((mass + 1.0) * x)
    return np.append(0.0, x), np.append(1.0 / mass - w.sum(), w)


def heavy_cell(mass: float, n: float, low: float, high: float) -> tuple[Floats, Floats]:
    """For a large mass, whose density is narrow: panels of Gauss–Legendre in x = log(b/(1−b)), about where it is."""

    def height(x: float | Floats) -> Floats:
        """log of b^mass (1−b)^n, without a difference of large numbers."""
        logs: Floats = np.minimum(mass * x, -n * x) - (mass + n) * np.log1p(np.exp(-np.abs(x)))
        return logs

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
    return np.exp(-np.logaddexp(0.0, -x)), height(x) + np.log((half * NODE_WEIGHTS).ravel())


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
