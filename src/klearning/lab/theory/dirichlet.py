"""Stochastic optimism: what may stand for a Dirichlet row times a value (l-ian), and the sharper Beta.

X is stochastically optimistic for Y if E u(X) ≥ E u(Y) for every convex increasing u, which is the same as
E(X − k)₊ ≥ E(Y − k)₊ for every k. With Y = Σ_i A_i b_i, A ~ Dirichlet(α), m = Σα, mean μ and span b = max b − min b:

    Y  ≤  min b + span b · Beta(m p, m (1−p)),  p = (μ − min b)/span b        (convex order: same mean)
       ≤  N(μ, span b² / (4 (m + 1)))                                         (for exponential utilities)
       ≤  N(μ, span b² / m)                                                   (l-ian, for all of them)
"""

from math import exp, lgamma, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.cumulants import dirichlet_cumulant
from klearning.lab.theory.inequality import Inequality
from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.distributions import beta_cumulant, gauss_beta, gauss_dirichlet


class Dominance(NamedTuple):
    """Four cumulants at one β, each at most the next."""

    dirichlet: float
    beta: float
    sub_gaussian: float
    gaussian: float

    @property
    def inequality(self) -> Inequality:
        return Inequality(np.array(self[:-1]), np.array(self[1:]))


def dominance(alpha: ArrayLike, b: ArrayLike, beta: float) -> Dominance:
    """l-ian for the exponential utility, and what is sharper: log E exp(β·) of the row, the Beta and both Gaussians.

    The last is the lemma's βμ + β² span² / (2m); the one before, at least four times tighter, βμ + β² span² / (8(m+1)),
    is the `sharp` bonus. All of it holds for any mass m > 0; the lemma's source asks for m ≥ 2.
    """
    weights, values = checks.counts("alpha", alpha, (None,)), checks.array("b", b, (None,))
    m, mean = weights.sum(), weights @ values / weights.sum()
    low, span = values[weights > 0].min(), np.ptp(values[weights > 0])
    exact = dirichlet_cumulant(weights, values, beta)
    if span == 0.0:
        return Dominance(exact, exact, exact, exact)
    p = (mean - low) / span
    coin = beta * low + beta_cumulant(m * p, m * (1.0 - p), beta * span)
    half = 0.5 * (beta * span) ** 2
    return Dominance(exact, float(coin), float(beta * mean + half / (4.0 * (m + 1.0))), float(beta * mean + half / m))


def gaussian_over_beta(heads: float, tails: float, levels: ArrayLike) -> Inequality:
    """l-ian for all convex increasing utilities: E(Y − k)₊ ≤ E(X − k)₊ at these levels k.

    Y ~ Beta(heads, tails) of mass m, and X ~ N(mean, 1/m).
    """
    k, m = checks.array("levels", levels, (None,)), heads + tails
    return Inequality(beta_stop_loss(heads, tails, k), normal_stop_loss(heads / m, 1.0 / m, k))


def beta_over_dirichlet(alpha: ArrayLike, b: ArrayLike, levels: ArrayLike, nodes: int = 30) -> Inequality:
    """Under l-ian: E(Y − k)₊ of a row is at most that of the Beta of its mean and mass, moved to [min b, max b].

    The last break of the stick is exact and the others are on ``nodes`` points: right to some 3e-4 of the span with 30.
    """
    weights, values = checks.counts("alpha", alpha, (None,)), checks.array("b", b, (None,))
    weights, values = weights[weights > 0], values[weights > 0]
    k, m, low, span = checks.array("levels", levels, (None,)), weights.sum(), values.min(), np.ptp(values)
    if len(weights) < 2 or span == 0.0:
        sure = np.maximum(values[0] - k, 0.0)
        return Inequality(sure, sure)
    p = (weights @ values / m - low) / span
    upper = span * beta_stop_loss(m * p, m * (1.0 - p), (k - low) / span)
    return Inequality(_dirichlet_stop_loss(weights, values, k, nodes), upper)


def _dirichlet_stop_loss(alpha: Floats, b: Floats, k: Floats, nodes: int) -> Floats:
    """E(Σ A_i b_i − k)₊: the last two entries as one, of mass ``left``, which a Beta splits between them."""
    order = np.argsort(b)
    alpha, b = alpha[order], b[order]
    rows, weights = gauss_dirichlet(np.append(alpha[:-2], alpha[-2:].sum()), nodes)
    left, base = rows[:, -1:], rows[:, :-1] @ b[:-2] + rows[:, -1] * b[-2]
    step = left * (b[-1] - b[-2])
    over = k - base[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # no step: nothing is left to split
        split = step * beta_stop_loss(alpha[-1], alpha[-2], over / step)
    losses: Floats = weights @ np.where(step > 0, split, np.maximum(-over, 0.0))
    return losses


def beta_stop_loss(heads: float, tails: float, k: ArrayLike, nodes: int = 60) -> Floats:
    """E(Y − k)₊ for Y ~ Beta(heads, tails), from the side of k on which the integrand is smooth."""
    level, mean = np.asarray(k, np.float64), heads / (heads + tails)
    above = _upper_stop_loss(heads, tails, np.clip(level, 0.5, 1.0), nodes)
    below = mean - level + _upper_stop_loss(tails, heads, np.clip(1.0 - level, 0.5, 1.0), nodes)
    loss: Floats = np.where(level >= 0.5, above, np.where(level > 0.0, below, mean - level))[()]
    return loss


def _upper_stop_loss(heads: float, tails: float, k: Floats, nodes: int) -> Floats:
    """For k ≥ ½. With Y = k + (1−k)u, u has the density of a Beta(2, tails) times (k + (1−k)u)^(heads−1)."""
    u, w = gauss_beta(2.0, tails, nodes)
    scale = exp(lgamma(heads + tails) - lgamma(heads) - lgamma(tails)) / (tails * (tails + 1.0))
    loss: Floats = (
        scale * (1.0 - k) ** (tails + 1.0) * ((k + np.multiply.outer(u, 1.0 - k)) ** (heads - 1.0)).T.dot(w).T
    )
    return loss


def normal_stop_loss(mean: float, variance: float, k: ArrayLike) -> Floats:
    """E(X − k)₊ for X ~ N(mean, variance)."""
    s, normal = sqrt(variance), NormalDist()
    z = (np.asarray(k, np.float64) - mean) / s
    loss: Floats = s * (np.vectorize(normal.pdf)(z) - z * np.vectorize(normal.cdf)(-z))
    return loss


def widest_coin(p: ArrayLike) -> Floats:
    """The least standard deviation s with which N(p, s²) is optimistic for a coin of chance p: p(1−p)/φ(Φ⁻¹(p)).

    A variable on [0, 1] of mean p is at most a coin in convex order, and E(X − k)₊ − p(1−k) is least, at
    s φ(z) − p(1−p), where P(X > k) = p. This is at most √(π/8) = 0.627, reached at p = ½. So l-ian holds for every
    mass up to 8/π = 2.55 whatever the law on [0, 1], and with its source, which has m ≥ 2, for every mass.
    """
    normal = NormalDist()
    chances = checks.array("p", p, (None,))
    return np.array([x * (1.0 - x) / normal.pdf(normal.inv_cdf(x)) for x in chances])
