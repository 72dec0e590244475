"""From K-values to regret: δ, the Δ recursion, Φ(τ, λ) and its unrolling, all within one episode.

With π and λ the policy and the expected occupancy of a plan, and δ its bonus,

    Δ_l(s) = Σ_a π(s,a)(K(s,a) − E^t Q^π(s,a)) + τ H(π(s))  =  τ H(π(s)) + Σ_a π(s,a)(δ(s,a) + Σ_s' E^t P Δ_{l+1}(s'))
    Φ(τ, λ) = Σ_{l,s,a} λ_l(s,a) (τ H(λ_l(s)/Σ_b λ_l(s,b)) + δ(s,a,τ))  =  E_ρ Δ_1
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.certainty import tilde_cumulants
from klearning.lab.theory.ensembles import Ensemble
from klearning.lab.theory.inequality import Inequality, refuse_tied_layers
from klearning.lab.theory.optimistic import bonus_at, bonus_of, entropy, expected_ahead, mean_mdp
from klearning.numerics import checks
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.mdp import evaluate
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.optimism.plan import Plan


def little_delta(belief: Belief, tau: float) -> Inequality:
    """e-little-delta: δ = τ G̃^{μ|t}(s,a,1/τ) − E^t μ ≤ (σ² + (L−l)²)/(2τ(n∨1)); holds if `reward_bound` does."""
    lower = [tau * G - m for G, m in zip(tilde_cumulants(belief, 1.0 / tau), belief.reward_means)]
    return Inequality(lower, bonus_at(belief, tau, "paper"))


def expected_q_values(belief: Belief, policy: Sequence[ArrayLike]) -> Layers:
    """e-app-qvals: E^t Q^π(s,a) is Q^π of the posterior-mean MDP, because rewards and rows of a layer are independent
    of all that comes after."""
    refuse_tied_layers(belief, "expected_q_values")
    return evaluate(mean_mdp(belief), list(policy)).q_values


def big_delta(belief: Belief, plan: Plan) -> Inequality:
    """e-big-delta: Δ_l(s) by its definition and by its recursion, (S_l,) per layer; both sides equal."""
    Q = expected_q_values(belief, plan.policy)
    heat = [_heat(plan.temperature, entropy(pi)) for pi in plan.policy]
    defined = [(pi * (K - q)).sum(axis=1) + h for pi, K, q, h in zip(plan.policy, plan.k_values, Q, heat)]
    delta = bonus_of(belief, plan)
    unrolled = [np.zeros_like(h) for h in heat]
    for l in reversed(range(belief.horizon)):
        ahead = expected_ahead(belief, unrolled)[l]
        unrolled[l] = heat[l] + (plan.policy[l] * (delta[l] + ahead)).sum(axis=1)
    return Inequality(defined, unrolled)


def phi(belief: Belief, tau: float, occupancy: Sequence[ArrayLike], bonus: BonusName = "paper") -> float:
    """e-epregret-def: Φ^t(τ, λ) for any occupancy λ, (S_l, A) per layer."""
    delta = bonus_at(belief, tau, bonus)
    flows = [checks.counts(f"occupancy[{l}]", x, delta[l].shape) for l, x in enumerate(occupancy)]
    collected = sum(float((x * d).sum()) for x, d in zip(flows, delta))
    return float(_heat(tau, occupancy_entropy(flows))) + collected


def occupancy_entropy(occupancy: Sequence[Floats]) -> float:
    """H̄ = Σ_{l,s} λ_l(s) H(λ_l(s,·)/λ_l(s)): the entropy that a policy of this occupancy collects."""
    total = 0.0
    for flow in occupancy:
        reached = flow.sum(axis=1)
        policy = flow / np.where(reached > 0, reached, 1.0)[:, None]
        total += float(reached @ entropy(policy))
    return total


def _heat(tau: float, H: float | Floats) -> Floats:
    """τ H, zero if there is no entropy however hot."""
    return np.where(np.asarray(H) > 0, tau, 0.0) * H if np.isinf(tau) else np.asarray(tau * H)


def unrolled(belief: Belief, plan: Plan, bonus: BonusName = "paper") -> Inequality:
    """Under e-epregret-def: E_ρ Δ_1 = Φ(τ, λ) for the plan's own τ and λ; both sides equal."""
    start = float(belief.initial @ big_delta(belief, plan).upper[0])  # type: ignore[index]
    return Inequality(start, phi(belief, plan.temperature, plan.occupancy, bonus))


def episode_regret(belief: Belief, posterior: Ensemble, plan: Plan, bonus: BonusName = "paper") -> Inequality:
    """One episode of e-reg-ub and e-br-opt: E^t E_ρ(V*_1 − V_1^π) ≤ Φ(τ, λ)."""
    refuse_tied_layers(belief, "episode_regret")
    regret, error = posterior.at_start(posterior.regret(plan.policy))
    return Inequality(regret, phi(belief, plan.temperature, plan.occupancy, bonus), error)


def unrolling_bound(belief: Belief, tau: float, occupancy: Sequence[ArrayLike]) -> Inequality:
    """The first step of l-delta_unroll: Φ(τ, λ) ≤ τ L log A + Σ λ_l(s,a)(σ² + L²)/(2τ(n∨1)), for the `paper` bonus."""
    B = belief.prior.reward.numbers().noise_variance + belief.horizon**2
    visits = belief.in_layers(belief.visits)
    collected = sum(float((np.asarray(x) / np.maximum(n, 1.0)).sum()) for x, n in zip(occupancy, visits))
    upper = tau * belief.horizon * np.log(belief.actions) + B * collected / (2.0 * tau)
    return Inequality(phi(belief, tau, occupancy, "paper"), float(upper))
