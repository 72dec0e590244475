"""Newton's steps on VAPOR's dual (`occupancy.py`), without a matrix.

With stiffness w = λu³ / ((u²+1) s) of a pair, W its sum over the actions of a state and p̄ the mean of their rows
weighted by it, the Hessian is

    Σ w (e_s − p)(e_s − p)ᵀ  =  Fᵀ W F + C        F = I − p̄        C = Σ w (p − p̄)(p − p̄)ᵀ

F is one sweep backwards, Fᵀ one forwards, and with x = F⁻¹ W^(−½) v the equation for a step is (I + K) v = b, in which
K = W^(−½) F⁻ᵀ C F⁻¹ W^(−½) takes one sweep back and forth. K is how far apart actions lead. Were w in proportion to λ,
it would be at most I, by the law of total variance; so conjugate gradients need few sweeps: some seven at depth 50.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.loops import copy_numbers
from klearning.numerics.types import Floats
from klearning.tabular.models.sweeps import Model, expectation, greedy, hard_sweep, occupancy_sweep
from klearning.tabular.optimism.vapor.occupancy import (
    CERTAIN,
    Flows,
    balance,
    carry,
    dual,
    follow,
    inflows,
    set_flow_limits,
    set_sds,
)

MOST_STEPS, MOST_SWEEPS, MOST_CUTS = 50, 100, 40
FORCING = 0.1  # how far conjugate gradients bring the residual down, per step of Newton's
ROUNDING = 1e-14
FAINT = 1e-280  # a flow of which a share is still a float
UNEVEN = 1e-5  # doubts that differ by more, or are too much for Newton's steps, are made so little by little:
COARSE, FINER, ROUGH = 1e-2, 0.1, 1e-3  # from a coarse floor under all of them, by a factor, to a rough gap each time


class Occupied(NamedTuple):
    """The bound, the certified gap, the most by which a flow is out of balance, steps of Newton's, sweeps of theirs.

    ``optimism`` is the part Σ λ s √(−2 ln λ) of the bound.
    """

    bound: float
    optimism: float
    gap: float
    residual: float
    steps: int
    sweeps: int


@kernel(inline=True)
def secant(ratio: float) -> float:
    """(ρ − 1) / ln ρ: how much stiffer a flow is on the way to ρ times as much than where it is, as an exponential."""
    return (ratio - 1.0) / np.log(ratio)


@kernel
def curvature(W: Flows) -> None:
    """The stiffness of pairs and states; if much more flows in than out, that on the way to balance.

    There the Hessian sends a value much too far, and nowhere if nothing flows out at all.
    """
    actions, states = W.u.shape
    outflow = W.y
    outflow[:] = 0.0
    for a in range(actions):
        u, occupancy, sd, stiffness = W.u[a], W.occupancy[a], W.sd[a], W.stiffness[a]
        for s in range(index(states)):
            stiffness[s] = occupancy[s] * u[s] * u[s] * u[s] / ((u[s] * u[s] + 1.0) * sd[s])
            outflow[s] += occupancy[s]
    for s in range(states):
        inflow = W.residual[s] + outflow[s]
        if outflow[s] > FAINT:
            if inflow > 2.0 * outflow[s]:
                for a in range(actions):
                    W.stiffness[a, s] *= secant(inflow / outflow[s])
        elif inflow > FAINT:
            likeliest = -1
            for a in range(actions):
                if W.limit[a, s] > 0.0 and (likeliest < 0 or W.u[a, s] < W.u[likeliest, s]):
                    likeliest = a
            if likeliest >= 0:
                W.stiffness[likeliest, s] = 2.0 * inflow / (W.sd[likeliest, s] * W.u[likeliest, s])
    total = W.softness
    total[:] = 0.0
    for a in range(actions):
        for s in range(index(states)):
            total[s] += W.stiffness[a, s]
    for a in range(actions):
        share, stiffness = W.share[a], W.stiffness[a]
        for s in range(index(states)):
            share[s] = stiffness[s] / total[s] if total[s] > 0.0 else 0.0
    for s in range(index(states)):
        total[s] = 1.0 / np.sqrt(total[s]) if total[s] > 0.0 else 0.0


@kernel
def backwards(model: Model, v: Floats, W: Flows) -> None:
    """x = F⁻¹ W^(−½) v, and the spread w (p − p̄)·x of every pair."""
    layers, x, actions = model.layers, W.x, W.u.shape[0]
    for l in range(layers.size - 2, -1, -1):
        low, high = layers[l], layers[l + 1]
        n, mean = index(high - low), x[low:high]
        v_l, softness = v[low:high], W.softness[low:high]
        mean[:] = 0.0
        for a in range(actions):
            spread, share = W.spread[a][low:high], W.share[a][low:high]
            expectation(model, l, a, x, spread)
            for i in range(n):
                mean[i] += share[i] * spread[i]
        for a in range(actions):
            spread, stiffness = W.spread[a][low:high], W.stiffness[a][low:high]
            for i in range(n):
                spread[i] = stiffness[i] * (spread[i] - mean[i])
        for i in range(n):
            mean[i] += softness[i] * v_l[i]


@kernel
def forwards(model: Model, W: Flows, y: Floats) -> None:
    """y ← F⁻ᵀ (y + Σ pᵀ spread)."""
    layers = model.layers
    for l in range(layers.size - 2):
        low, high = layers[l], layers[l + 1]
        n, y_l = index(high - low), y[low:high]
        for a in range(W.u.shape[0]):
            spread, share = W.spread[a][low:high], W.share[a][low:high]
            for i in range(n):
                spread[i] += share[i] * y_l[i]
            carry(model, l, a, spread, y)


@kernel
def direction(model: Model, W: Flows) -> tuple[float, int]:
    """Newton's step at the values of the last `dual`; returns how fast D falls along it, and sweeps."""
    v, r, p, y, softness = W.v, W.r, W.p, W.y, W.softness
    states = index(v.size)
    W.spread[:] = 0.0
    for s in range(states):
        y[s] = -W.residual[s]
    forwards(model, W, y)
    squared = 0.0
    for s in range(states):
        v[s] = 0.0
        r[s] = p[s] = softness[s] * y[s]
        squared += r[s] * r[s]
    enough, sweeps = FORCING * FORCING * squared, 0
    while squared > enough and sweeps < MOST_SWEEPS:
        backwards(model, p, W)
        y[:] = 0.0
        forwards(model, W, y)
        bend = 0.0
        for s in range(states):
            y[s] = p[s] + softness[s] * y[s]
            bend += p[s] * y[s]
        length, before = squared / bend, squared
        squared = 0.0
        for s in range(states):
            v[s] += length * p[s]
            r[s] -= length * y[s]
            squared += r[s] * r[s]
        for s in range(states):
            p[s] = r[s] + squared / before * p[s]
        sweeps += 1
    backwards(model, v, W)
    copy_numbers(W.x, W.step)
    return -slope(W), sweeps


@kernel
def slope(W: Flows) -> float:
    """Of D along the step."""
    total = 0.0
    for s in range(W.step.size):
        total += W.residual[s] * W.step[s]
    return total


@kernel
def move(model: Model, W: Flows, V: Floats, value: float, fall: float) -> float:
    """Go along the step, as far as D does not rise: it does not while it falls further, or has risen but a little."""
    length = 1.0
    for _ in range(MOST_CUTS):
        for s in range(V.size):
            W.trial[s] = V[s] + length * W.step[s]
        trial = dual(model, W.trial, W)
        rise = slope(W)
        if rise <= 0.0 or (rise <= fall and trial <= value + ROUNDING * abs(value)):
            copy_numbers(W.trial, V)
            return trial
        length *= max(0.1, min(0.6, fall / (fall + rise))) if rise < np.inf else 0.1
    return dual(model, V, W)


@kernel
def furthest(x: Floats) -> float:
    """The largest distance from zero."""
    largest = 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
    return largest


@kernel
def descend(model: Model, W: Flows, tolerance: float, V: Floats, policy: Floats) -> Occupied:
    """Newton's steps until the gap is ``tolerance`` of the optimism, measured where it may well be."""
    value, fall, sweeps = dual(model, V, W), np.inf, 0
    if policy.shape[0] == 1:  # nothing to choose: the values that balance are the best
        mean, optimism, gap = follow(model, W, policy)
        return Occupied(mean + optimism, optimism, 0.0, furthest(W.residual), 0, 0)
    for steps in range(MOST_STEPS + 1):
        if FORCING * FORCING * fall <= tolerance * abs(value) or steps == MOST_STEPS or steps == 0:
            mean, optimism, gap = follow(model, W, policy)
            if gap <= tolerance * optimism + ROUNDING * abs(value) or steps == MOST_STEPS:
                break
        curvature(W)
        fall, more = direction(model, W)
        value, sweeps = move(model, W, V, value, fall), sweeps + more
    gap = max(gap, 0.0)
    return Occupied(mean + optimism + gap, optimism, gap, furthest(W.residual), steps, sweeps)


@kernel(lazy=True)
def act_greedily(model: Model, W: Flows, V: Floats, policy: Floats) -> Occupied:
    """The plan if nothing is uncertain."""
    Q = np.empty_like(policy)
    bound = hard_sweep(model, model.reward, Q, V)
    greedy(Q, policy)
    occupancy_sweep(model, policy, W.feasible)
    return Occupied(bound, 0.0, 0.0, 0.0, 0, 1)


@kernel
def occupy(model: Model, discount: float, tolerance: float, W: Flows, V: Floats, policy: Floats) -> Occupied:
    """Solve for `W.stated`, beginning at a policy and at values as they were when it was made."""
    least, largest = set_flow_limits(model, discount, W)
    if largest == 0.0:
        return act_greedily(model, W, V, policy)
    coarse = least < UNEVEN * largest
    floor, steps, sweeps = COARSE if coarse else CERTAIN, 0, 0
    while True:
        inflows(model, W, policy)
        set_sds(model, W, floor * largest)
        balance(model, W, V)
        last = floor * largest <= max(least, CERTAIN * largest)
        best = descend(model, W, tolerance if last else ROUGH, V, policy)
        steps, sweeps = steps + best.steps, sweeps + best.sweeps
        if last and (coarse or best.steps < MOST_STEPS):
            return Occupied(best.bound, best.optimism, best.gap, best.residual, steps, sweeps)
        floor, coarse = (COARSE if last else max(FINER * floor, CERTAIN)), True
