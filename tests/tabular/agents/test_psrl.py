"""PSRL with a concentration: draws from the posterior with all counts times a number."""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.simulators.codec import agent_data, build_agent
from klearning.tabular.beliefs.sampling import draw_concentrated, draw_optimal

DRAWS = 3000
LEAST = 1e-6  # p-value of a Kolmogorov–Smirnov test: below it by chance once in a million tests
CERTAIN = kl.Gaussian(0.0, 1.0, noise=0.0)  # one visit tells a mean reward


def drawn(belief, concentration, seed=0, draws=DRAWS):
    """Q of posterior draws, (draws, A, S)."""
    p, streams = belief.posterior(), [np.random.default_rng([seed, k]) for k in (1, 2)]
    Q, V = np.zeros((draws, belief.actions, belief.states)), np.zeros(belief.states)
    for i in range(draws):
        draw_concentrated(p, concentration, *streams, Q[i], V)
    return Q


def one_arm(reward, rewards):
    belief = kl.Belief.empty(kl.Prior(reward), [1], 1, [1.0])
    for r in rewards:
        belief = belief.update([0], [0], [r])
    return belief


@pytest.mark.thin(3)
@pytest.mark.parametrize("rho", [0.25, 2.0, 10.0])
@pytest.mark.parametrize(
    ("reward", "rewards"),
    [(kl.Gaussian(0.3, 2.0, 0.7), [1.0, 0.2]), (kl.Beta(2.0, 0.5), [1.0, 0.0, 0.0]), (kl.Beta(), []),
     (kl.UnknownNoise(0.0, 1.0, 0.5, strength=2.0), [0.3, 0.9, -0.4]), (kl.UnknownNoise(), [])],
    ids=str,
)  # fmt: skip
def test_mean_rewards(reward, rewards, rho):
    """Gaussian: variance over ρ. Beta: both parameters times ρ. Student: ρ times the visits of mean and noise."""
    belief = one_arm(reward, rewards)
    got, n = drawn(belief, rho)[:, 0, 0], len(rewards)
    mean, sd = belief.reward_means[0][0, 0], np.sqrt(belief.posterior().variance[0, 0] / rho)
    if isinstance(reward, kl.Gaussian):
        law = stats.norm(mean, sd)
    elif isinstance(reward, kl.Beta):
        law = stats.beta(rho * (reward.a + sum(rewards)), rho * (reward.b + n - sum(rewards)))
    else:
        freedom = 2.0 + rho * (reward.strength + n)
        law = stats.t(freedom, mean, sd * np.sqrt((freedom - 2.0) / freedom))
    assert stats.kstest(got, law.cdf).pvalue > LEAST


@pytest.mark.thin(3)
@pytest.mark.parametrize("rho", [0.25, 2.0, 10.0])
@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("transitions", [kl.Dirichlet(0.3), kl.Dirichlet(2.5)], ids=str)
def test_transition_rows(transitions, stationary, rho):
    """The probability of one next state is Beta(ρ α_1, ρ (α − α_1)): α is prior mass and counts."""
    prior = kl.Prior(CERTAIN, transitions, stationary=stationary)
    belief = kl.Belief.empty(prior, [3, 3], 1, [1.0, 0.0, 0.0])
    pays = [0.0, 1.0, 0.0]
    for after in (1, 1, 1, 2):
        belief = belief.update([0, 3 + after], [0, 0], [0.0, pays[after]])
    belief = belief.update([0, 3], [0, 0], [0.0, 0.0])  # now every mean reward of the second step is known
    belief = belief.update([1, 4], [0, 0], [pays[1] if stationary else 0.0, 1.0])
    belief = belief.update([2, 5], [0, 0], [0.0, 0.0])
    mass, n = transitions.mass, 5
    alpha = mass / 3.0 + 3
    got = drawn(belief, rho)[:, 0, 0]
    assert stats.kstest(got, stats.beta(rho * alpha, rho * (mass + n - alpha)).cdf).pvalue > LEAST


def test_a_support():
    """Mass on two states of three, none on the last."""
    prior = kl.Prior(CERTAIN, kl.Dirichlet(1.0, [np.array([[[True, True, False]]])]))
    belief = kl.Belief.empty(prior, [1, 3], 1, [1.0])
    for after, pay in ((1, 1.0), (2, 0.0)):
        belief = belief.update([0, after], [0, 0], [0.0, pay])
    got = drawn(belief, 3.0)[:, 0, 0]
    assert stats.kstest(got, stats.beta(3.0 * 1.5, 3.0 * 1.5).cdf).pvalue > LEAST


def test_known_rows_stay():
    """Only rewards are drawn: with certain rewards every draw is the mean model."""
    world = kl.MDP.from_layers([[[0.0]], [[1.0], [0.0]]], [[[[0.3, 0.7]]]], [1.0])
    belief = kl.Belief.before(kl.Prior(CERTAIN, kl.Known(world)), world)
    belief = belief.update([0, 1], [0, 0], [0.0, 1.0]).update([0, 2], [0, 0], [0.0, 0.0])
    np.testing.assert_allclose(drawn(belief, 5.0, draws=20)[:, 0, 0], 0.3, rtol=1e-12)


@pytest.mark.parametrize("stationary", [False, True])
def test_it_is_the_posterior_of_more_counts(stationary):
    """To the last digits: the draws of a belief whose prior and counts are all ρ times as much."""
    rho, rng = 2.0, np.random.default_rng(3)
    ours = kl.Prior(kl.Beta(1.0, 2.0), kl.Dirichlet(0.6), stationary=stationary)
    more = kl.Prior(kl.Beta(rho, 2.0 * rho), kl.Dirichlet(0.6 * rho), stationary=stationary)
    counts = rng.integers(0, 4, (3, 2, 3)).astype(float)
    visits = counts.sum(axis=2)
    sums = np.floor(visits * rng.random((3, 2)))
    last = np.zeros((3, 2))
    beliefs = []
    for prior, by in ((ours, 1.0), (more, rho)):
        tables = [by * visits, last], [by * sums, last], [by * counts]
        beliefs.append(kl.Belief.from_counts(prior, *tables, [1.0, 0.0, 0.0]))
    one, two = np.zeros((2, 2, beliefs[0].states))
    for seed in range(5):
        streams = [[np.random.default_rng([seed, k]) for k in (1, 2)] for _ in beliefs]
        draw_concentrated(beliefs[0].posterior(), rho, *streams[0], one, np.zeros(one.shape[1]))
        draw_optimal(beliefs[1].posterior(), *streams[1], two, np.zeros(two.shape[1]))
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_one_is_psrl():
    """The default is 1, and has the name, the data and the bytes of PSRL without a concentration."""
    assert kl.PSRL() == kl.PSRL(concentration=1.0)
    assert repr(kl.PSRL(1.0)) == "PSRL()"
    assert agent_data(kl.PSRL()) == {"name": "PSRL"}
    assert repr(kl.PSRL(2.0)) == "PSRL(concentration=2.0)"
    assert build_agent(agent_data(kl.PSRL(2.0))) == kl.PSRL(2.0)


def test_it_explores_less():
    """In a bandit whose second arm is the better one with a posterior chance of a few percent."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0))
    belief = kl.Belief.from_counts(prior, [[[20.0, 3.0]]], [[[20.0, 0.0]]], [], [1.0])
    shares = []
    for rho in (0.5, 1.0, 2.0):
        Q = drawn(belief, rho, draws=2000)[:, :, 0]
        shares.append(float((Q[:, 1] > Q[:, 0]).mean()))
    (m, n), (v, w) = belief.reward_means[0][0], belief.reward_variances[0][0]
    chances = [stats.norm.sf((m - n) / np.sqrt((v + w) / rho)) for rho in (0.5, 1.0, 2.0)]
    errors = [np.sqrt(p * (1.0 - p) / 2000) for p in chances]
    np.testing.assert_array_less(np.abs(np.subtract(shares, chances)), 5.0 * np.array(errors))  # 6e-7 each by chance
