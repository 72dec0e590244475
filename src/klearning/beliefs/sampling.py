"""Draws from the posterior: mean rewards, transition rows, whole MDPs, and the optimal value of one.

`draw_tables` draws every row dense, from one gamma per next state: what `Belief.sample` wants, an MDP to look at. A
kernel that draws an MDP per episode cannot afford that, so there the prior mass of a row is a stick that is broken
(`beliefs/sticks.py`). Cost: O(seen + 28·α) a row.
Where layers have rows of their own a row is used once, as soon as it is drawn (`sample_layer`); one that layers share
must be the same in all of them and is kept (`draw_shared`). `draw_optimal` draws an MDP and solves it, either way.
"""

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.rows import Rows, append
from klearning.arrays.types import Floats, Ints, Layers
from klearning.beliefs.posterior import Posterior, mean_rewards
from klearning.beliefs.rewards import RewardFamily, draw_reward
from klearning.beliefs.sticks import CRUMB, Sticks, add_unseen, new_sticks, refill, shares_of_unseen
from klearning.models.sweeps import Model, at_start, expectation, hard_sweep, maximum, shared


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
def log_gamma_draw(shape: float, rng: np.random.Generator) -> float:
    """log g, g ~ Gamma(shape): as a logarithm, because for shapes far below one g itself underflows."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


@kernel(inline=True)
def seen_value(succ: Ints, weight: Floats, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' D(s') V(s') for D ~ Dirichlet over the entries of a row, with their weights."""
    if succ.size == 1:
        return V[succ[0]]
    largest, total, value = -np.inf, 0.0, 0.0  # gammas are measured by the largest so far
    for e in range(succ.size):
        if weight[e] > 0.0:
            log_g = log_gamma_draw(weight[e], rng)
            if log_g > largest:
                shrunk = np.exp(largest - log_g)
                largest, total, value = log_g, shrunk * total, shrunk * value
            g = np.exp(log_g - largest)
            total += g
            value += g * V[succ[e]]
    return value / total


@kernel
def sample_values(p: Posterior, l: int, a: int, V: Floats, sticks: Sticks, out: Floats) -> None:
    """out(i) = Σ_s' P(s'|s,a) V(s') for one draw of the rows of layer l, i counting from its first state.

    Nothing behind the last layer, or where an episode is over.
    """
    layers, rows = p.model.layers, p.model.rows
    if not p.learns or l + 2 == layers.size:
        expectation(p.model, l, a, V, out)
        return
    low, high = layers[l], layers[l + 1]
    moves, start, length = p.moves[a][low:high], rows.start[a][low:high], rows.length[a][low:high]
    succ, weight, shares = rows.succ, rows.weight, np.zeros(high - low)
    if sticks.mass > 0.0:
        shares_of_unseen(sticks, moves, shares)
    for i in range(moves.size):
        out[i] = 0.0
        if length[i] > 0 and not np.isinf(moves[i]):
            first, end = start[i], start[i] + length[i]
            out[i] = (1.0 - shares[i]) * seen_value(succ[first:end], weight[first:end], V, sticks.rng)
    if sticks.mass > 0.0:
        add_unseen(sticks, shares, V[layers[l + 1] : layers[l + 2]], out)


@kernel
def sample_layer(p: Posterior, l: int, rewards: np.random.Generator, sticks: Sticks, V: Floats, Q: Floats) -> None:
    """Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) V_{l+1}(s') for one draw of R and P."""
    low, high = p.model.layers[l], p.model.layers[l + 1]
    for a in range(Q.shape[0]):
        sample_values(p, l, a, V, sticks, Q[a][low:high])
        for s in range(low, high):
            Q[a, s] += sample_reward(p, a, s, rewards)


@kernel(inline=True)
def sample_seen(weight: Floats, rng: np.random.Generator) -> Floats:
    """D ~ Dirichlet with these weights."""
    D = np.ones(weight.size)
    if weight.size == 1:
        return D
    largest, total = -np.inf, 0.0
    for i in range(weight.size):
        D[i] = log_gamma_draw(weight[i], rng)
        largest = max(largest, D[i])
    for i in range(weight.size):
        D[i] = np.exp(D[i] - largest)
        total += D[i]
    return D / total


@kernel
def draw_row(p: Posterior, a: int, s: int, share: float, drawn: Rows, sticks: Sticks) -> Rows:
    """One draw of row (a, s), written to the end of ``drawn``: what was seen, then what the stick adds."""
    rows = p.model.rows
    drawn.start[a, s], drawn.length[a, s] = drawn.used, 0
    if np.isinf(p.moves[a, s]):
        return drawn
    first, end = rows.start[a, s], rows.start[a, s] + rows.length[a, s]
    if share < 1.0:
        D = sample_seen(rows.weight[first:end], sticks.rng) if p.learns else rows.weight[first:end]
        for i in range(D.size):
            drawn = append(drawn, a, s, rows.succ[first + i], (1.0 - share) * D[i])
    left, k, width = share, sticks.place[0], p.visits.shape[1]
    while left > 0.0:
        if k == sticks.left.size:
            k = refill(sticks)
        rest = left * sticks.left[k]
        rest = rest if rest >= CRUMB else 0.0
        drawn = append(drawn, a, s, int(width * sticks.atom[k]), left - rest)
        left = rest
        k += 1
    sticks.place[0] = k
    return drawn


@kernel
def draw_shared(p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator) -> Model:
    """One draw of the table that all layers share: it must be the same draw in all of them."""
    m, (A, S) = p.model, p.visits.shape
    empty, reward, sticks, shares = np.zeros((A, S), np.int64), np.zeros((A, S)), new_sticks(p, transitions), np.zeros(S)
    drawn = Rows(empty, empty.copy(), empty.copy(), np.zeros(8 * A * S, np.int64), np.zeros(8 * A * S), 0)
    for a in range(A):
        if sticks.mass > 0.0:
            shares_of_unseen(sticks, p.moves[a], shares)
        for s in range(S):
            reward[a, s] = sample_reward(p, a, s, rewards)
            drawn = draw_row(p, a, s, shares[s], drawn, sticks)
    return Model(m.layers, m.table, m.end, m.initial, reward, np.full((A, S), p.discount), 0.0, drawn)


@kernel
def draw_optimal(
    p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator, Q: Floats, V: Floats
) -> float:
    """Q* and V*, (A, S) and (S,), of one MDP drawn from the posterior; returns its E_ρ V*.

    Solved as it is drawn, the last layer first; or drawn, then solved, if layers share it.
    """
    if shared(p.model):
        drawn = draw_shared(p, rewards, transitions)
        return hard_sweep(drawn, drawn.reward, Q, V)
    sticks = new_sticks(p, transitions)
    for l in range(p.model.layers.size - 2, -1, -1):
        sample_layer(p, l, rewards, sticks, V, Q)
        maximum(p.model, l, Q, V)
    return at_start(p.model, V)
