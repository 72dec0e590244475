"""The games and players by name: ours, and registered ones. A player may sit in either chair."""

from collections.abc import Callable
from typing import TypeVar

from klearning.games.exp3 import EXP3
from klearning.games.game import Game, idle_threat, inspection_game, random_game, rock_paper_scissors
from klearning.games.k_learning import KLearning
from klearning.games.markov import MarkovGame, guarded_sea, random_markov_game
from klearning.games.oracle_players import BestResponse, Equilibrium
from klearning.games.player import Player
from klearning.games.thompson import Thompson
from klearning.games.ucb import UCB
from klearning.numerics.registry import Registry

ROOM = "klearning.games"
OURS = (rock_paper_scissors, idle_threat, inspection_game, random_game, guarded_sea, random_markov_game)
GAMES = Registry("game", OURS, ROOM)
PLAYERS = Registry("player", (KLearning, UCB, Thompson, Equilibrium, EXP3, BestResponse), ROOM)

AnyGame = TypeVar("AnyGame", bound=Callable[..., Game | MarkovGame])
Class = TypeVar("Class", bound=type[Player])


def register_game(game: AnyGame) -> AnyGame:
    """Make a function that returns a `Game` or a `MarkovGame` known by its name: to sweeps and the command line.

    A call, or a decorator. Its parameters must be plain data (numbers, text, lists of them). Random streams are named
    by the game's own ``name``; the hash of the source file is part of its runs' names.
    """
    if not callable(game) or isinstance(game, type) or not hasattr(game, "__name__"):
        raise ValueError(f"game={game!r} is not a function: register one that returns a Game")
    GAMES.register(game)
    return game


def register_player(player: Class) -> Class:
    """Make the class of a player known by its name, as an agent and as an opponent.

    A call, or a decorator above ``@dataclass(frozen=True)``. It is a `Player` with a method ``policy``; its parameters
    must be plain data, and the hash of its source file is part of its runs' names.
    """
    if not isinstance(player, type) or not issubclass(player, Player):
        raise ValueError(f"player={player!r} is not a class of players: register a subclass of klearning.games.Player")
    if player.policy is Player.policy and player.begin is Player.begin:
        raise ValueError(f"player={player.__name__!r} has no method 'policy': it returns what to play in a round")
    PLAYERS.register(player)
    return player
