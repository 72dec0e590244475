"""The compiled loop: two sides meet, round after round, for one seed.

Each round we choose a mixture, the opponent, who may look at it, chooses one, both draw a move, the payoff is seen by
both. Our payoff of the round is that of the two mixtures: no draw enters it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klearning.games.exp3 import EXP3, exp3
from klearning.games.game import Game
from klearning.games.k_learning import TOLERANCE, KLearning
from klearning.games.knowing import BestResponse, Equilibrium, best_response
from klearning.games.player import OWN, Player, Side, learn, new_side
from klearning.games.program import solve_program
from klearning.games.simplex import find_saddle
from klearning.games.thompson import Thompson, drawn
from klearning.games.ucb import UCB, optimistic
from klearning.numerics import checks
from klearning.numerics.compiled import kernel
from klearning.numerics.draws import normal, uniform
from klearning.numerics.tree_checks import fill, restored
from klearning.numerics.trees import leaves
from klearning.numerics.types import Arrays, Floats
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.trials.chunks import Chunked
from klearning.tabular.trials.streams import set_states, states_of, streams

Reply = Callable[[Floats, int, np.random.Generator], ArrayLike]  # our mixture, the round, a stream → a row or a mixture

IS_K_LEARNING, IS_UCB, IS_THOMPSON, IS_EXP3, IS_BEST_RESPONSE = (
    player.kind for player in (KLearning, UCB, Thompson, EXP3, BestResponse)
)


class Log(NamedTuple):
    """What happened, by round."""

    values: Floats  # (rounds,): of the two mixtures against each other, paid to us
    payoffs: Floats  # (rounds,): what was paid, with noise
    policies: Floats  # (rounds, columns), or (0, columns) where mixtures are not kept
    opponents: Floats  # (rounds, rows), or (0, rows)


class Streams(NamedTuple):
    """A stream per use."""

    noise: np.random.Generator
    our_moves: np.random.Generator
    their_moves: np.random.Generator
    our_draws: np.random.Generator
    their_draws: np.random.Generator


@kernel
def choose(side: Side, other: Floats, t: int, draws: np.random.Generator) -> None:
    """Write the mixture of round t, from 1; ``other`` is that of the side that has chosen already."""
    if side.kind == IS_K_LEARNING:
        solve_program(side.means, side.sds, TOLERANCE, side.w, side.mixture, side.work)
    elif side.kind == IS_EXP3:
        exp3(side, t)
    elif side.kind == IS_BEST_RESPONSE:
        best_response(side, other)
    else:
        if side.kind == IS_UCB:
            optimistic(side, t)
        elif side.kind == IS_THOMPSON:
            drawn(side, draws)
        find_saddle(side.matrix, side.mixture, side.other, side.work.tableau)


@kernel
def draw(mixture: Floats, stream: np.random.Generator) -> int:
    """A move; never one that has no chance."""
    u, last = uniform(stream), 0
    for k in range(mixture.size):
        if mixture[k] > 0.0:
            last = k
            u -= mixture[k]
            if u < 0.0:
                break
    return last


@kernel
def settle(us: Side, them: Side, noise: float, log: Log, t: int, S: Streams) -> None:
    """Round t, once both have chosen: draw, pay, log, learn."""
    m, n = us.payoffs.shape
    value = 0.0
    for i in range(m):
        if them.mixture[i] > 0.0:
            for j in range(n):
                value += them.mixture[i] * us.payoffs[i, j] * us.mixture[j]
    row, column = draw(them.mixture, S.their_moves), draw(us.mixture, S.our_moves)
    payoff = us.payoffs[row, column] + noise * normal(S.noise)
    log.values[t - 1], log.payoffs[t - 1] = value, payoff
    if log.policies.shape[0] > 0:
        for j in range(n):
            log.policies[t - 1, j] = us.mixture[j]
        for i in range(m):
            log.opponents[t - 1, i] = them.mixture[i]
    learn(us, row, column, payoff)
    learn(them, column, row, -payoff)


@kernel
def rounds(us: Side, them: Side, noise: float, log: Log, first: int, count: int, S: Streams) -> None:
    for t in range(first, first + count):
        choose(us, them.mixture, t, S.our_draws)
        choose(them, us.mixture, t, S.their_draws)
        settle(us, them, noise, log, t, S)


class Sides(NamedTuple):
    """Who meets whom, with all that they know: two `Side`s, or two chairs of a Markov game."""

    us: Any
    them: Any


class Rounds(Chunked):
    """Rounds of one seed, which may be left after any and gone on with, to the same bytes."""

    log: Log
    sides: Sides
    streams: Streams

    def state(self) -> Arrays:
        """All that is needed to go on: what both sides know, the log, the random streams."""
        arrays = leaves(self.sides) | self._log_until(self.played) | {"streams": states_of(self.streams)}
        return {name: x.copy() for name, x in arrays.items()}

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take up the state of a match like this one; ValueError where it is another's, which leaves this one unfit."""
        try:
            sides = restored(self.sides, {name: x.copy() for name, x in arrays.items()})
            played = len(arrays["log.values"])
            fill(self._log_until(played), arrays)
            for name, x in self._log_until(played).items():
                if not np.isfinite(x).all():
                    raise ValueError(f"{name} is not finite")
            set_states(self.streams, arrays["streams"])
        except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"this is not the state of such a match: {error}") from None
        self.sides, self.played = sides, played

    def _log_until(self, t: int) -> Arrays:
        return {f"log.{name}": x[:t] for name, x in self.log._asdict().items()}


class Match(Rounds):
    """One seed: agent, game, opponent, prior; results depend on nothing else."""

    def __init__(
        self, agent: Player, game: Game, opponent: Player | Reply, prior: Gaussian, seed: int, count: int, keep: bool
    ) -> None:
        super().__init__(count)
        A = game.payoffs
        m, n = A.shape
        mirrored = Gaussian(-prior.mean, prior.sd, prior.noise)
        self.agent, self.opponent, self.noise = agent, opponent, game.noise
        silent = opponent if isinstance(opponent, Player) else Equilibrium()  # a chair for a function
        self.sides = Sides(new_side(agent, A, prior.numbers()), new_side(silent, -A.T, mirrored.numbers()))
        kept = count if keep else 0
        self.log = Log(np.zeros(count), np.zeros(count), np.zeros((kept, n)), np.zeros((kept, m)))
        names = game.name, type(agent).__name__, opponent_name(opponent)
        self.streams = Streams(*streams(seed, *names, uses=len(Streams._fields)))

    def advance(self, count: int) -> None:
        """Play so many more rounds."""
        first, (us, them), S = self.played + 1, self.sides, self.streams
        if is_compiled(self.agent) and is_compiled(self.opponent):
            rounds(us, them, self.noise, self.log, first, count, S)
        else:
            for t in range(first, first + count):
                if is_compiled(self.agent):
                    choose(us, them.mixture, t, S.our_draws)
                else:
                    answer = self.agent.mixture(us, None, t, S.our_draws)
                    us.mixture[:] = as_mixture("agent", "column", answer, us.mixture.size)
                self._reply(us, them, t)
                settle(us, them, self.noise, self.log, t, S)
        self.played += count

    def _reply(self, us: Side, them: Side, t: int) -> None:
        """The opponent's mixture of round t, in which ours is there already."""
        draws, ours = self.streams.their_draws, us.mixture.copy()
        if is_compiled(self.opponent):
            choose(them, ours, t, draws)
            return
        if isinstance(self.opponent, Player):
            answer = self.opponent.mixture(them, ours, t, draws)
        else:
            answer = self.opponent(ours, t, draws)
        them.mixture[:] = as_mixture("opponent", "row", answer, them.mixture.size)


def is_compiled(player: Player | Reply) -> bool:
    """Whether it is one of ours."""
    return isinstance(player, Player) and player.kind != OWN


def opponent_name(opponent: Player | Reply) -> str:
    return type(opponent).__name__ if isinstance(opponent, Player) else getattr(opponent, "__name__", "own")


def as_mixture(chair: str, move: str, answer: Any, size: int) -> Floats:
    """What code of the reader's answers: the number of a move of this chair, or a mixture of all of them."""
    if np.ndim(answer) > 0:
        return checks.distributions(f"{chair}'s mixture", answer, (size,))
    number = checks.whole(f"{chair}'s {move}", answer, 0)
    if number >= size:
        raise ValueError(f"{chair}'s {move}={number} is none of {size} {move}s: give a number from 0 to {size - 1}")
    return np.eye(size)[number]
