"""The mixture of two policies with the least information ratio, against a search; and what a visit tells."""

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.optimism.information import best_mixture, fill_gains, informed_share

COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))


def test_no_other_mixture_is_better():
    """400 quadruples, a thousand mixtures of each; some have their best inside."""
    rng = np.random.default_rng(0)
    q, inside = np.linspace(0.0, 1.0, 1001), 0
    for d, i, e, j in rng.exponential(size=(400, 4)):
        best = best_mixture(d, i, e, j)
        ratio = ((1 - q) * d + q * e) ** 2 / ((1 - q) * i + q * j)
        assert ((1 - best) * d + best * e) ** 2 / ((1 - best) * i + best * j) <= ratio.min() * (1 + 1e-9)
        inside += 0.0 < best < 1.0
    assert inside > 20


def test_a_policy_that_tells_nothing():
    assert best_mixture(1.0, 0.0, 5.0, 1.0) == 1.0
    assert best_mixture(1.0, 1.0, 0.1, 0.0) == 0.0
    assert best_mixture(1.0, 0.0, 1.0, 0.0) == 0.0


@pytest.mark.parametrize("reward", [kl.Beta(1.0, 1.0), kl.Gaussian(0.0, 2.0, 1.0), kl.Gaussian(0.0, 1.0, 0.0)])
def test_what_a_visit_tells(reward):
    """Of a Gaussian mean ½ log of the ratio of variances before and after; of rows only where something follows."""
    visits = [np.array([[3.0, 0.0]]), np.array([[1.0, 2.0], [0.0, 0.0]])]
    sums = [np.zeros((1, 2)), np.zeros((2, 2))]
    belief = kl.Belief.from_counts(
        kl.Prior(reward, kl.Dirichlet(1.0)), visits, sums, [np.array([[[2.0, 1.0], [0.0, 0.0]]])], [1.0]
    )
    gains = np.zeros((2, 3))
    fill_gains(belief.posterior(), gains)
    n = np.concatenate(visits).T
    pseudo = {"Beta": 3.0, "Gaussian": 0.25}[type(reward).__name__]
    of_reward = 0.5 * np.log1p(1.0 / (pseudo + n))
    if reward == kl.Gaussian(0.0, 1.0, 0.0):
        of_reward = np.where(n == 0.0, 0.5 * np.log1p(1e3), 0.0)
    of_rows = 0.5 * np.log1p(1.0 / (1.0 + n))
    of_rows[:, 1:] = 0.0
    np.testing.assert_allclose(gains, of_reward + of_rows, rtol=1e-9)


def test_the_share_of_a_draw_that_tells_more():
    """Two arms with one mean, one of them well known: all that pulls the other one costs nothing and tells more."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0))
    belief = kl.Belief.from_counts(prior, [[[99.0, 0.0]]], [[[0.0, 0.0]]], [], [1.0])
    known, other = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    assert informed_share(belief.posterior(), 0.5, known, other) == 1.0
    assert informed_share(belief.posterior(), 0.5, other, known) == 0.0
    worse = kl.Belief.from_counts(prior, [[[99.0, 9.0]]], [[[0.0, -10.0]]], [], [1.0])
    assert 0.0 < informed_share(worse.posterior(), 0.3, known, other) < 0.2


def test_an_informed_agent():
    """Some of its episodes are greedy in a draw, and it is the same agent twice; and a share that rises."""
    agent = kl.KLearning(optimism=kl.Calibration(thompson_fraction="informed"))
    world = kl.random_mdp(2, 2, 3, COINS, seed=1)
    runs, again = (kl.run(agent, world, prior=COINS, episodes=60, seeds=[3]) for _ in range(2))
    assert 0.1 < runs.diagnostics["thompson"].mean() < 0.9
    np.testing.assert_array_equal(runs.regret, again.regret)
    rising = kl.KLearning(optimism=kl.Calibration(thompson_fraction="log"))
    shares = kl.run(rising, world, prior=COINS, episodes=1000, seeds=4).diagnostics["thompson"].mean(axis=0)
    # 400 and 2000 episodes: 4.4 standard deviations are 0.06 and 0.042
    assert abs(shares[:100].mean() - 0.084) < 0.06
    assert abs(shares[500:].mean() - 0.235) < 0.042
    with pytest.raises(ValueError, match="did you mean 'informed'"):
        kl.Calibration(thompson_fraction="informd")
