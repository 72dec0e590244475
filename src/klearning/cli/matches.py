"""Matches on the command line: a game, the players on both sides and what they believe, from the words of a line."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from klearning.cli.options import option_values, prior_table
from klearning.cli.user_imports import find_maker
from klearning.games.matches import OPPONENTS
from klearning.games.registry import GAMES
from klearning.lab.experiments.match_data import Data, opponent_data, prior_data
from klearning.simulators import codec
from klearning.tabular.worlds.registry import WORLDS

WORST = "best_response"  # the opponent if none is named


class MatchData(NamedTuple):
    """The parts of a match, in the order of `build_pairing`."""

    game: Data
    agent: Data
    opponent: Data
    prior: Data


def is_match(world: str, opponent: str | None) -> bool:
    """Whether a line is about a game."""
    return opponent is not None or (world in GAMES and world not in WORLDS)


def read_match(
    game: str,
    game_options: Sequence[str],
    agent: str,
    agent_options: Sequence[str],
    opponent: str | None,
    prior_options: Sequence[str],
) -> MatchData:
    """The parts of a match from the words of the command line."""
    place, ours = call_data("game", game, game_options), call_data("player", agent, agent_options)
    word, *options = (opponent or WORST).split(",")
    theirs: Any = word
    if word not in OPPONENTS or options:
        theirs = call_data("player", word, options)
    theirs = opponent_data(theirs, ours)
    return MatchData(
        place, ours, theirs, prior_data(place, ours, theirs, prior_table(prior_options) if prior_options else None)
    )


def call_data(kind: str, word: str, options: Sequence[str]) -> Data:
    """A game or player with NAME=VALUE options, as data."""
    maker = find_maker(kind, word)
    return codec.call_data(kind, {"name": maker.__name__, **option_values(maker, kind, options)})
