"""Choosing τ: by the schedule (e-betat), or by the convex program (e-cvx-opt-prob) in one dimension.

For fixed τ the smallest feasible K is the backward recursion, so the program is the minimum over τ of
the convex f(τ) = E_ρ V_1. One sweep gives f, f′, f″ and, with H̄ and C̄ the entropy and the uncertainty
that the policy expects to collect, the dual value J + 2√(H̄C̄) at its own occupancy. Hence

    f′ = H̄ − C̄/τ²        duality gap = (√(τH̄) − √(C̄/τ))²

and every solve carries its own certificate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.posterior import Posterior
from klearning.models.soft import Soft, boltzmann
from klearning.models.sweeps import Model, greedy, hard_sweep, policy_sweep
from klearning.optimism.bonuses import Bonus, largest_numerator
from klearning.optimism.price import sweep

MOST_SWEEPS = 200


LONGEST_STEP = 3.0  # in log τ


ROUNDING = 2.3e-16


@dataclass(frozen=True)
class Schedule:
    """The temperature of episode ``t`` = 1, 2, … by the schedule (e-betat)."""

    t: int


def schedule(t: int) -> Schedule:
    """τ_t = √(B·S·A (1 + log t) / (4 L t log A)), B the largest numerator of the bonus, for episode t = 1, 2, …"""
    return Schedule(checks.whole("t", t))


@kernel
def scheduled(bonus: Bonus, p: Posterior, c: Floats, t: int) -> float:
    """e-betat; infinite where there is but one action."""
    actions, states = c.shape
    if actions == 1:
        return np.inf
    horizon = p.model.layers.size - 1
    B = largest_numerator(bonus, p, c)
    return np.sqrt(B * states * actions * (1.0 + np.log(t)) / (4.0 * horizon * t * np.log(actions)))


class Temperature(NamedTuple):
    """A temperature, the bound f(τ) there, the certified gap, the sweeps it took, and one Newton step on from τ."""

    tau: float
    bound: float
    gap: float
    sweeps: int
    warm: float


@kernel
def duality_gap(tau: float, H: float, C: float) -> float:
    """How far f(τ) is above its minimum at most. With priced transitions H̄ may be negative, and says nothing then."""
    if H < 0.0:
        return np.inf
    return (np.sqrt(tau * H) - np.sqrt(C / tau)) ** 2


@kernel
def first_guess(model: Model, c: Floats, W: Soft) -> float:
    """τ = √(C_u / (L log A)), C_u collected by the uniform policy; zero where nothing is uncertain."""
    actions = c.shape[0]
    uniform = np.full(c.shape, 1.0 / actions)
    C_u = policy_sweep(model, c, uniform, np.empty(c.shape[1]), W.K_a)
    return np.sqrt(C_u / ((model.layers.size - 1) * np.log(actions)))


@kernel
def at_temperature(model: Model, c: Floats, tau: float, policy: Floats, W: Soft) -> Temperature:
    """The sweep at a given τ, with its two limits: 0 (nothing uncertain) and ∞ (one action)."""
    if tau == 0.0:
        Q = np.empty_like(policy)
        bound = hard_sweep(model, model.reward, Q, np.empty(policy.shape[1]))
        greedy(Q, policy)
        return Temperature(0.0, bound, 0.0, 1, 0.0)
    if np.isinf(tau):
        policy[:] = 1.0
        bound = policy_sweep(model, model.reward, policy, np.empty(policy.shape[1]), W.K_a)
        return Temperature(tau, bound, 0.0, 1, 0.0)
    f, H, C, _ = sweep(model, c, tau, W)
    boltzmann(model.layers, W, policy)
    return Temperature(tau, f, duality_gap(tau, H, C), 1, tau)


@kernel
def at_optimum(model: Model, c: Floats, warm: float, tolerance: float, policy: Floats, W: Soft) -> Temperature:
    """Newton in log τ, kept inside a bracket, until the gap is below ``tolerance`` times f − J, and times f.

    ``warm`` is where to begin, 0 for nowhere in particular.
    """
    if c.shape[0] == 1:
        return at_temperature(model, c, np.inf, policy, W)
    tau, scale = warm if warm > 0.0 else first_guess(model, c, W), 0.0
    if W.unseen.priced:
        scale = largest_reward(model)
        tau = tau if tau > 0.0 else scale  # rewards are certain, but transitions may not be
    low, high, sweeps = 0.0, np.inf, 0
    while tau > 0.0:
        f, H, C, f2 = sweep(model, c, tau, W)
        sweeps += 1
        if C == 0.0 and not W.unseen.priced:  # nothing uncertain can be reached: f grows with τ
            break
        gap, slope = duality_gap(tau, H, C), tau * H - C / tau  # slope = df / d log τ
        if slope > 0.0:
            high = tau
        else:
            low = tau
        if H < 0.0 and high < np.inf:  # a convex f falls no faster than here, and rises from ``high`` on
            gap = -slope * (high / tau - 1.0)
        better = newton(tau, slope, slope + tau * tau * f2, low, high)
        # the tilted model is optimistic itself
        optimism = max(abs(f), scale) if W.unseen.priced else tau * H + C / tau
        enough = allowed(tolerance, f, optimism)
        if gap <= enough or sweeps == MOST_SWEEPS:
            if C == 0.0 and certain(model, f, enough):
                break
            boltzmann(model.layers, W, policy)
            return Temperature(tau, f, gap, sweeps, better)
        tau = better
    return at_temperature(model, c, 0.0, policy, W)


@kernel
def largest_reward(model: Model) -> float:
    """The largest |m(s,a)|."""
    largest = 0.0
    for a in range(model.reward.shape[0]):
        for s in range(model.reward.shape[1]):
            largest = max(largest, abs(model.reward[a, s]))
    return largest


@kernel
def certain(model: Model, f: float, allowed: float) -> bool:
    """Whether the bound f is no more than the greedy policy expects: then nothing that matters is uncertain."""
    states = model.layers[-1]
    expected = hard_sweep(model, model.reward, np.empty((model.reward.shape[0], states)), np.empty(states))
    return f - expected <= allowed


@kernel
def allowed(tolerance: float, f: float, optimism: float) -> float:
    """The gap at which to stop: relative to the optimism f − J and to f itself, but no finer than their rounding."""
    small, large = min(optimism, abs(f)), max(optimism, abs(f))
    return max(tolerance * small, ROUNDING * large)


@kernel
def newton(tau: float, slope: float, curvature: float, low: float, high: float) -> float:
    """One Newton step in log τ, no longer than `LONGEST_STEP` and never out of the bracket."""
    step = -slope / curvature if curvature > 0.0 else -np.sign(slope) * LONGEST_STEP
    better = tau * np.exp(min(max(step, -LONGEST_STEP), LONGEST_STEP))
    return better if low <= better <= high else np.sqrt(low * high)
