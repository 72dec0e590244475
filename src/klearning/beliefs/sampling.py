"""Draws from the posterior: mean rewards, transition rows, whole MDPs.

`draw_tables` draws every row dense, from one gamma per next state: what `Belief.sample` wants, an MDP to look at. A
kernel that draws an MDP per episode cannot afford that, so there a Dirichlet row with prior mass α0 spread over W
states and n visits is never drawn as W gammas. It is

    P = (1 − B)·(Dirichlet over the seen, with their counts) + B·G,    B ~ Beta(α0, n),    G ~ Dirichlet(α0/W, …, α0/W)

and G, a Dirichlet process with a uniform base of W atoms, is drawn by breaking a stick: weights B·Π(1−b_j)·b_k with
b ~ Beta(1, α0) on atoms uniform over the layer, until what is left is below 1e-16. Cost: O(seen + 37·α0) a row.
Where layers have rows of their own a row is used once, as soon as it is drawn (`sample_value`); one that layers share
must be the same in all of them and is kept (`draw_shared`).
"""

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.elementary import exp_negative
from klearning.arrays.rows import Rows, append
from klearning.arrays.types import Floats, Layers
from klearning.beliefs.posterior import Posterior, mean_rewards
from klearning.beliefs.rewards import RewardFamily, draw_reward
from klearning.models.sweeps import Model

STICK = 1e-16  # what may be left of a row's probability


def draw_tables(
    family: RewardFamily, p: Posterior, rows: Layers, seed: int | np.random.SeedSequence
) -> tuple[Floats, float | str | Floats, Layers]:
    """One draw of all mean rewards (A, rows), their noise and of dense transition rows, from streams of their own.

    ``rows`` are Dirichlet parameters, or the probabilities themselves where they are known.
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    for_rewards, for_rows = (np.random.default_rng(child) for child in sequence.spawn(2))
    reward, noise = family.draw_world(mean_rewards(p), for_rewards)
    return reward, noise, [draw_dirichlet(alpha, for_rows) for alpha in rows] if p.learns else rows


def draw_dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    """Dirichlet rows from gammas held as logarithms: with α near zero the gammas themselves underflow."""
    positive = np.where(alpha > 0, alpha, 1.0)
    log_gamma = np.log(rng.standard_gamma(positive + 1.0)) - rng.standard_exponential(alpha.shape) / positive
    log_gamma[alpha == 0] = -np.inf
    draws = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    rows: Floats = draws / draws.sum(axis=-1, keepdims=True)
    return rows


@kernel(inline=True)
def sample_reward(p: Posterior, a: int, s: int, rng: np.random.Generator) -> float:
    """A mean reward from its posterior."""
    return draw_reward(p.prior, p.model.reward[a, s], p.variance[a, s], p.visits[a, s], p.reward_sums[a, s], rng)


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
    return Model(m.layers, m.table, m.end, m.initial, reward, np.full((A, S), p.discount), 0.0, drawn)
