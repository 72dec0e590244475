"""Players: frozen settings, a memory, and a policy for every round."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.side import Side
from klearning.numerics.types import Floats


class PlayerView(NamedTuple):
    """The belief of your own player, from its side of the table; arrays are (rows, columns)."""

    means: Floats  # of the belief
    sds: Floats
    visits: Floats
    sums: Floats  # of payoffs
    payoffs: Floats  # the true ones, for players that know them


class PythonMemory(NamedTuple):
    """The memory of a player whose policy is a method in Python."""

    side: Side


@dataclass(frozen=True)
class Player:
    """An agent in games: frozen, with its settings. Its memory holds what it learns.

    A player of your own, for matrix games, is a frozen dataclass with a method `policy`.
    """

    paper: ClassVar[str] = ""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def is_compiled(self) -> bool:
        """Whether its policy is a kernel; `games/match.py` knows which."""
        return type(self).begin is not Player.begin

    def begin(self, side: Side) -> Any:
        """Its memory before the first round: a record with the field ``side``."""
        return PythonMemory(side)

    def policy(self, view: PlayerView, other: Floats | None, t: int, draws: np.random.Generator) -> ArrayLike:
        """The policy of round ``t``, from 1: probabilities of the columns, or the number of one column.

        ``view`` has what was seen: ``means``, ``sds``, ``visits`` and ``sums``, (rows, columns). ``other`` is the
        other side's policy if the player is the opponent, else None. Keep nothing in the player itself: a resumed
        run has the view and the stream ``draws``, and no more.
        """
        raise NotImplementedError(f"{self.name} has no method 'policy'")


class Reply(Protocol):
    """An opponent as a function of our policy, the round and a random stream: a row, or probabilities of rows."""

    def __call__(self, policy: Floats, t: int, draws: np.random.Generator, /) -> ArrayLike: ...


@dataclass(frozen=True)
class FunctionOpponent(Player):
    """A function as the opponent."""

    function: Reply

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "own")

    def policy(self, view: PlayerView, other: Floats | None, t: int, draws: np.random.Generator) -> ArrayLike:
        assert other is not None
        return self.function(other, t, draws)
