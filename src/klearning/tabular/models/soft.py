"""The optimistic Bellman sweep (e-bellmanop) at one temperature, with f, f′, f″ and what the certificate needs."""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.elementary import exp_negative, log1p_unit
from klearning.numerics.records.fields import field_roles
from klearning.numerics.simd.operations import LANES, choose, gather, load, rounded, store
from klearning.numerics.sparse.rows import EIGHT, are_lone, first_of_eight, lone_successors
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.sweeps import FORBIDDEN, ONE, Model, at_start, first_column

HOPELESS = -0.5 * FORBIDDEN  # a difference of values that only what is not allowed makes
BLOCK = 512  # states whose actions are gone through A²/2 times while they are in the cache


@field_roles(scratch=True)
class Soft(NamedTuple):
    """Results of one optimistic sweep. Layer l is at ``at[l] : at[l+1]``, padded to whole lanes."""

    at: Ints
    V: Floats  # soft value (e-soft-value)
    H: Floats  # entropy of the policy from here on
    C: Floats  # uncertainty c collected from here on
    D: Floats  # second derivative of V in τ
    share: Floats  # (A, ·): probability of action a among actions 0..a
    K_a: Floats  # one action's candidates for the four, one layer wide
    H_a: Floats
    C_a: Floats
    D_a: Floats


def soft_arrays(layers: Ints, actions: int) -> Soft:
    lanes = -(-np.diff(layers) // LANES) * LANES
    at = np.concatenate([[0], np.cumsum(lanes)])
    size, width = int(at[-1]), int(lanes.max())
    V, H, C, D = np.zeros((4, size))
    K_a, H_a, C_a, D_a = np.zeros((4, width))
    share = np.zeros((actions, size))
    return Soft(at, V, H, C, D, share, K_a, H_a, C_a, D_a)


@kernel
def without_padding(layers: Ints, at: Ints, padded: Floats, out: Floats) -> None:
    """The states of every layer of ``padded``, without the lanes between the layers."""
    for l in range(layers.size - 1):
        low, high, offset = index(layers[l]), index(layers[l + 1]), index(at[l])
        for s in range(low, high, EIGHT):
            if s + EIGHT <= index(out.size):  # what is written beyond the layer is that of the next, which follows
                store(out, s, load(padded, offset + s - low))
            else:
                for rest in range(s, high):
                    out[rest] = padded[offset + rest - low]


def soft_values(layers: Ints, W: Soft) -> Floats:
    """V of the last sweep, by state."""
    V = np.zeros(int(layers[-1]))
    without_padding(layers, W.at, W.V, V)
    return V


class Part(NamedTuple):
    """The value of a row or of a part of it, and what it hands on: see `Soft`."""

    V: float
    H: float
    C: float
    D: float


@kernel(inline=True, reorder=True)
def spread_all_evenly(model: Model, l: int, W: Soft) -> Part:
    """`spread_evenly` for V, H, C and D of the next layer."""
    if l + 2 >= model.layers.size or model.mass == 0.0:
        return Part(0.0, 0.0, 0.0, 0.0)
    states = model.layers[l + 2] - model.layers[l + 1]
    low, high = index(W.at[l + 1]), index(W.at[l + 1] + states)
    V = H = C = D = 0.0
    for i in range(low, high):
        V += W.V[i]
        H += W.H[i]
        C += W.C[i]
        D += W.D[i]
    q = model.mass / states
    return Part(q * V, q * H, q * C, q * D)


@kernel(inline=True)
def backup(
    model: Model, c: Floats, tau: float, l: int, a: int, even: Part, W: Soft,
    K: Floats, H: Floats, C: Floats, D: Floats, at: int,
) -> None:  # fmt: skip
    """One action's K, and its parts, for the states of layer l, written from position ``at`` on:

    K = m + c/τ + P̄V      H = P̄H      C = c + P̄C      D = K″ = 2c/τ³ + P̄V″
    """
    row, width = index(model.table[l]), index(model.layers[l + 1] - model.layers[l])
    # from a row of the tables to a place in K, and to one in c
    offset, bonus = index(at) - row, index(first_column(model, c, l)) - row
    below = index(W.at[l + 1] - model.table[l + 1])  # from a successor's number to its place
    inside = l + 2 < model.layers.size  # nothing follows the last layer
    rows, nowhere = index(inside), index(W.at[l + 1] if inside else 0)
    start, length, succ, weight = model.rows.start[a], model.rows.length[a], model.rows.succ, model.rows.weight
    m, scale, c_a = model.reward[a], model.scale[a], c[a]
    once, thrice = 1.0 / tau, 2.0 / (tau * tau * tau)
    if are_lone(length, row, width):
        for j in range(index(0), width, EIGHT):
            begin = row + first_of_eight(j, width)
            y, w = lone_successors(model.rows, a, begin, load(length, begin) * rows, below, nowhere)
            V_next, H_next = even.V + w * gather(W.V, y), even.H + w * gather(W.H, y)
            C_next, D_next = even.C + w * gather(W.C, y), even.D + w * gather(W.D, y)
            q, c_s, m_s, i = load(scale, begin), load(c_a, begin + bonus), load(m, begin), begin + offset
            store(K, i, m_s + c_s * once + q * V_next)
            store(H, i, q * H_next)
            store(C, i, c_s + q * C_next)
            store(D, i, rounded(c_s * thrice) + q * D_next)
        return
    for s in range(row, row + width):
        first = index(start[s])
        end = first + rows * index(length[s])
        some = first < end  # as in `expectation`
        y, w = (index(succ[first]) + below if some else nowhere), (weight[first] if some else 0.0)
        V_next, H_next = even.V + w * W.V[y], even.H + w * W.H[y]
        C_next, D_next = even.C + w * W.C[y], even.D + w * W.D[y]
        for e in range(first + ONE, end):
            y, w = index(succ[e]) + below, weight[e]
            V_next += w * W.V[y]
            H_next += w * W.H[y]
            C_next += w * W.C[y]
            D_next += w * W.D[y]
        q, c_s, m_s, i = scale[s], c_a[s + bonus], m[s], s + offset
        K[i] = m_s + c_s * once + q * V_next
        H[i] = q * H_next
        C[i] = c_s + q * C_next
        D[i] = rounded(c_s * thrice) + q * D_next


@kernel(inline=True)
def fold(tau: float, W: Soft, l: int, a: int) -> None:
    """Add one more action to a soft maximum, and to everything averaged under its policy:

    V ← τ log(exp(V/τ) + exp(K/τ))   with p = exp(K/τ) / (exp(V/τ) + exp(K/τ)) the new action's share
    V″ ← V″ + p (K″ − V″) + p(1−p) (slope difference)² / τ

    where the slope of an action is K′ − K/τ and K′ = H − C/τ². An action that is not allowed has no share,
    not even the least that `exp_negative` gives: products with that are subnormal, and slow.
    """
    low, high, share = index(W.at[l]), index(W.at[l + 1]), W.share[a]
    once = 1.0 / tau
    for s in range(low, high, index(LANES)):
        i = s - low
        V, H, C, D = load(W.V, s), load(W.H, s), load(W.C, s), load(W.D, s)
        K_a, H_a, C_a, D_a = load(W.K_a, i), load(W.H_a, i), load(W.C_a, i), load(W.D_a, i)
        d = K_a - V
        gap = abs(d) * once
        e = choose(abs(d) < HOPELESS, exp_negative(-gap), 0.0)
        major = 1.0 / (1.0 + e)
        minor = e * major
        p = choose(d > 0.0, major, minor)
        log_term = log1p_unit(e)
        dH, dC = H_a - H, C_a - C
        slope = dH - dC * once * once - d * once
        store(W.V, s, choose(d > 0.0, K_a, V) + tau * log_term)
        store(W.H, s, H + (p * dH + log_term + gap * minor))
        store(W.C, s, C + p * dC)
        store(W.D, s, D + (p * (D_a - D) + minor * major * slope * slope * once))
        store(share, s, p)


@kernel
def soft_sweep(model: Model, c: Floats, tau: float, W: Soft) -> tuple[float, float, float, float]:
    """The optimistic Bellman equation at one τ > 0. Returns f, H̄, C̄ and f″ at the start:

    f(τ) = E_ρ V_1,   f′ = H̄ − C̄/τ²,   and f = J + τH̄ + C̄/τ with J the mean return of the policy.
    """
    for l in range(model.layers.size - 2, -1, -1):
        even = spread_all_evenly(model, l, W)
        backup(model, c, tau, l, 0, even, W, W.V, W.H, W.C, W.D, W.at[l])
        for a in range(1, model.reward.shape[0]):
            backup(model, c, tau, l, a, even, W, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            fold(tau, W, l, a)
        if model.end >= 0:  # nothing is left to choose there, so no entropy is to be had
            over = W.at[l] + model.end
            W.V[over] = W.H[over] = W.C[over] = W.D[over] = 0.0
    return at_start(model, W.V), at_start(model, W.H), at_start(model, W.C), at_start(model, W.D)


@kernel
def boltzmann(layers: Ints, W: Soft, policy: Floats) -> None:
    """π(a|s) ∝ exp(K(s,a)/τ) (e-policy) from the shares: π(a) = share(a) · Π_{b>a} (1 − share(b))."""
    policy[0] = 1.0
    for a in range(1, policy.shape[0]):
        without_padding(layers, W.at, W.share[a], policy[a])
    for low in range(0, policy.shape[1], BLOCK):
        for a in range(1, policy.shape[0]):
            later = policy[a][low : low + BLOCK]
            for b in range(a):
                mine = policy[b][low : low + BLOCK]
                for s in range(index(later.size)):
                    mine[s] *= 1.0 - later[s]
