"""Who meets what on the command line: agents in a world, or players in a game against one opponent."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from klearning.cli.options import build, build_prior, call_from_words, prior_data, prior_table
from klearning.cli.user_imports import find_maker
from klearning.games.matches import OPPONENTS, play
from klearning.games.registry import GAMES
from klearning.lab.experiments import match_data
from klearning.lab.experiments.match_data import Data
from klearning.lab.experiments.spec import Spec, make_spec, match_spec
from klearning.simulators import codec
from klearning.tabular.trials.run import run
from klearning.tabular.trials.runs import Runs
from klearning.tabular.worlds.registry import WORLDS

WORST = "best_response"  # the opponent if none is named

AgentWords = tuple[str, Sequence[str]]  # its name, and its NAME=VALUE options


class Entry(NamedTuple):
    """An agent in a world, or a player in a game. Both functions take episodes, seeds and more by keyword."""

    unit: str  # "episodes" or "rounds"
    has_goal: bool
    play: Callable[..., Runs]  # run it now
    spec: Callable[..., Spec]  # describe it, for a store


def is_match(world: str, opponent: str | None) -> bool:
    """Whether a line is about a game."""
    return opponent is not None or (world in GAMES and world not in WORLDS)


def read_entries(
    world: str,
    world_options: Sequence[str],
    agents: Sequence[AgentWords],
    opponent: str | None,
    prior_options: Sequence[str],
) -> list[Entry]:
    """From the words of a line, one for each agent."""
    if is_match(world, opponent):
        game = codec.call_data("game", call_from_words("game", world, world_options))
        return [_match(game, words, opponent or WORST, prior_options) for words in agents]
    place = build(find_maker("world", world), "world", world_options)
    learners = [build(find_maker("agent", name), "agent", options) for name, options in agents]
    prior, knows = build_prior(prior_options, place), prior_data(prior_options)
    where = call_from_words("world", world, world_options)
    return [
        Entry(
            "episodes",
            place.goal is not None,
            partial(run, learner, place, prior=prior),
            partial(make_spec, where, call_from_words("agent", *words), knows),
        )
        for learner, words in zip(learners, agents, strict=True)
    ]


def _match(game: Data, words: AgentWords, opponent: str, prior_options: Sequence[str]) -> Entry:
    ours = codec.call_data("player", call_from_words("player", *words))
    word, *options = opponent.split(",")
    named = word if word in OPPONENTS and not options else call_from_words("player", word, options)
    theirs = match_data.opponent_data(named, ours)
    knows = match_data.prior_data(game, ours, theirs, prior_table(prior_options) if prior_options else None)
    met = match_data.build_meeting(game, ours, theirs, knows)
    match = partial(play, met.agent, met.world, met.opponent, prior=met.prior)
    return Entry(
        "rounds", False, lambda episodes, **more: match(episodes, **more),
        partial(match_spec, game, ours, theirs, knows),
    )  # fmt: skip
