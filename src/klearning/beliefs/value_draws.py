"""How far what is believed lets values vary: the value of one policy in worlds drawn from the posterior.

A draw costs what the policy may use: of a greedy one, the rows of one action per state or a few.
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.rows import Rows
from klearning.arrays.types import Flags, Floats
from klearning.beliefs.posterior import Posterior
from klearning.beliefs.sampling import draw_row, sample_reward, sample_value
from klearning.models.sweeps import Model, all_action_values, policy_sweep, shared


@kernel
def draw_used(p: Posterior, used: Flags, rewards: np.random.Generator, transitions: np.random.Generator) -> Model:
    """One draw of the table that all layers share, as `draw_shared`, of the rows that are used; others are empty."""
    m, (A, S) = p.model, p.visits.shape
    empty, reward = np.zeros((A, S), np.int64), np.zeros((A, S))
    drawn = Rows(empty, empty.copy(), empty.copy(), np.zeros(4 * A * S, np.int64), np.zeros(4 * A * S), 0)
    for a in range(A):
        for s in range(S):
            if used[a, s]:
                reward[a, s] = sample_reward(p, a, s, rewards)
                drawn = draw_row(p, a, s, drawn, transitions)
    return Model(m.layers, m.table, m.end, m.initial, reward, np.full((A, S), p.discount), 0.0, drawn)


@kernel
def draw_values(
    p: Posterior,
    policy: Floats,
    used: Flags,
    rewards: np.random.Generator,
    rows: np.random.Generator,
    Q: Floats,
    V: Floats,
) -> None:
    """Q^π and V^π in one world drawn from the posterior, (A, S) and (S,); Q only where ``used``, (A, rows), says so."""
    layers = p.model.layers
    if shared(p.model):
        drawn = draw_used(p, used, rewards, rows)
        policy_sweep(drawn, drawn.reward, policy, V, np.zeros(p.visits.shape[1]))
        all_action_values(drawn, drawn.reward, V, Q)
        return
    for l in range(layers.size - 2, -1, -1):
        for s in range(layers[l], layers[l + 1]):
            total = 0.0
            for a in range(Q.shape[0]):
                if used[a, s]:
                    Q[a, s] = sample_reward(p, a, s, rewards) + sample_value(p, l, a, s, V, rows)
                    total += policy[a, s] * Q[a, s]
            V[s] = total


class Spread(NamedTuple):
    """Standard deviations over the draws."""

    action_values: Floats | None  # (A, states)
    values: Floats  # (states,)


def value_spread(p: Posterior, policy: Floats, states: slice, draws: int, seed: int, by_action: bool = True) -> Spread:
    """How much V^π, and ``by_action`` Q^π, of these states differ between worlds drawn from the posterior.

    An estimate from ``draws`` of them: its own relative error is about 1/√(2·draws).
    """
    for_rewards, for_rows = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    A, rows = p.visits.shape
    used: Flags = np.ones((A, rows), np.bool_)
    if not by_action:
        used[:] = np.any(policy.reshape(A, -1, rows) > 0.0, axis=1)
    Q, V = np.zeros_like(policy), np.zeros(policy.shape[1])
    numbers = []
    for _ in range(draws):
        draw_values(p, policy, used, for_rewards, for_rows, Q, V)
        numbers.append(np.vstack([Q[:, states], V[states]]) if by_action else V[None, states].copy())
    sd = np.std(numbers, axis=0, ddof=1)
    return Spread(sd[:-1] if by_action else None, sd[-1])
