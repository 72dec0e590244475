"""Times to solve of very many seeds: those of `run`, whoever is played again, and figure 2 made of them."""

import numpy as np
import pytest

import klearning as kl
from klearning.cli import main
from klearning.gpu import solved_times, times
from klearning.gpu.seeds import FORMS
from klearning.lab.papers.odonoghue2021 import many_seeds
from klearning.lab.papers.odonoghue2021.many_seeds import PLAYERS, Crowd
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, PROTOCOLS, TEXT

EPISODES = 40


@pytest.fixture(scope="module")
def solved():
    runs = kl.run(TEXT.k_learning(), TEXT.world(3), prior=TEXT.prior, episodes=EPISODES, seeds=20, device="gpu")
    return runs.solved


def test_times_are_those_of_runs_and_nobody_plays_on(solved, monkeypatch):
    played = []

    def counted(form, batch, episodes):
        for log, count in play(form, batch, episodes):
            played.append(count)
            yield log, count

    play = times.play
    monkeypatch.setattr(times, "play", counted)
    found = solved_times(TEXT.k_learning(), TEXT.world(3), TEXT.prior, 10_000, range(20))
    np.testing.assert_array_equal(found, solved)
    assert sum(played) < 2 * solved.max() + 1  # launches double


def test_those_that_are_played_again_have_the_same_times(solved, monkeypatch):
    monkeypatch.setattr(many_seeds, "SCOUTS", 4)
    monkeypatch.setattr(many_seeds, "MOST", 0.25)
    crowd = Crowd(TEXT, K_OPTIMAL, 3, seeds=20, cap=EPISODES)
    again = np.quantile(solved[:4], 0.25)
    assert 0 < (solved[4:] > np.ceil(again)).sum() < 16  # or nothing is tested
    np.testing.assert_array_equal(crowd.play()["solved"], solved)


def test_where_most_scouts_fail_there_are_no_others(solved, monkeypatch):
    monkeypatch.setattr(many_seeds, "SCOUTS", 5)
    cap = int(np.sort(solved[:5])[2]) - 1  # two of five solve it at most
    found = Crowd(TEXT, K_OPTIMAL, 3, seeds=20, cap=cap).play()["solved"]
    np.testing.assert_array_equal(found, np.where(solved[:5] <= cap, solved[:5], np.nan))


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_all_that_a_gpu_plays_are_there(protocol):
    able = []
    for label, agent in protocol.contestants().items():
        try:
            FORMS[type(agent)](agent, protocol.prior, protocol.world(3))
        except (KeyError, ValueError):
            continue
        able.append(label)
    assert able == list(PLAYERS)


def test_the_command_draws_and_a_second_call_plays_nothing(tmp_path, capsys, monkeypatch):
    words = ["reproduce", "figure2", "--device", "gpu", "--protocol", "text", "--depths", "2", "--seeds", "3"]
    words += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
        assert "| Thompson sampling |" in capsys.readouterr().out
        assert (tmp_path / "out/figure2_gpu_text.png").read_bytes().startswith(b"\x89PNG")
        monkeypatch.setattr(Crowd, "play", None)
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "figure3", "--device", "gpu"])
    assert end.value.code == 2
    assert "can do figure2" in capsys.readouterr().err
