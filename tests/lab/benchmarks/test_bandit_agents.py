"""Bayes-UCB and information-directed sampling: against SciPy, draws and all mixtures."""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.lab.benchmarks.bandits import agents as bandit_agents
from klearning.lab.benchmarks.bandits.agents import (
    BayesUCB,
    InformationDirectedBandit,
    believed,
    regret_and_information,
)

COINS, NORMAL = kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), kl.Prior(kl.Gaussian(0.0, 1.0, 1.0), kl.Dirichlet(1.0))


def arms_of(prior, visits, sums):
    belief = kl.Belief.from_counts(prior, [[visits]], [[sums]], [], [1.0])
    return believed(belief.posterior())


COIN_ARMS = arms_of(COINS, [5, 3, 8], [2, 2, 6])
NORMAL_ARMS = arms_of(NORMAL, [5, 3, 8], [1.0, 2.0, 3.0])


def draws(arms, count=400_000):
    rng = np.random.default_rng(0)
    if arms.coins:
        return rng.beta([3, 3, 7], [4, 2, 3], (count, 3))
    n, sums = np.array([5, 3, 8]), np.array([1.0, 2.0, 3.0])
    return sums / (n + 1) + rng.normal(size=(count, 3)) / np.sqrt(n + 1)


@pytest.mark.parametrize("t", [2, 10, 1000])
def test_bayes_ucb_plays_the_largest_quantile(t):
    quantiles = stats.beta.ppf(1.0 - 1.0 / t, [3, 3, 7], [4, 2, 3])
    assert BayesUCB().mixture(COIN_ARMS, t).argmax() == quantiles.argmax()
    n, sums = np.array([5, 3, 8]), np.array([1.0, 2.0, 3.0])
    quantiles = stats.norm.ppf(1.0 - 1.0 / t, sums / (n + 1), 1.0 / np.sqrt(n + 1))
    assert BayesUCB().mixture(NORMAL_ARMS, t).argmax() == quantiles.argmax()


def test_bayes_ucb_prefers_another_arm_later():
    arms = arms_of(COINS, [100, 4], [60, 2])
    assert BayesUCB().mixture(arms, 2).tolist() == [1.0, 0.0]
    assert BayesUCB().mixture(arms, 100).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("arms", [COIN_ARMS, NORMAL_ARMS], ids=["coins", "normal"])
def test_regret_and_information_by_draws(arms):
    regret, information = regret_and_information(arms)
    x = draws(arms)
    best, means = x.argmax(axis=1), x.mean(axis=0)
    np.testing.assert_allclose(regret, x.max(axis=1).mean() - means, atol=0.003)
    told = np.zeros(3)
    for b in range(3):
        given = x[best == b].mean(axis=0)
        gain = bandit_agents.divergence(given, means) if arms.coins else (given - means) ** 2
        told += (best == b).mean() * gain
    np.testing.assert_allclose(information, told, rtol=0.03)


@pytest.mark.parametrize("arms", [COIN_ARMS, NORMAL_ARMS], ids=["coins", "normal"])
def test_no_mixture_has_a_smaller_ratio(arms):
    regret, information = regret_and_information(arms)
    best = InformationDirectedBandit().mixture(arms, 1)
    assert best.sum() == pytest.approx(1.0)
    mixtures = np.random.default_rng(0).dirichlet(np.full(3, 0.3), 20_000)
    ratios = (mixtures @ regret) ** 2 / (mixtures @ information)
    assert (best @ regret) ** 2 / (best @ information) <= ratios.min() * (1.0 + 1e-12)


def test_an_arm_that_is_surely_best_is_played():
    arms = arms_of(COINS, [100_000, 100_000], [90_000, 10_000])
    assert InformationDirectedBandit().mixture(arms, 5).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("agent", [BayesUCB(), InformationDirectedBandit()], ids=repr)
@pytest.mark.parametrize("prior", [COINS, NORMAL], ids=["coins", "normal"])
def test_they_find_the_better_arm(agent, prior):
    world = kl.bandit([0.1, 0.9], noise="bernoulli" if prior is COINS else 0.3)
    runs = kl.run(agent, world, prior=prior, episodes=60, seeds=3)
    assert (runs.regret[:, -1] - runs.regret[:, 29]).max() < 0.25 * 0.8 * 30


def test_several_states_are_refused():
    with pytest.raises(ValueError, match="one state"):
        BayesUCB().begin(kl.Belief.empty(COINS, [2], 2, [0.5, 0.5]))


def test_both_ways_to_play_have_the_same_law():
    """Bayes-UCB has no randomness but the coins. False alarms: 3 in 1,000."""
    means, seeds = np.array([0.4, 0.6]), range(30)
    runs = kl.run(BayesUCB(), kl.bandit(means, noise="bernoulli"), prior=COINS, episodes=20, seeds=len(seeds))
    here = np.array([bandit_agents.coin_regret(BayesUCB(), means, 20, seed)[-1] for seed in seeds])
    there = runs.regret[:, -1]
    assert abs(here.mean() - there.mean()) < 3.0 * np.sqrt((here.var() + there.var()) / len(seeds))
