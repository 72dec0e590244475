"""The best trade of return against a second quantity that a policy collects, both expected of one episode.

Let J be the return and C = Σ λ(s,a) gain(s,a). The pairs (J, C) of all policies and mixtures fill a convex set. Those
on its frontier are greedy for reward + η gain with some η ≥ 0. Two such points are asked for here:

    least ratio    the least (v − J)² / C               at η = (v − J) / (2C)
    most optimism  the greatest J + √(Ψ C)              at η = ½ √(Ψ / C)

Either is on an edge between two deterministic policies, so it is a mixture of two. The search keeps one policy on each
side and asks which is best at the η at which the two tie: if neither can be improved on, the edge is found.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_table
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.models.sweeps import Model, at_start, expectation, first_column
from klearning.tabular.optimism.information import best_mixture

MOST_SWEEPS = 60
PRECISION = 1e-9  # of an edge, relative to the difference in return of its ends


@field_roles(scratch=True)
class Edge(NamedTuple):
    """Policies of both ends of an edge, and the workspace to find them; axes (action, state)."""

    low: Floats  # the policy with the greater return
    high: Floats
    policy: Floats
    returns: Floats
    gains: Floats
    V: Floats  # one per state
    W: Floats


def edge(actions: int, states: int) -> Edge:
    low, high, policy, returns, gains = (np.zeros((actions, states)) for _ in range(5))
    return Edge(low, high, policy, returns, gains, np.zeros(states), np.zeros(states))


class Point(NamedTuple):
    """J and C of a policy."""

    J: float
    C: float


class Mixture(NamedTuple):
    """The chance of the second policy of an edge, J and C of both, and what it took to find."""

    share: float
    low: Point
    high: Point
    eta: float
    sweeps: int


@kernel
def frontier_sweep(model: Model, gain: Floats, eta: float, work: Edge) -> Point:
    """The policy that is greedy for reward + η gain, uniform over ties; its J and C."""
    layers, reward, policy, Q, G, V, W = (
        model.layers, model.reward, work.policy, work.returns, work.gains, work.V, work.W,
    )  # fmt: skip
    A = policy.shape[0]
    for l in range(layers.size - 2, -1, -1):
        low, high = layers[l], layers[l + 1]
        r, g = first_column(model, reward, l) - low, first_column(model, gain, l) - low
        for a in range(A):
            expectation(model, l, a, V, Q[a][low:high])
            expectation(model, l, a, W, G[a][low:high])
            for s in range(low, high):
                Q[a, s] += reward[a, s + r]
                G[a, s] += gain[a, s + g]
        for s in range(low, high):
            best, ties = Q[0, s] + eta * G[0, s], 1
            for a in range(1, A):
                value = Q[a, s] + eta * G[a, s]
                if value > best:
                    best, ties = value, 1
                elif value == best:
                    ties += 1
            V[s] = W[s] = 0.0
            for a in range(A):
                policy[a, s] = 1.0 / ties if Q[a, s] + eta * G[a, s] == best else 0.0
                if policy[a, s] > 0.0:
                    V[s] += policy[a, s] * Q[a, s]
                    W[s] += policy[a, s] * G[a, s]
    return Point(at_start(model, V), at_start(model, W))


@kernel(inline=True)
def is_beyond(by_ratio: bool, aim: float, point: Point, eta: float) -> bool:
    """Whether η is too large for the point that is asked for."""
    if by_ratio:
        return 2.0 * eta * point.C + point.J > aim
    return 4.0 * eta * eta * point.C > aim


@kernel(inline=True)
def own_eta(by_ratio: bool, aim: float, point: Point) -> float:
    """η by the condition for an optimum."""
    return (aim - point.J) / (2.0 * point.C) if by_ratio else 0.5 * np.sqrt(aim / point.C)


@kernel
def best_on_frontier(model: Model, gain: Floats, by_ratio: bool, aim: float, warm: float, work: Edge) -> Mixture:
    """The mixture of least ratio, with v = ``aim``, or of most optimism, with Ψ = ``aim``. η may begin at ``warm``.

    The policies are in ``work.low`` and ``work.high``.
    """
    low = frontier_sweep(model, gain, 0.0, work)
    copy_table(work.policy, work.low)
    copy_table(work.policy, work.high)
    high, eta, sweeps, found = low, 0.0, 1, False
    if by_ratio and aim <= low.J:
        return Mixture(0.0, low, low, 0.0, sweeps)
    next_eta = own_eta(by_ratio, aim, low) if low.C > 0.0 else max(warm, 1e-12)
    if warm > 0.0:
        next_eta = min(next_eta, warm)
    while sweeps < MOST_SWEEPS:
        eta = next_eta
        point = frontier_sweep(model, gain, eta, work)
        sweeps += 1
        if found and point.J + eta * point.C <= low.J + eta * low.C + PRECISION * (low.J - high.J):
            break
        if is_beyond(by_ratio, aim, point, eta):
            high, found = point, True
            copy_table(work.policy, work.high)
        else:
            low = point
            copy_table(work.policy, work.low)
        if found:
            if high.C <= low.C:
                break
            next_eta = (low.J - high.J) / (high.C - low.C)
        elif eta > 1e12:  # nothing is to be gained
            return Mixture(0.0, low, low, eta, sweeps)
        else:  # by the condition η is beyond, or at the optimum itself
            next_eta = max(own_eta(by_ratio, aim, low), eta * (1.0 + 1e-9)) if low.C > 0.0 else 16.0 * eta
    if not found:
        copy_table(work.low, work.high)
        return Mixture(0.0, low, low, eta, sweeps)
    return Mixture(mixture_share(by_ratio, aim, low, high, eta), low, high, eta, sweeps)


@kernel
def mixture_share(by_ratio: bool, aim: float, low: Point, high: Point, eta: float) -> float:
    """The chance of the second policy."""
    if by_ratio:
        return best_mixture(aim - low.J, low.C, aim - high.J, high.C)
    if high.C <= low.C:
        return 1.0
    best = (low.J - high.J) / (high.C - low.C)
    if best <= 0.0:
        return 1.0
    return min(max((aim / (4.0 * best * best) - low.C) / (high.C - low.C), 0.0), 1.0)
