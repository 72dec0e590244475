"""A world for every seed, all drawn from one prior at once, for Bayes regret."""

from collections.abc import Sequence

import numpy as np

from klearning.gpu.layout import Worlds
from klearning.numerics import checks
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import MeanRewards
from klearning.tabular.beliefs.sampling import draw_dirichlet
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.mdp import MDP
from klearning.tabular.worlds.random_mdp import random_mdp


def random_worlds(
    count: int,
    states: int | Sequence[int] = 5,
    actions: int = 2,
    horizon: int | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> Worlds:
    """``count`` draws of mean rewards and transitions from ``prior``, each as those of `random_mdp`."""
    knows = prior or Prior()
    if not isinstance(knows.transitions, Dirichlet) or knows.transitions.support is not None or knows.stationary:
        raise ValueError(f"prior={knows!r}: worlds by the thousand are drawn from a Dirichlet over whole layers")
    drawn = random_mdp(states, actions, horizon, knows, seed)
    anywhere = [np.full_like(block, 1.0 / block.shape[2]) for block in drawn.transitions]
    noise = knows.reward.world_noise()
    like = MDP.from_layers(drawn.rewards, anywhere, drawn.initial, noise, name="random_worlds")
    n, shape = checks.whole("count", count), like.reward.shape
    for_rewards, for_rows = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    p = Belief.before(knows, like).posterior()
    means = MeanRewards(
        *(np.broadcast_to(x, (n, *shape)) for x in (p.model.reward, p.variance, p.visits, p.reward_sums))
    )
    reward = knows.reward.draw(means, for_rewards)
    weight = np.zeros((n, like.rows.weight.size))
    for first, length in zip(like.rows.start.ravel(), like.rows.length.ravel(), strict=True):
        if length:
            weight[:, first : first + length] = draw_dirichlet(
                np.full((n, length), knows.transitions.mass / length), for_rows
            )
    return Worlds(like, reward, weight, optimal_values(like, reward, weight))


def optimal_values(like: MDP, reward: Floats, weight: Floats) -> Floats:
    """E_ρ V*_1 of every world (e-bellman_q)."""
    V = np.zeros((len(reward), like.states))
    cuts, rows = like.layers.tolist(), like.rows
    for l in range(like.horizon - 1, -1, -1):
        for s in range(cuts[l], cuts[l + 1]):
            Q = reward[:, :, s].copy()
            for a in range(like.actions):
                row = slice(rows.start[a, s], rows.start[a, s] + rows.length[a, s])
                Q[:, a] += (weight[:, row] * V[:, rows.succ[row]]).sum(axis=1)
            V[:, s] = Q.max(axis=1)
    total: Floats = V[:, : cuts[1]] @ like.initial
    return total
