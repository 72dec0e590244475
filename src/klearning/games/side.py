"""One side of a match: its observations, belief and policy. Both sides are alike.

Each side sees the game from its own chair: rows are the other's moves, columns its own, payoffs are paid to it. So a
player of one side can play the other, against any player and against itself.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from klearning.games.model import BETA_VARIANCE, GameModel, Scratch, new_scratch
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import check_probabilities
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.rewards import Gaussian, RewardPrior, reward_posterior


@field_roles(
    fixed=("layered", "prior", "truth"), counts=("visits", "alpha"), finite=("sums", "weighted_sums", "policy")
)
class Side(NamedTuple):
    """The state of every player; arrays are written in place."""

    layered: bool  # whether this is a Markov game
    prior: RewardPrior
    truth: GameModel  # for players that know it
    belief: GameModel
    visits: Floats  # (S, rows, columns)
    sums: Floats  # (S, rows, columns) of payoffs
    weighted_sums: Floats  # (S, columns) of payoff / probability: unbiased for what each move would have been paid
    alpha: Floats  # (S, rows, columns, widest layer) of the Dirichlet rows
    policy: Floats  # (S, columns)
    scratch: Scratch

    def check(self, fresh: "Side", name: str) -> None:
        """A policy from a file has rows of probabilities."""
        check_probabilities(f"{name}.policy", self.policy.T, fresh.policy.T)


def new_side(truth: GameModel, layered: bool, payoffs: Gaussian, mass: float) -> Side:
    """Before the first round, with a prior of payoffs as this side is paid, and the mass of Dirichlet rows."""
    (states, m, n), prior = truth.means.shape, payoffs.numbers()
    mean, variance = reward_posterior(prior, 0.0, 0.0, 0.0)
    alpha = np.zeros(truth.transitions.shape)
    for l in range(truth.layers.size - 2):
        low, middle, high = truth.layers[l : l + 3]
        alpha[low:middle, :, :, : high - middle] = mass / (high - middle)
    belief = GameModel(
        truth.layers, truth.initial, np.full((states, m, n), mean), np.full((states, m, n), sqrt(variance)),
        alpha / mass, np.full((states, m, n), BETA_VARIANCE / (mass + 1.0)),
    )  # fmt: skip
    return Side(
        layered, prior, truth, belief, visits=np.zeros((states, m, n)), sums=np.zeros((states, m, n)),
        weighted_sums=np.zeros((states, n)), alpha=alpha, policy=np.full((states, n), 1.0 / n),
        scratch=new_scratch(states, m, n),
    )  # fmt: skip


@kernel(inline=True)
def learn(side: Side, s: np.uint64, row: np.uint64, column: np.uint64, payoff: float, after: int) -> None:
    """Update statistics and belief by a payoff and the state of the next layer that came, −1 after the last layer."""
    B = side.belief
    side.visits[s, row, column] += 1.0
    side.sums[s, row, column] += payoff
    side.weighted_sums[s, column] += payoff / side.policy[s, column]
    mean, variance = reward_posterior(side.prior, side.visits[s, row, column], side.sums[s, row, column], 0.0)
    B.means[s, row, column], B.sds[s, row, column] = mean, np.sqrt(variance)
    if after >= 0:
        side.alpha[s, row, column, after] += 1.0
        mass = side.alpha[s, row, column].sum()
        for k in range(side.alpha.shape[3]):
            B.transitions[s, row, column, k] = side.alpha[s, row, column, k] / mass
        B.variances[s, row, column] = BETA_VARIANCE / (mass + 1.0)
