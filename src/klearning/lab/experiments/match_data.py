"""A match as plain data: a game, the player on our side, the one on the other, and what both believe of payoffs.

In a spec the game stands where a world would, a round is an episode, and there is an opponent. Of a matrix game the
prior is {"reward": …} alone; of a Markov game it is that of a world.
"""

from collections.abc import Mapping
from typing import Any

from klearning.games.game import Game
from klearning.games.markov import MarkovGame
from klearning.games.matches import OPPONENTS, check_agent, checked_belief
from klearning.games.player import Player
from klearning.numerics import checks
from klearning.simulators import codec
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.trials.runs import Meeting

Data = dict[str, Any]


def opponent_data(opponent: Any, agent: Data) -> Data:
    """A word of `play`, a player, or the data of one."""
    if isinstance(opponent, str):
        player = OPPONENTS[checks.choice("opponent", opponent, OPPONENTS)]
        return agent if player is None else codec.instance_data("player", player)
    if not isinstance(opponent, Mapping | Player | type):
        words = ", ".join(map(repr, OPPONENTS))
        raise ValueError(f"opponent={opponent!r} is not data: give one of {words}, or a player, {{'name': …}}")
    return codec.instance_data("player", opponent)


def player_data(agent: Any) -> Data:
    """The player on our side, from itself or from some of its data."""
    if not isinstance(agent, Mapping | str | type):
        check_agent(agent)
    return codec.instance_data("player", agent)


def prior_data(game: Data, agent: Data, opponent: Data, given: Any = None) -> Data:
    """The belief of both sides, with every parameter; by default that of `play`, with the noise of the game."""
    place, ours, theirs = _build(game), codec.build("player", agent), codec.build("player", opponent)
    if isinstance(given, Mapping):
        belief: Any = {**given, "reward": _with_noise(given.get("reward", {}), place.noise)}
    else:
        belief = checked_belief(ours, place, theirs, given)
    if isinstance(place, MarkovGame):
        return codec.prior_data(belief)
    if isinstance(belief, Gaussian):
        belief = {"reward": {"kind": "gaussian", "mean": belief.mean, "sd": belief.sd, "noise": belief.noise}}
    for key in belief:
        if key != "reward":
            raise ValueError(f"prior parameter {key!r} means nothing in a matrix game: give reward alone")
    return {"reward": codec.prior_data(belief)["reward"]}


def _with_noise(reward: Any, noise: float) -> Any:
    """Normal payoffs of which no noise is given have the game's."""
    if isinstance(reward, Mapping) and reward.get("kind", "gaussian") == "gaussian":
        return {"noise": noise, **reward}
    return reward


def build_meeting(game: Data, agent: Data, opponent: Data, prior: Data) -> Meeting:
    """The things themselves; ValueError if they do not fit together."""
    place, ours, theirs = _build(game), codec.build("player", agent), codec.build("player", opponent)
    return Meeting(ours, place, checked_belief(ours, place, theirs, build_belief(prior)), theirs)


def build_belief(prior: Data) -> Gaussian | Prior:
    """The inverse of `prior_data`."""
    if "transitions" in prior:
        return codec.build_prior(prior)
    belief: Any = codec.build_prior(codec.prior_data(prior)).reward  # that it is a Gaussian the checked_belief asks for
    return belief


def _build(data: Data) -> Game | MarkovGame:
    game = codec.build("game", data)
    if not isinstance(game, Game | MarkovGame):
        raise ValueError(f"game={data['name']!r} made a {type(game).__name__}: let its function return a Game")
    return game
