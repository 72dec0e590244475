"""Zero-sum games, of one matrix or of layers of them, with noisy payoffs: K-learning, other players and opponents.

Rows are the opponent's moves, columns are ours, payoffs are paid to us.
"""

from klearning.games.exp3 import EXP3
from klearning.games.game import Game, idle_threat, inspection_game, random_game, rock_paper_scissors
from klearning.games.k_learning import KLearning
from klearning.games.markov import MarkovGame, MarkovSaddle, guarded_sea, random_markov_game
from klearning.games.markov_program import MarkovSolution, solve_markov
from klearning.games.matches import play
from klearning.games.oracle_players import BestResponse, Equilibrium
from klearning.games.player import Player, PlayerView
from klearning.games.program import Solution, solve
from klearning.games.registry import register_game, register_player
from klearning.games.simplex import Saddle, saddle
from klearning.games.thompson import Thompson
from klearning.games.ucb import UCB

__all__ = [
    "EXP3",
    "UCB",
    "BestResponse",
    "Equilibrium",
    "Game",
    "KLearning",
    "MarkovGame",
    "MarkovSaddle",
    "MarkovSolution",
    "Player",
    "PlayerView",
    "Saddle",
    "Solution",
    "Thompson",
    "guarded_sea",
    "idle_threat",
    "inspection_game",
    "play",
    "random_game",
    "random_markov_game",
    "register_game",
    "register_player",
    "rock_paper_scissors",
    "saddle",
    "solve",
    "solve_markov",
]
