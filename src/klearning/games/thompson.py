"""Thompson sampling in matrix games: the equilibrium of one matrix drawn from the posterior.

Optimal play of a draw may be pure, and an opponent who sees the mixture of the round, or guesses it, then answers it
exactly. Its regret grows linearly against one who does (O'Donoghue, Lattimore and Osband, 2021).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.games.player import Player, Side
from klearning.numerics.compiled import kernel
from klearning.numerics.draws import normal


@dataclass(frozen=True)
class Thompson(Player):
    """The equilibrium of a game drawn from the belief, a new one every round."""

    paper: ClassVar[str] = "Thompson 1933; for games O'Donoghue, Lattimore and Osband 2021"
    kind: ClassVar[int] = 2


@kernel
def drawn(side: Side, draws: np.random.Generator) -> None:
    """The matrix whose equilibrium is played."""
    for i in range(side.means.shape[0]):
        for j in range(side.means.shape[1]):
            side.matrix[i, j] = side.means[i, j] + side.sds[i, j] * normal(draws)
