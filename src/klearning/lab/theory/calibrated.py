"""Calibrated optimism: what an episode costs with any share κ of the bonus, and how the bound moves with κ.

With π the policy of K-values with bonus κ c/τ, λ its expected occupancy, J, H̄ and C̄ what λ collects of means, entropy
and c, and g(κ) = min_τ f_κ(τ):

    f_κ(τ) = J + Φ_κ,   Φ_κ = τH̄ + κC̄/τ               E[V* − V^π] = Φ_κ + (E V* − f_κ) ≤ Φ_κ + (E V* − f_κ)₊
    g is convex in √κ, with slope 2√κ C̄/τ*
    E V* − J(π) = E Σ λ(s,a) (max_b Q*(s,b) − Q*(s,a)), λ that of any policy π in the mean model

The proofs are on docs/evidence/calibrated.md.
"""

from math import sqrt
from typing import Literal

import numpy as np

from klearning.lab.theory.duality import half_variances, mean_return, occupancy_of
from klearning.lab.theory.ensembles import Ensemble
from klearning.lab.theory.inequality import Inequality, refuse_tied_layers
from klearning.lab.theory.unrolling import occupancy_entropy
from klearning.numerics.types import Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import Plan, solve


def shared_phi(belief: Belief, plan: Plan, optimism: float, bonus: BonusName = "reward") -> float:
    """Φ_κ = τH̄ + κC̄/τ of a plan with a share κ of a bonus c/τ; 0 in the limits τ = 0 and τ = ∞."""
    if plan.temperature in (0.0, float("inf")):
        return 0.0
    C = sum(float((flow * c).sum()) for flow, c in zip(plan.occupancy, half_variances(belief, bonus)))
    return plan.temperature * occupancy_entropy(plan.occupancy) + optimism * C / plan.temperature


def optimism_identity(
    belief: Belief, optimism: float, temperature: Literal["optimal"] | float = "optimal", bonus: BonusName = "reward"
) -> Inequality:
    """J + Φ_κ = f_κ(τ), for every κ and τ: both sides equal."""
    plan = solve(belief, temperature, bonus, optimism=optimism)
    return Inequality(mean_return(belief, plan.occupancy) + shared_phi(belief, plan, optimism, bonus), plan.bound)


def calibrated_regret(
    belief: Belief,
    posterior: Ensemble,
    optimism: float,
    temperature: Literal["optimal"] | float = "optimal",
    bonus: BonusName = "reward",
) -> Inequality:
    """E^t E_ρ(V*_1 − V_1^π) ≤ Φ_κ + (E^t E_ρ V*_1 − f_κ)₊, for every κ, τ and bonus, be it optimistic or not.

    If f_κ is below E V*, both sides are equal.
    """
    refuse_tied_layers(belief, "calibrated_regret")
    plan = solve(belief, temperature, bonus, optimism=optimism)
    regret, error = posterior.at_start(posterior.regret(plan.policy))
    best = posterior.at_start(posterior.q_values[0].max(axis=2))[0]
    shortfall = max(best - plan.bound, 0.0)
    return Inequality(regret, shared_phi(belief, plan, optimism, bonus) + shortfall, error)


def missed_on_path(belief: Belief, posterior: Ensemble, policy: Layers) -> Inequality:
    """E^t Σ_l λ_l(s,a) (max_b Q*_l(s,b) − Q*_l(s,a)) = E^t E_ρ(V*_1 − V_1^π), λ the path of π in the mean model.

    Both sides are equal, for every policy.
    """
    refuse_tied_layers(belief, "missed_on_path")
    gaps = [Q.max(axis=2, keepdims=True) - Q for Q in posterior.q_values]
    missed = np.sum([(path * gap).sum(axis=(1, 2)) for path, gap in zip(occupancy_of(belief, policy), gaps)], axis=0)
    lost = posterior.regret(policy) @ posterior.initial
    (left,), (right,) = posterior.average([missed]).values, posterior.average([lost]).values
    return Inequality(float(left), float(right), float(posterior.average([missed - lost]).errors[0]))


def optimism_tangent(belief: Belief, optimism: float, other: float, bonus: BonusName = "reward") -> Inequality:
    """g(κ) + (√κ′ − √κ) · 2√κ C̄/τ* ≤ g(κ′): the tangent of min_τ f_κ(τ) in √κ, from the plan at κ alone."""
    plan = solve(belief, "optimal", bonus, 1e-14, optimism=optimism)
    # at τ* the two halves of Φ are equal, so that κC̄/τ* is one of them
    slope = shared_phi(belief, plan, optimism, bonus) / sqrt(optimism)
    tangent = plan.bound + (sqrt(other) - sqrt(optimism)) * slope
    return Inequality(tangent, solve(belief, "optimal", bonus, 1e-14, optimism=other).bound)
