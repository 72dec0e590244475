"""Draws from the posterior: mean rewards, transition rows, whole MDPs, and the optimal value of one.

`draw_tables` draws every row dense, from one gamma per next state: what `Belief.sample` wants, an MDP to look at. A
kernel that draws an MDP per episode cannot afford that, so there the prior mass of a row is a stick that is broken
(`tabular/beliefs/stick_breaking.py`). Cost: O(seen + 28·α) a row.
If layers have rows of their own, a row is used once, as soon as it is drawn (`sample_layer`); one that layers share
must be the same in all of them and is kept (`draw_shared`). `draw_optimal` draws an MDP and solves it, either way.

A branch around a layer's draws, or a reward drawn beside every state, takes longer than the draws themselves (measured;
probably references that Numba counts). So branches are taken once a draw (`drawn_whole`), and rewards drawn at once.
"""

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.random.generator import exponential, gamma
from klearning.numerics.sparse.rows import Rows
from klearning.numerics.types import Floats, Layers
from klearning.tabular.beliefs.posterior import Posterior, mean_rewards
from klearning.tabular.beliefs.rewards import RewardFamily, RewardPrior, draw_reward
from klearning.tabular.beliefs.stick_breaking import (
    TRUNCATION,
    Sticks,
    add_unseen,
    new_sticks,
    refill,
    shares_of_unseen,
)
from klearning.tabular.models.sweeps import Model, at_start, hard_sweep, maximum, shared


def draw_tables(
    family: RewardFamily, p: Posterior, rows: Layers, seed: int | np.random.SeedSequence
) -> tuple[Floats, float | str | Floats, Layers]:
    """One draw of all mean rewards (A, rows), their noise and of dense transition rows, from streams of their own.

    ``rows`` are Dirichlet parameters, or the probabilities themselves if they are known.
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
    return np.log(gamma(shape + 1.0, rng)) - exponential(rng) / shape


@kernel(inline=True)
def seen_values(
    p: Posterior, low: int, a: int, V: Floats, shares: Floats, rng: np.random.Generator, out: Floats
) -> None:
    """out(i) = (1 − B) Σ_s' D(s') V(s') for state low + i, whose share of unseen is B.

    D ~ Dirichlet over the entries of its row, with their weights. Zero if the episode is over.
    """
    start, length, moves = p.model.rows.start[a], p.model.rows.length[a], p.moves[a]
    succ, weight = p.model.rows.succ, p.model.rows.weight
    for i in range(index(out.size)):
        s = index(low) + i
        first, end = index(start[s]), index(start[s] + length[s])
        if first == end or np.isinf(moves[s]):
            out[i] = 0.0
            continue
        total, value = 1.0, V[index(succ[first])]
        if end > first + index(1):
            largest, total, value = -np.inf, 0.0, 0.0  # gammas are measured by the largest so far
            for e in range(first, end):
                if weight[e] > 0.0:
                    log_g = log_gamma_draw(weight[e], rng)
                    if log_g > largest:
                        shrunk = np.exp(largest - log_g)
                        largest, total, value = log_g, shrunk * total, shrunk * value
                    g = np.exp(log_g - largest)
                    total += g
                    value += g * V[index(succ[e])]
        out[i] = (1.0 - shares[i]) * (value / total)


@kernel(inline=True)
def sample_values(p: Posterior, l: int, a: int, V: Floats, shares: Floats, sticks: Sticks, out: Floats) -> None:
    """out(i) = Σ_s' P(s'|s,a) V(s') for one draw of the rows of layer l, i counting from its first state.

    Zero behind the last layer, and if the episode is over. ``shares`` has a column for every row of the tables.
    """
    layers = p.model.layers
    low, high = layers[l], layers[l + 1]
    share = shares[a][low:high]
    seen_values(p, low, a, V, share, sticks.rng, out)
    if sticks.mass > 0.0 and l + 2 < layers.size:
        add_unseen(sticks, share, V[high : layers[l + 2]], out)


@kernel
def sample_rewards(p: Posterior, rng: np.random.Generator) -> Floats:
    """One draw of R, (A, S), if layers have rows of their own: the last layer first, as they are used.

    All at once: inside a sweep a number took eight times as long.
    """
    layers, reward = p.model.layers, np.empty_like(p.visits)
    for l in range(layers.size - 2, -1, -1):
        for a in range(reward.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                reward[a, s] = sample_reward(p, a, s, rng)
    return reward


@kernel(inline=True)
def sample_layer(p: Posterior, l: int, V: Floats, reward: Floats, shares: Floats, sticks: Sticks, Q: Floats) -> None:
    """Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) V_{l+1}(s') for one draw of P."""
    low, high = p.model.layers[l], p.model.layers[l + 1]
    for a in range(Q.shape[0]):
        Q_a, r_a = Q[a][low:high], reward[a][low:high]
        sample_values(p, l, a, V, shares, sticks, Q_a)
        for i in range(index(high - low)):
            Q_a[i] += r_a[i]


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
            while used + entries >= succ.size:  # a row begins within the pool, even if it is empty
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
                rest = stick * left[k] if stick * left[k] >= TRUNCATION else 0.0
                succ[used], weight[used] = int(S * atom[k]), stick - rest
                stick, k, used = rest, k + 1, used + 1
            length[a, s] = used - start[a, s]
    drawn = Rows(start, length, length.copy(), succ, weight, used)
    return Model(m.layers, m.table, m.end, m.initial, reward, np.full((A, S), p.discount), 0.0, drawn)


@kernel
def concentrated(p: Posterior, concentration: float) -> Posterior:
    """The posterior with all counts times a number: the same means, and variances that many times smaller.

    A Dirichlet(α) row becomes Dirichlet(ρα), a Beta(a, b) becomes Beta(ρa, ρb), a Gaussian's variance is divided by ρ,
    and a Student-t has ρ times as many observations of both mean and noise. Rows that are known stay as they are.
    """
    m, r, prior, rho = p.model, p.model.rows, p.prior, concentration
    by = rho if p.learns else 1.0
    rows = Rows(r.start, r.length, r.room, r.succ, by * r.weight, r.used)
    model = Model(m.layers, m.table, m.end, m.initial, m.reward, m.scale, by * m.mass, rows)
    reward = RewardPrior(
        prior.mean,
        prior.variance / rho,
        rho * prior.strength,
        prior.noise_variance,
        prior.shift,
        rho * prior.noise_strength,
    )
    return Posterior(
        model, p.variance / rho, rho * p.visits, rho * p.moves, rho * p.reward_sums, reward, by * p.total, p.learns,
        p.discount, p.reward_squares,
    )  # fmt: skip


@kernel(inline=True)
def drawn_whole(p: Posterior) -> bool:
    """Whether a draw is a table that a sweep goes through later: layers share it, or only its rewards are drawn."""
    return shared(p.model) or not p.learns


@kernel
def draw_whole(p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator) -> Model:
    """One draw of such a table."""
    if shared(p.model):
        return draw_shared(p, rewards, transitions)
    m, r = p.model, p.model.rows
    rows = Rows(r.start, r.length, r.room, r.succ, r.weight, r.used)
    return Model(m.layers, m.table, m.end, m.initial, sample_rewards(p, rewards), m.scale, m.mass, rows)


@kernel(lazy=True)
def draw_then_solve(
    p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator, Q: Floats, V: Floats
) -> float:
    """`draw_optimal` of such a table."""
    drawn = draw_whole(p, rewards, transitions)
    return hard_sweep(drawn, drawn.reward, Q, V)


@kernel(lazy=True)
def draw_concentrated(
    p: Posterior, concentration: float, rewards: np.random.Generator, transitions: np.random.Generator, Q: Floats,
    V: Floats,
) -> float:  # fmt: skip
    """`draw_optimal` from the posterior with all counts, those of the prior included, times ``concentration``."""
    return draw_optimal(concentrated(p, concentration), rewards, transitions, Q, V)


@kernel
def draw_optimal(
    p: Posterior, rewards: np.random.Generator, transitions: np.random.Generator, Q: Floats, V: Floats
) -> float:
    """Q* and V*, (A, S) and (S,), of one MDP drawn from the posterior; returns its E_ρ V*.

    Solved as it is drawn, the last layer first; or drawn, then solved, if layers share it or its rows are known.
    """
    if drawn_whole(p):
        return draw_then_solve(p, rewards, transitions, Q, V)
    sticks = new_sticks(p, transitions)
    shares = shares_of_unseen(sticks, p.moves.ravel()).reshape(p.moves.shape)
    reward = sample_rewards(p, rewards)
    for l in range(p.model.layers.size - 2, -1, -1):
        sample_layer(p, l, V, reward, shares, sticks, Q)
        maximum(p.model, l, Q, V)
    return at_start(p.model, V)
