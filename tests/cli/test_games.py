"""Games on the command line: a match, what there is, what one gets wrong."""

import json

import pytest

import klearning as kl
from klearning import games
from klearning.games.registry import GAMES, PLAYERS
from tests.cli.test_completion import offered
from tests.support.commands import klearning


def test_a_match_is_run(tmp_path):
    line = "run rock_paper_scissors UCB -a scale=0.5 --opponent EXP3,unit=2 -p sd=2 -n 30 -s 1,4 --no-figure --json"
    done = klearning(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    prior = kl.Gaussian(0.0, 2.0, 1.0)  # with the game's noise
    matches = games.play(games.UCB(0.5), games.rock_paper_scissors(), games.EXP3(2.0), 30, [1, 4], prior=prior)
    assert told["regret"] == matches.regret[:, -1].tolist()
    assert told["opponent"] == "EXP3(unit=2)"


def test_the_opponent_is_a_best_response_where_none_is_named(tmp_path):
    done = klearning("run", "idle_threat", "-n", "20", "-s", "2", "--out", "x.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "against BestResponse()" in done.stdout
    assert (tmp_path / "x.png").is_file()


def test_players_are_compared(tmp_path):
    """As `kl.compare` does it, with a store and without; variants of one class meet the same chances."""
    line = "compare rock_paper_scissors KLearning UCB UCB,scale=0.5 --opponent EXP3,unit=2 -p sd=2 -n 30 -s 10 --json"
    plain = klearning(*line.split(), "--out", "x.png", cwd=tmp_path)
    kept = klearning(*line.split(), "--no-figure", "--store", "store", cwd=tmp_path)
    assert (plain.returncode, kept.returncode) == (0, 0), plain.stderr + kept.stderr
    players = {"KLearning": games.KLearning(), "UCB": games.UCB(), "UCB,scale=0.5": games.UCB(0.5)}
    prior, game, them = kl.Gaussian(0.0, 2.0, 1.0), games.rock_paper_scissors(), games.EXP3(2.0)
    matches = {name: games.play(player, game, them, 30, 10, prior=prior) for name, player in players.items()}
    told, ours = json.loads(plain.stdout), kl.compare(matches).data()
    assert told == json.loads(kept.stdout)
    assert (told["runs"], told["sentence"]) == (ours["runs"], ours["sentence"])
    assert [pair["test"] for pair in told["pairs"]] == [*["Welch’s t, permuted"] * 2, "sign flips, paired by seed"]
    assert "In rock_paper_scissors against EXP3" in told["sentence"]
    assert "30 runs done" in kept.stderr
    assert (tmp_path / "x.png").is_file()


def test_games_and_players_are_listed():
    listed = json.loads(klearning("games", "--json").stdout)
    assert [entry["game"] for entry in listed if "game" in entry] == list(GAMES)
    assert [entry["player"] for entry in listed if "player" in entry] == list(PLAYERS)
    text = klearning("games").stdout
    assert "parameters: rows=5, columns=5, seed=0, noise=1.0" in text


WRONG = {
    "run rock_paper_scissors --device gpu": "device='gpu' plays no games",
    "run rock_paper_scissors PSRL": "player='PSRL' is unknown",
    "run deep_sea KLearning --opponent exp3": "game='deep_sea' is unknown",
    "run rock_paper_scissors --opponent best": "player='best' is unknown",
    "run rock_paper_scissors -w depth=3": "game option='depth' is unknown",
    "run rock_paper_scissors -p mass=1": "'transitions' means nothing in a matrix game",
    "run guarded_sea EXP3": "EXP3() plays matrix games only",
    "compare rock_paper_scissors UCB PSRL": "player='PSRL' is unknown",
    "compare rock_paper_scissors UCB BestResponse": "can only be the opponent",
    "compare rock_paper_scissors UCB EXP3 --opponent self_play": "opponent='self_play' differs between agents",
    "compare rock_paper_scissors UCB EXP3 --metric solved": "metric='solved', but rock_paper_scissors is a game",
    "compare deep_sea KLearning PSRL --opponent exp3": "game='deep_sea' is unknown",
}


@pytest.mark.parametrize("line", WRONG)
def test_one_line_says_what_is_wrong(line, tmp_path):
    done = klearning(*line.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert WRONG[line] in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_are_completed():
    assert set(offered("run", "ro")) == {"rock_paper_scissors"}
    assert set(offered("run", "rock_paper_scissors", "")) >= set(PLAYERS)
    assert set(offered("run", "rock_paper_scissors", "P")) == set()
    assert set(offered("run", "rock_paper_scissors", "UCB", "-a", "")) == {"scale="}
    assert set(offered("run", "random_game", "UCB", "-w", "r")) == {"rows="}
    assert set(offered("compare", "rock_paper_scissors", "T")) == {"Thompson"}
    assert set(offered("compare", "rock_paper_scissors", "Thompson", "UCB,")) == {"UCB,scale="}
    assert set(offered("run", "rock_paper_scissors", "UCB", "--opponent", "b")) == {"best_response"}
