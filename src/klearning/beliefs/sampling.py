"""Draws from the posterior: mean rewards, transition rows, whole MDPs, and the optimal value of one.

`draw_tables` draws every row dense, from one gamma per next state: what `Belief.sample` wants, an MDP to look at. A
kernel that draws an MDP per episode cannot afford that, so there the prior mass of a row is a stick that is broken
(`beliefs/sticks.py`). Cost: O(seen + 28·α) a row.
Where layers have rows of their own a row is used once, as soon as it is drawn (`sample_layer`); one that layers share
must be the same in all of them and is kept (`draw_shared`). `draw_optimal` draws an MDP and solves it, either way.
"""

import numpy as np

from klearning.arrays.compiled import index, kernel
from klearning.arrays.rows import Rows
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
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


@kernel
def seen_value(succ: Ints, weight: Floats, V: Floats, rng: np.random.Generator) -> float:
    """Σ_s' D(s') V(s') for D ~ Dirichlet over the entries of a row, with their weights."""
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


@kernel(inline=True)
def sample_values(p: Posterior, l: int, a: int, V: Floats, shares: Floats, sticks: Sticks, out: Floats) -> None:
    """out(i) = Σ_s' P(s'|s,a) V(s') for one draw of the rows of layer l, i counting from its first state.

    Nothing behind the last layer, or where an episode is over. ``shares`` has a column for every row of the tables.
    """
    layers, rows = p.model.layers, p.model.rows
    if not p.learns or l + 2 == layers.size:
        expectation(p.model, l, a, V, out)
        return
    low, high = layers[l], layers[l + 1]
    share, moves = shares[a][low:high], p.moves[a][low:high]
    start, length = rows.start[a][low:high], rows.length[a][low:high]
    succ, weight = rows.succ, rows.weight
    for i in range(index(high - low)):
        first, entries, seen = start[i], length[i], 1.0 - share[i]
        if entries == 0 or np.isinf(moves[i]):
            out[i] = 0.0
        elif entries == 1:
            out[i] = seen * V[succ[first]]
        else:
            out[i] = seen * seen_value(succ[first : first + entries], weight[first : first + entries], V, sticks.rng)
    if sticks.mass > 0.0:
        add_unseen(sticks, share, V[layers[l + 1] : layers[l + 2]], out)


@kernel(inline=True)
def sample_layer(
    p: Posterior, l: int, V: Floats, rewards: np.random.Generator, shares: Floats, sticks: Sticks, Q: Floats
) -> None:
    """Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) V_{l+1}(s') for one draw of R and P."""
    low, high = p.model.layers[l], p.model.layers[l + 1]
    for a in range(Q.shape[0]):
        sample_values(p, l, a, V, shares, sticks, Q[a][low:high])
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
def draw_shared(p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator) -> Model:
    """One draw of the table that all layers share: it must be the same draw in all of them.

    Of a row what was seen comes first, then what its stick adds.
    """
    m, rows, (A, S) = p.model, p.model.rows, p.visits.shape
    sticks = new_sticks(p, transitions)
    shares = shares_of_unseen(sticks, p.moves.ravel()).reshape(A, S)
    left, atom, k = sticks.left, sticks.atom, sticks.left.size
    reward, start, length = np.zeros((A, S)), np.zeros((A, S), np.int64), np.zeros((A, S), np.int64)
    succ, weight, used = np.zeros(8 * A * S, np.int64), np.zeros(8 * A * S), 0
    for a in range(A):
        for s in range(S):
            reward[a, s], start[a, s] = sample_reward(p, a, s, rewards), used
            first, stick = rows.start[a, s], shares[a, s]
            entries = 0 if np.isinf(p.moves[a, s]) or stick == 1.0 else rows.length[a, s]
            while used + entries > succ.size:
                succ, weight = np.concatenate((succ, succ)), np.concatenate((weight, weight))
            if entries > 0:
                D = rows.weight[first : first + entries]
                if p.learns:
                    D = sample_seen(D, transitions)
                for i in range(entries):
                    succ[used + i], weight[used + i] = rows.succ[first + i], (1.0 - stick) * D[i]
                used += entries
            while stick > 0.0:
                if k == left.size:
                    k = refill(sticks)
                if used == succ.size:
                    succ, weight = np.concatenate((succ, succ)), np.concatenate((weight, weight))
                rest = stick * left[k] if stick * left[k] >= CRUMB else 0.0
                succ[used], weight[used] = int(S * atom[k]), stick - rest
                stick, k, used = rest, k + 1, used + 1
            length[a, s] = used - start[a, s]
    drawn = Rows(start, length, length.copy(), succ, weight, used)
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
    shares = shares_of_unseen(sticks, p.moves.ravel()).reshape(p.moves.shape)
    for l in range(p.model.layers.size - 2, -1, -1):
        sample_layer(p, l, V, rewards, shares, sticks, Q)
        maximum(p.model, l, Q, V)
    return at_start(p.model, V)
