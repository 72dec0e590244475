"""The best mixture of arms (O'Donoghue and Lattimore, 2021), compiled.

    maximise over π in the simplex   Σ_a π_a inf_τ (τ Ψ_a(1/τ) − τ log π_a)            an upper bound on E max_a μ_a

With a multiplier V for Σπ = 1 the arms come apart (`arms.py`), and the dual is

    minimise over V   D(V) = V + Σ_a π_a(V) τ_a(V),      D′ = 1 − Σ_a π_a(V)

so that all is one root, Σπ(V) = 1. Written as F = log Σ_{a≠b} π_a − log(1 − π_b) = 0, b the likeliest arm, it is as
exact also if one arm is nearly certain to be best. Any V bounds from above, and π/S, with S = Σπ(V) ≥ 1,
from below; h rises with x, and π/S is less likely than π, so that

    D(V) − primal(π/S) ≤ (S − 1) Σ_a (π_a/S) τ_a

Arms that are certain ask for nothing as long as V is above the best of them; V is never below it, and there they have
what the others leave.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative
from klearning.numerics.types import Floats
from klearning.tabular.optimism.bandits.arms import Arms, Workspace, is_allowed, prepare, respond
from klearning.tabular.optimism.bandits.beta_arms import EXACT

MOST_STEPS = 300
PRECISION, PRECISION_OF_COINS = 1e-14, 1e-10  # of F, beside the logarithms that it is the difference of
HOPELESS = 700.0  # a difference of logarithms beyond which a chance is none
ROUNDING = 2.3e-16
NEAR, ROUGH = 0.01, 0.03  # a root at least so far away is told by answers that are no better than that


class Optimum(NamedTuple):
    """The dual value, and how far the policy may be below it."""

    value: float
    gap: float


class Balance(NamedTuple):
    """At some V: the likeliest arm b, X = −log Σ_{a≠b} π_a and Y = −log(1 − π_b), with their derivatives."""

    b: int
    X: float
    dX: float
    Y: float
    dY: float


@kernel
def balance(work: Workspace) -> Balance:
    x, b = work.x, 0
    for a in range(x.size):
        b = a if x[a] < x[b] else b
    least = np.inf
    for a in range(x.size):
        least = x[a] if a != b and x[a] < least else least
    chance = -np.expm1(-x[b])
    Y, dY = -np.log(chance), -work.slope[b] / np.expm1(x[b])
    if np.isinf(least):
        return Balance(b, np.inf, 0.0, Y, dY)
    total, falling = 0.0, 0.0
    for a in range(x.size):
        if a != b and x[a] - least < HOPELESS:
            weight = exp_negative(least - x[a])
            total += weight
            falling += weight * work.slope[a]
    return Balance(b, least - np.log(total), falling / total, Y, dY)


@kernel
def search(arms: Arms, work: Workspace, V: float, low: float, high: float) -> Balance:
    """The workspace at the root of F, from the side on which Σπ ≥ 1; Newton's method, kept between low and high."""
    reach, precision, close = 1.0, PRECISION, EXACT
    if arms.masses.size > 0:
        precision, close = PRECISION_OF_COINS, ROUGH
    for _ in range(MOST_STEPS):
        respond(arms, work, V, close)
        at = balance(work)
        F = at.Y - at.X
        if close > EXACT and abs(F) < NEAR:
            close = EXACT
            continue
        low, high = (V, high) if F >= 0.0 else (low, V)
        if abs(F) <= precision * (1.0 + at.Y + abs(at.X)):
            break
        better = V - F / (at.dY - at.dX)
        if at.X > 30.0 + 2.0 * at.Y:  # far above, where it is √X that falls evenly
            better = V + (np.sqrt(at.Y) - np.sqrt(at.X)) * 2.0 * np.sqrt(at.X) / at.dX
        if not low < better < high:
            better = V - reach if np.isinf(low) else 0.5 * (low + high)
            reach *= 2.0
        if better == V:
            break
        V = better
    back = 2.0 * (at.Y - at.X) / (at.dY - at.dX)
    back = max(back if back < 1.0 else 0.0, ROUNDING * max(abs(V), 1e-3))
    while at.Y < at.X:
        V -= back
        back *= 4.0
        respond(arms, work, V, EXACT)
        at = balance(work)
    return at


@kernel
def best_mixture(arms: Arms, price: Floats, policy: Floats, work: Workspace) -> Optimum:
    """Write the policy that is best if arms have a price, and leave their temperatures in the workspace.

    Something must be allowed.
    """
    units = prepare(arms, price, work)
    optimum = in_units(arms, policy, work)
    for a in range(policy.size):
        work.tau[a] *= units.scale
    return Optimum(units.anchor + units.scale * optimum.value, units.scale * optimum.gap)


@kernel
def in_units(arms: Arms, policy: Floats, work: Workspace) -> Optimum:
    certain, uncertain = -np.inf, 0
    for a in range(policy.size):
        if work.s[a] > 0.0:
            uncertain += 1
        elif is_allowed(arms, a):
            certain = max(certain, work.m[a])
    if uncertain == 0 or (uncertain == 1 and np.isinf(certain)):
        return without_choice(certain, policy, work)
    if np.isfinite(certain):
        respond(arms, work, certain, EXACT)
        at = balance(work)
        if at.Y <= at.X:  # what may be better leaves something to what is certain
            leave(certain, np.exp(-at.Y) - np.exp(-at.X), policy, work)
            return Optimum(weighted(policy, work.h), 0.0)  # the dual's kink: there is no gap
    start, high = first_guess(arms, work, uncertain)
    at = search(arms, work, max(start, certain), certain, high)
    return shared_out(at, policy, work)


@kernel
def first_guess(arms: Arms, work: Workspace, uncertain: int) -> tuple[float, float]:
    """Where to begin: of Gaussians if no arm has more than an even share; and what V is below."""
    even = np.sqrt(2.0 * np.log(uncertain)) if uncertain > 1 else 0.0
    mean, start, highest = -np.inf, -np.inf, -np.inf
    for a in range(work.m.size):
        if work.s[a] > 0.0:
            mean = max(mean, work.m[a])
            start = max(start, work.m[a] + work.s[a] * (even - 1.0 / even) if even > 0.0 else work.m[a])
            highest = max(highest, work.m[a] + (1.0 - arms.means[a]))
    if arms.masses.size == 0:
        return start, np.inf
    return min(start, 0.5 * (mean + highest)), highest


@kernel
def without_choice(certain: float, policy: Floats, work: Workspace) -> Optimum:
    """Nothing is uncertain, or there is but one arm."""
    best = 0
    if np.isinf(certain):
        for a in range(policy.size):
            best = a if work.s[a] > 0.0 else best
            policy[a] = work.tau[a] = 0.0
        policy[best], work.tau[best] = 1.0, np.inf
        return Optimum(work.m[best], 0.0)
    work.x[:], work.tau[:] = np.inf, 0.0
    leave(certain, 1.0, policy, work)
    return Optimum(certain, 0.0)


@kernel
def leave(certain: float, rest: float, policy: Floats, work: Workspace) -> None:
    """Play what is uncertain as often as it asks, and share what is left among the best of the certain arms."""
    ties = 0
    for a in range(policy.size):
        ties += work.s[a] == 0.0 and work.m[a] == certain
    for a in range(policy.size):
        policy[a] = np.exp(-work.x[a]) if work.s[a] > 0.0 else 0.0
        if work.s[a] == 0.0 and work.m[a] == certain:
            policy[a] = rest / ties


@kernel
def shared_out(at: Balance, policy: Floats, work: Workspace) -> Optimum:
    """π/S of what the arms ask for, the dual value and its distance."""
    excess = np.exp(-at.Y) * np.expm1(at.Y - at.X)
    rest = 1.0
    for a in range(policy.size):
        policy[a] = np.exp(-work.x[a]) / (1.0 + excess) if a != at.b else 0.0
        rest -= policy[a]
    policy[at.b] = rest
    gap = excess * weighted(policy, work.tau)
    return Optimum(weighted(policy, work.h) + gap, gap)


@kernel
def weighted(policy: Floats, x: Floats) -> float:
    total = 0.0
    for a in range(policy.size):
        if policy[a] > 0.0:
            total += policy[a] * x[a]
    return total
