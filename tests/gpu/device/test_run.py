"""`run` with device="gpu": what comes back, in whatever portions, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.gpu import seeds as gpu_seeds
from klearning.gpu.random import philox

AGENT = kl.KLearning(tolerance=1e-4)


def test_known_answers_of_philox():
    """Of the authors' own list."""

    def words(key, place):
        return [int(x) for x in philox.fn(key, *place)]

    assert words((0, 0), (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    place = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert words((0xA4093822, 0x299F31D0), place) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.fixture(scope="module")
def runs():
    return kl.run(AGENT, kl.deep_sea(3), seeds=24, episodes=8, device="gpu")


def test_runs_hold_what_they_should(runs):
    assert isinstance(runs, kl.Runs)
    assert runs.values.shape == runs.returns.shape == runs.hits.shape == (24, 8)
    assert runs.values.dtype == np.float64
    assert runs.visits.shape == (24, 6, 2)
    assert (runs.visits.sum(axis=(1, 2)) == 8 * 3).all()
    assert list(runs.diagnostics) == list(AGENT.diagnostics)
    assert (np.diff(runs.regret, axis=1) > -1e-6).all()
    assert (runs.returns[runs.hits] > 0.5).all()


def test_first_hits_are_those_of_the_cpu(runs):
    """Mann and Whitney at 1e-4: so often right ones would differ as much, had the seeds not been fixed."""
    cpu = kl.run(AGENT, kl.deep_sea(3), seeds=400, episodes=8)
    there, here = (np.nan_to_num(x.first_hit, nan=99.0) for x in (runs, cpu))
    assert stats.mannwhitneyu(there, here).pvalue > 1e-4
    assert stats.mannwhitneyu(runs.regret[:, -1], cpu.regret[:, -1]).pvalue > 1e-4


def test_a_seed_does_not_know_of_others(runs, monkeypatch):
    """Other seeds, other launches, groups that fit a small device: the same numbers."""
    monkeypatch.setattr(gpu_seeds, "free_bytes", lambda: 4000)
    monkeypatch.setattr("klearning.gpu.batch.LAUNCH_BYTES", 3 * 28 * 8)
    some = kl.run(AGENT, kl.deep_sea(3), seeds=[5, 2, 17, 3, 11, 6, 1, 23], episodes=8, device="gpu")
    for field in ("values", "returns", "hits", "visits"):
        np.testing.assert_array_equal(getattr(some, field), getattr(runs, field)[list(some.seeds)])


@pytest.mark.parametrize("keep", ["points", (3, 8)])
def test_points_are_those_of_all_episodes(runs, monkeypatch, keep):
    monkeypatch.setattr(gpu_seeds, "free_bytes", lambda: 4000)
    some, there = kl.run(AGENT, kl.deep_sea(3), seeds=24, episodes=8, device="gpu", keep=keep), runs
    assert isinstance(some, kl.Runs)
    assert not some.keeps_all or keep == "points"
    there = there.at(some.points)
    for field in ("first_hit", "solved", "hits", "values", "returns"):
        np.testing.assert_array_equal(getattr(some, field), getattr(there, field))
    np.testing.assert_allclose(some.regret, there.regret)
    assert some.diagnostics.keys() == there.diagnostics.keys()
    for name, said in there.diagnostics.items():
        np.testing.assert_allclose(some.diagnostics[name], said, rtol=1e-6)
    assert "24 seeds" in some.summary()
    assert len(some.frame()) == 24 * len(some.points)


@pytest.mark.parametrize("keep", ["all", "points"])
def test_a_world_for_every_seed(keep):
    prior = kl.Prior(transitions=kl.Dirichlet(1.0))
    worlds = kl.gpu.random_worlds(6, states=3, horizon=3, prior=prior)
    runs = kl.run(AGENT, worlds, prior=prior, seeds=6, episodes=4, device="gpu", keep=keep)
    assert (runs.regret[:, -1] > 0.0).all()
    one = world(worlds, 2)
    assert worlds.optimal_values[2] == pytest.approx(kl.optimal(one).value)
    assert runs.values[2, -1] <= worlds.optimal_values[2] + 1e-5
    np.testing.assert_array_equal(runs.optimal_values, worlds.optimal_values)
    assert "optimal value" in runs.summary()
    with pytest.raises(ValueError, match="as many of both"):
        kl.run(AGENT, worlds, prior=prior, seeds=5, episodes=4, device="gpu")


def world(worlds, i):
    like = worlds.like
    return replace(like, reward=worlds.reward[i].copy(), rows=like.rows._replace(weight=worlds.weight[i].copy()))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agent": kl.Random()}, "which can do KLearning"),
        ({"agent": kl.KLearning(bonus="split")}, "bonuses paper, sharp, reward"),
        ({"agent": kl.KLearning(optimism="calibrated")}, "a number for optimism"),
        ({"prior": kl.Prior(stationary=True), "world": kl.river_swim()}, "stationary=True"),
        ({"prior": kl.Prior(kl.UnknownNoise())}, "Gaussian and Beta"),
        ({"prior": kl.Prior(kl.Gaussian(noise=0.0))}, "noise between"),
        ({"prior": kl.Prior(transitions=kl.Dirichlet(support=kl.deep_sea(3)))}, "without support"),
        ({"prior": kl.Prior(transitions=kl.Known(kl.deep_sea(3, slip=0.5)))}, "as they are"),
        ({"world": kl.MDP.from_layers([[[1.0]]], [], [1.0])}, "two actions or more"),
        ({"world": "deep_sea"}, "is not an MDP"),
        ({"threads": 2}, "leave out"),
        ({"evaluate_every": 10}, "leave out"),
        ({"seeds": [2**32]}, "below 2³²"),
    ],
)
def test_what_it_cannot_do_is_one_line(settings, words):
    with pytest.raises(ValueError, match=words) as error:
        kl.run(**{"agent": kl.KLearning(), "world": kl.deep_sea(3), "device": "gpu", **settings})
    assert "\n" not in str(error.value)


def test_the_command_line(capsys):
    from klearning.cli import main

    words = ["run", "deep_sea", "KLearning", "-w", "depth=3", "-n", "3", "--device", "gpu", "--no-figure"]
    for more, told in (
        (["-s", "2"], "episodes a second"),
        (["-s", "51"], "51 seeds"),
        (["-s", "2", "--json"], '"regret"'),
        (["-s", "2", "--keep", "points"], "episodes a second"),
    ):
        with pytest.raises(SystemExit) as end:
            main([*words, *more])
        assert end.value.code == 0
        assert told in capsys.readouterr().out
