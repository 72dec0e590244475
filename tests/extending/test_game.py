"""A game and a player from outside the package: one function and one method, played wherever ours are."""

import json

import numpy as np
import pytest

from klearning import games
from klearning.games.registry import GAMES, PLAYERS
from tests.support.commands import klearning
from tests.support.own_code import imported

FILE = """
from dataclasses import dataclass

from klearning import games


@games.register_game
def pennies(stake: float = 1.0):
    return games.Game([[stake, -stake], [-stake, stake]], noise=0.5, name="pennies")


@games.register_player
@dataclass(frozen=True)
class Alternating(games.Player):
    first: int = 0

    def policy(self, view, other, t, draws):
        return (self.first + t) % 2
"""


@pytest.fixture
def own(tmp_path):
    yield imported(FILE, tmp_path / "pennies_of_mine.py")
    GAMES.pop("pennies", None)
    PLAYERS.pop("Alternating", None)


@pytest.mark.parametrize("opponent", ["best_response", "self_play"])
def test_they_play(own, opponent):
    played = games.play(own.Alternating(), own.pennies(), opponent, rounds=20, seeds=2)
    if opponent == "best_response":  # it is seen through, and loses the stake in every round
        np.testing.assert_allclose(played.regret, np.arange(1.0, 21.0)[None].repeat(2, axis=0))
    ours = games.play(games.KLearning(), own.pennies(2.0), own.Alternating(1), rounds=20, seeds=2)
    assert ours.regret.shape == (2, 20)


def test_the_command_line_takes_them(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    words = ("run", "mine.py:pennies", "mine.py:Alternating", "--opponent", "KLearning", "-w", "stake=2", "-n", "20")
    done = klearning(*words, "--no-figure", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["world"] == "pennies"
