"""Thompson sampling in games: the equilibrium of one game drawn from the posterior.

    Q_ij = μ_ij + s_ij z + Σ_k g_k V(k) / Σ_k g_k,      z ~ N(0, 1),  g_k ~ Gamma(α_k)

Optimal play of a draw may be pure, and an opponent who sees the policy of the round, or guesses it, then answers it
exactly. Its regret grows linearly against one who does (O'Donoghue, Lattimore and Osband, 2021).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.model import next_layer
from klearning.games.player import Player
from klearning.games.side import Side
from klearning.games.simplex import find_saddle
from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.random.generator import gamma, normal
from klearning.numerics.types import Floats


class ThompsonMemory(NamedTuple):
    side: Side


@kernel
def draw_value(alpha: Floats, means: Floats, values: Floats, draws: np.random.Generator) -> float:
    """The expected value of the next layer, of probabilities drawn from their Dirichlet."""
    total, value, mean = 0.0, 0.0, 0.0
    for k in range(values.size):
        weight = gamma(alpha[k], draws)
        total += weight
        value += weight * values[k]
        mean += means[k] * values[k]
    return value / total if total > 0.0 else mean  # all gammas may underflow, though hardly ever


@kernel(inline=True)
def draw_ahead(side: Side, l: int, s: int, draws: np.random.Generator) -> None:
    """The matrix game of a state in a game drawn from the belief, given values of the next layer in it."""
    B, W = side.belief, side.scratch
    first, last = next_layer(B, l)
    means, sds = B.means[s], B.sds[s]
    for i in range(index(means.shape[0])):
        for j in range(index(means.shape[1])):
            after = 0.0
            if first < last:
                after = draw_value(side.alpha[s, i, j], B.transitions[s, i, j], W.values[first:last], draws)
            W.matrix[i, j] = means[i, j] + sds[i, j] * normal(draws) + after


@kernel
def choose(other: Floats, t: int, draws: np.random.Generator, memory: ThompsonMemory) -> None:
    """Write the policy of round t, from the last layer to the first."""
    layers, W = memory.side.belief.layers, memory.side.scratch
    for l in range(layers.size - 2, -1, -1):
        for s in range(layers[l], layers[l + 1]):
            draw_ahead(memory.side, l, s, draws)
            W.values[s] = find_saddle(W.matrix, memory.side.policy[s], W.other, W.tableau)


@dataclass(frozen=True)
class Thompson(Player):
    """The equilibrium of a game drawn from the belief, a new one every round."""

    paper: ClassVar[str] = "Thompson 1933; for games O'Donoghue, Lattimore and Osband 2021"

    def begin(self, side: Side) -> ThompsonMemory:
        return ThompsonMemory(side)
