"""A share ν of the price of unknown transitions: its ends are known sweeps, and the search finds the least."""

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.models.soft import soft_sweep
from klearning.tabular.optimism.calibration import PRECISION, calibrate_with_price
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.split.blended_sweep import blended_arrays, blended_sweep
from klearning.tabular.optimism.split.priced_sweep import priced_sweep
from klearning.tabular.trials.trial import Trial

COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))


def belief(stationary=False, episodes=4):
    """Some of it is seen, some not, some twice."""
    world = kl.random_mdp(3, 2, 4, COINS, seed=3) if not stationary else kl.river_swim(3, horizon=4)
    prior = COINS if not stationary else kl.Prior(stationary=True)
    begun = kl.Belief.before(prior, world)
    trial = Trial(kl.PSRL(), world, prior, 1, episodes, 1)
    for _ in trial.chunks(size=episodes):
        pass
    return begun.after(trial.memory.posterior)


@pytest.mark.slow
@pytest.mark.parametrize("stationary", [False, True])
def test_the_ends_are_the_two_sweeps(stationary):
    believed = belief(stationary)
    priced, plain = program(believed, "split"), program(believed, "reward")
    room = blended_arrays(believed, priced.posterior)
    for tau in (0.05, 0.4, 3.0):
        whole = priced_sweep(priced.model, priced.c, tau, priced.work)
        none = soft_sweep(plain.model, plain.c, tau, plain.work)
        assert blended_sweep(priced.model, priced.c, 1.0, tau, room) == pytest.approx(whole, rel=1e-12)
        assert blended_sweep(priced.model, priced.c, 0.0, tau, room) == pytest.approx(none, rel=1e-12)
        assert none[0] < blended_sweep(priced.model, priced.c, 0.3, tau, room)[0] < whole[0]


@pytest.mark.slow
def test_derivatives_in_between():
    """f′ = H̄ − C̄/τ² and f″, against differences."""
    ready = program(belief(), "split")
    room = blended_arrays(ready.belief, ready.posterior)
    tau, h = 0.3, 1e-4
    (down, *_), (f, H, C, second), (up, *_) = (
        blended_sweep(ready.model, ready.c, 0.4, tau + step, room) for step in (-h, 0.0, h)
    )
    assert H - C / tau**2 == pytest.approx((up - down) / (2 * h), rel=1e-5)
    assert second == pytest.approx((up - 2 * f + down) / h**2, rel=1e-4)


def searched(believed, target):
    ready = program(believed, "split")
    room = blended_arrays(believed, ready.posterior)
    policy, scaled = np.zeros_like(ready.c), np.zeros_like(ready.c)
    return calibrate_with_price(ready.model, ready.c, target, 0.5, 0.0, 1e-10, policy, scaled, room), policy


@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_the_search_meets_its_target(stationary, share):
    believed = belief(stationary)
    low, high = (kl.solve(believed, bonus=bonus).bound for bonus in ("reward", "split"))
    target = low + share * (high - low)
    found, policy = searched(believed, target)
    assert found.optimism == 1.0
    assert 0.0 < found.price < 1.0
    assert abs(found.temperature.bound - target) <= PRECISION * (high - low)
    np.testing.assert_allclose(policy.sum(axis=0), 1.0)


def test_no_more_than_is_needed():
    believed = belief()
    low, high = (kl.solve(believed, bonus=bonus) for bonus in ("reward", "split"))
    found, policy = searched(believed, high.bound + 1.0)
    assert (found.optimism, found.price) == (1.0, 1.0)
    assert found.temperature.bound == pytest.approx(high.bound)
    np.testing.assert_allclose(policy.T, np.concatenate(high.policy), atol=1e-5)
    found, _ = searched(believed, low.bound - 0.1)
    assert found.optimism < 1.0
    assert found.price == 0.0


def test_where_rewards_are_certain():
    """κ is of no use there, and the price alone meets the target."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, noise=0.0), kl.Dirichlet(1.0))
    visits, sums = [np.array([[4.0, 2.0]]), np.ones((2, 2))], [np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])]
    believed = kl.Belief.from_counts(prior, visits, sums, [np.array([[[3.0, 1.0], [1.0, 1.0]]])], [1.0])
    low, high = (kl.solve(believed, bonus=bonus).bound for bonus in ("reward", "split"))
    assert low < high
    target = 0.5 * (low + high)
    found, _ = searched(believed, target)
    assert 0.0 < found.price < 1.0
    assert abs(found.temperature.bound - target) <= PRECISION * (high - low)


@pytest.mark.slow
def test_an_agent_takes_the_price_where_it_must():
    """Only where the whole bonus is too little, and nothing is short unless the whole price is."""
    agent = kl.KLearning(bonus="split", optimism=kl.Calibration(thompson_fraction=0.0))
    told = kl.run(agent, kl.deep_sea(5), episodes=40, seeds=[1, 2]).diagnostics
    priced = told["price"] > 0.0
    assert priced.any()
    assert (told["optimism"][priced] == 1.0).all()
    assert (told["price"][told["shortfall"] > 5e-3] == 1.0).all()
