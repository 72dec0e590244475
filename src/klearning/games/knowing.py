"""Players that know the payoffs: the ceiling of any comparison, and the opponent that is hardest to play against."""

from dataclasses import dataclass
from typing import ClassVar

from klearning.games.player import Player, Side
from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats


@dataclass(frozen=True)
class Equilibrium(Player):
    """The true equilibrium, every round: against any opponent its expected regret is never above zero."""

    paper: ClassVar[str] = "a baseline"
    kind: ClassVar[int] = 4


@dataclass(frozen=True)
class BestResponse(Player):
    """The best answer to the other's mixture of the round, which it sees: for the opponent's chair only."""

    paper: ClassVar[str] = "a baseline"
    kind: ClassVar[int] = 5


@kernel
def best_response(side: Side, other: Floats) -> None:
    """Of equals the first."""
    best, most = 0, 0.0
    for j in range(side.mixture.size):
        paid = 0.0
        for i in range(other.size):
            paid += side.payoffs[i, j] * other[i]
        if j == 0 or paid > most:
            best, most = j, paid
    for j in range(side.mixture.size):
        side.mixture[j] = 1.0 if j == best else 0.0
