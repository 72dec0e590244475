"""UCB in matrix games (O'Donoghue, Lattimore and Osband, 2021): the equilibrium of an optimistic matrix.

x_t of the equilibrium of  μ + scale · √(2 log(1 + t)) · s
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

from klearning.games.player import Player, Side
from klearning.numerics import checks
from klearning.numerics.compiled import kernel


@dataclass(frozen=True)
class UCB(Player):
    """The equilibrium of means plus ``scale`` · √(2 log(1 + t)) standard deviations."""

    scale: float = 1.0
    paper: ClassVar[str] = "O'Donoghue, Lattimore and Osband 2021"
    kind: ClassVar[int] = 1

    def __post_init__(self) -> None:
        checks.moderate("scale", self.scale, 0.0)

    @property
    def setting(self) -> float:
        return float(self.scale)


@kernel
def optimistic(side: Side, t: int) -> None:
    """The matrix whose equilibrium is played."""
    width = side.setting * sqrt(2.0 * log(1.0 + t))
    for i in range(side.means.shape[0]):
        for j in range(side.means.shape[1]):
            side.matrix[i, j] = side.means[i, j] + width * side.sds[i, j]
