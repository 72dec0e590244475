"""The compiled loop: two sides meet, round after round, for one seed.

Each round we choose a mixture, the opponent, who may look at it, chooses one, both draw a move, the payoff is seen by
both. Our payoff of the round is that of the two mixtures: no draw enters it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.rewards import Gaussian
from klearning.games.exp3 import EXP3, exp3
from klearning.games.game import Game
from klearning.games.k_learning import TOLERANCE, KLearning
from klearning.games.knowing import BestResponse, Equilibrium, best_response
from klearning.games.player import Player, Side, learn, new_side
from klearning.games.program import solve_program
from klearning.games.simplex import find_saddle
from klearning.games.thompson import Thompson, drawn
from klearning.games.ucb import UCB, optimistic
from klearning.trials.streams import streams
from klearning.trials.trial import CHUNK_SECONDS

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
    u, last = stream.random(), 0
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
    payoff = us.payoffs[row, column] + noise * S.noise.standard_normal()
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


class Rounds(ABC):
    """Rounds of one seed, played in chunks."""

    log: Log

    def __init__(self, count: int) -> None:
        self.count, self.played = count, 0

    @abstractmethod
    def advance(self, count: int) -> None:
        """Play so many more rounds."""

    def chunks(self) -> Iterator[int]:
        """Play to the end; after every chunk, of about a tenth of a second, the caller may look, or leave."""
        size = 1
        while self.played < self.count:
            count, began = min(size, self.count - self.played), perf_counter()
            self.advance(count)
            if perf_counter() - began < CHUNK_SECONDS / 2:
                size *= 2
            yield count


class Match(Rounds):
    """One seed: agent, game, opponent, prior; results depend on nothing else."""

    def __init__(
        self, agent: Player, game: Game, opponent: Player | Reply, prior: Gaussian, seed: int, count: int, keep: bool
    ) -> None:
        super().__init__(count)
        A = game.payoffs
        m, n = A.shape
        mirrored = Gaussian(-prior.mean, prior.sd, prior.noise)
        silent = opponent if isinstance(opponent, Player) else Equilibrium()  # a chair for a function
        self.reply = None if isinstance(opponent, Player) else opponent
        self.us = new_side(agent, A, prior.numbers())
        self.them = new_side(silent, -A.T, mirrored.numbers())
        self.noise = game.noise
        kept = count if keep else 0
        self.log = Log(np.zeros(count), np.zeros(count), np.zeros((kept, n)), np.zeros((kept, m)))
        names = game.name, type(agent).__name__, opponent_name(opponent)
        self.streams = Streams(*streams(seed, *names, uses=len(Streams._fields)))

    def advance(self, count: int) -> None:
        """Play so many more rounds."""
        first = self.played + 1
        if self.reply is None:
            rounds(self.us, self.them, self.noise, self.log, first, count, self.streams)
        else:
            for t in range(first, first + count):
                choose(self.us, self.them.mixture, t, self.streams.our_draws)
                answer = self.reply(self.us.mixture.copy(), t, self.streams.their_draws)
                self.them.mixture[:] = as_mixture(answer, self.them.mixture.size)
                settle(self.us, self.them, self.noise, self.log, t, self.streams)
        self.played += count


def opponent_name(opponent: Player | Reply) -> str:
    return type(opponent).__name__ if isinstance(opponent, Player) else getattr(opponent, "__name__", "own")


def as_mixture(answer: Any, rows: int) -> Floats:
    """What an opponent of the reader's answers: the number of a row, or a mixture of rows."""
    if np.ndim(answer) > 0:
        return checks.distributions("opponent's mixture", answer, (rows,))
    row = checks.whole("opponent's row", answer, 0)
    if row >= rows:
        raise ValueError(f"opponent's row={row} is none of {rows} rows: give a number from 0 to {rows - 1}")
    return np.eye(rows)[row]
