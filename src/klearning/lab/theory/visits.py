"""Bounds on the expected optimal value that let layers depend on each other, and the two budgets for those that do not.

For every V, one number per state of every layer, and whatever the posterior,

    E V*  ≤  ρV_1 + Σ E(μ + P·V_{l+1} − V_l)₊  ≤  ρV_1 + Σ (T/e) E exp((μ + P·V_{l+1} − V_l)/T)

which is what the bonus `visits` minimises (docs/evidence/visits.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.ensembles import Ensemble
from klearning.lab.theory.inequality import Inequality
from klearning.lab.theory.optimistic import soft_maximum
from klearning.numerics.types import Floats, Layers


def residuals(posterior: Ensemble, values: Sequence[ArrayLike]) -> Layers:
    """μ + P·V_{l+1} − V_l of every member: (member, S_l, A) per layer."""
    V = [np.asarray(v, np.float64) for v in values]
    return [_value(posterior, l, V[l + 1 :]) - V[l][:, None] for l in range(len(V))]


def _value(posterior: Ensemble, l: int, later: Sequence[Floats]) -> Floats:
    """μ + P·V_{l+1} of every member, V of the layers behind l given."""
    ahead = np.einsum("nsay,y->nsa", posterior.transitions[l], later[0]) if len(later) else 0.0
    total: Floats = posterior.rewards[l] + ahead
    return total


def positive_part_bound(posterior: Ensemble, values: Sequence[ArrayLike]) -> Inequality:
    """E V* ≤ ρV_1 + Σ E(μ + P·V_{l+1} − V_l)₊, for every V."""
    best, error = posterior.at_start(posterior.q_values[0].max(axis=2))
    rest = sum(float(posterior.weights @ np.maximum(x, 0.0).sum(axis=(1, 2))) for x in residuals(posterior, values))
    return Inequality(best, float(posterior.initial @ np.asarray(values[0])) + rest, error)


def visits_bound(posterior: Ensemble, values: Sequence[ArrayLike], temperatures: Sequence[ArrayLike]) -> Inequality:
    """The positive parts' bound is at most ρV_1 + Σ (T/e) E exp((μ + P·V_{l+1} − V_l)/T), T as (S_l, A) arrays."""
    upper = float(posterior.initial @ np.asarray(values[0]))
    for x, T in zip(residuals(posterior, values), temperatures, strict=True):
        heat = np.asarray(T)
        upper += float((heat / np.e * np.tensordot(posterior.weights, np.exp(x / heat), 1)).sum())
    return Inequality(positive_part_bound(posterior, values).upper, upper)


def two_budgets(
    posterior: Ensemble, tau: float, temperatures: Sequence[ArrayLike], chances: Sequence[ArrayLike]
) -> Inequality:
    """E V* ≤ ρV_1 + Σ τ_sa λ0, V = τ log Σ_a exp(K̃/τ), K̃ = CE_T(μ + P·V_{l+1}) + τ_sa (log 1/λ0 − 1), T = τ + τ_sa.

    For every τ_sa ≥ 0 and λ0 > 0, (S_l, A) arrays. With τ = 0 a law of every posterior, V the maximum of K̃; with τ > 0
    one of independent layers alone.
    """
    V: Layers = []
    paid = 0.0
    for l in reversed(range(len(posterior.rewards))):
        own, chance = np.asarray(temperatures[l], np.float64), np.asarray(chances[l], np.float64)
        T, X = tau + own, _value(posterior, l, V)
        top = X.max(axis=0)
        K = top + T * np.log(np.tensordot(posterior.weights, np.exp((X - top) / T), 1))
        V.insert(0, soft_maximum(K - own * (np.log(chance) + 1.0), tau))
        paid += float((own * chance).sum())
    best, error = posterior.at_start(posterior.q_values[0].max(axis=2))
    return Inequality(best, float(posterior.initial @ V[0]) + paid, error)
