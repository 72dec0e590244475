"""Calibrated optimism of VAPOR: what an episode costs with any share κ of the variances, and how its value moves.

With λ the maximiser of g(κ) = max J(λ) + √κ Ω(λ), Ω = Σ λ s √(−2 ln λ), π its policy and Φ_κ = √κ Ω(λ):

    g = J + Φ_κ        E[V* − V^π] = Φ_κ + (E V* − g) ≤ Φ_κ + (E V* − g)₊        g is convex in √κ, with slope Ω(λ)
    Φ_κ ≤ 2 √(κ C̄ Σ_l H(λ_l)),   C̄ = ½ Σ λ s²

The proofs are on docs/reference/agents/vapor.md.
"""

from math import sqrt

import numpy as np

from klearning.lab.theory.duality import mean_return
from klearning.lab.theory.ensembles import Ensemble
from klearning.lab.theory.inequality import Inequality, refuse_tied_layers
from klearning.numerics.layers import by_layer
from klearning.numerics.types import Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.optimism.plan import Plan
from klearning.tabular.optimism.vapor.plan import solve_vapor, uncertain
from klearning.tabular.optimism.vapor.variances import VarianceName


def surprises(plan: Plan[Layers]) -> Layers:
    """−ln λ, and 0 if nothing comes by or everything does."""
    return [-np.log(np.where(flow > 0.0, np.minimum(flow, 1.0), 1.0)) for flow in plan.occupancy]


def deviations(belief: Belief, bonus: VarianceName) -> Layers:
    """s of every (l, s, a), with the whole variance."""
    return by_layer(uncertain(belief, bonus, 1.0)[1].stated, belief.layers)


def vapor_phi(belief: Belief, plan: Plan[Layers], optimism: float, bonus: VarianceName = "reward") -> float:
    """Φ_κ = √κ Σ λ s √(−2 ln λ) of a plan with a share κ of the variances."""
    terms = zip(plan.occupancy, deviations(belief, bonus), surprises(plan), strict=True)
    return sqrt(optimism) * sum(float((flow * s * np.sqrt(2.0 * ln)).sum()) for flow, s, ln in terms)


def vapor_identity(belief: Belief, optimism: float, bonus: VarianceName = "reward") -> Inequality:
    """J + Φ_κ = g(κ), for every κ: both sides equal."""
    plan = solve_vapor(belief, bonus, 1e-12, optimism)
    return Inequality(mean_return(belief, plan.occupancy) + vapor_phi(belief, plan, optimism, bonus), plan.bound)


def vapor_regret(belief: Belief, posterior: Ensemble, optimism: float, bonus: VarianceName = "reward") -> Inequality:
    """E^t E_ρ(V*_1 − V_1^π) ≤ Φ_κ + (E^t E_ρ V*_1 − g)₊, for every κ and bonus, be it optimistic or not.

    If g is below E V*, both sides are equal. Layers may share a table if transitions are known.
    """
    if belief.transitions.learns:
        refuse_tied_layers(belief, "vapor_regret")
    plan = solve_vapor(belief, bonus, 1e-12, optimism)
    regret, error = posterior.at_start(posterior.regret(plan.policy))
    shortfall = max(posterior.at_start(posterior.q_values[0].max(axis=2))[0] - plan.bound, 0.0)
    return Inequality(regret, vapor_phi(belief, plan, optimism, bonus) + shortfall, error)


def vapor_tangent(belief: Belief, optimism: float, other: float, bonus: VarianceName = "reward") -> Inequality:
    """g(κ) + (√κ′ − √κ) Ω(λ) ≤ g(κ′): the tangent of the program's value in √κ, from the plan at κ alone."""
    plan = solve_vapor(belief, bonus, 1e-12, optimism)
    slope = vapor_phi(belief, plan, optimism, bonus) / sqrt(optimism)
    tangent = plan.bound + (sqrt(other) - sqrt(optimism)) * slope
    return Inequality(tangent, solve_vapor(belief, bonus, 1e-12, other).bound)


def vapor_pays_at_most(belief: Belief, optimism: float, bonus: VarianceName = "reward") -> Inequality:
    """Φ_κ ≤ 2 √(κ C̄ Σ_l H(λ_l)) ≤ 2 √(κ C̄ Σ_l ln(S_l A)), as two numbers each: what bounds the sum over episodes."""
    plan = solve_vapor(belief, bonus, 1e-12, optimism)
    phi, flows = vapor_phi(belief, plan, optimism, bonus), plan.occupancy
    C = sum(0.5 * float((flow * s**2).sum()) for flow, s in zip(flows, deviations(belief, bonus), strict=True))
    entropy = sum(float((flow * ln).sum()) for flow, ln in zip(flows, surprises(plan), strict=True))
    most = sum(np.log(flow.size) for flow in flows)
    by_entropy = 2.0 * sqrt(optimism * C * entropy)
    return Inequality([np.array([phi, by_entropy])], [np.array([by_entropy, 2.0 * sqrt(optimism * C * most)])])
