"""VAPOR with the least optimism that is enough for K-learning: against calibrated K-learning and `kl.solve_vapor`."""

from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning.simulators.codec import agent_data, build_agent
from klearning.tabular.optimism.calibration import LEAST
from klearning.tabular.trials.task import Streams
from tests.tabular.optimism.vapor.test_vapor import learnt

COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))
AGENT = kl.VAPOR(optimism="calibrated")


def calibrated(window=30, thompson_fraction=0.0, **settings):
    return kl.VAPOR(optimism=kl.Calibration(window=window, thompson_fraction=thompson_fraction, **settings))


def streams():
    return Streams(np.random.default_rng(1), np.random.default_rng(2))


def plans(agent, belief, count):
    """What an agent says of each plan, with its memory; nothing is learned between them."""
    memory, ours = agent.begin(belief), streams()
    for t in range(count):
        said = np.zeros(len(agent.diagnostics))
        memory = agent.plan(memory, ours, t, said)
        yield memory, dict(zip(agent.diagnostics, said))


@pytest.mark.thin(4)
@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("bonus", ["reward", "sharp"])
def test_the_share_is_that_of_k_learning(bonus, stationary):
    """By the same draws, over several plans; and the policy is that of `vapor` with it."""
    belief = kl.Belief.before(replace(COINS, stationary=stationary), kl.random_mdp(3, 2, 3, COINS, seed=1))
    calibration = kl.Calibration(window=5, thompson_fraction=0.0)
    theirs = plans(kl.KLearning(optimism=calibration, bonus=bonus), belief, 4)
    ours = plans(kl.VAPOR(optimism=calibration, bonus=bonus), belief, 4)
    for (memory, said), (_, theirs_said) in zip(ours, theirs):
        plan = kl.solve_vapor(belief, bonus, optimism=said["optimism"])
        assert said["estimate"] == theirs_said["estimate"]
        assert said["optimism"] == pytest.approx(theirs_said["optimism"], rel=1e-3)
        assert said["bound"] == pytest.approx(plan.bound, rel=1e-6)
        np.testing.assert_allclose(memory.policy.T, np.concatenate(plan.policy), atol=1e-3)
    assert LEAST < said["optimism"] < 1.0 or bonus == "sharp"


def test_where_nothing_is_uncertain():
    """Any κ will do, and the plan is the greedy one."""
    belief = learnt([2, 3, 3], prior=kl.Prior(kl.Gaussian(0.0, 1.0, noise=0.0)), episodes=40)
    for memory, said in plans(AGENT, belief, 2):
        assert said["optimism"] == 1.0
        assert set(memory.policy.ravel()) == {0.0, 1.0}


def test_an_episode_is_a_solve_with_its_share():
    """The value is no less than the estimate, nearly always; every tenth episode is greedy in a draw."""
    world = kl.random_mdp(3, 2, 3, COINS, seed=5)
    runs = kl.run(calibrated(thompson_fraction=0.1), world, prior=COINS, episodes=100, seeds=1)
    told = {name: x[0] for name, x in runs.diagnostics.items()}
    assert ((told["optimism"] < 1.0) & (told["optimism"] > 1.01 * LEAST)).mean() > 0.5
    assert (told["bound"] > told["estimate"]).mean() > 0.9
    np.testing.assert_array_equal(told["shortfall"], np.maximum(told["estimate"] - told["bound"], 0.0))
    assert np.flatnonzero(told["thompson"]).tolist() == list(range(9, 100, 10))
    assert (told["gap"] <= 1e-6).all()
    assert told["steps"][10:].max() < 50


def test_a_plan_behind_a_thompson_episode_is_vapors():
    """What is acted on is the draw's; what the next search begins with is not."""
    belief = learnt([1, 3, 3], prior=COINS)
    agent = calibrated(thompson_fraction=1.0)
    memory, said = agent.begin(belief), np.zeros(len(agent.diagnostics))
    memory = agent.plan(memory, streams(), 0, said)
    plan = kl.solve_vapor(belief, optimism=dict(zip(agent.diagnostics, said))["optimism"])
    assert set(memory.policy.ravel()) <= {0.0, 1.0}
    np.testing.assert_allclose(memory.solution.T, np.concatenate(plan.policy), atol=1e-2)


def test_data_of_before_are_the_same():
    assert agent_data(kl.VAPOR()) == {"name": "VAPOR", "bonus": "reward", "optimism": 1.0, "tolerance": 1e-6}
    assert repr(kl.VAPOR()) == "VAPOR(bonus='reward', optimism=1.0, tolerance=1e-06)"
    for agent in (AGENT, calibrated(draws=3), kl.VAPOR(optimism=0.5)):
        assert build_agent(agent_data(agent)) == agent
        assert eval(repr(agent), vars(kl)) == agent


MISTAKES = {
    "too much": ({"optimism": 1.5}, r"optimism=1\.5"),
    "another word": ({"optimism": "calibratd"}, "did you mean 'calibrated'"),
    "a price": ({"optimism": "calibrated", "bonus": "split"}, "bonus='split'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    settings, advice = MISTAKES[name]
    with pytest.raises(ValueError, match=advice):
        kl.VAPOR(**settings)
