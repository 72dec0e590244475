"""The distributions that a belief is made of: cumulants G(β) = log E exp(βX), and Gauss rules.

A rule of n nodes, by Golub and Welsch (the nodes are eigenvalues of a Jacobi matrix), is itself a distribution on n
points that has the same first 2n − 1 moments. All even derivatives of exp are positive, so that its cumulants never
exceed those of the distribution that it stands for.
"""

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics.types import Floats

Rule = tuple[Floats, Floats]  # nodes and weights; the weights sum to one


def gaussian_cumulant(mean: ArrayLike, variance: ArrayLike, beta: float) -> Floats:
    """G(β) = mean·β + variance·β²/2."""
    G: Floats = np.asarray(mean) * beta + np.asarray(variance) * (0.5 * beta * beta)
    return G


def beta_cumulant(heads: float, tails: float, beta: float) -> float:
    """log E exp(β p) for p ~ Beta(heads, tails), that is log ₁F₁(heads; heads + tails; β), by its series."""
    if beta < 0:
        return beta + beta_cumulant(tails, heads, -beta)
    terms = np.arange(int(beta + 12.0 * np.sqrt(beta) + 60.0))
    steps = np.log(heads + terms) - np.log(heads + tails + terms) - np.log1p(terms)
    logs = np.concatenate([[0.0], np.cumsum(steps + np.log(beta))]) if beta > 0 else np.zeros(1)
    return log_sum_exp(logs)


def log_sum_exp(x: Floats) -> float:
    """log Σ exp(x), for x of any size."""
    top = x.max()
    return float(top + np.log(np.exp(x - top).sum()))


def gauss_normal(mean: float, variance: float, nodes: int) -> Rule:
    """N(mean, variance) on ``nodes`` points; on one if the variance is zero."""
    if variance == 0.0:
        return np.array([mean]), np.ones(1)
    x, w = _golub_welsch(np.zeros(nodes), np.arange(1.0, nodes))
    return mean + np.sqrt(variance) * x, w


def gauss_beta(heads: float, tails: float, nodes: int) -> Rule:
    """Beta(heads, tails) on ``nodes`` points of (0, 1)."""
    a, b, n = tails - 1.0, heads - 1.0, np.arange(1.0, nodes)
    s = a + b
    centre = np.append((b - a) / (s + 2.0), (b * b - a * a) / ((2 * n + s) * (2 * n + s + 2)))
    square = (2 * n + s) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        off = 4.0 * (n * (n + a)) * ((n + b) * (n + s)) / (square * (square - 1.0))
    if abs(1.0 + s) < 1e-6:  # a factor above and below in the first, which may be zero
        off[:1] = 4.0 * tails * heads / ((2.0 + s) ** 2 * (3.0 + s))
    x, w = _golub_welsch(centre, off)
    return (1.0 + x) / 2.0, w


def gauss_dirichlet(alpha: Floats, nodes: int) -> Rule:
    """Dirichlet(α) on nodes^(k−1) rows, k the entries with α > 0, by breaking a stick: (rows, len(α)) and weights."""
    inside = np.flatnonzero(alpha > 0)
    rows, weights, rest = np.zeros((1, len(alpha))), np.ones(1), np.ones(1)
    for i, j in enumerate(inside[:-1]):
        x, w = gauss_beta(alpha[j], float(alpha[inside[i + 1 :]].sum()), nodes)
        rows = np.repeat(rows, nodes, axis=0)
        rows[:, j] = np.outer(rest, x).ravel()
        rest, weights = np.outer(rest, 1.0 - x).ravel(), np.outer(weights, w).ravel()
    rows[:, inside[-1]] = rest
    return rows, weights


def _golub_welsch(diagonal: Floats, squared: Floats) -> Rule:
    off_diagonal = np.sqrt(squared)
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    return x, vectors[0] ** 2
