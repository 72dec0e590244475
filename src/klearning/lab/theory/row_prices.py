"""K-learning that prices unknown rows exactly: what the bonus `split` approximates, and a bound on the sum of prices.

With φ(τ, W) = τ log E exp(P·W/τ), P the row of (s,a) as the belief has it, and W the next values, clipped to the span
ρ_l of V*_{l+1},

    K_l(s,a) = m + Var(μ|data)/(2τ) + φ(τ, W)         φ(τ, W) ≤ P̄W + ρ_l² / (8τ (α0 + n + 1))

the policy π of these K at any τ, with H̄ and the C̄ of `sharp` by its path in the mean model, has

    f − J(π) ≤ τH̄ + C̄/τ

So the Bayes regret of N episodes at a temperature chosen beforehand is no more than that of `sharp`.
"""

import numpy as np

from klearning.lab.theory.cumulants import dirichlet_cumulant
from klearning.lab.theory.duality import half_variances, mean_return, occupancy_of
from klearning.lab.theory.inequality import Inequality, refuse_tied_layers
from klearning.lab.theory.optimistic import soft_maximum
from klearning.lab.theory.unrolling import occupancy_entropy
from klearning.numerics import checks
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.optimism.bonuses import stated_spans


def row_price(weights: Floats, W: Floats, tau: float) -> float:
    """φ(τ, W) = τ log E exp(P·W/τ) of one row, P ~ Dirichlet."""
    return tau * dirichlet_cumulant(weights, W, 1.0 / tau)


def priced_k_values(belief: Belief, tau: float) -> Layers:
    """K of every layer with exact prices, (S_l, A)."""
    tau = checks.number("tau", tau, 0.0, above=True)
    spans, mass = stated_spans(belief), belief.posterior().total
    K: Layers = []
    for l in reversed(range(belief.horizon)):
        here = belief.reward_means[l] + half_variances(belief, "reward")[l] / tau
        if l + 1 < belief.horizon:
            V = soft_maximum(K[0], tau)
            W = np.minimum(V, V.min() + spans[l])
            rows = belief.transition_means[l] * (mass + belief.in_layers(belief.visits)[l])[:, :, None]
            here = here + np.apply_along_axis(row_price, 2, rows, W, tau)
        K.insert(0, here)
    return K


def priced_episode(belief: Belief, tau: float) -> Inequality:
    """f − J(π) ≤ τH̄ + C̄/τ, C̄ of `sharp`. What the left side bounds is the regret of the next episode."""
    refuse_tied_layers(belief, "priced_episode")
    K = priced_k_values(belief, tau)
    values = [soft_maximum(k, tau) for k in K]
    path = occupancy_of(belief, [np.exp((k - v[:, None]) / tau) for k, v in zip(K, values)])
    C = sum(float((flow * c).sum()) for flow, c in zip(path, half_variances(belief, "sharp")))
    f = float(belief.initial @ values[0])
    return Inequality(f - mean_return(belief, path), tau * occupancy_entropy(path) + C / tau)
