"""Conjugate updates against closed forms and Bayes' rule on a grid; posterior samples against their moments."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import klearning as kl
from klearning.tabular.beliefs.tables import tables_for
from tests.support import oracles
from tests.support.cases import REWARDS, TRANSITIONS, any_number, cases, modest, random_case
from tests.support.oracles import assert_close

DRAWS = 3000


def one_arm(reward, visits, total):
    return kl.Belief.from_counts(kl.Prior(reward), [[[visits]]], [[[total]]], [], [1.0])


def draws(belief, count=DRAWS):
    """Rewards (count, S, A) and transitions, by layer (count, S_l, A, S_{l+1}), of that many samples."""
    worlds = [belief.sample(seed) for seed in range(count)]
    rewards = np.stack([np.concatenate(w.rewards) for w in worlds])
    return rewards, [np.stack(layer) for layer in zip(*(w.transitions for w in worlds))]


def assert_moments(x, mean, variance):
    """Means and variances over the first axis within 5 standard errors; both of N draws, by the CLT."""
    root = np.sqrt(len(x))
    assert (np.abs(x.mean(axis=0) - mean) <= 5 * np.sqrt(variance) / root + 1e-12).all()
    squares = (x - mean) ** 2
    assert (np.abs(squares.mean(axis=0) - variance) <= 5 * squares.std(axis=0) / root + 1e-12).all()


@modest
@given(cases(any_number))
def test_posterior_means_and_variances(case):
    belief = case.belief()
    m, P, _ = case.mean_model()
    assert_close(belief.reward_means, m)
    assert_close(belief.reward_variances, [variance for _, variance in case.rewards()])
    assert_close(belief.transition_means, P)


@pytest.mark.parametrize(("visits", "total"), [(0, 0.0), (1, 0.9), (7, -2.0), (40, 55.0)])
def test_gaussian_posterior_is_bayes_rule(visits, total):
    prior = kl.Gaussian(0.3, 0.7, 0.5)
    mu = np.linspace(-5, 5, 20_001)
    log_posterior = stats.norm.logpdf(mu, 0.3, 0.7) - (visits * mu**2 - 2 * total * mu) / (2 * 0.5**2)
    weight = np.exp(log_posterior - log_posterior.max())
    mean = np.average(mu, weights=weight)
    variance = np.average((mu - mean) ** 2, weights=weight)
    belief = one_arm(prior, visits, total)
    assert_close([belief.reward_means[0], belief.reward_variances[0]], [[[mean]], [[variance]]], 1e-9)


@pytest.mark.parametrize(("flips", "heads"), [(0, 0), (3, 3), (10, 4)])
def test_beta_posterior_is_bayes_rule(flips, heads):
    p = (np.arange(40_000) + 0.5) / 40_000
    weight = stats.beta.pdf(p, 1.5, 2.5) * p**heads * (1 - p) ** (flips - heads)
    mean = np.average(p, weights=weight)
    variance = np.average((p - mean) ** 2, weights=weight)
    belief = one_arm(kl.Beta(1.5, 2.5), flips, heads)
    assert_close([belief.reward_means[0], belief.reward_variances[0]], [[[mean]], [[variance]]], 1e-6)


@st.composite
def histories(draw):
    """A case without visits, and episodes that its prior allows."""
    blank = draw(cases(any_number))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    first = np.concatenate([[0], np.cumsum(blank.widths)])
    episodes = []
    for _ in range(draw(st.integers(1, 12))):
        actions = rng.integers(blank.actions, size=blank.horizon)
        states = [rng.integers(blank.widths[0])]
        for l in range(blank.horizon - 1):
            row = blank.prior_alpha[l][states[l], actions[l]]
            states.append(rng.choice(len(row), p=row / row.sum()))
        rewards = rng.integers(0, 2, blank.horizon).astype(float)
        episodes.append((np.add(first[:-1], states), actions, rewards))
    return blank, episodes


@modest
@given(histories())
def test_updates_agree_with_counts(history):
    case, episodes = history
    belief = kl.Belief.empty(case.prior, case.widths, case.actions, case.initial)
    offset = np.concatenate([[0], np.cumsum(case.widths)])
    visits = [np.zeros_like(n) for n in case.visits]
    sums = [np.zeros_like(n) for n in case.visits]
    counts = [np.zeros_like(n) for n in case.counts]
    for states, actions, rewards in episodes:
        belief = belief.update(states, actions, rewards)
        for l, (s, a, r) in enumerate(zip(states - offset[:-1], actions, rewards)):
            visits[l][s, a] += 1
            sums[l][s, a] += r
            if l + 1 < case.horizon:
                counts[l][s, a, states[l + 1] - offset[l + 1]] += 1
    at_once = kl.Belief.from_counts(case.prior, visits, sums, counts, case.initial)
    for name in ("reward_means", "reward_variances", "transition_means"):
        assert_close(getattr(belief, name), getattr(at_once, name))
    for bonus in ("paper", "sharp", "reward"):
        one, other = kl.solve(belief, 0.5, bonus), kl.solve(at_once, 0.5, bonus)
        assert_close(one.k_values, other.k_values)
        assert_close(one.policy, other.policy)


def test_update_leaves_the_belief_as_it_was():
    case = random_case(np.random.default_rng(3), [2, 6], 2)
    belief = case.belief()
    before = [*belief.reward_means, *belief.reward_variances, *belief.transition_means]
    for y in range(6):
        belief.update([0, 2 + y], [1, 0], [5.0, -5.0])
    assert_close([*belief.reward_means, *belief.reward_variances, *belief.transition_means], before, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("transitions", ["even", "support"])
def test_samples_have_the_posterior_moments(reward, transitions):
    """About 100 numbers within 5 standard errors: 6e-5 by chance for each of the four."""
    case = random_case(np.random.default_rng(5), [2, 4, 3], 2, reward, transitions)
    rewards, rows = draws(case.belief())
    mean, variance = (np.concatenate(x) for x in zip(*case.rewards()))
    assert_moments(rewards, mean, variance)
    for P, alpha in zip(rows, case.alpha()):
        p, mass = oracles.normalised(alpha), alpha.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(P.sum(axis=-1), 1.0, atol=1e-12)
        assert_moments(P, p, p * (1 - p) / (mass + 1))


@pytest.mark.slow
@pytest.mark.parametrize("reward", [kl.Gaussian(0.5, 2.0, 1.5), kl.Beta(0.7, 1.2)])
def test_samples_have_the_posterior_distribution(reward):
    """Kolmogorov–Smirnov on 6 marginals at 1e-7 each: 6e-7 by chance."""
    alpha = np.array([0.2 + 1.0, 0.2 + 0.0, 0.2 + 4.0])
    belief = kl.Belief.from_counts(
        kl.Prior(reward, kl.Dirichlet(0.6)), [[[5.0]], np.zeros((3, 1))], [[[2.0]], np.zeros((3, 1))],
        [[[[1.0, 0.0, 4.0]]]], [1.0],
    )  # fmt: skip
    rewards, rows = draws(belief)
    if isinstance(reward, kl.Gaussian):
        mean, variance = oracles.gaussian_posterior(0.5, 2.0, 1.5, np.array([5.0, 0.0]), np.array([2.0, 0.0]))
        laws = [stats.norm(mean[i], np.sqrt(variance[i])) for i in range(2)]
    else:
        laws = [stats.beta(0.7 + 2, 1.2 + 3), stats.beta(0.7, 1.2)]
    for state, law in enumerate(laws):
        assert stats.kstest(rewards[:, state, 0], law.cdf).pvalue > 1e-7
    for y in range(3):
        law = stats.beta(alpha[y], alpha.sum() - alpha[y])
        assert stats.kstest(rows[0][:, 0, 0, y], law.cdf).pvalue > 1e-7
    ratio = rows[0][:, 0, 0, 0] / (rows[0][:, 0, 0, 0] + rows[0][:, 0, 0, 2])  # neutral: Beta of its own two
    assert stats.kstest(ratio, stats.beta(alpha[0], alpha[2]).cdf).pvalue > 1e-7


@pytest.mark.slow
def test_rewards_and_transitions_are_independent():
    """Rank correlations of 24 pairs below 5 standard errors: 1.4e-5 by chance."""
    case = random_case(np.random.default_rng(8), [1, 3], 2)
    rewards, rows = draws(case.belief())
    everything = np.concatenate([rewards.reshape(DRAWS, -1), rows[0].reshape(DRAWS, -1)], axis=1)
    between = stats.spearmanr(everything).statistic[: rewards[0].size, rewards[0].size :]
    assert np.abs(between).max() < 5 / np.sqrt(DRAWS)


def test_a_reward_draw_does_not_depend_on_the_transition_prior():
    uncertain = random_case(np.random.default_rng(1), [2, 3], 2, transitions="even")
    P = uncertain.mean_model()[1]
    known = kl.Belief.from_counts(
        kl.Prior(uncertain.reward, kl.Known(P)), uncertain.visits, uncertain.reward_sums, uncertain.counts,
        uncertain.initial,
    )  # fmt: skip
    assert_close(uncertain.belief().sample(4).rewards, known.sample(4).rewards, 0.0)


def test_samples_repeat_with_their_seed_and_differ_without():
    belief = random_case(np.random.default_rng(2), [2, 3], 2).belief()
    assert_close(belief.sample(1).transitions, belief.sample(1).transitions, 0.0)
    assert (belief.sample(1).transitions[0] != belief.sample(2).transitions[0]).all()
    assert (belief.sample(1).rewards[0] != belief.sample(2).rewards[0]).all()


@modest
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 20.0]))
def test_the_stated_support_is_never_left(seed, mass):
    rng = np.random.default_rng(seed)
    case = random_case(rng, [3, 5, 4], 2, transitions="support")
    support = [alpha > 0 for alpha in case.prior_alpha]
    prior = kl.Prior(case.reward, kl.Dirichlet(mass, support=support))
    belief = kl.Belief.from_counts(prior, case.visits, case.reward_sums, case.counts, case.initial)
    for P, mean, allowed in zip(belief.sample(seed).transitions, belief.transition_means, support):
        assert (P[~allowed] == 0).all()
        assert (mean[~allowed] == 0).all()
        assert (mean[allowed] > 0).all()
        np.testing.assert_allclose(P.sum(axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize("world", [kl.deep_sea(5), kl.deep_sea(5, slip=0.2, mapping_seed=1), kl.river_swim(4, 3)])
def test_a_support_may_be_read_off_a_world(world):
    belief = kl.Belief.empty(
        kl.Prior(transitions=kl.Dirichlet(0.7, support=world)), world.widths, world.actions, world.initial
    )
    for mean, P in zip(belief.transition_means, world.transitions):
        np.testing.assert_allclose(mean, oracles.normalised((P > 0).astype(float)), atol=1e-15)


def test_a_transition_of_probability_zero_is_no_part_of_the_support():
    world = kl.deep_sea(4, slip=1.0)
    belief = kl.Belief.before(kl.Prior(transitions=kl.Dirichlet(support=world)), world)
    for mean, P in zip(belief.transition_means, world.transitions):
        assert (mean[P == 0] == 0).all()


def test_known_transitions_stay_as_they_are():
    case = random_case(np.random.default_rng(4), [2, 3, 2], 2, transitions="known")
    belief = case.belief().update([0, 2, 5], [0, 1, 1], [1.0, 2.0, 3.0])
    for P, mean, drawn in zip(case.prior_alpha, belief.transition_means, belief.sample(0).transitions):
        np.testing.assert_allclose(mean, P, atol=1e-15)
        np.testing.assert_allclose(drawn, P, atol=1e-15)


def test_known_transitions_may_be_read_off_a_world():
    world = kl.deep_sea(4, slip=0.3, mapping_seed=2)
    belief = kl.Belief.before(kl.Prior(transitions=kl.Known(world)), world)
    assert_close(belief.sample(0).transitions, world.transitions, 0.0)


@pytest.mark.parametrize("mass", [1e-4, 1e-2])
def test_a_tiny_mass_draws_proper_rows(mass):
    belief = kl.Belief.empty(kl.Prior(transitions=kl.Dirichlet(mass)), [3, 50], 2, np.full(3, 1 / 3))
    for seed in range(50):
        P = belief.sample(seed).transitions[0]
        np.testing.assert_allclose(P.sum(axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("reward", "visits", "total", "mean", "variance"),
    [
        (kl.Gaussian(0.5, 2.0, 0.0), 0, 0.0, 0.5, 4.0),  # noiseless, unseen: the prior
        (kl.Gaussian(0.5, 2.0, 0.0), 3, 2.4, 0.8, 0.0),  # noiseless, seen: known
        (kl.Gaussian(0.5, 0.0, 1.0), 9, 90.0, 0.5, 0.0),  # known from the start
        (kl.Gaussian(0.5, 0.0, 0.0), 2, 1.0, 0.5, 0.0),
        (kl.Gaussian(0.5, 1e-50, 1.0), 3, 2.0, 0.5, 0.0),  # as good as known
        (kl.Gaussian(0.5, 1.0, 1.0), 1e12, 2e12, 2.0, 1e-12),
        (kl.Beta(1.0, 1.0), 1e12, 1e12, 1.0, 1e-24),
    ],
)
def test_limits_of_certainty(reward, visits, total, mean, variance):
    belief = one_arm(reward, visits, total)
    assert belief.reward_means[0] == pytest.approx(mean, rel=1e-11)
    assert belief.reward_variances[0] == pytest.approx(variance, rel=1e-3, abs=1e-30)
    assert belief.sample(0).rewards[0] == pytest.approx(mean, abs=7 * np.sqrt(variance) + 1e-9)


@pytest.mark.parametrize("visits", [1e15, 1e17])
def test_a_coin_can_be_drawn_after_any_number_of_heads(visits):
    assert one_arm(kl.Beta(1.0, 1.0), visits, visits).sample(0).rewards[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("transitions", TRANSITIONS)
def test_the_worlds_noise_is_the_rewards(transitions):
    rng = np.random.default_rng(0)
    assert random_case(rng, [1, 2], 2, "beta", transitions).belief().sample().noise == "bernoulli"
    gaussian = random_case(rng, [1, 2], 2, "gaussian", transitions)
    assert gaussian.belief().sample().noise == gaussian.reward.noise


def test_before_a_world_is_empty_of_its_shape():
    world = replace(kl.river_swim(states=3, horizon=4), end=1)
    belief = kl.Belief.before(kl.Prior(), world)
    same = kl.Belief.empty(kl.Prior(), [3] * 4, 2, world.initial, end=1)
    assert belief.end == same.end == 1
    for mine, theirs in ((belief.layers, same.layers), (belief.visits, same.visits), (belief.initial, same.initial)):
        np.testing.assert_array_equal(mine, theirs)
    assert np.isinf(belief.visits[:, 1::3]).all()


@pytest.mark.parametrize("stationary", [False, True])
def test_tables_there_and_back(stationary):
    """Rows from blocks and blocks from rows; what layers share is added up."""
    rng, tables = np.random.default_rng(0), tables_for(np.arange(4) * 3, stationary)
    counts = [rng.integers(0, 3, (3, 2, 3)).astype(float) for _ in range(2)]
    blocks = tables.to_blocks(tables.to_rows(tables.summed_blocks(counts), 2))
    assert_close(blocks, [counts[0] + counts[1]] if stationary else counts, 0.0)
    assert_close(tables.in_steps(blocks), [counts[0] + counts[1]] * 2 if stationary else counts, 0.0)
    visits = [rng.integers(0, 3, (3, 2)).astype(float) for _ in range(3)]
    table = tables.summed(np.concatenate(visits).T)
    assert table.shape == (2, tables.height)
    assert_close(tables.in_layers(table), [sum(visits)] * 3 if stationary else visits, 0.0)


@pytest.mark.parametrize("world", [kl.river_swim(states=4, horizon=3), kl.bandit([0.0] * 3), kl.deep_sea(3)], ids=str)
def test_one_table_is_read_off_a_world_of_its_shape_only(world):
    prior = kl.Prior(transitions=kl.Known(world), stationary=True)
    with pytest.raises(ValueError, match="has other states than 3 in every layer, or other actions"):
        kl.Belief.empty(prior, [3] * 3, 2, [1.0, 0.0, 0.0])
