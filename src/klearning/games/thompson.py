"""Thompson sampling in games: the equilibrium of one game drawn from the posterior.

    Q_ij = μ_ij + s_ij z + Σ_k g_k V(k) / Σ_k g_k,      z ~ N(0, 1),  g_k ~ Gamma(α_k)

Optimal play of a draw may be pure, and an opponent who sees the policy of the round, or guesses it, then answers it
exactly. Its regret grows linearly against one who does (O'Donoghue, Lattimore and Osband, 2021).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.player import Player
from klearning.games.side import Side
from klearning.games.simplex import find_saddle
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.generator import gamma, normal
from klearning.numerics.types import Floats


class ThompsonMemory(NamedTuple):
    side: Side


@kernel
def draw_ahead(side: Side, l: int, s: int, draws: np.random.Generator) -> None:
    """The matrix game of a state in a game drawn from the belief, given values of the next layer in it."""
    B, W = side.belief, side.scratch
    first = last = 0
    if l + 2 < B.layers.size:
        first, last = B.layers[l + 1], B.layers[l + 2]
    for i in range(W.matrix.shape[0]):
        for j in range(W.matrix.shape[1]):
            total, value, mean = 0.0, 0.0, 0.0
            for k in range(first, last):
                weight = gamma(side.alpha[s, i, j, k - first], draws)
                total += weight
                value += weight * W.values[k]
                mean += B.transitions[s, i, j, k - first] * W.values[k]
            after = value / total if total > 0.0 else mean  # all gammas may underflow, though hardly ever
            W.matrix[i, j] = B.means[s, i, j] + B.sds[s, i, j] * normal(draws) + after


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
