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

from klearning.agents.planning import Planning, exploit, planned_values, planning, update
from klearning.beliefs import Belief, Episode, Posterior
from klearning.bellman import Model, greedy, hard_sweep, maximum, shared
from klearning.compiled import Floats, kernel
from klearning.elementary import exp_negative
from klearning.rows import Rows, append
from klearning.simulate import Streams, Task, play

STICK = 1e-16  # what may be left of a row's probability


@kernel(inline=True)
def sample_reward(p: Posterior, a: int, s: int, rng: np.random.Generator) -> float:
    """A mean reward from its posterior; nothing where an episode is over."""
    if np.isinf(p.visits[a, s]):
        return 0.0
    if p.prior.shift == 0.0:  # Gaussian
        return p.model.reward[a, s] + np.sqrt(p.variance[a, s]) * rng.standard_normal()
    heads, tails = p.prior.strength * p.prior.mean, p.prior.strength * (1.0 - p.prior.mean)
    return rng.beta(heads + p.reward_sums[a, s], tails + (p.visits[a, s] - p.reward_sums[a, s]))


@kernel(inline=True)
def sample_seen(p: Posterior, a: int, s: int, rng: np.random.Generator) -> Floats:
    """D ~ Dirichlet over the entries of the row, with their weights."""
    rows = p.model.rows
    first, length = rows.start[a, s], rows.length[a, s]
    D = np.ones(length)
    if length == 1:
        return D
    # gammas as logarithms, for weights far below one; the largest is scaled to 1
    largest, total = -np.inf, 0.0
    for i in range(length):
        weight = rows.weight[first + i]
        D[i] = np.log(rng.standard_gamma(weight + 1.0)) - rng.standard_exponential() / weight
        largest = max(largest, D[i])
    for i in range(length):
        D[i] = np.exp(D[i] - largest)
        total += D[i]
    return D / total


@kernel(inline=True)
def seen_value(p: Posterior, a: int, s: int, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' D(s') V(s') for one draw over what was seen."""
    rows, value = p.model.rows, 0.0
    first = rows.start[a, s]
    if rows.length[a, s] == 1:
        return V[rows.succ[first]]
    D = sample_seen(p, a, s, rng)
    for i in range(D.size):
        value += D[i] * V[rows.succ[first + i]]
    return value


@kernel(inline=True)
def break_stick(mass: float, left: float, rng: np.random.Generator) -> float:
    """What is left of a stick once b ~ Beta(1, mass) of it is broken off."""
    return left * exp_negative(-rng.standard_exponential() / mass)


@kernel(inline=True)
def even_value(mass: float, left: float, low: int, high: int, V: Floats, rng: np.random.Generator) -> float:
    """``left`` · Σ_s' G(s') V(s') for G ~ Dirichlet(mass/W, …) over states low .. high−1."""
    value, width = 0.0, high - low
    while left > STICK:
        rest = break_stick(mass, left, rng)
        value += (left - rest) * V[low + int(width * rng.random())]
        left = rest
    return value


@kernel(inline=True)
def sample_value(p: Posterior, l: int, a: int, s: int, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' P(s'|s,a) V(s') for one draw of the row; nothing behind the last layer, or where an episode is over."""
    layers, rows, mass, n = p.model.layers, p.model.rows, p.model.mass, p.moves[a, s]
    if l + 2 == layers.size or np.isinf(n):
        return 0.0
    if not p.learns:  # known
        value = 0.0
        for e in range(rows.start[a, s], rows.start[a, s] + rows.length[a, s]):
            value += rows.weight[e] * V[rows.succ[e]]
        return value
    if mass == 0.0:
        return seen_value(p, a, s, V, rng)
    low, high = layers[l + 1], layers[l + 2]
    if n == 0.0:
        return even_value(mass, 1.0, low, high, V, rng)
    share = rng.beta(mass, n)
    return (1.0 - share) * seen_value(p, a, s, V, rng) + even_value(mass, share, low, high, V, rng)


@kernel
def draw_row(p: Posterior, a: int, s: int, drawn: Rows, rng: np.random.Generator) -> Rows:
    """One draw of row (a, s), written to the end of ``drawn``: what was seen, then what the stick adds."""
    rows, mass, n, width = p.model.rows, p.model.mass, p.moves[a, s], p.visits.shape[1]
    drawn.start[a, s], drawn.length[a, s] = drawn.used, 0
    if np.isinf(n):
        return drawn
    left = 0.0 if not p.learns or mass == 0.0 else (rng.beta(mass, n) if n > 0.0 else 1.0)
    if left < 1.0:
        D = sample_seen(p, a, s, rng) if p.learns else rows.weight[rows.start[a, s] :]
        for i in range(rows.length[a, s]):
            drawn = append(drawn, a, s, rows.succ[rows.start[a, s] + i], (1.0 - left) * D[i])
    while left > STICK:
        rest = break_stick(mass, left, rng)
        drawn = append(drawn, a, s, int(width * rng.random()), left - rest)
        left = rest
    return drawn


@kernel
def draw_shared(p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator) -> Model:
    """One draw of the table that all layers share: it must be the same draw in all of them."""
    m, (A, S) = p.model, p.visits.shape
    empty = np.zeros((A, S), np.int64)
    drawn = Rows(empty, empty.copy(), empty.copy(), np.zeros(4 * A * S, np.int64), np.zeros(4 * A * S), 0)
    reward = np.zeros((A, S))
    for a in range(A):
        for s in range(S):
            reward[a, s] = sample_reward(p, a, s, rewards)
            drawn = draw_row(p, a, s, drawn, transitions)
    return Model(m.layers, m.table, m.end, m.initial, reward, np.ones((A, S)), 0.0, drawn)


@kernel
def plan(memory: Planning, rewards: np.random.Generator, rows: np.random.Generator) -> None:
    """One draw of the MDP, solved as it is drawn, the last layer first; or drawn, then solved, if layers share it."""
    p, Q, V = memory.posterior, memory.Q, memory.V
    layers = p.model.layers
    if shared(p.model):
        drawn = draw_shared(p, rewards, rows)
        hard_sweep(drawn, drawn.reward, Q, V)
    else:
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

    def plan(self, memory: Any, streams: Streams, t: int, said: Floats) -> Any:
        plan(memory, streams.reward, streams.row)
        return memory

    def update(self, memory: Any, episode: Episode, t: int) -> Any:
        return update(memory, episode)

    def exploit(self, memory: Any) -> Floats:
        return exploit(memory.posterior)

    def values(self, memory: Any) -> Floats:
        return planned_values(memory)
