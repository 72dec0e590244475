"""PSRL, Thompson sampling (Strens, 2000; Osband, Russo and Van Roy, 2013).

For episode t = 1, 2, …:

    draw R and P from the posterior, independently
    Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) max_a' Q_{l+1}(s',a')
    follow argmax_a Q_l(s,a)

A Dirichlet row with prior mass α0 spread over W states and n visits is never drawn as W gammas. It is

    P = (1 − B)·(Dirichlet over the seen, with their counts) + B·G,    B ~ Beta(α0, n),    G ~ Dirichlet(α0/W, …, α0/W)

and G, a Dirichlet process with a uniform base of W atoms, is drawn by breaking a stick: weights B·Π(1−b_j)·b_k with
b ~ Beta(1, α0) on atoms uniform over the layer, until what is left is below 1e-16. Cost: O(seen + 37·α0) a row.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from klearning.agents.planning import Planning, planned_values, planning, update
from klearning.beliefs import Belief, Posterior
from klearning.bellman import greedy, maximum
from klearning.compiled import Floats, kernel
from klearning.elementary import exp_negative
from klearning.simulate import Task, play

STICK = 1e-16  # what may be left of a row's probability


@kernel(inline=True)
def sample_reward(p: Posterior, a: int, s: int, rng: np.random.Generator) -> float:
    """A mean reward from its posterior."""
    if p.prior.shift == 0.0:  # Gaussian
        return p.model.reward[a, s] + np.sqrt(p.variance[a, s]) * rng.standard_normal()
    heads, tails = p.prior.strength * p.prior.mean, p.prior.strength * (1.0 - p.prior.mean)
    return rng.beta(heads + p.reward_sums[a, s], tails + (p.visits[a, s] - p.reward_sums[a, s]))


@kernel(inline=True)
def sample_seen(p: Posterior, a: int, s: int, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' D(s') V(s') for D ~ Dirichlet over the entries of the row, with their weights."""
    rows = p.model.rows
    first, length = rows.start[a, s], rows.length[a, s]
    if length == 1:
        return V[rows.succ[first]]
    # gammas as logarithms, for weights far below one; the largest is scaled to 1
    logs = np.empty(length)
    for i in range(length):
        weight = rows.weight[first + i]
        logs[i] = np.log(rng.standard_gamma(weight + 1.0)) - rng.standard_exponential() / weight
    largest, total, value = -np.inf, 0.0, 0.0
    for i in range(length):
        largest = max(largest, logs[i])
    for i in range(length):
        g = np.exp(logs[i] - largest)
        total += g
        value += g * V[rows.succ[first + i]]
    return value / total


@kernel(inline=True)
def sample_even(mass: float, left: float, low: int, high: int, V: Floats, rng: np.random.Generator) -> float:
    """``left`` · Σ_s' G(s') V(s') for G ~ Dirichlet(mass/W, …) over states low .. high−1, by stick-breaking."""
    value, width = 0.0, high - low
    while left > STICK:
        rest = left * exp_negative(-rng.standard_exponential() / mass)  # 1 − b with b ~ Beta(1, mass)
        value += (left - rest) * V[low + int(width * rng.random())]
        left = rest
    return value


@kernel(inline=True)
def sample_value(p: Posterior, l: int, a: int, s: int, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' P(s'|s,a) V(s') for one draw of the row; nothing behind the last layer."""
    layers, rows, mass = p.model.layers, p.model.rows, p.model.mass
    if l + 2 == layers.size:
        return 0.0
    if not p.learns:  # known
        value = 0.0
        for e in range(rows.start[a, s], rows.start[a, s] + rows.length[a, s]):
            value += rows.weight[e] * V[rows.succ[e]]
        return value
    if mass == 0.0:
        return sample_seen(p, a, s, V, rng)
    low, high, n = layers[l + 1], layers[l + 2], p.visits[a, s]
    if n == 0.0:
        return sample_even(mass, 1.0, low, high, V, rng)
    share = rng.beta(mass, n)
    return (1.0 - share) * sample_seen(p, a, s, V, rng) + sample_even(mass, share, low, high, V, rng)


@kernel
def plan(memory: Planning, rewards: np.random.Generator, rows: np.random.Generator) -> None:
    """One draw of the MDP, solved as it is drawn: the last layer first."""
    p, Q, V = memory.posterior, memory.Q, memory.V
    layers = p.model.layers
    for l in range(layers.size - 2, -1, -1):
        for a in range(Q.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                Q[a, s] = sample_reward(p, a, s, rewards) + sample_value(p, l, a, s, V, rows)
        maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


@kernel
def episodes(memory: Planning, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class PSRL:
    """Posterior sampling: act optimally in an MDP drawn from the posterior, anew each episode."""

    diagnostics: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = "Osband, Russo and Van Roy (2013), (More) efficient RL via posterior sampling"

    def begin(self, belief: Belief) -> Planning:
        return planning(belief.posterior())

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        return episodes(memory, task, first, count)

    def values(self, memory: Any) -> Floats:
        return planned_values(memory)
