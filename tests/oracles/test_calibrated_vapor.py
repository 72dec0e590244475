"""VAPOR with the least optimism that is enough: the search against `kl.vapor`, plans against PSRL's own draws."""

import math
from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning.agents import psrl
from klearning.agents.value_iteration import planning
from klearning.models.sweeps import at_start
from klearning.optimism.calibrated_occupancy import calibrate_occupancy
from klearning.optimism.calibration import LEAST, PRECISION
from klearning.optimism.vapor import uncertain
from klearning.storage.codec import agent_data, build_agent
from klearning.theory import vapor_phi
from klearning.trials.task import Streams
from tests.oracles.test_vapor import learnt

COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))
AGENT = kl.VAPOR(optimism="calibrated")


def searched(belief, bonus, target, begin):
    p, W = uncertain(belief, bonus, 1.0)
    s, policy, V = W.stated.copy(), np.full(W.u.shape, 1.0 / belief.actions), np.zeros(belief.states)
    return calibrate_occupancy(p.model, p.discount, s, target, begin, 1e-10, W, V, policy), policy


def streams():
    return Streams(np.random.default_rng(1), np.random.default_rng(2))


@pytest.mark.parametrize("bonus", ["reward", "sharp"])
@pytest.mark.parametrize("share", [0.005, 0.08, 0.7])
@pytest.mark.parametrize("begin", [LEAST, 1.0])
def test_the_search_finds_the_share(bonus, share, begin):
    """Wherever it begins: the value at κ is the target, and the policy is that of `vapor` with κ."""
    belief = learnt([2, 4, 1, 3], prior=COINS)
    found, policy = searched(belief, bonus, kl.vapor(belief, bonus, optimism=share).bound, begin)
    plan = kl.vapor(belief, bonus, optimism=found.optimism)
    assert found.optimism == pytest.approx(share, rel=0.01)
    assert found.occupied.bound == pytest.approx(plan.bound, rel=1e-9)
    np.testing.assert_allclose(policy.T, np.concatenate(plan.policy), atol=1e-3)
    assert found.occupied.optimism == pytest.approx(vapor_phi(belief, plan, found.optimism, bonus), rel=1e-4)
    short = abs(plan.bound - kl.vapor(belief, bonus, optimism=share).bound)
    assert short <= 1.1 * PRECISION * found.occupied.optimism


def test_targets_out_of_reach():
    belief = learnt([1, 2], prior=COINS)
    assert searched(belief, "reward", 100.0, 0.3)[0].optimism == 1.0
    assert searched(belief, "reward", -100.0, 0.3)[0].optimism == pytest.approx(LEAST)


def test_where_nothing_is_uncertain():
    """Any κ will do, and the plan is the greedy one."""
    belief = learnt([2, 3, 3], prior=kl.Prior(kl.Gaussian(0.0, 1.0, noise=0.0)), episodes=40)
    found, policy = searched(belief, "reward", 50.0, 0.3)
    assert found.optimism == pytest.approx(0.3)
    assert set(policy.ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("stationary", [False, True])
def test_the_estimate_is_the_mean_of_thompson_draws(stationary):
    """PSRL's own draws from the same streams; over two plans, with a window of two and then of one."""
    belief = kl.Belief.before(kl.Prior(stationary=stationary), kl.river_swim(states=3, horizon=4))
    values, theirs, drawn = [], streams(), planning(belief.posterior())
    for _ in range(6):
        psrl.plan(drawn, theirs.reward, theirs.row)
        values.append(at_start(drawn.posterior.model, drawn.V))
    for window, seen in ((2, values), (1, values[3:])):
        agent = replace(AGENT, draws=3, window=window, thompson=0.0)
        memory, said, ours = agent.begin(belief), np.zeros(len(agent.diagnostics)), streams()
        for t in range(2):
            memory = agent.plan(memory, ours, t, said)
        told = dict(zip(agent.diagnostics, said))
        assert told["estimate"] == pytest.approx(np.mean(seen))
        assert told["error"] == pytest.approx(np.std(seen, ddof=1) / math.sqrt(len(seen)))


def test_an_episode_is_a_solve_with_its_share():
    """g meets the estimate where κ is between its ends; every tenth episode is greedy in a draw."""
    world = kl.random_mdp(3, 2, 3, COINS, seed=5)
    runs = kl.run(replace(AGENT, thompson=0.1), world, prior=COINS, episodes=100, seeds=1)
    told = {name: x[0] for name, x in runs.diagnostics.items()}
    between = (told["optimism"] < 1.0) & (told["optimism"] > 1.01 * LEAST)
    assert between.mean() > 0.5
    np.testing.assert_allclose(told["bound"][between], told["estimate"][between], atol=2e-3)
    np.testing.assert_array_equal(told["shortfall"], np.maximum(told["estimate"] - told["bound"], 0.0))
    assert np.flatnonzero(told["thompson"]).tolist() == list(range(9, 100, 10))
    assert (told["gap"] <= 1e-6).all()
    assert told["steps"][10:].max() < 50


def test_a_plan_behind_a_thompson_episode_is_vapors():
    """What is acted on is the draw's; what the next search begins with is not."""
    belief = learnt([1, 3, 3], prior=COINS)
    agent = replace(AGENT, thompson=1.0)
    memory, said = agent.begin(belief), np.zeros(len(agent.diagnostics))
    memory = agent.plan(memory, streams(), 0, said)
    plan = kl.vapor(belief, optimism=dict(zip(agent.diagnostics, said))["optimism"])
    assert set(memory.policy.ravel()) <= {0.0, 1.0}
    np.testing.assert_allclose(memory.solution.T, np.concatenate(plan.policy), atol=1e-2)


def test_data_of_before_are_the_same():
    assert agent_data(kl.VAPOR()) == {"name": "VAPOR", "bonus": "reward", "optimism": 1.0, "tolerance": 1e-6}
    assert repr(kl.VAPOR()) == "VAPOR(bonus='reward', optimism=1.0, tolerance=1e-06)"
    for agent in (replace(AGENT, draws=3), kl.VAPOR(optimism=0.5, thompson=0.2)):
        assert build_agent(agent_data(agent)) == agent
        assert eval(repr(agent), {"VAPOR": kl.VAPOR}) == agent


MISTAKES = {
    "too much": ({"optimism": 1.5}, r"optimism=1\.5"),
    "another word": ({"optimism": "calibratd"}, "did you mean 'calibrated'"),
    "a price": ({"optimism": "calibrated", "bonus": "split"}, "bonus='split'"),
    "draws": ({"draws": 0}, "draws=0"),
    "window": ({"window": 0}, "window=0"),
    "margin": ({"margin": -1.0}, "margin"),
    "share": ({"thompson": 2.0}, "thompson"),
    "a rule": ({"thompson": "risin"}, "did you mean 'rising'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    settings, advice = MISTAKES[name]
    with pytest.raises(ValueError, match=advice):
        kl.VAPOR(**settings)
