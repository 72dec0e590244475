"""`play`: an agent in a game against an opponent, once for every seed."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from klearning.games.exp3 import EXP3
from klearning.games.game import Game
from klearning.games.markov import MarkovGame
from klearning.games.match import Match
from klearning.games.oracle_players import BestResponse, Equilibrium
from klearning.games.player import FunctionOpponent, Player, Reply
from klearning.numerics import checks
from klearning.numerics.compile.notices import compiling_for
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.run import Progress, check_memory, check_progress, play_seeds
from klearning.tabular.trials.runs import Meeting, Runs, points_to_keep, seed_list

OPPONENTS: dict[str, Player | None] = {  # by word; None: the agent itself, in the other chair
    "best_response": BestResponse(), "equilibrium": Equilibrium(), "exp3": EXP3(), "self_play": None,
}  # fmt: skip
COMPILED: set[tuple[type, type, type]] = set()  # both players and the kind of game, of matches that this process played


def play(
    agent: Player,
    game: Game | MarkovGame,
    opponent: str | Player | Reply = "best_response",
    rounds: int = 1000,
    seeds: int | Sequence[int] = 5,
    *,
    prior: Gaussian | Prior | None = None,
    threads: int | None = None,
    keep_policies: bool = False,
    progress: Progress = None,
    keep: str | Sequence[int] = "all",
) -> Runs:
    """Let an agent play a game it does not know, once for every seed, in parallel.

    ``opponent`` is "best_response" (to our policy of the round), "equilibrium", "exp3", "self_play" (the same agent in
    the other chair), an agent, or a function of our policy, the round (from 1) and a random stream that returns a row
    or probabilities of rows. ``prior`` is of every payoff, by default N(0, 1) with the game's noise. ``seeds`` is how
    many or which; results depend on nothing else. ``keep`` is "all" rounds, "points", or a list of rounds, as in
    `klearning.run`. ``keep_policies`` also keeps both policies of every round.

    In a Markov game a round is an episode, a policy has rows for all states, (states, moves), and the best response is
    to our whole policy. Its ``prior`` is a `klearning.Prior`, by default N(0, 1) and a Dirichlet of mass 1.
    """
    check_progress(progress)
    them = as_opponent(opponent, agent)
    belief = checked_belief(agent, game, them, prior)
    new_match = partial(Match, agent, game, them, belief)
    count, numbers = checks.whole("rounds", rounds), seed_list(seeds)
    points, best = points_to_keep(keep, count), np.asarray(game.value)
    workers = checks.whole("threads", threads) if threads is not None else None
    check_memory(len(numbers), len(points) or count, 3)
    kinds = type(agent), type(them), type(game)
    if agent.is_compiled and them.is_compiled and kinds not in COMPILED:
        with compiling_for(f"a game of {type(agent).__name__}"):
            new_match(numbers[0], 1, False).advance(1)  # compiles, once, before the clock
        COMPILED.add(kinds)
    return play_seeds(
        Meeting(agent, game, belief, them),
        lambda seed: new_match(seed, count, keep_policies),
        lambda match: match.result() | {"optimal_value": best},
        numbers, points, workers, progress,
    )  # fmt: skip


def checked_belief(agent: Player, game: Game | MarkovGame, opponent: Player, prior: Any = None) -> Gaussian | Prior:
    """The prior of both sides; ValueError if they do not fit together."""
    check_agent(agent)
    if not isinstance(game, Game | MarkovGame):
        raise ValueError(f"game={game!r} is not a game: give games.Game(payoffs), or games.rock_paper_scissors()")
    for chair, player in (("agent", agent), ("opponent", opponent)):
        if not player.is_compiled and type(player).policy is Player.policy:
            raise ValueError(f"{chair}={player!r} has no method 'policy': it returns what to play in a round")
        if isinstance(game, MarkovGame) and not plays_layers(player):
            raise ValueError(f"{chair}={player.name}() plays matrix games only: in a Markov game give another")
    return checked_prior(game, prior)


def plays_layers(player: Player) -> bool:
    """Whether a player can play Markov games."""
    return isinstance(player, FunctionOpponent) or (player.is_compiled and not isinstance(player, EXP3))


def checked_prior(game: Game | MarkovGame, prior: Any) -> Gaussian | Prior:
    """The prior, or the default one of this kind of game; ValueError if it does not fit the game."""
    payoffs = Gaussian(0.0, 1.0, game.noise)
    if isinstance(game, Game):
        belief = payoffs if prior is None else prior
        if not isinstance(belief, Gaussian):
            raise ValueError(f"prior={prior!r} is not a Gaussian: give klearning.Gaussian(mean, sd, noise)")
        return belief
    full = Prior(payoffs, Dirichlet(1.0)) if prior is None else prior
    if not isinstance(full, Prior) or not isinstance(full.reward, Gaussian):
        raise ValueError(
            f"prior={prior!r} does not fit a Markov game: give klearning.Prior(Gaussian(…), Dirichlet(mass))"
        )
    if full.stationary or not isinstance(full.transitions, Dirichlet) or full.transitions.support is not None:
        raise ValueError(f"prior={prior!r} does not fit a Markov game: it needs layers and a Dirichlet without support")
    return full


def check_agent(agent: Any) -> None:
    """ValueError if this cannot play in our chair."""
    if isinstance(agent, BestResponse):
        raise ValueError("agent=BestResponse() sees the other side's policy: it can only be the opponent")
    if isinstance(agent, type) and issubclass(agent, Player):
        raise ValueError(f"agent={agent.__name__} is a class: call it, games.{agent.__name__}()")
    if not isinstance(agent, Player):
        raise ValueError(
            f"agent={agent!r} does not play games: give games.KLearning(), UCB(), Thompson(), EXP3() or "
            "Equilibrium(), or a games.Player of your own"
        )


def as_opponent(opponent: Any, agent: Player) -> Player:
    """The player for a word, a player or a function."""
    if isinstance(opponent, str):
        return OPPONENTS[checks.choice("opponent", opponent, OPPONENTS)] or agent
    if isinstance(opponent, type) and issubclass(opponent, Player):
        raise ValueError(f"opponent={opponent.__name__} is a class: call it, games.{opponent.__name__}()")
    if isinstance(opponent, Player):
        return opponent
    if callable(opponent):
        return FunctionOpponent(opponent)
    words = ", ".join(map(repr, OPPONENTS))
    raise ValueError(f"opponent={opponent!r} is not an opponent: give one of {words}, an agent or a function")
