"""VAPOR's program (Tarbouriech et al., 2023): the occupancy that is best on optimistic rewards.

    maximise over λ   Σ λ (m + s √(−2 ln λ))      with the flow of P̄:   Σ_a λ_{l+1}(s',a) = Σ P̄(s'|s,a) λ_l(s,a)

The dual has no constraints: a value V_l(s) for every flow that has to balance. A pair (s, a) of layer l then has

    z = (V_l(s) − m − P̄V_{l+1}) / s        u − 1/u = z        λ = exp(−u²/2)        temperature τ = s/u

and with these   minimise over V   D(V) = E_ρ V_1 + Σ τ λ.   Its gradient is the flow into a state less the one out.
D is smooth and convex, and Newton's steps (`occupancy_newton.py`) find its minimum. The policy λ/Σλ has an occupancy
that does flow, so every V comes with a certificate: the gap between D and the program's value there is a sum of terms

    s [ (λ − λ^π)/u − λ^π (√(−2 ln λ^π) − u) ]  ≥  0

With a discount γ, λ_l is at most γ^l, and λ/γ^l stands in the logarithm.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.elementary import exp_negative
from klearning.numerics.loops import copy_numbers
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.models.sweeps import FORBIDDEN, Model, at_start, expectation, occupancy_sweep

FAINTEST = -700.0  # exp of less is nothing, and products with it would be subnormal, and slow
CERTAIN = 1e-9  # of the largest sd: a pair that is certain counts as this uncertain
UNLIKELY, ALL_BUT_SURE = 1e-15, 1.0 - 1e-15  # what flows through a state at least and at most, when values begin
FORCED = 1.0 - 1e-9  # what of a flow that has no choice at all
BALANCED, MOST_ROUNDS = 0.03, 60  # how close to it values begin, and the most rounds for that


@field_roles(scratch=True)
class Flows(NamedTuple):
    """A workspace for the program and its solution; (A, S) arrays, then (S,) ones."""

    reward: Floats  # m
    stated: Floats  # s
    sd: Floats  # s, and no less than a little
    limit: Floats  # the most that can flow: γ^l, and zero if an action is not allowed or the episode is over
    u: Floats
    occupancy: Floats  # λ of the values
    feasible: Floats  # λ of the policy
    stiffness: Floats  # −∂λ/∂V
    share: Floats  # of the state's stiffness
    spread: Floats
    inflow: Floats
    residual: Floats  # inflow less outflow
    softness: Floats  # 1/√ of the state's stiffness
    step: Floats
    trial: Floats
    x: Floats
    v: Floats
    r: Floats
    p: Floats
    y: Floats


def flow_arrays(actions: int, states: int) -> Flows:
    return Flows(*np.zeros((10, actions, states)), *np.zeros((10, states)))


@kernel(inline=True)
def surprise(z: float) -> float:
    """u > 0 with u − 1/u = z, without cancellation."""
    u = 0.5 * (abs(z) + np.sqrt(z * z + 4.0))
    return u if z > 0.0 else 1.0 / u


@kernel(inline=True)
def likelihood(u: float) -> float:
    """exp(−u²/2)."""
    power = -0.5 * u * u
    chance = exp_negative(power)
    return chance if power > FAINTEST else 0.0


@kernel(inline=True)
def carry(model: Model, l: int, a: int, flow: Floats, out: Floats) -> None:
    """out(s') += Σ_s P̄(s'|s,a) flow(s) for the states s of layer l, not the last: the adjoint of `expectation`."""
    low = index(model.table[l])
    high = low + index(model.layers[l + 1] - model.layers[l])
    below = index(model.layers[l + 1] - model.table[l + 1])
    start, length, scale = model.rows.start[a], model.rows.length[a], model.scale[a]
    succ, weight = model.rows.succ, model.rows.weight
    total = 0.0
    for s in range(low, high):
        f = flow[s - low] * scale[s]
        total += f
        first = index(start[s])
        for e in range(first, first + index(length[s])):
            out[index(succ[e]) + below] += f * weight[e]
    if model.mass > 0.0:
        first, last = index(model.layers[l + 1]), index(model.layers[l + 2])
        even = model.mass * total / (last - first)
        for s in range(first, last):
            out[s] += even


@kernel
def dual(model: Model, V: Floats, W: Flows) -> float:
    """D(V); u, λ and the residual of the flow are left behind."""
    layers, residual = model.layers, W.residual
    residual[:] = 0.0
    copy_numbers(model.initial, residual)
    value, states = at_start(model, V), index(V.size)
    for a in range(W.u.shape[0]):
        m, u, occupancy, sd, limit = W.reward[a], W.u[a], W.occupancy[a], W.sd[a], W.limit[a]
        for l in range(layers.size - 1):
            expectation(model, l, a, V, u[layers[l] : layers[l + 1]])
        for s in range(states):
            u[s] = surprise((V[s] - m[s] - u[s]) / sd[s])
        for s in range(states):
            occupancy[s] = limit[s] * likelihood(u[s])
        for s in range(states):
            value += sd[s] * occupancy[s] / u[s]
            residual[s] -= occupancy[s]
        for l in range(layers.size - 2):
            carry(model, l, a, occupancy[layers[l] : layers[l + 1]], residual)
    if model.end >= 0:  # what comes there stays
        for l in range(layers.size - 1):
            residual[layers[l] + model.end] = 0.0
    return value


@kernel
def follow(model: Model, W: Flows, policy: Floats) -> tuple[float, float, float]:
    """The policy of the values, λ/Σλ. Returns at its occupancy Σλm and Σλs√(−2 ln λ), and how far D is above both."""
    actions, states = policy.shape
    for s in range(states):
        total = 0.0
        for a in range(actions):
            total += W.occupancy[a, s]
        for a in range(actions):
            policy[a, s] = W.occupancy[a, s] / total if total > 0.0 else 1.0 / actions
    occupancy_sweep(model, policy, W.feasible)
    mean, optimism, gap = 0.0, 0.0, 0.0
    for a in range(actions):
        for s in range(states):
            flow, sd, u = W.feasible[a, s], W.sd[a, s], W.u[a, s]
            if W.limit[a, s] > 0.0:
                share = flow / W.limit[a, s]
                root = np.sqrt(-2.0 * np.log(share)) if 0.0 < share < 1.0 else 0.0
                mean += flow * W.reward[a, s]
                optimism += flow * sd * root
                gap += sd * ((W.occupancy[a, s] - flow) / u - flow * (root - u))
    return mean, optimism, gap


@kernel
def inflows(model: Model, W: Flows, policy: Floats) -> None:
    """The flow of the policy through every state."""
    occupancy_sweep(model, policy, W.feasible)
    W.inflow[:] = 0.0
    for a in range(policy.shape[0]):
        for s in range(policy.shape[1]):
            W.inflow[s] += W.feasible[a, s]


@kernel(inline=True)
def slack(share: float) -> float:
    """z of the pair that takes this share of all there is: √(−2 ln λ) − 1/√(−2 ln λ)."""
    u = np.sqrt(-2.0 * np.log(share))
    return u - 1.0 / u


@kernel(inline=True)
def balanced(W: Flows, s: int, share: float, open_: int, V: float) -> float:
    """The value at which a state lets go of a share of all there is; `W.u` holds m + P̄V."""
    alone, even = slack(share), slack(share / open_)
    low = high = -np.inf
    for a in range(W.u.shape[0]):
        if W.limit[a, s] > 0.0:
            low = max(low, W.u[a, s] + W.sd[a, s] * alone)
            high = max(high, W.u[a, s] + W.sd[a, s] * even)
    V = min(max(V, low), high)
    for _ in range(MOST_ROUNDS):
        total = slope = largest = 0.0
        for a in range(W.u.shape[0]):
            if W.limit[a, s] > 0.0:
                u = surprise((V - W.u[a, s]) / W.sd[a, s])
                flow = likelihood(u)
                total, largest = total + flow, max(largest, flow)
                slope += flow * u * u * u / ((u * u + 1.0) * W.sd[a, s])
        if abs(total - share) <= BALANCED * share * (1.0 - largest):
            break
        low, high = (V, high) if total > share else (low, V)
        better = V + np.log(total / share) * total / slope if slope > 0.0 else low
        if not low < better < high:
            better = 0.5 * (low + high)
        if better == V:
            break
        V = better
    return V


@kernel
def balance(model: Model, W: Flows, V: Floats) -> None:
    """Values under which as much flows out of every state as `W.inflow`, one state after the other, from the last.

    Each is the root of a function that falls with V, between the value at which one pair would take all of the flow
    and the one at which every pair takes its even share; Newton's steps are on its logarithm, which is all but concave.
    """
    layers, actions = model.layers, W.u.shape[0]
    for l in range(layers.size - 2, -1, -1):
        low, high = layers[l], layers[l + 1]
        for a in range(actions):
            expectation(model, l, a, V, W.u[a][low:high])
        for s in range(low, high):
            open_, limit = 0, 0.0
            for a in range(actions):
                open_ += W.limit[a, s] > 0.0
                limit = max(limit, W.limit[a, s])
                W.u[a, s] += W.reward[a, s]
            if open_ > 0:
                share = W.inflow[s] / limit
                share = FORCED if open_ == 1 and share > ALL_BUT_SURE else min(max(share, UNLIKELY), ALL_BUT_SURE)
                V[s] = balanced(W, s, share, open_, V[s])


@kernel
def set_flow_limits(model: Model, discount: float, W: Flows) -> tuple[float, float]:
    """Set which pairs can have flow; returns the least and the largest sd."""
    layers = model.layers
    least, largest, limit = np.inf, 0.0, 1.0
    for l in range(layers.size - 1):
        at = model.table[l] - layers[l]
        for a in range(W.limit.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                over = s - layers[l] == model.end or model.reward[a, s + at] <= FORBIDDEN
                W.limit[a, s] = 0.0 if over else limit
                W.reward[a, s] = 0.0 if over else model.reward[a, s + at]
                if not over:
                    least, largest = min(least, W.stated[a, s]), max(largest, W.stated[a, s])
        limit *= discount
    return least, largest


@kernel
def set_sds(model: Model, W: Flows, floor: float) -> None:
    """No pair is less uncertain than the floor; one that takes all there is for want of another is not more so."""
    actions, states = W.sd.shape
    for a in range(actions):
        for s in range(states):
            W.sd[a, s] = max(W.stated[a, s], floor)
    for s in range(states):
        open_, last = 0, 0
        for a in range(actions):
            if W.limit[a, s] > 0.0:
                open_, last = open_ + 1, a
        if open_ == 1 and W.inflow[s] > ALL_BUT_SURE * W.limit[last, s]:
            W.sd[last, s] = floor
