"""The value of a visit of (s,a): how much it is expected to tell about which action is best.

A visit reduces the variance of Q_l(s,a) by about x² / (x + noise), x the variance that is due to (s,a) itself,

    x(s,a) = Var(μ|data) + Var_{s'∼P̄} V_{l+1}(s') / (α0 + n + 1) ,

V the values of the mean model. If its best policy is followed afterwards, the variance of Q_l(s,a) is

    u(s,a) = x(s,a) + Σ_s' P̄(s'|s,a)² u(s', π⁰(s')) .

Let z be how far Q(s,a) is below the Q of the best other action b, in standard deviations √(u(a) + u(b)). The chance
that a is best is about Φ(−z), and what one unit of variance tells about that is k = φ(z)² / (Φ(z) Φ(−z) (u(a) + u(b))),
the Fisher information of a coin whose chance is Φ(−z). An action also matters to the choices that lead to it:

    R(s,a) = k(s,a) + Φ(−z)² Σ over predecessors of P̄(s|·)² R(·)

and the information of a visit is i = x² R. A heuristic: variances are as if Gaussian, and of two actions at a time.
"""

import math
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.rewards import is_beta
from klearning.tabular.models.sweeps import Model, expectation, row_of

FAR = 8.0  # standard deviations beyond which the coin's information is by its limit
ROOT_HALF, ROOT_TAU = math.sqrt(0.5), math.sqrt(2.0 * math.pi)


@field_roles(scratch=True)
class Variances(NamedTuple):
    """The workspace of `fill_information`; axes (action, state)."""

    own: Floats  # x
    whole: Floats  # u
    squares: Floats  # V², one per state
    followed: Floats  # u of the best action of the mean model, one per state
    passed_on: Floats  # Σ over predecessors, one per state


def variances(actions: int, states: int) -> Variances:
    table = (actions, states)
    return Variances(np.zeros(table), np.zeros(table), np.zeros(states), np.zeros(states), np.zeros(states))


@kernel(inline=True)
def reward_variance(p: Posterior, a: int, k: int) -> float:
    """Var(μ|data): the proxy, or the exact variance of a Beta, which is smaller."""
    if not is_beta(p.prior):
        return p.variance[a, k]
    mean = p.model.reward[a, k]
    return 4.0 * mean * (1.0 - mean) * p.variance[a, k]


@kernel
def squared_expectation(model: Model, l: int, a: int, x: Floats, out: Floats) -> None:
    """out(i) = Σ_s' P(s'|s,a)² x(s') for the states s of layer l, which is not the last, i counting from its first."""
    layers, rows = model.layers, model.rows
    low, high, below = layers[l + 1], layers[l + 2], layers[l + 1] - model.table[l + 1]
    even, total = model.mass / (high - low), 0.0
    for s in range(low, high):
        total += x[s]
    for s in range(layers[l], layers[l + 1]):
        k = row_of(model, l, s)
        first, sum_ = rows.start[a, k], even * even * total
        for e in range(first, first + rows.length[a, k]):
            w = rows.weight[e]
            sum_ += (2.0 * even + w) * w * x[rows.succ[e] + below]
        out[s - layers[l]] = model.scale[a, k] * model.scale[a, k] * sum_


@kernel
def fill_variances(p: Posterior, Q: Floats, V: Floats, work: Variances) -> None:
    """x and u, the last layer first, for Q and V of the mean model."""
    model, layers = p.model, p.model.layers
    own, whole = work.own, work.whole
    for s in range(V.size):
        work.squares[s] = V[s] * V[s]
    for l in range(layers.size - 2, -1, -1):
        low, high = layers[l], layers[l + 1]
        inside = l + 2 < layers.size
        for a in range(Q.shape[0]):
            x_a, u_a = own[a][low:high], whole[a][low:high]
            expectation(model, l, a, V, x_a)
            expectation(model, l, a, work.squares, u_a)
            for s in range(low, high):
                k = row_of(model, l, s)
                mean, square = own[a, s], whole[a, s]
                own[a, s] = 0.0
                if not np.isinf(p.visits[a, k]):
                    own[a, s] = reward_variance(p, a, k)
                    if p.learns:
                        spread = max(p.discount * square - mean * mean, 0.0)
                        own[a, s] += spread / (p.total + p.moves[a, k] + 1.0)
            if inside:
                squared_expectation(model, l, a, work.followed, u_a)
            for s in range(low, high):
                whole[a, s] = own[a, s] + (whole[a, s] if inside else 0.0)
        for s in range(low, high):
            best = 0
            for a in range(1, Q.shape[0]):
                if Q[a, s] > Q[best, s]:
                    best = a
            work.followed[s] = whole[best, s]


@kernel(inline=True)
def coin_information(z: float, variance: float) -> float:
    """φ(z)² / (Φ(z) Φ(−z)) per unit of variance."""
    far = abs(z)
    density = math.exp(-0.5 * far * far) / ROOT_TAU
    if far > FAR:
        return density * far / variance
    tail = 0.5 * math.erfc(ROOT_HALF * far)
    return density * density / (tail * (1.0 - tail) * variance)


@kernel
def fill_information(p: Posterior, Q: Floats, V: Floats, work: Variances, out: Floats) -> None:
    """i of every (a, s), a column per state, for Q and V of the mean model."""
    fill_variances(p, Q, V, work)
    model, layers, (A, S) = p.model, p.model.layers, Q.shape
    rows, u, passed_on = model.rows, work.whole, work.passed_on
    for s in range(S):
        passed_on[s] = 0.0
    for l in range(layers.size - 1):
        inside = l + 2 < layers.size
        below = layers[l + 1] - model.table[l + 1] if inside else 0
        even = model.mass / (layers[l + 2] - layers[l + 1]) if inside else 0.0
        everywhere = 0.0
        for s in range(layers[l], layers[l + 1]):
            best, second = 0, -1
            for a in range(1, A):
                if Q[a, s] > Q[best, s]:
                    best, second = a, best
                elif second < 0 or Q[a, s] > Q[second, s]:
                    second = a
            k = row_of(model, l, s)
            for a in range(A):
                other = second if a == best else best
                here, chance = 0.0, 1.0 if a == best else 0.0
                if other >= 0 and u[a, s] + u[other, s] > 0.0:
                    variance = u[a, s] + u[other, s]
                    z = (Q[other, s] - Q[a, s]) / math.sqrt(variance)
                    here, chance = coin_information(z, variance), 0.5 * math.erfc(ROOT_HALF * z)
                R = here + chance * chance * passed_on[s]
                out[a, s] = work.own[a, s] * work.own[a, s] * R
                if inside and R > 0.0:
                    scaled = model.scale[a, k] * model.scale[a, k] * R
                    everywhere += scaled
                    for e in range(rows.start[a, k], rows.start[a, k] + rows.length[a, k]):
                        w = rows.weight[e]
                        passed_on[rows.succ[e] + below] += scaled * (2.0 * even + w) * w
        if inside:
            for s in range(layers[l + 1], layers[l + 2]):
                passed_on[s] += even * even * everywhere
