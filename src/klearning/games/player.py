"""One side of a game: what it believes, what it remembers, the mixture that it plays. Both sides are alike.

Each sees the game from its own chair: rows are the other's moves, columns its own, payoffs are paid to it. So a player
of one side can play the other, against anybody and against itself.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.newton import Workspace, new_workspace
from klearning.numerics.compiled import kernel
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.rewards import RewardPrior, reward_posterior


@marked(
    fixed=("kind", "setting", "prior", "payoffs"),
    counts=("visits",),
    finite=("sums", "means", "sds", "gains", "w", "matrix", "other"),
    chances=("mixture",),
)
class Side(NamedTuple):
    """All that one side has; arrays are written in place."""

    kind: int  # which player, `Player.kind`
    setting: float  # its one number, `Player.setting`
    prior: RewardPrior
    payoffs: Floats  # (rows, columns), the true ones: for players that know them
    visits: Floats  # (rows, columns)
    sums: Floats  # of what was paid
    means: Floats  # of the belief
    sds: Floats
    mixture: Floats  # (columns,) that it plays
    gains: Floats  # (columns,) what each move would have brought, estimated: EXP3's
    w: Floats  # (rows,) the last solution of K-learning's program
    matrix: Floats  # (rows, columns) whose equilibrium is played: UCB's, Thompson's, the true one
    other: Floats  # (rows,) the other's part of that equilibrium
    work: Workspace


OWN = -1  # the kind of a player whose mixture is a method, in Python


@dataclass(frozen=True)
class Player:
    """An agent of this room: frozen, with its settings; what it learns is in a `Side`.

    One of your own, for matrix games, is a frozen dataclass with a method `mixture`.
    """

    paper: ClassVar[str] = ""
    kind: ClassVar[int] = OWN

    @property
    def setting(self) -> float:
        """The one number that its kernel reads."""
        return 0.0

    def mixture(self, side: Side, other: Floats | None, t: int, draws: np.random.Generator) -> ArrayLike:
        """What to play in round ``t``, from 1: a mixture of columns, or the number of one.

        ``side`` has what was seen: ``means``, ``sds``, ``visits`` and ``sums``, (rows, columns). ``other`` is the
        mixture of the other side in the opponent's chair, and None in ours. Keep nothing in the player itself: a run
        that is resumed has the side and the stream ``draws``, and no more.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method 'mixture'")


def new_side(player: Player, payoffs: Floats, prior: RewardPrior) -> Side:
    """Before the first round, in the chair whose payoffs these are."""
    m, n = payoffs.shape
    side = Side(
        kind=player.kind, setting=player.setting, prior=prior, payoffs=np.array(payoffs, order="C"),
        visits=np.zeros((m, n)), sums=np.zeros((m, n)), means=np.zeros((m, n)), sds=np.zeros((m, n)),
        mixture=np.full(n, 1.0 / n), gains=np.zeros(n), w=np.zeros(m), matrix=np.array(payoffs, order="C"),
        other=np.zeros(m), work=new_workspace(m, n),
    )  # fmt: skip
    mean, variance = reward_posterior(prior, 0.0, 0.0, 0.0)
    side.means[:], side.sds[:] = mean, np.sqrt(variance)
    return side


@kernel
def learn(side: Side, row: int, column: int, payoff: float) -> None:
    """What was paid, and what follows for the belief."""
    side.visits[row, column] += 1.0
    side.sums[row, column] += payoff
    mean, variance = reward_posterior(side.prior, side.visits[row, column], side.sums[row, column], 0.0)
    side.means[row, column], side.sds[row, column] = mean, np.sqrt(variance)
    side.gains[column] += payoff / side.mixture[column]
