"""Calibrated optimism and certificates, against searches, draws and closed forms of other make."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory.calibrated import shared_phi
from klearning.simulators.codec import agent_data, build_agent
from klearning.tabular.agents import psrl
from klearning.tabular.agents.calibrated import DIAGNOSTICS
from klearning.tabular.agents.value_iteration import planning
from klearning.tabular.models.sweeps import at_start
from klearning.tabular.optimism.calibration import LEAST, PRECISION, calibrate
from klearning.tabular.optimism.certificate import draw_regrets
from klearning.tabular.optimism.program import program
from klearning.tabular.trials.task import Streams
from tests.support.cases import BONUSES, cases, modest

ERRORS = 4.4  # standard errors, two-sided: 1.1e-5 by chance
COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))
AGENT = kl.KLearning(optimism="calibrated")


def calibrated(**settings):
    return kl.KLearning(optimism=kl.Calibration(**settings))


def searched(belief, bonus, target, begin, warm=0.0):
    ready = program(belief, bonus)
    policy, room = np.zeros_like(ready.c), np.zeros_like(ready.c)
    found = calibrate(ready.model, ready.c, target, begin, warm, 1e-10, policy, room, ready.work)
    return found, policy


@modest
@given(cases(), st.sampled_from(BONUSES), st.floats(-6.0, 0.0), st.sampled_from([LEAST, 0.1, 1.0]))
def test_the_search_finds_the_share(case, bonus, log_share, begin):
    """Wherever it begins: the bound at κ is the target, and the policy is that of a solve with κ."""
    belief, share = case.belief(), math.exp(log_share)
    target = kl.solve(belief, bonus=bonus, optimism=share).bound
    found, policy = searched(belief, bonus, target, begin)
    plan = kl.solve(belief, bonus=bonus, optimism=found.optimism)
    assert found.temperature.bound == pytest.approx(plan.bound, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(policy.T, np.concatenate(plan.policy), atol=1e-3)
    assert abs(plan.bound - target) <= 1.1 * PRECISION * shared_phi(belief, plan, found.optimism, bonus) + 1e-8


def test_targets_out_of_reach():
    belief = kl.Belief.empty(COINS, [1, 2], 2, [1.0])
    assert searched(belief, "reward", 100.0, 0.3)[0].optimism == 1.0
    assert searched(belief, "reward", -100.0, 0.3)[0].optimism == pytest.approx(LEAST)


@pytest.mark.parametrize("stationary", [False, True])
def test_the_estimate_is_that_of_thompson_draws(stationary):
    """PSRL's own draws from the same streams; over two plans, with a window of two and then of one.

    Of tied layers the mean of their optimal values; else the best mean return, and what its path misses by their Q.
    """
    world = kl.river_swim(states=3, horizon=4)
    seen = [0, 4, 7, 9], [1, 1, 0, 1], [0.1, 0.0, 2.0, 0.3]
    belief = kl.Belief.before(kl.Prior(stationary=stationary), world).update(*seen)
    best = kl.optimal(theory.optimistic.mean_mdp(belief))
    path = np.concatenate(best.occupancy).T
    values, streams = [], Streams(np.random.default_rng(1), np.random.default_rng(2))
    drawn = planning(belief.posterior())
    for _ in range(6):
        psrl.plan(drawn, 1.0, streams.reward, streams.row)
        missed = (path * (drawn.Q.max(axis=0) - drawn.Q)).sum()
        values.append(at_start(drawn.posterior.model, drawn.V) if stationary else best.value + missed)
    for window, seen in ((2, values), (1, values[3:])):
        agent = calibrated(draws=3, window=window, thompson_fraction=0.0)
        memory, said = agent.begin(belief), np.zeros(len(agent.diagnostics))
        streams = Streams(np.random.default_rng(1), np.random.default_rng(2))
        for t in range(2):
            memory = agent.plan(memory, streams, t, said)
        told = dict(zip(agent.diagnostics, said))
        assert told["estimate"] == pytest.approx(np.mean(seen))
        assert told["error"] == pytest.approx(np.std(seen, ddof=1) / math.sqrt(len(seen)))


def test_an_episode_is_a_solve_with_its_share():
    """f meets the estimate where κ is between its ends; every tenth episode is greedy in a draw."""
    world = kl.random_mdp(3, 2, 3, COINS, seed=5)
    runs = kl.run(calibrated(thompson_fraction=0.1), world, prior=COINS, episodes=100, seeds=1)
    told = {name: x[0] for name, x in runs.diagnostics.items()}
    between = (told["optimism"] < 1.0) & (told["optimism"] > 1.01 * LEAST)
    assert between.mean() > 0.5
    np.testing.assert_allclose(told["bound"][between], told["estimate"][between], atol=2e-3)
    np.testing.assert_array_equal(told["shortfall"], np.maximum(told["estimate"] - told["bound"], 0.0))
    assert np.flatnonzero(told["thompson"]).tolist() == list(range(9, 100, 10))
    assert np.isinf(told["error"][0])
    assert np.isfinite(told["error"][1:]).all()


def test_a_margin_asks_for_more():
    belief = kl.Belief.empty(COINS, [1, 3, 3], 2, [1.0])
    shares = []
    for margin in (0.0, 1.0):
        agent = calibrated(draws=20, margin=margin)
        said = np.zeros(len(agent.diagnostics))
        agent.plan(agent.begin(belief), Streams(np.random.default_rng(1), np.random.default_rng(2)), 0, said)
        told = dict(zip(agent.diagnostics, said))
        assert told["bound"] == pytest.approx(told["estimate"] + margin * told["error"], abs=2e-3)
        shares.append(told["optimism"])
    assert shares[0] < shares[1] < 1.0


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("rule", ["optimal", "schedule", 0.3])
def test_a_fixed_share(bonus, rule):
    """An agent's plan with optimism=κ is the solve with it; B of the schedule is that of κ c."""
    belief = kl.Belief.empty(COINS, [2, 3], 2, [0.5, 0.5])
    agent = kl.KLearning(rule, bonus, optimism=0.2)
    memory, said = agent.begin(belief), np.zeros(4)
    memory = agent.plan(memory, Streams(np.random.default_rng(1), np.random.default_rng(2)), 2, said)
    plan = kl.solve(belief, kl.schedule(3) if rule == "schedule" else rule, bonus, 1e-6, optimism=0.2)
    assert said[:2] == pytest.approx([plan.temperature, plan.bound])
    np.testing.assert_allclose(memory.policy.T, np.concatenate(plan.policy), rtol=1e-9)
    assert not plan.proved
    whole = kl.solve(belief, kl.schedule(3) if rule == "schedule" else rule, bonus)
    assert plan.bound < whole.bound
    if rule == "schedule":
        assert plan.temperature == pytest.approx(math.sqrt(0.2) * whole.temperature)


def test_data_of_before_are_the_same():
    assert agent_data(kl.KLearning()) == {
        "name": "KLearning", "temperature": "optimal", "bonus": "reward", "tolerance": 1e-6,
    }  # fmt: skip
    assert agent_data(kl.KLearning(optimism=1)) == agent_data(kl.KLearning())
    for agent in (AGENT, calibrated(draws=3), calibrated(thompson_fraction=0.2), kl.KLearning(optimism=0.5)):
        assert build_agent(json.loads(json.dumps(agent_data(agent)))) == agent
    assert agent_data(AGENT)["optimism"] == "calibrated"


def test_what_it_prints():
    assert repr(kl.KLearning()) == "KLearning(temperature='optimal', bonus='reward', tolerance=1e-06)"
    for agent in (AGENT, calibrated(draws=3)):
        assert eval(repr(agent), vars(kl)) == agent
    assert repr(AGENT).endswith("optimism='calibrated')")


def test_the_word_is_the_default_calibration():
    """`optimism="calibrated"` plans as `Calibration()` does, to the byte."""
    belief = kl.Belief.empty(COINS, [1, 3, 3], 2, [1.0])
    policies = []
    for agent in (AGENT, calibrated()):
        streams = Streams(np.random.default_rng(1), np.random.default_rng(2))
        policies.append(agent.plan(agent.begin(belief), streams, 0, np.zeros(len(agent.diagnostics))).policy)
    np.testing.assert_array_equal(*policies)
    assert AGENT.calibration == kl.Calibration()
    assert kl.VAPOR(optimism="calibrated").calibration == kl.Calibration(window=30, thompson_fraction=0.0)
    assert kl.KLearning().calibration is None
    assert AGENT.diagnostics == (*kl.KLearning().diagnostics, *DIAGNOSTICS, "price")


MISTAKES = {
    "too much": ({"optimism": 1.5}, r"optimism=1\.5"),
    "none": ({"optimism": 0.0}, r"optimism=0\.0"),
    "another word": ({"optimism": "calibratd"}, "did you mean 'calibrated'"),
    "a temperature per visit": ({"optimism": "calibrated", "bonus": "visits"}, "another bonus"),
    "a share of a price": ({"optimism": 0.5, "bonus": "split"}, "another bonus"),
    "schedule": ({"optimism": "calibrated", "temperature": "schedule"}, "temperature='optimal'"),
    "a record per visit": ({"optimism": kl.Calibration(2), "bonus": "visits"}, "another bonus"),
}
RECORD_MISTAKES = {
    "draws": ({"draws": 0}, "^draws=0"),
    "window": ({"window": 0}, "^window=0"),
    "margin": ({"margin": -1.0}, "^margin="),
    "a fraction": ({"thompson_fraction": 2.0}, "^thompson_fraction="),
    "a rule": ({"thompson_fraction": "logg"}, "did you mean 'log'"),
}


@pytest.mark.parametrize("name", RECORD_MISTAKES)
def test_mistakes_in_a_calibration(name):
    settings, advice = RECORD_MISTAKES[name]
    with pytest.raises(ValueError, match=advice):
        kl.Calibration(**settings)


@pytest.mark.parametrize(
    ("table", "advice"),
    [({"kind": "calibrate"}, "did you mean 'calibrated'"), ({"draws": 2}, "optimism kind=None"),
     ({"kind": "calibrated", "drws": 2}, "did you mean 'draws'"), ({"kind": "calibrated", "draws": 0}, "draws=0")],
)  # fmt: skip
def test_mistakes_in_data(table, advice):
    with pytest.raises(ValueError, match=advice):
        build_agent({"name": "KLearning", "optimism": table})


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    settings, advice = MISTAKES[name]
    with pytest.raises(ValueError, match=advice):
        kl.KLearning(**settings)


def test_solve_refuses_words():
    with pytest.raises(ValueError, match="optimism='calibrated' is not a number"):
        kl.solve(kl.Belief.empty(COINS, [1], 2, [1.0]), optimism="calibrated")


def test_a_certificate_of_two_arms():
    """E max of two normals is known; and `split` is exact in the cumulants, so its bound is above that."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0))
    belief = kl.Belief.from_counts(prior, [[[3.0, 0.0]]], [[[1.2, 0.0]]], [], [1.0])
    (m, n), (v, w) = belief.reward_means[0][0], belief.reward_variances[0][0]
    spread = math.sqrt(v + w)
    best = m * stats.norm.cdf((m - n) / spread) + n * stats.norm.cdf((n - m) / spread)
    best += spread * stats.norm.pdf((m - n) / spread)
    policy = [np.array([[0.3, 0.7]])]
    told = kl.certify(belief, policy, draws=20_000, seed=3)
    regret = best - (0.3 * m + 0.7 * n)
    assert abs(told.regret - regret) < ERRORS * told.error
    assert told.bound == pytest.approx(kl.solve(belief, bonus="split").bound - (0.3 * m + 0.7 * n))
    assert told.bound > regret
    assert kl.certify(belief, np.array([[0.3, 0.7]]), seed=3) == kl.certify(belief, policy, seed=3)


@pytest.mark.parametrize("stationary", [False, True])
def test_both_values_are_from_the_same_draw(stationary):
    """V* is at least V^π in every draw; and their mean is that of draws of whole MDPs."""
    world = kl.random_mdp(4, 2, 4, COINS, seed=2) if not stationary else kl.river_swim(4, horizon=4)
    prior = replace(COINS, stationary=stationary) if not stationary else kl.Prior(stationary=True)
    belief = kl.Belief.before(prior, world)
    policy = np.full((2, belief.states), 0.5)
    regrets = np.zeros(2000)
    streams = [np.random.default_rng(k) for k in (1, 2, 2)]
    draw_regrets(belief.posterior(), policy, *streams, regrets)
    assert (regrets >= -1e-12).all()
    dense = [belief.sample(seed) for seed in range(500)]
    other = np.array([kl.optimal(mdp).value - kl.evaluate(mdp, policy.T).value for mdp in dense])
    error = math.hypot(regrets.std() / math.sqrt(2000), other.std() / math.sqrt(500))
    assert abs(regrets.mean() - other.mean()) < ERRORS * error
    told = kl.certify(belief, policy.T, seed=5)
    assert told.regret < told.bound < math.inf


@pytest.mark.parametrize("stationary", [False, True])
def test_where_there_is_no_choice_nothing_is_lost(stationary):
    """With one action V* is V^π, to the last digit, if both are from the same draw."""
    belief = kl.Belief.empty(replace(COINS, stationary=stationary), [3, 3, 3], 1, [0.2, 0.3, 0.5])
    told = kl.certify(belief, np.ones((9, 1)))
    assert (told.regret, told.error) == (0.0, 0.0)


def test_certify_refuses():
    belief = kl.Belief.empty(COINS, [1, 2], 2, [1.0])
    even = np.full((3, 2), 0.5)
    for arguments, advice in (
        (("belief", even), "is not a Belief"),
        ((belief, even[:2]), "policy"),
        ((belief, 2 * even), "policy"),
        ((belief, even, 1), "draws=1"),
    ):
        with pytest.raises(ValueError, match=advice):
            kl.certify(*arguments)
    assert "regret=" in repr(kl.certify(belief, even))
    assert "at most" in kl.certify(belief, even)._repr_html_()
