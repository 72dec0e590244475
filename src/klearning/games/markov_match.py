"""The compiled loop for Markov games: two sides meet, episode after episode, for one seed.

Each side chooses a policy for the whole episode, the opponent after us, who may look at ours; then they play. Our value
of the episode is that of the two policies: no draw enters it.
"""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from klearning.games.exp3 import EXP3
from klearning.games.knowing import BestResponse, Equilibrium
from klearning.games.markov import MarkovGame, Outlook, joint_sweep, look_ahead, response_sweep
from klearning.games.markov_program import Draft, new_draft, search
from klearning.games.match import (
    IS_BEST_RESPONSE,
    IS_K_LEARNING,
    IS_THOMPSON,
    IS_UCB,
    Log,
    Reply,
    Rounds,
    Sides,
    Streams,
    draw,
    opponent_name,
)
from klearning.games.player import OWN, Player
from klearning.games.simplex import find_saddle
from klearning.numerics import checks
from klearning.numerics.compiled import kernel
from klearning.numerics.draws import gamma, normal
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian, RewardPrior, reward_posterior
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.streams import streams

REACH = 0.2  # of log τ, from episode to episode


@marked(fixed=("kind", "setting", "prior", "learns"), counts=("visits", "alpha"), finite=("sums", "temperature"))
class Chair(NamedTuple):
    """All that one side has, seen from its own chair: columns are its moves, payoffs are paid to it."""

    kind: int  # which player, `Player.kind`
    setting: float
    prior: RewardPrior
    learns: bool
    outlook: Outlook  # what it believes, or, where it does not learn, what is
    visits: Floats  # (S, rows, columns)
    sums: Floats  # of what was paid
    alpha: Floats  # (S, rows, columns, widest layer): of the Dirichlet rows
    temperature: Floats  # (1,) of the last episode; 0 before the first
    draft: Draft  # its policy, and room to work in


def new_chair(player: Player, truth: Outlook, prior: Prior, mean: float) -> Chair:
    """Before the first episode. The mean is of the prior, as this chair is paid."""
    states, m, n = truth.means.shape
    learns = not isinstance(player, Equilibrium | BestResponse)
    family = prior.reward
    assert isinstance(family, Gaussian)
    assert isinstance(prior.transitions, Dirichlet)
    numbers = Gaussian(mean, family.sd, family.noise).numbers()
    alpha, outlook = np.zeros(truth.chances.shape), truth
    if learns:
        mass, (first, variance) = prior.transitions.mass, reward_posterior(numbers, 0.0, 0.0, 0.0)
        for l in range(truth.layers.size - 2):
            low, middle, high = truth.layers[l : l + 3]
            alpha[low:middle, :, :, : high - middle] = mass / (high - middle)
        outlook = Outlook(
            truth.layers, truth.initial, np.full((states, m, n), first), np.full((states, m, n), sqrt(variance)),
            alpha / mass, np.full((states, m, n), 0.25 / (mass + 1.0)),
        )  # fmt: skip
    visits, sums = np.zeros((states, m, n)), np.zeros((states, m, n))
    draft = new_draft(states, m, n)
    draft.policy[:] = 1.0 / n
    return Chair(player.kind, player.setting, numbers, learns, outlook, visits, sums, alpha, np.zeros(1), draft)


def mirrored(B: Outlook) -> Outlook:
    """The game as the opponent sees it."""
    turned = np.ascontiguousarray(-B.means.transpose(0, 2, 1)), np.ascontiguousarray(B.sds.transpose(0, 2, 1))
    chances = np.ascontiguousarray(B.chances.transpose(0, 2, 1, 3))
    return Outlook(B.layers, B.initial, *turned, chances, np.ascontiguousarray(B.doubts.transpose(0, 2, 1)))


@kernel
def drawn_ahead(C: Chair, l: int, s: int, draws: np.random.Generator) -> None:
    """The matrix game of a state in a game drawn from the belief, given values of the next layer in it."""
    B, D = C.outlook, C.draft
    first = last = 0
    if l + 2 < B.layers.size:
        first, last = B.layers[l + 1], B.layers[l + 2]
    for i in range(D.matrix.shape[0]):
        for j in range(D.matrix.shape[1]):
            total, value, mean = 0.0, 0.0, 0.0
            for k in range(first, last):
                weight = gamma(C.alpha[s, i, j, k - first], draws)
                total += weight
                value += weight * D.values[k]
                mean += B.chances[s, i, j, k - first] * D.values[k]
            after = value / total if total > 0.0 else mean  # all below the range of floats, once in a very long while
            D.matrix[i, j] = B.means[s, i, j] + B.sds[s, i, j] * normal(draws) + after


@kernel
def choose_policy(C: Chair, other: Floats, t: int, draws: np.random.Generator) -> None:
    """Write the policy of episode t, from 1; ``other`` is that of the side that has chosen already."""
    B, D = C.outlook, C.draft
    if C.kind == IS_K_LEARNING:
        C.temperature[0] = search(B, C.temperature[0], REACH if C.temperature[0] > 0.0 else 2.0, D)
    elif C.kind == IS_BEST_RESPONSE:
        response_sweep(B, other, D.policy, D.values)
    else:
        width = C.setting * sqrt(2.0 * log(1.0 + t)) if C.kind == IS_UCB else 0.0
        for l in range(B.layers.size - 2, -1, -1):
            for s in range(B.layers[l], B.layers[l + 1]):
                if C.kind == IS_THOMPSON:
                    drawn_ahead(C, l, s, draws)
                else:
                    look_ahead(B, l, s, D.values, D.matrix, D.sds)
                    for i in range(D.sds.shape[0]):
                        for j in range(D.sds.shape[1]):
                            D.matrix[i, j] += width * D.sds[i, j]
                D.values[s] = find_saddle(D.matrix, D.policy[s], D.start, D.work.tableau)


@kernel
def learn_step(C: Chair, s: int, row: int, column: int, payoff: float, after: int) -> None:
    """What was paid, and which state of the next layer came (−1: none)."""
    B = C.outlook
    C.visits[s, row, column] += 1.0
    C.sums[s, row, column] += payoff
    mean, variance = reward_posterior(C.prior, C.visits[s, row, column], C.sums[s, row, column], 0.0)
    B.means[s, row, column], B.sds[s, row, column] = mean, sqrt(variance)
    if after >= 0:
        C.alpha[s, row, column, after] += 1.0
        mass = C.alpha[s, row, column].sum()
        for k in range(C.alpha.shape[3]):
            B.chances[s, row, column, k] = C.alpha[s, row, column, k] / mass
        B.doubts[s, row, column] = 0.25 / (mass + 1.0)


@kernel
def play_episode(truth: Outlook, us: Chair, them: Chair, noise: float, records: Log, t: int, S: Streams) -> None:
    """Episode t, once both have chosen: draw, pay, log, learn."""
    ours, theirs = us.draft.policy, them.draft.policy
    records.values[t - 1] = joint_sweep(truth, ours, theirs, np.zeros(ours.shape[0]))
    if records.policies.shape[0] > 0:
        records.policies[t - 1], records.opponents[t - 1] = ours, theirs
    s, total = draw(truth.initial, S.noise), 0.0
    for l in range(truth.layers.size - 1):
        row, column = draw(theirs[s], S.their_moves), draw(ours[s], S.our_moves)
        payoff = truth.means[s, row, column] + noise * normal(S.noise)
        total += payoff
        after = draw(truth.chances[s, row, column], S.noise) if l + 2 < truth.layers.size else -1
        if us.learns:
            learn_step(us, s, row, column, payoff, after)
        if them.learns:
            learn_step(them, s, column, row, -payoff, after)
        s = truth.layers[l + 1] + after
    records.payoffs[t - 1] = total


@kernel
def episodes(
    truth: Outlook, us: Chair, them: Chair, noise: float, records: Log, first: int, count: int, S: Streams
) -> None:
    for t in range(first, first + count):
        choose_policy(us, them.draft.policy, t, S.our_draws)
        choose_policy(them, us.draft.policy, t, S.their_draws)
        play_episode(truth, us, them, noise, records, t, S)


class MarkovMatch(Rounds):
    """One seed: agent, game, opponent, prior; results depend on nothing else."""

    def __init__(
        self, agent: Player, game: MarkovGame, opponent: Player | Reply, prior: Prior, seed: int, count: int, keep: bool
    ) -> None:
        super().__init__(count)
        self.truth, self.noise = game.outlook, game.noise
        states, m, n = self.truth.means.shape
        family = prior.reward
        assert isinstance(family, Gaussian)
        silent = opponent if isinstance(opponent, Player) else Equilibrium()  # a chair for a function
        self.reply = None if isinstance(opponent, Player) else opponent
        self.sides = Sides(
            new_chair(agent, self.truth, prior, family.mean),
            new_chair(silent, mirrored(self.truth), prior, -family.mean),
        )
        kept = count if keep else 0
        self.log = Log(np.zeros(count), np.zeros(count), np.zeros((kept, states, n)), np.zeros((kept, states, m)))
        names = game.name, type(agent).__name__, opponent_name(opponent)
        self.streams = Streams(*streams(seed, *names, uses=len(Streams._fields)))

    def advance(self, count: int) -> None:
        """Play so many more episodes."""
        first, (us, them) = self.played + 1, self.sides
        if self.reply is None:
            episodes(self.truth, us, them, self.noise, self.log, first, count, self.streams)
        else:
            for t in range(first, first + count):
                ours, theirs = us.draft.policy, them.draft.policy
                choose_policy(us, theirs, t, self.streams.our_draws)
                theirs[:] = as_policy(self.reply(ours.copy(), t, self.streams.their_draws), theirs)
                play_episode(self.truth, us, them, self.noise, self.log, t, self.streams)
        self.played += count


def as_policy(answer: Any, like: Floats) -> Floats:
    """What an opponent of the reader's answers: a mixture of rows for every state, states through all layers."""
    return checks.distributions("opponent's policy", answer, like.shape)


def check_markov(agent: Player, opponent: Player | Reply, prior: Any, noise: float) -> Prior:
    """The prior of a Markov game; errors for what has no meaning in one."""
    for chair, player in (("agent", agent), ("opponent", opponent)):
        if isinstance(player, EXP3) or (isinstance(player, Player) and player.kind == OWN):
            name = type(player).__name__
            raise ValueError(f"{chair}={name}() plays matrix games only: in a Markov game give another")
    belief = prior if prior is not None else Prior(Gaussian(0.0, 1.0, noise), Dirichlet(1.0))
    if not isinstance(belief, Prior) or not isinstance(belief.reward, Gaussian):
        raise ValueError(f"prior={prior!r} is none of Markov games: give klearning.Prior(Gaussian(…), Dirichlet(mass))")
    if belief.stationary or not isinstance(belief.transitions, Dirichlet) or belief.transitions.support is not None:
        raise ValueError(f"prior={prior!r} is none of Markov games: layers and a Dirichlet without support are built")
    return belief
