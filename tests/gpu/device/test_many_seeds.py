"""Times to solve of very many seeds: those of `run`, also if played again, and figure 2 made of them."""

import numpy as np
import pytest

import klearning as kl
from klearning.cli import main
from klearning.gpu import seeds as gpu_seeds
from klearning.gpu.seeds import PROGRAMS, DeviceRun
from klearning.lab.experiments import interim_stopping
from klearning.lab.experiments.runnables import ONE_AT_A_TIME, DeviceRuns
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers.odonoghue2021 import many_seeds
from klearning.lab.papers.odonoghue2021.many_seeds import PLAYERS, ManySeeds
from klearning.lab.papers.odonoghue2021.protocols import K_OPTIMAL, PROTOCOLS, TEXT

EPISODES = 40


@pytest.fixture(scope="module")
def solved():
    runs = kl.run(TEXT.k_learning(), TEXT.world(3), prior=TEXT.prior, episodes=EPISODES, seeds=20, device="gpu")
    return runs.solved


def times(episodes, seeds=20):
    run = DeviceRun(TEXT.k_learning(), TEXT.world(3), TEXT.prior, episodes, range(seeds), [1, episodes], "solved")
    played = sum(run.chunks())
    return run.result(), played


def test_times_are_those_of_runs_and_nobody_plays_on(solved):
    found, played = times(10_000)
    np.testing.assert_array_equal(found["solved"], solved)
    assert played < 20 * (2 * solved.max() + 1)  # launches double
    assert np.isnan(found["regret"][:, 1]).all()  # all have ended before


def test_those_that_are_played_again_have_the_same_times(solved, monkeypatch):
    monkeypatch.setattr(gpu_seeds, "MOST_SOLVED", 0.25)
    begun, real = [], DeviceRun.__init__
    monkeypatch.setattr(DeviceRun, "__init__", lambda self, *given: begun.append(len(given[4])) or real(self, *given))
    found, _ = times(EPISODES)
    np.testing.assert_array_equal(found["solved"], solved)
    assert begun[0] == 20
    assert 0 < begun[1] < 20  # or nothing is tested


def test_if_most_of_the_first_fail_there_are_no_others(solved, tmp_path, monkeypatch):
    monkeypatch.setattr(many_seeds, "SCOUTS", 5)
    monkeypatch.setattr(many_seeds, "PLAYERS", (K_OPTIMAL,))
    monkeypatch.setattr(ManySeeds, "looks", (5,))
    monkeypatch.setattr(interim_stopping, "most_fail", lambda solved, seeds: 2 * solved < seeds)
    store = Store(tmp_path)
    for cap, count in ((int(np.sort(solved[:5])[2]) - 1, 5), (EPISODES, 20)):
        figure, stage = ManySeeds(depths=(3,), seeds=20, cap=cap), []
        while len(wanted := figure.wanted(store)) > len(stage):
            stage = wanted
            assert not sweep(stage, store).failed
        found = figure.read(store)[K_OPTIMAL][3]
        np.testing.assert_array_equal(found, np.where(solved <= cap, solved, np.nan)[:count])


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_all_that_a_gpu_plays_are_there(protocol):
    able = []
    for label, agent in protocol.contestants().items():
        try:
            PROGRAMS[type(agent)](agent, protocol.prior, protocol.world(3))
        except (KeyError, ValueError):
            continue
        able.append(label)
    assert able == list(PLAYERS)


def test_a_job_allocates_while_it_has_the_device_to_itself(monkeypatch):
    """The simulator replaces the module `cuda` while a kernel runs, so another thread must not use it."""
    held = []
    monkeypatch.setattr("klearning.gpu.seeds.checked_program", lambda *given: held.append(ONE_AT_A_TIME.locked()))
    DeviceRuns(next(iter(ManySeeds(depths=(2,), seeds=3).runs().values())))
    assert held == [True]


def test_the_command_draws_and_a_second_call_plays_nothing(tmp_path, capsys, monkeypatch):
    words = ["reproduce", "figure2", "--device", "gpu", "--protocol", "text", "--depths", "2", "--seeds", "3"]
    words += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 0
        assert "| Thompson sampling |" in capsys.readouterr().out
        assert (tmp_path / "out/figure2_gpu_text.png").read_bytes().startswith(b"\x89PNG")
        monkeypatch.setattr(DeviceRun, "chunks", None)
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "figure3", "--device", "gpu"])
    assert end.value.code == 2
    assert "can do figure2" in capsys.readouterr().err
