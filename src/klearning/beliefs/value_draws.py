"""How far what is believed lets values vary: the value of one policy in worlds drawn from the posterior."""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.posterior import Posterior
from klearning.beliefs.sampling import draw_shared, sample_reward, sample_value
from klearning.models.sweeps import all_action_values, policy_sweep, shared


@kernel
def draw_values(
    p: Posterior, policy: Floats, rewards: np.random.Generator, rows: np.random.Generator, Q: Floats, V: Floats
) -> None:
    """Q^π and V^π in one world drawn from the posterior, (A, S) and (S,)."""
    layers = p.model.layers
    if shared(p.model):
        drawn = draw_shared(p, rewards, rows)
        policy_sweep(drawn, drawn.reward, policy, V, np.zeros(p.visits.shape[1]))
        all_action_values(drawn, drawn.reward, V, Q)
        return
    for l in range(layers.size - 2, -1, -1):
        for s in range(layers[l], layers[l + 1]):
            total = 0.0
            for a in range(Q.shape[0]):
                Q[a, s] = sample_reward(p, a, s, rewards) + sample_value(p, l, a, s, V, rows)
                total += policy[a, s] * Q[a, s]
            V[s] = total


class Spread(NamedTuple):
    """Standard deviations over the draws."""

    action_values: Floats  # (A, states)
    values: Floats  # (states,)


def value_spread(p: Posterior, policy: Floats, states: slice, draws: int, seed: int) -> Spread:
    """How much Q^π and V^π of these states differ between worlds drawn from the posterior.

    An estimate from ``draws`` of them: its own relative error is about 1/√(2·draws).
    """
    for_rewards, for_rows = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    Q, V = np.zeros_like(policy), np.zeros(policy.shape[1])
    numbers = []
    for _ in range(draws):
        draw_values(p, policy, for_rewards, for_rows, Q, V)
        numbers.append(np.vstack([Q[:, states], V[states]]))
    sd = np.std(numbers, axis=0, ddof=1)
    return Spread(sd[:-1], sd[-1])
