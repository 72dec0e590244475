"""Forks: an agent that ignores uncertainty about transitions has linear Bayes regret there."""

import numpy as np
import pytest

import klearning as kl
from bench.forks import SAFE, chances, fork_regret

EPISODES = 400
REWARD_BONUS = kl.KLearning(temperature="optimal", bonus="reward", optimism=1.0)


def mean_regret(agent, known, episodes=EPISODES):
    return np.mean([fork_regret(agent, float(p), known, episodes) for p in chances()], axis=0)


def test_the_prior_says_what_a_safe_road_costs():
    """E max(p, 0.51) − 0.51 for p ~ Beta(½, ½), and 40 forks stand for it."""
    drawn = np.maximum(np.random.default_rng(0).beta(0.5, 0.5, 10**6), SAFE).mean() - SAFE
    assert drawn == pytest.approx(0.154, abs=0.001)
    assert np.maximum(chances(), SAFE).mean() - SAFE == pytest.approx(0.154, abs=0.001)


def test_the_reward_bonus_has_linear_regret():
    losses = np.diff(mean_regret(REWARD_BONUS, known=True))
    np.testing.assert_allclose(losses, 0.154, atol=0.001)


@pytest.mark.parametrize(
    "agent", [kl.PSRL(), kl.KLearning(bonus="split"), kl.InformationDirected()], ids=lambda a: type(a).__name__
)
def test_these_have_not(agent):
    regret = mean_regret(agent, known=True)
    early, late = regret[99], regret[-1] - regret[-101]
    assert late < 0.25 * early
    assert late / 100 < 0.1 * 0.154


def test_unknown_rewards_hide_it_for_some_time():
    """Later the reward bonus loses several times as much as Thompson sampling does."""
    ours, theirs = (mean_regret(agent, False, 2000) for agent in (REWARD_BONUS, kl.PSRL()))
    assert ours[199] < 1.3 * theirs[199]
    assert ours[-1] - ours[999] > 2.0 * (theirs[-1] - theirs[999])
