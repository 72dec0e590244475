"""The compiled loop of a match: two players meet, round after round, for one seed.

Each round we choose a policy, the opponent, who may look at it, chooses one, and both draw moves from the first layer
to the last (a matrix game has one layer). Both see every payoff. The value of the round is the expected payoff of the
two policies: no draw enters it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from klearning.games import exp3, k_learning, oracle_players, thompson, ucb
from klearning.games.game import Game
from klearning.games.markov import MarkovGame
from klearning.games.model import joint_value, mirrored
from klearning.games.player import Player, PlayerView
from klearning.games.side import Side, learn, new_side
from klearning.numerics import checks
from klearning.numerics.compile.kernels import by_record, index, kernel
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.random.generator import draw_index, normal
from klearning.numerics.types import Arrays, Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.chunks import Chunked
from klearning.tabular.trials.streams import streams

choose: Callable[..., None] = by_record(  # write the policy of round t; a player's memory says how
    {
        k_learning.KLearningMemory: k_learning.choose,
        k_learning.MarkovKLearningMemory: k_learning.choose_layered,
        ucb.UCBMemory: ucb.choose,
        thompson.ThompsonMemory: thompson.choose,
        exp3.EXP3Memory: exp3.choose,
        oracle_players.EquilibriumMemory: oracle_players.choose_equilibrium,
        oracle_players.BestResponseMemory: oracle_players.choose_best_response,
    }
)


class Log(NamedTuple):
    """The log of a match, by round."""

    values: Floats  # (rounds,): exact, of the two policies against each other
    returns: Floats  # (rounds,): the sum of payoffs, with noise
    policies: Floats  # (rounds, S, columns), or (0, S, columns) if policies are not kept
    opponents: Floats  # (rounds, S, rows), or (0, S, rows)


class Streams(NamedTuple):
    """A random stream per use."""

    noise: np.random.Generator  # also of first and next states
    our_moves: np.random.Generator
    their_moves: np.random.Generator
    our_draws: np.random.Generator
    their_draws: np.random.Generator


class Memories(NamedTuple):
    us: Any
    them: Any


@kernel
def play_round(us: Side, them: Side, noise: float, log: Log, t: int, S: Streams) -> None:
    """Round t, after both have chosen: draw, pay, log, learn."""
    truth, ours, theirs = us.truth, us.policy, them.policy
    log.values[t - 1] = joint_value(truth, ours, theirs, us.scratch.values)
    for k in range(ours.shape[0] if log.policies.shape[0] > 0 else 0):
        for j in range(ours.shape[1]):
            log.policies[t - 1, k, j] = ours[k, j]
        for i in range(theirs.shape[1]):
            log.opponents[t - 1, k, i] = theirs[k, i]
    s, total = index(draw_index(truth.initial, S.noise) if us.layered else 0), 0.0
    for l in range(truth.layers.size - 1):
        row, column = index(draw_index(theirs[s], S.their_moves)), index(draw_index(ours[s], S.our_moves))
        payoff = truth.means[s, row, column] + noise * normal(S.noise)
        total += payoff
        after = draw_index(truth.transitions[s, row, column], S.noise) if l + 2 < truth.layers.size else -1
        learn(us, s, row, column, payoff, after)
        learn(them, s, column, row, -payoff, after)
        s = index(truth.layers[l + 1] + after)
    log.returns[t - 1] = total


@kernel
def rounds(us: Any, them: Any, noise: float, log: Log, first: int, count: int, S: Streams) -> None:
    """``count`` rounds from round ``first``, 1 or later; only this loop is compiled for each pair of players."""
    for t in range(first, first + count):
        choose(them.side.policy, t, S.our_draws, us)
        choose(us.side.policy, t, S.their_draws, them)
        play_round(us.side, them.side, noise, log, t, S)


class Match(Chunked):
    """One seed: results depend on nothing but agent, game, opponent, prior and seed."""

    memory: Memories
    streams: Streams

    @uninterrupted  # once, not for each of its kernels
    def __init__(
        self, agent: Player, game: Game | MarkovGame, opponent: Player, prior: Gaussian | Prior, seed: int,
        count: int, keep: bool,
    ) -> None:  # fmt: skip
        super().__init__(count)
        self.agent, self.game, self.opponent = agent, game, opponent
        self.layered, truth = isinstance(game, MarkovGame), game.model
        payoffs, mass = payoffs_and_mass(prior)
        us = new_side(truth, self.layered, payoffs, mass)
        theirs = Gaussian(-payoffs.mean, payoffs.sd, payoffs.noise)
        them = new_side(mirrored(truth), self.layered, theirs, mass)
        self.memory = Memories(agent.begin(us), opponent.begin(them))
        kept = count if keep else 0
        self.log = Log(
            np.zeros(count), np.zeros(count), np.zeros((kept, *us.policy.shape)), np.zeros((kept, *them.policy.shape))
        )
        self.streams = Streams(*streams(seed, game.name, agent.name, opponent.name, uses=len(Streams._fields)))

    def advance(self, count: int) -> None:
        """Play ``count`` more rounds."""
        first, (us, them), S = self.played + 1, self.memory, self.streams
        if self.agent.is_compiled and self.opponent.is_compiled:
            rounds(us, them, self.game.noise, self.log, first, count, S)
        else:
            for t in range(first, first + count):
                self._choose(self.agent, us, them.side.policy, t, S.our_draws)
                self._choose(self.opponent, them, us.side.policy, t, S.their_draws)
                play_round(us.side, them.side, self.game.noise, self.log, t, S)
        self.played += count

    def _choose(self, player: Player, memory: Any, other: Floats, t: int, draws: np.random.Generator) -> None:
        """The policy of round t, of a player that may be written in Python."""
        if player.is_compiled:
            choose(other, t, draws, memory)
            return
        side, ours = memory.side, memory is self.memory.us
        tables = side.belief.means, side.belief.sds, side.visits, side.sums, side.truth.means
        seen = None if ours else self.shown(other).copy()
        answer = player.policy(PlayerView(*map(self.shown, tables)), seen, t, draws)
        side.policy[:] = checked_policy("agent" if ours else "opponent", answer, self.shown(side.policy).shape)

    def shown(self, table: Floats) -> Floats:
        """An array of all states; in a matrix game of its only state."""
        return table if self.layered else table[0]

    @property
    def visits(self) -> Floats:
        """How often each pair of moves was played, (rows, columns); in a Markov game in every state."""
        return self.shown(self.memory.us.side.visits)

    @property
    def policies(self) -> tuple[Floats, Floats]:
        """Our policy and the opponent's, of the last round."""
        us, them = self.memory
        return self.shown(us.side.policy), self.shown(them.side.policy)

    def result(self) -> Arrays:
        """Arrays of all rounds by name. A game has no goal, so nothing is hit."""
        log = self.log
        kept = {"policies": log.policies, "opponents": log.opponents} if len(log.policies) else {}
        return {
            "values": log.values,
            "returns": log.returns,
            "hits": np.zeros(len(log.values), np.bool_),
            "visits": self.visits,
            **{name: x if self.layered else x[:, 0] for name, x in kept.items()},
        }

    def fresh_memory(self) -> Memories:
        return self.memory  # of a match that has not begun

    def check(self, memory: Memories, fresh: Memories, played: int) -> None:
        """All numbers of the log are finite."""
        for name, x in self.log_until(played).items():
            if not np.isfinite(x).all():
                raise ValueError(f"log.{name} is not finite")

    def log_until(self, t: int | None) -> Arrays:
        return {name: x[:t] for name, x in self.log._asdict().items()}


def payoffs_and_mass(prior: Gaussian | Prior) -> tuple[Gaussian, float]:
    """Of payoffs, and of Dirichlet rows; a matrix game has no transitions, and any mass will do."""
    if isinstance(prior, Gaussian):
        return prior, 1.0
    assert isinstance(prior.reward, Gaussian)
    assert isinstance(prior.transitions, Dirichlet)
    return prior.reward, prior.transitions.mass


def checked_policy(chair: str, answer: Any, shape: tuple[int, ...]) -> Floats:
    """The answer of code of the reader's: a policy, or in a matrix game the number of a move."""
    if np.ndim(answer) > 0 or len(shape) > 1:
        return checks.distributions(f"{chair}'s policy", answer, shape)
    move, size = ("column" if chair == "agent" else "row"), shape[0]
    number = checks.whole(f"{chair}'s {move}", answer, 0)
    if number >= size:
        raise ValueError(f"{chair}'s {move}={number} is not one of {size} {move}s: give a number from 0 to {size - 1}")
    return np.eye(size)[number]
