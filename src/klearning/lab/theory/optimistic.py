"""The optimistic Bellman operator (e-bellmanop) on dense arrays, one per layer, for laws rather than for speed.

The bonus at τ is read off a solve, K − E^t μ − Σ_s' E^t P V, so that every law holds for every bonus.
"""

import numpy as np

from klearning.lab.theory.inequality import Inequality
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.mdp import MDP
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import Plan, solve


def soft_maximum(K: Floats, tau: float) -> Floats:
    """τ log Σ_a exp(K(s,a)/τ) (e-soft-value), over the last axis; the maximum at τ = 0."""
    top: Floats = K.max(axis=-1)
    if tau == 0.0:
        return top
    if np.isinf(tau):
        return _alone(K)
    soft: Floats = top + tau * np.log(np.exp((K - top[..., None]) / tau).sum(axis=-1))
    return soft


def _alone(K: Floats) -> Floats:
    """The value of the only action, if τ is infinite."""
    if K.shape[-1] != 1:
        raise ValueError("tau=inf with more than one action makes the soft maximum infinite: give a finite tau")
    only: Floats = K[..., 0]
    return only


def entropy(policy: Floats) -> Floats:
    """H(π(s,·)) = −Σ_a π log π, over the last axis."""
    H: Floats = -(policy * np.log(np.where(policy > 0, policy, 1.0))).sum(axis=-1)
    return H


def variational(K: Floats, tau: float, policy: Floats) -> Inequality:
    """e-variational: Σ_a π(s,a) K(s,a) + τ H(π(s,·)) ≤ τ log Σ_a exp(K(s,a)/τ), equal for the Boltzmann policy."""
    return Inequality((policy * K).sum(axis=-1) + tau * entropy(policy), soft_maximum(K, tau))


def mean_mdp(belief: Belief) -> MDP:
    """The MDP of posterior means E^t μ and E^t P."""
    return MDP.from_layers(belief.reward_means, belief.transition_means, belief.initial, name="posterior mean")


def expected_ahead(belief: Belief, V: Layers) -> Layers:
    """Σ_s' E^t P_l(s'|s,a) V_{l+1}(s'), (S_l, A); zero in the last layer."""
    ahead = [P @ V[l + 1] for l, P in enumerate(belief.transition_means)]
    return [*ahead, np.zeros((len(V[-1]), belief.actions))]


def bonus_of(belief: Belief, plan: Plan) -> Layers:
    """The bonus in the plan's K-values, besides mean reward and expected next value: δ at its temperature."""
    parts = zip(plan.k_values, belief.reward_means, expected_ahead(belief, plan.values))
    return [K - m - ahead for K, m, ahead in parts]


def bonus_at(belief: Belief, tau: float, bonus: BonusName = "reward") -> Layers:
    """The bonus at τ, (S_l, A): for `paper` the right-hand side of e-little-delta."""
    return bonus_of(belief, solve(belief, tau, bonus))


def optimistic_operator(belief: Belief, tau: float, y: Layers, bonus: BonusName = "paper") -> Layers:
    """e-bellmanop: B_l(τ, y)(s,a) = E^t μ_l(s,a) + bonus + Σ_s' E^t P_l(s'|s,a) τ log Σ_a' exp(y_{l+1}(s',a')/τ).

    All layers at once: y and what is returned are (S_l, A) per layer, and y_{L+1} = 0.
    """
    ahead = expected_ahead(belief, [soft_maximum(block, tau) for block in y])
    return [m + b + v for m, b, v in zip(belief.reward_means, bonus_at(belief, tau, bonus), ahead)]


def fixed_point(belief: Belief, tau: float, bonus: BonusName = "paper") -> Inequality:
    """e-kbellmaneq: K_l = B_l(τ, K_{l+1}), the K-values of a solve on both sides of the operator."""
    K = solve(belief, tau, bonus).k_values
    return Inequality(K, optimistic_operator(belief, tau, K, bonus))
