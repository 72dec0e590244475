"""UCB in games (O'Donoghue, Lattimore and Osband, 2021): the equilibrium of an optimistic matrix.

    x_t of the equilibrium of  Q + scale · √(2 log(1 + t)) · S

Q and S are posterior means and standard deviations of payoffs; in a Markov game those of payoffs to the end of the
episode, with UCB's own optimistic values of the next layer.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.model import next_layer, payoff_ahead, sd_ahead, span_ahead
from klearning.games.player import Player
from klearning.games.side import Side
from klearning.games.simplex import find_saddle
from klearning.numerics import checks
from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats


@field_roles(fixed=("scale",))
class UCBMemory(NamedTuple):
    side: Side
    scale: float


@kernel
def choose(other: Floats, t: int, draws: np.random.Generator, memory: UCBMemory) -> None:
    """Write the policy of round t, from the last layer to the first."""
    B, W, width = memory.side.belief, memory.side.scratch, memory.scale * sqrt(2.0 * log(1.0 + t))
    for l in range(B.layers.size - 2, -1, -1):
        (first, last), span = next_layer(B, l), span_ahead(B, l, W.values)
        for s in range(index(B.layers[l]), index(B.layers[l + 1])):
            for i in range(index(W.matrix.shape[0])):
                for j in range(index(W.matrix.shape[1])):
                    mean = payoff_ahead(B, s, i, j, first, last, W.values)
                    W.matrix[i, j] = mean + width * sd_ahead(B, s, i, j, span)
            W.values[s] = find_saddle(W.matrix, memory.side.policy[s], W.other, W.tableau)


@dataclass(frozen=True)
class UCB(Player):
    """The equilibrium of means plus ``scale`` · √(2 log(1 + t)) standard deviations."""

    scale: float = 1.0
    paper: ClassVar[str] = "O'Donoghue, Lattimore and Osband 2021"

    def __post_init__(self) -> None:
        checks.moderate("scale", self.scale, 0.0)

    def begin(self, side: Side) -> UCBMemory:
        return UCBMemory(side, float(self.scale))
