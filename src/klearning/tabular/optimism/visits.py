"""A temperature for every state and action: the bonus `visits`, an upper bound for stationary beliefs too.

For every V, and with one MDP drawn from the belief, V* = ρV_1 + Σ λ (μ + P·V_{l+1} − V_l), λ its optimal policy's
occupancy, which is at most 1. So E V* is at most ρV_1 + Σ E(μ + P·V_{l+1} − V_l)₊, however the layers depend on each
other, and with (x)₊ ≤ T exp(x/T − 1), for every V and every T(s,a) > 0,

    E V* ≤ F = ρV_1 + Σ T λ0      λ0 = exp((K − V)/T − 1)      K = m + c/T + φ_T(V_{l+1})

with φ of certainty_equivalent.py. F is convex in V, and stationary if λ0 is a flow: if Σ_a λ0 is the inflow by the
tilted rows q. A backward sweep finds V and T from the inflow, a forward sweep finds the inflow, and every round has a
bound of its own (docs/evidence/visits.md).
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_numbers, copy_table, is_zero, largest, smallest
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.soft import Part, Soft, backup, soft_arrays, spread_all_evenly, without_padding
from klearning.tabular.models.sweeps import Model, at_start, first_column, occupancy_sweep, shared
from klearning.tabular.optimism.split.certainty_equivalent import (
    chances_of,
    kl_bound,
    several_seen,
    tilted_means_of_layer,
)
from klearning.tabular.optimism.split.priced_sweep import largest_reward, priced_backup
from klearning.tabular.optimism.split.unseen_mass import Unseen, unseen_arrays
from klearning.tabular.optimism.temperature import Temperature, at_limit

RATIO = 2.0**0.5  # of neighbouring temperatures: at most 1.5% of a bonus is lost by it
GRID = 44  # temperatures to choose from in a layer
ABOVE = 16.0  # the highest of them, as a multiple of how far values of the next layer are apart
LEAST = 1e-12  # arrives everywhere
NOTHING = 1e-200
TURNS = 8  # in which V and T of one state are found
MOST_ROUNDS = 40
PRECISION = 1e-3  # of the bound: temperatures between those of the grid would win as much


@field_roles(scratch=True)
class Visits(NamedTuple):
    """Workspace; tables are (A, S)."""

    soft: Soft  # of which V alone is used
    unseen: Unseen
    learns: bool  # whether transitions are unknown
    cap: Floats  # how likely a is taken in s at most: 1, or by a given policy
    arrives: Floats  # (S,) at each state, by the last plan
    onward: Floats  # the same by this one
    kept: Floats  # by the best so far
    chance: Floats  # λ0
    exponent: Ints  # of T
    place: Ints  # (A,) in the grid, of one state
    K: Floats
    slope: Floats  # ∂φ/∂T
    low: Ints  # (L,) exponents to choose from
    high: Ints
    choices: Flags  # (L, GRID): which of them are looked at
    K_grid: Floats  # (GRID, A, width)
    slope_grid: Floats


def visits_arrays(belief: Belief, p: Posterior, cap: Floats | None = None) -> Visits:
    """For the optimal policy; or for one that takes actions with the chances ``cap``."""
    shape, soft = (belief.actions, belief.states), soft_arrays(belief.layers, belief.actions)
    even, unbounded = float(belief.transitions.even_mass), np.full(belief.horizon, np.inf)
    learns = bool(belief.transitions.learns)
    unseen = unseen_arrays(even if learns else 0.0, p.moves, unbounded, p.discount)
    arrives, onward, kept = np.zeros((3, belief.states))
    chance, K, slope = np.zeros((3, *shape))
    low, high = np.zeros((2, belief.horizon), np.int64)
    choices = np.ones((belief.horizon, GRID), np.bool_)
    K_grid, slope_grid = np.zeros((2, GRID, belief.actions, soft.K_a.size))
    caps = np.ones(shape) if cap is None else cap
    exponent, place = np.zeros(shape, np.int64), np.zeros(belief.actions, np.int64)
    return Visits(
        soft, unseen, learns, caps, arrives, onward, kept, chance, exponent, place, K, slope, low, high, choices,
        K_grid, slope_grid,
    )  # fmt: skip


@kernel
def exponents(model: Model, c: Floats, unit: float, l: int, scale: float, work: Visits) -> None:
    """Which temperatures a layer may want, before any is known: from well above what is uncertain, down."""
    W, at, doubt, apart = work.soft, first_column(model, c, l), 0.0, 0.0
    for a in range(c.shape[0]):
        for i in range(model.layers[l + 1] - model.layers[l]):
            doubt = max(doubt, c[a, at + i])
    if l + 2 < model.layers.size:
        low = W.at[l + 1]
        V = W.V[low : low + model.layers[l + 2] - model.layers[l + 1]]
        apart = largest(V) - smallest(V)
    top = ABOVE * max(apart + np.sqrt(2.0 * doubt), 1e-9 * scale)
    work.high[l] = int(np.ceil(np.log(top / unit) / np.log(RATIO)))
    work.low[l] = work.high[l] - GRID + 1


@kernel
def optimistic_rows(model: Model, c: Floats, unit: float, l: int, work: Visits) -> None:
    """K and ∂φ/∂T of a layer at every temperature to choose from."""
    W, u = work.soft, work.unseen
    even = spread_all_evenly(model, l, W)
    for g in range(work.high[l] - work.low[l] + 1):
        if not work.choices[l, g]:
            work.K_grid[g] = np.inf
            continue
        T = unit * RATIO ** (work.low[l] + g)
        top = tilted_means_of_layer(model, l, T, W, u) if work.learns else 0.0
        for a in range(c.shape[0]):
            K, slope = work.K_grid[g, a], work.slope_grid[g, a]
            if work.learns:
                priced_backup(model, c, T, l, a, top, work, K, slope, W.C_a, W.D_a, 0)
            else:
                backup(model, c, T, l, a, even, W, K, slope, W.C_a, W.D_a, 0)


@kernel(inline=True)
def best_temperature(unit: float, l: int, i: int, a: int, heat: float, V: float, work: Visits) -> int:
    """Which T of the grid has the least K + heat·T; or, if V is finite, the least T λ0."""
    least, best, T = np.inf, 0, unit * RATIO ** work.low[l]
    for g in range(work.high[l] - work.low[l] + 1):
        K = work.K_grid[g, a, i]
        loss = np.log(T) + (K - V) / T if np.isfinite(V) else K + heat * T
        if loss < least:
            least, best = loss, g
        T *= RATIO
    return best


@kernel(inline=True)
def value_of(unit: float, l: int, s: int, i: int, arrives: float, work: Visits) -> float:
    """V of state s, the i-th of layer l, and T of its actions: the least found of arrives·V + Σ_a T λ0.

    By turns T is the best at the shares of the actions, K + T log(cap/λ0), and at V, T λ0; V is then that at which
    Σ_a λ0 is what arrives. The first alone may go to and fro, the second is slow.
    """
    actions, cap, share, place = work.cap.shape[0], work.cap, work.chance, work.place
    V = best = least = np.inf
    for a in range(actions):
        share[a, s] = arrives * cap[a, s] / actions
    for turn in range(TURNS):
        start = -np.inf
        for a in range(actions):
            if cap[a, s] > 0.0:
                heat = np.log(cap[a, s] / max(share[a, s], NOTHING))
                place[a] = best_temperature(unit, l, i, a, heat, V if turn % 2 else np.inf, work)
                T = unit * RATIO ** (work.low[l] + place[a])
                start = max(start, work.K_grid[place[a], a, i] + T * (np.log(cap[a, s] / arrives) - 1.0))
        V, cost = start, 0.0
        for _ in range(30):  # Newton on log Σ λ0, convex and falling: from the left, where one action alone is enough
            total = pull = cost = 0.0
            for a in range(actions):
                if cap[a, s] > 0.0:
                    T = unit * RATIO ** (work.low[l] + place[a])
                    chance = cap[a, s] * np.exp((work.K_grid[place[a], a, i] - V) / T - 1.0)
                    total += chance
                    pull += chance / T
                    cost += chance * T
            step = np.log(total / arrives) * total / pull
            if abs(step) <= 1e-13 * abs(V):
                break
            V += step
        for a in range(actions):
            if cap[a, s] > 0.0:
                T = unit * RATIO ** (work.low[l] + place[a])
                chance = cap[a, s] * np.exp((work.K_grid[place[a], a, i] - V) / T - 1.0)
                share[a, s] = np.sqrt(share[a, s] * chance)
        if arrives * V + cost < least:
            least, best = arrives * V + cost, V
            for a in range(actions):
                work.exponent[a, s] = work.low[l] + place[a]
                work.K[a, s], work.slope[a, s] = work.K_grid[place[a], a, i], work.slope_grid[place[a], a, i]
    return best


@kernel
def values_back(model: Model, c: Floats, unit: float, work: Visits) -> float:
    """V and T of every layer from what arrives, the last layer first; returns F."""
    layers, W, gamma = model.layers, work.soft, work.unseen.discount
    bound = 0.0
    for l in range(layers.size - 2, -1, -1):
        if work.low[l] > work.high[l]:
            exponents(model, c, unit, l, largest_reward(model), work)
        optimistic_rows(model, c, unit, l, work)
        for i in range(layers[l + 1] - layers[l]):
            s = layers[l] + i
            if i == model.end:
                W.V[W.at[l] + i] = 0.0
                continue
            # no policy changes how an episode begins
            first, arrives = (model.initial[i], 1.0) if l == 0 else (1.0, work.arrives[s])
            V = value_of(unit, l, s, i, arrives, work)
            for a in range(c.shape[0]):
                x = work.K[a, s] - V
                T = unit * RATIO ** work.exponent[a, s]
                work.chance[a, s] = work.cap[a, s] * np.exp(x / T - 1.0) if work.cap[a, s] > 0.0 else 0.0
                bound += gamma**l * first * T * work.chance[a, s]
            W.V[W.at[l] + i] = V
    return bound + at_start(model, W.V)


@kernel(inline=True)
def leave(model: Model, l: int, a: int, i: int, T: float, flow: float, top: float, work: Visits, even: Floats) -> None:
    """Where a tilted row leads: to what was seen; what goes to unseen states is added up by knot, in ``even``."""
    rows, W, u = model.rows, work.soft, work.unseen
    row, below = model.table[l] + i, W.at[l + 1] - model.table[l + 1]
    first, length = rows.start[a, row], rows.length[a, row]
    if length == 0:
        even[even.size - 1] += flow
        return
    if u.mass > 0.0:
        y = rows.succ[first] + below
        seen = Part(W.V[y], W.H[y], W.C[y], W.D[y])
        if length > 1:
            seen = several_seen(rows.succ, rows.weight, first, length, below, W.V, W.H, W.C, W.D, T)
        chances_of(u, seen.V, u.moves[a, row], top, T)
        total, seen_share = u.chance[:, 0].sum(), 0.0
        for k in range(u.knots.size):
            seen_share += u.chance[k, 0] * (1.0 - u.knots[k]) / total
            even[k] += flow * u.chance[k, 0] * u.knots[k] / total
        flow *= seen_share
    q, w, spread = np.ones(length), np.empty(length), np.empty(length)
    if length > 1:
        for j in range(length):
            w[j] = W.V[rows.succ[first + j] + below]
        kl_bound(w, rows.weight[first : first + length], T, q, spread)
    for j in range(length):
        work.onward[rows.succ[first + j] - model.table[l + 1] + model.layers[l + 1]] += flow * q[j]


@kernel(inline=True)
def arrive_unseen(model: Model, l: int, T: float, top: float, work: Visits, even: Floats) -> None:
    """The flow to unseen states, by knot, spread over the next layer as its weights are."""
    W, u = work.soft, work.unseen
    low, first, width = W.at[l + 1], model.layers[l + 1], model.layers[l + 2] - model.layers[l + 1]
    q, spread, V = np.empty(width), np.empty(width), W.V[low : low + width]
    for k in range(u.knots.size):
        if even[k] > 0.0:
            if u.mass > 1.0:
                kl_bound(u.knots[k] * (V - top), np.full(width, u.mass / width), T, q, spread)
            else:
                q = np.exp(u.knots[k] * (V - top) / T)
                q /= q.sum()
            for i in range(width):
                work.onward[first + i] += even[k] * q[i]


@kernel
def flows_forth(model: Model, c: Floats, unit: float, work: Visits) -> tuple[float, float]:
    """The flow that arrives by the tilted rows, layer by layer; returns its dual value, and the geometric mean of T.

    For every λ, T λ0 ≥ λ(K − V) + T λ log(cap/λ), so that where λ flows V cancels: Σ λ (m + c/T + T log(cap/λ) − T D)
    is at most F, whatever V is.
    """
    layers, gamma, onward = model.layers, work.unseen.discount, work.onward
    dual = heat = steps = 0.0
    onward[:] = 0.0
    copy_numbers(model.initial, onward)
    even = np.zeros(work.unseen.knots.size)
    for l in range(layers.size - 1):
        low, high, weight, last = layers[l], layers[l + 1], gamma**l, l + 2 == layers.size
        column = first_column(model, c, l)
        for j in range(work.low[l], work.high[l] + 1):
            T, top, tilted = unit * RATIO**j, 0.0, False
            for a in range(c.shape[0]):
                for s in range(low, high):
                    i = s - low
                    if work.exponent[a, s] != j or i == model.end or onward[s] * work.chance[a, s] < NOTHING:
                        continue
                    if work.learns and not last and not tilted:
                        top, tilted = tilted_means_of_layer(model, l, T, work.soft, work.unseen), True
                        even[:] = 0.0
                    share = work.chance[a, s] / work.chance[:, s].sum()
                    flow, first = onward[s] * share, model.initial[i] if l == 0 else 1.0
                    room_left = np.log(work.cap[a, s] * first / flow) + work.slope[a, s]
                    dual += weight * flow * (model.reward[a, model.table[l] + i] + c[a, column + i] / T + T * room_left)
                    heat += weight * flow * np.log(T)
                    steps += weight * flow
                    if work.learns and not last:
                        leave(model, l, a, i, T, flow, top, work, even)
                    elif not last:
                        leave_known(model, l, a, i, flow / gamma, onward)
            if tilted and work.unseen.mass > 0.0:
                arrive_unseen(model, l, T, top, work, even)
    return dual, np.exp(heat / steps)


@kernel(inline=True)
def leave_known(model: Model, l: int, a: int, i: int, flow: float, onward: Floats) -> None:
    rows, row, next_row = model.rows, model.table[l] + i, model.layers[l + 1] - model.table[l + 1]
    flow *= model.scale[a, row]
    for e in range(rows.start[a, row], rows.start[a, row] + rows.length[a, row]):
        onward[rows.succ[e] + next_row] += flow * rows.weight[e]
    width = model.layers[l + 2] - model.layers[l + 1]
    for i in range(width):
        onward[model.layers[l + 1] + i] += flow * model.mass / width


@kernel
def begin_with(model: Model, policy: Floats, work: Visits) -> None:
    """The flow of the last plan's policy in the mean model; of the uniform policy, if there is no plan."""
    actions, states = policy.shape
    has_policy = policy[:, 0].sum() > 0.0
    occupancy = np.zeros((actions, states))
    occupancy_sweep(model, policy if has_policy else np.full((actions, states), 1.0 / actions), occupancy)
    gamma = work.unseen.discount
    for l in range(model.layers.size - 1):
        width = model.layers[l + 1] - model.layers[l]
        for s in range(model.layers[l], model.layers[l + 1]):
            work.arrives[s] = max(occupancy[:, s].sum() / gamma**l, 1e-4 / width)


@kernel
def closer(model: Model, step: float, free: bool, work: Visits) -> None:
    """The next round's beginning, between the last one's and what arrived; and T next to those in use."""
    if free:
        for l in range(model.layers.size - 1):
            work.choices[l] = False
            work.choices[l, 0] = work.choices[l, GRID - 1] = True
            for a in range(work.chance.shape[0]):
                for s in range(model.layers[l], model.layers[l + 1]):
                    if s - model.layers[l] != model.end:
                        g = work.exponent[a, s] - work.low[l]
                        work.choices[l, max(g - 2, 0) : g + 3] = True
    for s in range(work.arrives.size):
        old, new = work.arrives[s], max(work.onward[s], LEAST)
        work.arrives[s] = old * (new / old) ** step


@kernel
def visits_search(
    model: Model, c: Floats, unit: float, free: bool, tolerance: float, policy: Floats, work: Visits
) -> Temperature:
    """Rounds of a sweep back and one forth, to the best bound; ``free``: at temperatures of their own, else at 1."""
    begin_with(model, policy, work)
    work.low[:], work.high[:] = (1, 0) if free else (0, 0)
    work.choices[:] = True
    best, step, gap, rounds, settled = np.inf, 0.5, np.inf, 0, False
    while True:
        bound = values_back(model, c, unit, work)
        dual, tau = flows_forth(model, c, unit, work)
        gap = max(bound - dual, 0.0)
        rounds += 1
        if settled:
            break
        enough, better = max(tolerance, PRECISION) * abs(bound), best - bound
        if better > 0.0:
            best = bound
            copy_numbers(work.arrives, work.kept)
        else:
            step *= 0.5
        if (gap <= enough and better <= enough) or rounds == MOST_ROUNDS:
            if better > 0.0:
                break
            settled = True
            copy_numbers(work.kept, work.arrives)
        else:
            closer(model, step, free, work)
    for s in range(policy.shape[1]):
        total = work.chance[:, s].sum()
        for a in range(policy.shape[0]):
            policy[a, s] = work.chance[a, s] / total if total > 0.0 else 1.0 / policy.shape[0]
    return Temperature(tau, bound, gap, rounds, tau)


@kernel
def visits_at_optimum(
    model: Model, c: Floats, warm: float, tolerance: float, policy: Floats, work: Visits
) -> Temperature:
    """The best temperatures that are found, and two limits in which the mean model says all."""
    if c.shape[0] == 1 and not shared(model):
        return at_limit(model, np.inf, policy)
    if not work.learns and is_zero(c):
        return at_limit(model, 0.0, policy)
    return visits_search(model, c, 1.0, True, tolerance, policy, work)


@kernel
def visits_at_temperature(model: Model, c: Floats, tau: float, policy: Floats, work: Visits) -> Temperature:
    """One temperature for all states and actions."""
    if tau == 0.0 or np.isinf(tau):
        return visits_at_optimum(model, c, 0.0, PRECISION, policy, work)
    return visits_search(model, c, tau, False, PRECISION, policy, work)


@kernel
def visits_k_values(model: Model, c: Floats, tau: float, K: Floats, V: Floats, work: Visits) -> None:
    """K = m + c/T + φ_T(V_{l+1}) at its own T, and V; from what the last sweep left."""
    without_padding(model.layers, work.soft.at, work.soft.V, V)
    copy_table(work.K, K)
    for l in range(model.layers.size - 1):
        if model.end >= 0:
            K[:, model.layers[l] + model.end] = 0.0
