"""How far what is believed lets values vary: the value of one policy in worlds drawn from the posterior.

A draw costs what the policy may use: of a greedy one, the rows of one action per state or a few.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.sampling import draw_whole, drawn_whole, sample_layer, sample_rewards
from klearning.tabular.beliefs.stick_breaking import new_sticks, shares_of_unseen
from klearning.tabular.models.sweeps import all_action_values, policy_sweep


@kernel
def draw_values(
    p: Posterior, policy: Floats, rewards: np.random.Generator, rows: np.random.Generator, Q: Floats, V: Floats
) -> None:
    """Q^π and V^π in one world drawn from the posterior, (A, S) and (S,)."""
    layers = p.model.layers
    if drawn_whole(p):
        drawn = draw_whole(p, rewards, rows)
        policy_sweep(drawn, drawn.reward, policy, V, np.zeros(p.visits.shape[1]))
        all_action_values(drawn, drawn.reward, V, Q)
        return
    sticks = new_sticks(p, rows)
    shares = shares_of_unseen(sticks, p.moves.ravel()).reshape(p.moves.shape)
    reward = sample_rewards(p, rewards)
    for l in range(layers.size - 2, -1, -1):
        sample_layer(p, l, V, reward, shares, sticks, Q)
        for s in range(layers[l], layers[l + 1]):
            V[s] = 0.0
            for a in range(Q.shape[0]):
                V[s] += policy[a, s] * Q[a, s]


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
    if not by_action:  # what the policy does not use leads nowhere: nothing is drawn there
        used = np.any(policy.reshape(A, -1, rows) > 0.0, axis=1)
        p = p._replace(moves=np.where(used, p.moves, np.inf))
    Q, V = np.zeros_like(policy), np.zeros(policy.shape[1])
    numbers = []
    for _ in range(draws):
        draw_values(p, policy, for_rewards, for_rows, Q, V)
        numbers.append(np.vstack([Q[:, states], V[states]]) if by_action else V[None, states].copy())
    sd = np.std(numbers, axis=0, ddof=1)
    return Spread(sd[:-1] if by_action else None, sd[-1])
