"""Cumulant generating functions G^X(β) = log E exp(βX), exactly.

Of a Dirichlet row A ~ Dirichlet(α) and numbers b, with the b moved to [0, 1] and m = Σα,

    E exp(β Σ_i A_i b_i) = Σ_n β^n c_n / (m (m+1) … (m+n−1)),      Σ_n c_n z^n = Π_i (1 − b_i z)^(−α_i)
    n c_n = Σ_{k=1..n} p_k c_{n−k},      p_k = Σ_i α_i b_i^k

in which every term is positive, so that nothing cancels; by logarithms, so that nothing is beyond floats. A Beta is a
Dirichlet of two: its series is ₁F₁ (`tabular/beliefs/distributions.py`).
"""

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.inequality import Inequality
from klearning.numerics import checks
from klearning.numerics.types import Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.distributions import log_sum_exp

LARGEST = 5000.0  # of β · span: beyond it the series of a Dirichlet takes long


def dirichlet_cumulant(alpha: ArrayLike, b: ArrayLike, beta: float) -> float:
    """log E exp(β Σ_i A_i b_i) for A ~ Dirichlet(α), by a series of positive terms; entries with α = 0 are left out."""
    weights, values = checks.counts("alpha", alpha, (None,)), checks.array("b", b, (None,))
    weights, values = weights[weights > 0], values[weights > 0]
    if beta < 0:
        beta, values = -beta, -values
    low, span = values.min(), np.ptp(values)
    x = checks.number("beta · span", beta * span, 0.0, LARGEST)
    if x == 0.0:
        return float(beta * low)
    terms = int(x + 12.0 * np.sqrt(x) + 60.0)
    powers = np.power.outer((values - low) / span, np.arange(terms + 1))
    log_p, log_c = np.log(weights @ powers), np.zeros(terms + 1)
    for n in range(1, terms + 1):
        log_c[n] = log_sum_exp(log_p[1 : n + 1] + log_c[n - 1 :: -1]) - np.log(n)
    rising = np.log(weights.sum() + np.arange(terms))
    log_c[1:] += np.cumsum(np.log(x) - rising)
    return float(beta * low) + log_sum_exp(log_c)


def reward_cumulants(belief: Belief, beta: float) -> Layers:
    """G^{μ|t}_l(s,a,β) = log E^t exp(β μ_l(s,a)), exactly, (S_l, A)."""
    return belief.in_layers(belief.prior.reward.cumulant(belief.mean_rewards(), beta))


def reward_bound(belief: Belief, tau: float) -> Inequality:
    """The bound under e-little-delta: τ G^{μ|t}(1/τ) ≤ E^t μ + σ² / (2τ(n∨1)).

    The paper derives it from Assumption 1, from which it does not follow. It holds for Gaussian priors with
    sd ≤ noise and for Beta priors with σ = ½.
    """
    noise = belief.prior.reward.numbers().noise_variance
    visits = belief.in_layers(belief.visits)
    lower = [tau * G for G in reward_cumulants(belief, 1.0 / tau)]
    upper = [m + noise / (2.0 * tau * np.maximum(n, 1.0)) for m, n in zip(belief.reward_means, visits)]
    return Inequality(lower, upper)
