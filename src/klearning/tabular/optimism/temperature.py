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

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.soft import Soft, boltzmann, soft_sweep
from klearning.tabular.models.sweeps import Model, greedy, hard_sweep, policy_sweep
from klearning.tabular.optimism.bonuses import BonusNumbers, largest_numerator

MOST_SWEEPS = 200
ENOUGH_FOR_NEWTON = 3  # sweeps; a search that takes more is near a steep part of f
BISECTIONS = 50
WALL = 30.0  # times the slope on the other side: a quintic would creep along it
LONGEST_STEP = 3.0  # in log τ
ROUNDING = 2.3e-16
COLDEST, HOTTEST = 1e-100, 1e100  # τ³ is a float


@dataclass(frozen=True)
class Schedule:
    """The temperature of episode ``t`` = 1, 2, … by the schedule (e-betat)."""

    t: int


def schedule(t: int) -> Schedule:
    """τ_t = √(B·S·A (1 + log t) / (4 L t log A)), B the largest numerator of the bonus, for episode t = 1, 2, …"""
    return Schedule(checks.whole("t", t))


def fixed(temperature: float) -> float:
    """A temperature above 0 that was given, if a sweep can take it."""
    tau = checks.number("temperature", temperature, 0.0, above=True)
    if not COLDEST <= tau <= HOTTEST:
        raise ValueError(
            f"temperature={temperature!r} takes K-values beyond the range of floats: "
            f'give a number from {COLDEST:g} to {HOTTEST:g}, or temperature="optimal"'
        )
    return tau


@kernel(lazy=True)
def scheduled(bonus: BonusNumbers, p: Posterior, c: Floats, t: int) -> float:
    """e-betat; infinite if there is only one action."""
    actions, states, horizon = c.shape[0], p.model.layers[-1], p.model.layers.size - 1
    if actions == 1:
        return np.inf
    B = largest_numerator(bonus, p, c)
    return np.sqrt(B * states * actions * (1.0 + np.log(t)) / (4.0 * horizon * t * np.log(actions)))


class Temperature(NamedTuple):
    """A temperature, the bound f(τ) there, the certified gap, the sweeps it took, and one Newton step on from τ."""

    tau: float
    bound: float
    gap: float
    sweeps: int
    warm: float


@kernel(lazy=True)
def at_limit(model: Model, tau: float, policy: Floats) -> Temperature:
    """The limits that need no sweep: τ = 0 (nothing is uncertain: act greedily) and τ = ∞ (one action)."""
    states = policy.shape[1]
    if tau == 0.0:
        Q = np.empty_like(policy)
        bound = hard_sweep(model, model.reward, Q, np.empty(states))
        greedy(Q, policy)
    else:
        policy[:] = 1.0
        bound = policy_sweep(model, model.reward, policy, np.empty(states), np.empty(states))
    return Temperature(tau, bound, 0.0, 1, 0.0)


@kernel(lazy=True)
def at_temperature(model: Model, c: Floats, tau: float, policy: Floats, W: Soft) -> Temperature:
    """The sweep at a given τ, and its two limits."""
    if tau == 0.0 or np.isinf(tau):
        return at_limit(model, tau, policy)
    f, H, C, _ = soft_sweep(model, c, tau, W)
    boltzmann(model.layers, W, policy)
    return Temperature(tau, f, duality_gap(tau, H, C), 1, tau)


class Point(NamedTuple):
    """f at a temperature, and its first and second derivative in log τ."""

    tau: float
    f: float
    slope: float
    curvature: float


@kernel
def at_optimum(model: Model, c: Floats, warm: float, tolerance: float, policy: Floats, W: Soft) -> Temperature:
    """Newton in log τ, kept inside a bracket, until the gap is below ``tolerance`` times f − J, and times f.

    ``warm`` is where to begin, 0 for nowhere in particular: then, if Newton is not soon there, `lowest_between`.
    """
    if c.shape[0] == 1:
        return at_limit(model, np.inf, policy)
    tau = warm if warm > 0.0 else first_guess(model, c)
    low, high, sweeps = Point(0.0, 0.0, 0.0, 0.0), Point(np.inf, 0.0, 0.0, 0.0), 0
    while tau > 0.0:
        f, H, C, f2 = soft_sweep(model, c, tau, W)
        sweeps += 1
        if C == 0.0:  # nothing uncertain can be reached: f grows with τ
            break
        slope = tau * H - C / tau  # df / d log τ
        point = Point(tau, f, slope, slope + tau * tau * f2)
        low, high = (low, point) if slope > 0.0 else (point, high)
        gap, better = duality_gap(tau, H, C), newton(tau, slope, point.curvature, low.tau, high.tau)
        if gap <= allowed(tolerance, f, tau * H + C / tau) or sweeps == MOST_SWEEPS:
            boltzmann(model.layers, W, policy)
            return Temperature(tau, f, gap, sweeps, better)
        late = warm == 0.0 and sweeps >= ENOUGH_FOR_NEWTON
        tau = lowest_between(low, high) if late and comparable(low, high) else better
    return at_limit(model, 0.0, policy)


@kernel
def comparable(low: Point, high: Point) -> bool:
    """Whether both sides of the optimum are known, neither is a wall beside the other, and f tells them apart."""
    if low.tau == 0.0 or high.tau == np.inf:
        return False
    gentle, steep = min(-low.slope, high.slope), max(-low.slope, high.slope)
    change = np.log(high.tau / low.tau) * (gentle + steep)
    return steep < WALL * gentle and change > np.sqrt(ROUNDING) * max(abs(low.f), abs(high.f))


@kernel
def lowest_between(low: Point, high: Point) -> float:
    """Where the quintic in log τ that has f, slope and curvature of both points has a minimum between them.

    Newton steps from one side of a steep part to the other, because neither knows of it; how much f differs between
    the two tells where it is. With t from 0 at one point to 1 at the other, the slope of the quintic is
    a + bt + p(t²,t³,t⁴), and what f, slope and curvature at 1 exceed a parabola by gives p.
    """
    h = np.log(high.tau / low.tau)
    a, b = h * low.slope, h * h * low.curvature
    f, slope, curvature = high.f - low.f - a - 0.5 * b, h * high.slope - a - b, h * h * high.curvature - b
    p2 = 30.0 * f - 12.0 * slope + 1.5 * curvature
    p3 = -60.0 * f + 28.0 * slope - 4.0 * curvature
    p4 = 30.0 * f - 15.0 * slope + 2.5 * curvature
    falls, rises = 0.0, 1.0
    for _ in range(BISECTIONS):
        t = 0.5 * (falls + rises)
        if a + t * (b + t * (p2 + t * (p3 + t * p4))) < 0.0:
            falls = t
        else:
            rises = t
    return low.tau * np.exp(h * rises)


@kernel
def first_guess(model: Model, c: Floats) -> float:
    """τ = √(C_u / (L log A)), C_u collected by the uniform policy; zero if nothing is uncertain."""
    actions, states = c.shape[0], model.layers[-1]
    uniform = np.full((actions, states), 1.0 / actions)
    C_u = policy_sweep(model, c, uniform, np.empty(states), np.empty(states))
    return np.sqrt(C_u / ((model.layers.size - 1) * np.log(actions)))


@kernel
def duality_gap(tau: float, H: float, C: float) -> float:
    """How far f(τ) is above its minimum at most; H̄ < 0 says nothing about it."""
    if H < 0.0:
        return np.inf
    return (np.sqrt(tau * H) - np.sqrt(C / tau)) ** 2


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
