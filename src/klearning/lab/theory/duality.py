"""The convex program (e-cvx-opt-prob), its dual (e-cvx-dual), strong duality and the saddle point.

The Lagrangian that is left after K is eliminated is ℒ(τ, λ) = J(λ) + Φ(τ, λ), J the mean return of λ. With a bonus of
the form c/τ, Φ(τ, λ) = τH̄ + C̄/τ, H̄ and C̄ the entropy and the c that λ collects, and min_τ Φ = 2√(H̄C̄). A bonus that
prices transitions is of another form, and refused if c is needed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.inequality import Inequality
from klearning.lab.theory.optimistic import mean_mdp
from klearning.lab.theory.unrolling import occupancy_entropy, phi
from klearning.numerics.layers import by_layer
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.mdp import evaluate
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import solve
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.temperature import schedule


def occupancy_of(belief: Belief, policy: Sequence[ArrayLike]) -> Layers:
    """The expected occupancy λ of a policy, λ_{l+1}(s',a') = π_{l+1}(s',a') Σ_{s,a} E^t P_l(s'|s,a) λ_l(s,a)."""
    return evaluate(mean_mdp(belief), list(policy)).occupancy


def flow_residual(belief: Belief, occupancy: Sequence[Floats]) -> float:
    """How far λ is from feasible in e-cvx-dual: the largest violation of its equalities, or of λ ≥ 0."""
    worst = max(float(np.abs(occupancy[0].sum(axis=1) - belief.initial).max()), 0.0)
    for l, P in enumerate(belief.transition_means):
        arriving = np.einsum("sa,say->y", occupancy[l], P)
        worst = max(worst, float(np.abs(occupancy[l + 1].sum(axis=1) - arriving).max()))
    return max(worst, *(float(-flow.min()) for flow in occupancy))


def mean_return(belief: Belief, occupancy: Sequence[Floats]) -> float:
    """J(λ) = Σ λ_l(s,a) E^t μ_l(s,a)."""
    return sum(float((flow * m).sum()) for flow, m in zip(occupancy, belief.reward_means))


def lagrangian(belief: Belief, tau: float, occupancy: Sequence[Floats], bonus: BonusName = "paper") -> float:
    """ℒ(τ, λ) = Σ λ_l(s,a) E^t μ_l(s,a) + Φ(τ, λ), the partial Lagrangian under l-cvx-opt-regret."""
    return mean_return(belief, occupancy) + phi(belief, tau, occupancy, bonus)


def half_variances(belief: Belief, bonus: BonusName) -> Layers:
    """c(s,a) of a bonus c/τ, (S_l, A)."""
    ready = program(belief, bonus)
    if ready.priced:
        raise ValueError(f"bonus={bonus!r} is not of the form c/τ: the closed form of its dual is not known")
    return by_layer(ready.c, belief.layers)


def dual_value(belief: Belief, occupancy: Sequence[Floats], bonus: BonusName = "paper") -> float:
    """The objective of e-cvx-dual at λ: J(λ) + min_τ Φ(τ, λ) = J(λ) + 2√(H̄C̄)."""
    H = occupancy_entropy(occupancy)
    C = sum(float((flow * c).sum()) for flow, c in zip(occupancy, half_variances(belief, bonus)))
    return mean_return(belief, occupancy) + 2.0 * float(np.sqrt(H * C))


def weak_duality(belief: Belief, occupancy: Sequence[Floats], tau: float, bonus: BonusName = "paper") -> Inequality:
    """Dual value of any feasible λ ≤ f(τ) of any τ: the objectives of e-cvx-dual and e-cvx-opt-prob."""
    return Inequality(dual_value(belief, occupancy, bonus), solve(belief, tau, bonus).bound)


def strong_duality(belief: Belief, bonus: BonusName = "paper") -> Inequality:
    """Strong duality, which l-cvx-opt-regret assumes: at τ* and its own λ the objectives of e-cvx-dual and
    e-cvx-opt-prob are equal up to the duality gap of the solve."""
    plan = solve(belief, "optimal", bonus, 1e-14)
    return Inequality(dual_value(belief, plan.occupancy, bonus), plan.bound)


class Saddle(NamedTuple):
    """ℒ(τ*, λ) ≤ ℒ(τ*, λ*) ≤ ℒ(τ, λ*)."""

    other_occupancy: float
    saddle: float
    other_temperature: float

    @property
    def inequality(self) -> Inequality:
        return Inequality(np.array(self[:-1]), np.array(self[1:]))


def saddle_point(belief: Belief, occupancy: Sequence[Floats], tau: float, bonus: BonusName = "paper") -> Saddle:
    """The saddle point under l-cvx-opt-regret, against any feasible λ and any τ > 0.

    With one action, or nothing uncertain, there is no τ* in between and nothing to look at: ℒ(τ*, λ*) is f itself.
    """
    plan = solve(belief, "optimal", bonus, 1e-14)
    best = plan.temperature
    return Saddle(
        lagrangian(belief, best, occupancy, bonus),
        lagrangian(belief, best, plan.occupancy, bonus),
        lagrangian(belief, tau, plan.occupancy, bonus),
    )


def temperature_is_optimal(belief: Belief, bonus: BonusName = "paper") -> Inequality:
    """e-tau-isopt: min_τ Φ(τ, λ*) = Φ(τ*, λ*); both sides equal."""
    plan = solve(belief, "optimal", bonus, 1e-14)
    least = dual_value(belief, plan.occupancy, bonus) - mean_return(belief, plan.occupancy)
    return Inequality(least, phi(belief, plan.temperature, plan.occupancy, bonus))


class Episodes(NamedTuple):
    """Φ of one episode: at the optimum, of the optimum's occupancy at the schedule, and of the schedule's own."""

    optimal: float
    its_occupancy_at_the_schedule: float
    schedule: float


def optimum_against_schedule(belief: Belief, t: int, bonus: BonusName = "paper") -> Episodes:
    """l-cvx-opt-regret: Φ(τ*, λ*) ≤ Φ(τ_t, λ*), which is what the regret bound needs.

    The end of the proof of t-kl_mdp says Φ(τ*, λ*) ≤ Φ(τ_t, λ^t) instead, the third number; that is not so in general.
    """
    best, other = solve(belief, "optimal", bonus, 1e-14), solve(belief, schedule(t), bonus)
    return Episodes(
        phi(belief, best.temperature, best.occupancy, bonus),
        phi(belief, other.temperature, best.occupancy, bonus),
        phi(belief, other.temperature, other.occupancy, bonus),
    )
