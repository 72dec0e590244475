"""Stochastic optimism: what may stand for a Dirichlet row times a value (l-ian), and the sharper Beta.

X is stochastically optimistic for Y where E u(X) ≥ E u(Y) for every convex increasing u, which is the same as
E(X − k)₊ ≥ E(Y − k)₊ for every k. With Y = Σ_i A_i b_i, A ~ Dirichlet(α), m = Σα, mean μ and span b = max b − min b:

    Y  ≤  min b + span b · Beta(m p, m (1−p)),  p = (μ − min b)/span b        (convex order: same mean)
       ≤  N(μ, span b² / (4 (m + 1)))                                         (for exponential utilities)
       ≤  N(μ, span b² / m)                                                   (l-ian, for all of them)
"""

from math import erf, exp, lgamma, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning import checks
from klearning.compiled import Floats
from klearning.theory.cumulants import beta_cumulant, dirichlet_cumulant
from klearning.theory.inequality import Inequality
from klearning.theory.quadrature import gauss_beta


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
    m = heads + tails
    k = checks.array("levels", levels, (None,))
    lower = np.array([beta_stop_loss(heads, tails, float(x)) for x in k])
    return Inequality(lower, np.array([normal_stop_loss(heads / m, 1.0 / m, float(x)) for x in k]))


def beta_stop_loss(heads: float, tails: float, k: float, nodes: int = 80) -> float:
    """E(Y − k)₊ for Y ~ Beta(heads, tails).

    With Y = k + (1−k)u the integrand is (k + (1−k)u)^(heads−1) against the Beta(2, tails) weight of u: smooth for
    k > 0, and close to exact unless k is below about 1e-3.
    """
    mean = heads / (heads + tails)
    if k <= 0.0 or k >= 1.0:
        return max(mean - k, 0.0) if k <= 0.0 else 0.0
    u, w = gauss_beta(2.0, tails, nodes)
    # E over the rule of Beta(2, tails) has density tails (tails+1) u (1−u)^(tails−1)
    integral = float(w @ (k + (1.0 - k) * u) ** (heads - 1.0)) / (tails * (tails + 1.0))
    return (1.0 - k) ** (tails + 1.0) * integral * _one_over_beta_function(heads, tails)


def _one_over_beta_function(a: float, b: float) -> float:
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b))


def normal_stop_loss(mean: float, variance: float, k: float) -> float:
    """E(X − k)₊ for X ~ N(mean, variance)."""
    s = sqrt(variance)
    z = (k - mean) / s
    return s * exp(-z * z / 2.0) / sqrt(2.0 * pi) - (k - mean) * (1.0 - erf(z / sqrt(2.0))) / 2.0


def widest_coin(p: ArrayLike) -> Floats:
    """The least standard deviation s with which N(p, s²) is optimistic for a coin of chance p: p(1−p)/φ(Φ⁻¹(p)).

    A variable on [0, 1] of mean p is at most a coin in convex order, and E(X − k)₊ − p(1−k) is least, at
    s φ(z) − p(1−p), where P(X > k) = p. This is at most √(π/8) = 0.627, reached at p = ½. So l-ian holds for every
    mass up to 8/π = 2.55 whatever the law on [0, 1], and with its source, which has m ≥ 2, for every mass.
    """
    normal = NormalDist()
    chances = checks.array("p", p, (None,))
    return np.array([x * (1.0 - x) / normal.pdf(normal.inv_cdf(x)) for x in chances])
