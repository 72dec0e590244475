"""A reward prior from outside the package: one class, and its place in FAMILIES."""

import warnings
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.lab import theory
from klearning.tabular.beliefs.rewards import FAMILIES, RewardFamily, RewardPrior


@dataclass(frozen=True)
class Grades(RewardFamily):
    """Rewards between two grades, and no more known: sub-Gaussian, by Hoeffding's lemma, with (best − worst)²/4."""

    worst: float = 1.0
    best: float = 5.0

    @property
    def bounds(self):
        return self.worst, self.best

    def numbers(self):
        middle, noise = (self.worst + self.best) / 2, (self.best - self.worst) ** 2 / 4
        return RewardPrior(middle, noise, 1.0, noise, 0.0)


@pytest.fixture
def grades(monkeypatch):
    monkeypatch.setitem(FAMILIES, "grades", Grades)
    return Grades(1.0, 5.0)


def graded_bandit():
    return kl.bandit([1.5, 4.5, 3.0], noise=0.1)


def same_numbers():
    """The Gaussian that has the numbers of Grades(1, 5)."""
    return kl.Prior(kl.Gaussian(mean=3.0, sd=2.0, noise=2.0))


def test_plans_are_those_of_the_gaussian_with_its_numbers(grades):
    counts = [[[1, 3]]], [[[2.0, 9.0]]], [], [1.0]
    mine, theirs = (kl.solve(kl.Belief.from_counts(prior, *counts)) for prior in (kl.Prior(grades), same_numbers()))
    np.testing.assert_array_equal(mine.k_values, theirs.k_values)
    assert mine.temperature == theirs.temperature > 0.0


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL()], ids=["KLearning", "PSRL"])
def test_agents_run_with_it(grades, agent):
    runs = kl.run(agent, graded_bandit(), prior=kl.Prior(grades), episodes=100, seeds=3)
    theirs = kl.run(agent, graded_bandit(), prior=same_numbers(), episodes=100, seeds=3)
    np.testing.assert_array_equal(runs.regret, theirs.regret)
    assert (runs.regret[:, -1] < 75.0).all()  # it learns: half of what an even choice would lose


def test_a_learner_takes_its_rewards_and_refuses_others(grades):
    learner = kl.Learner(kl.KLearning(), gym.spaces.Discrete(2), gym.spaces.Discrete(2), 3, prior=kl.Prior(grades))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.act(0)
        learner.observe(5.0, 1)
        learner.act(1)
    with pytest.raises(ValueError, match=r"reward=5.5 is outside \[1, 5\], the range of the prior Grades"):
        learner.observe(5.5, 0)
    learner.observe(1.0, 0, terminated=True)
    learner.end_episode()
    assert learner.returns == [6.0]


def test_theory_reads_it(grades):
    belief = kl.Belief.from_counts(kl.Prior(grades), [[[1, 3]]], [[[2.0, 9.0]]], [], [1.0])
    mean, variance = np.array([[2.5, 3.0]]), np.array([[2.0, 1.0]])
    np.testing.assert_allclose(
        theory.cumulants.reward_cumulants(belief, 0.7)[0], 0.7 * mean + 0.245 * variance, rtol=1e-12
    )
    posterior = theory.quadrature(belief, 3)
    np.testing.assert_allclose(posterior.average(posterior.rewards).values[0], mean, rtol=1e-12)
    assert theory.reward_bound(belief, 0.5).holds()
    reasons = theory.breaks_assumption(kl.Prior(grades))
    assert reasons == ["a Grades prior of rewards in [1, 5]: Assumption 1 has [0, 1]"]


def test_its_counts_are_checked(grades):
    with pytest.raises(ValueError, match=r"is 0.5 in 1 visits: rewards lie in \[1, 5\], give a number from 1 to 5"):
        kl.Belief.from_counts(kl.Prior(grades), [[[1, 3]]], [[[0.5, 9.0]]], [], [1.0])


def test_spans_are_as_wide_as_its_rewards(grades):
    assert kl.Prior(grades).spans(3).tolist() == [8.0, 4.0, 0.0]
    assert kl.Prior(kl.Beta()).spans(3).tolist() == kl.Prior().spans(3).tolist() == [2.0, 1.0, 0.0]


def test_worlds_are_drawn_from_it(grades):
    """Means N(3, 4) of 400 draws, by Kolmogorov and Smirnov: 1e-4 by chance."""
    belief = kl.Belief.empty(kl.Prior(grades), [20], 20, np.full(20, 0.05))
    world = belief.sample(4)
    assert world.noise == 2.0
    assert stats.kstest(world.reward.ravel(), stats.norm(3.0, 2.0).cdf).pvalue > 1e-4


def test_its_data(grades):
    assert grades.data() == {"kind": "grades", "worst": 1.0, "best": 5.0}
    assert kl.Gaussian().data() == {"kind": "gaussian", "mean": 0.0, "sd": 1.0, "noise": 0.05}
    for kind, family in FAMILIES.items():
        assert family().data()["kind"] == kind


def test_what_is_not_registered_has_no_data():
    with pytest.raises(ValueError, match="has no name: add its class to"):
        Grades().data()


@dataclass(frozen=True)
class Skewed(Grades):
    def numbers(self):
        return super().numbers()._replace(shift=1.0)


def test_a_family_that_kernels_would_draw_wrong_is_refused():
    with pytest.raises(ValueError, match="give shift=0 for a Gaussian posterior"):
        kl.Prior(Skewed())
    kl.Prior(Skewed(0.0, 1.0))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_a_family_agrees_with_itself(family):
    """Variance at most the proxy, slope of the cumulant the mean, rules of its first two moments; nothing when over."""
    prior = kl.Prior(family(), stationary=True)
    belief = kl.Belief.empty(prior, [3, 3], 2, [0.0, 0.5, 0.5], end=0).update([1, 4], [0, 1], [1.0, 0.0])
    x = belief.mean_rewards()
    variance = prior.reward.variance(x)
    assert (variance <= x.proxy + 1e-15).all()
    draws, (of_world, noise) = (
        draw(x, np.random.default_rng(0)) for draw in (prior.reward.draw, prior.reward.draw_world)
    )
    known = [x.mean, variance, draws, of_world, prior.reward.noises(x)]
    if prior.reward.learns_noise:
        known.append(noise)
    else:
        known.append(prior.reward.cumulant(x, 2.0))
        np.testing.assert_allclose(prior.reward.cumulant(x, 1e-6) / 1e-6, x.mean, atol=1e-5)
        rules = prior.reward.rules(x, 3)
        np.testing.assert_allclose([w @ r for r, w in rules], x.mean.ravel(), atol=1e-12)
        moments = [w @ (r - w @ r) ** 2 for r, w in rules]
        np.testing.assert_allclose(moments, variance.ravel(), atol=1e-12)
    for certain in known:
        assert (certain[:, 0] == 0.0).all()
