"""Players that know the game: the best that any agent can do, and the opponent that is hardest to play against."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.model import equilibrium, respond
from klearning.games.player import Player
from klearning.games.side import Side
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats


class EquilibriumMemory(NamedTuple):
    side: Side


class BestResponseMemory(NamedTuple):
    side: Side


@kernel
def choose_equilibrium(other: Floats, t: int, draws: np.random.Generator, memory: EquilibriumMemory) -> None:
    """Its policy was written before the first round."""


@kernel
def choose_best_response(other: Floats, t: int, draws: np.random.Generator, memory: BestResponseMemory) -> None:
    """Write the best response to the other side's policy of the round."""
    respond(memory.side.truth, other, memory.side.policy, memory.side.scratch.values)


@dataclass(frozen=True)
class Equilibrium(Player):
    """The true equilibrium, every round: against any opponent its expected regret is never above zero."""

    paper: ClassVar[str] = "a baseline"

    def begin(self, side: Side) -> EquilibriumMemory:
        equilibrium(side.truth, side.policy, np.zeros(side.visits.shape[:2]), side.scratch)
        return EquilibriumMemory(side)


@dataclass(frozen=True)
class BestResponse(Player):
    """The best response to the other side's policy of the round, which it sees: for opponents only."""

    paper: ClassVar[str] = "a baseline"

    def begin(self, side: Side) -> BestResponseMemory:
        return BestResponseMemory(side)
