"""PSRL draws from the posterior: stick-breaking has the law of gammas over the whole layer.

Seeds are fixed. Each statement says how often a right sampler would fail it with other seeds.
"""

import numpy as np
import pytest
from scipy import stats

import klearning as kl
from klearning.tabular.agents import psrl
from klearning.tabular.agents.value_iteration import planning
from klearning.tabular.beliefs.sampling import draw_optimal, sample_reward
from klearning.tabular.trials.trial import new_task

DRAWS = 8_000
CERTAIN = kl.Gaussian(0.0, 0.0, 0.5)  # rewards
ERRORS = 4.4  # standard errors, two-sided: 1.1e-5 by chance

# counts of the next states, prior mass, whether a support is stated (the states with a True)
ROWS = {
    "never tried": ([0] * 12, 0.3, None),
    "never tried, heavy": ([0] * 12, 5.0, None),
    "never tried, light": ([0] * 12, 0.02, None),
    "one seen, once": ([0, 0, 1, 0, 0, 0, 0, 0], 0.3, None),
    "one seen, often": ([0, 0, 40, 0, 0, 0, 0, 0], 1.0, None),
    "several seen": ([3, 0, 1, 0, 7, 0, 0, 0, 2, 0], 0.3, None),
    "several seen, mass 3.5": ([3, 0, 1, 0, 7, 0, 0, 0, 2, 0], 3.5, None),
    "several seen, heavy": ([3, 0, 1, 0, 7, 0, 0, 0, 2, 0], 6.0, None),
    "all seen": ([2, 5, 1], 2.0, None),
    "one possible": ([4], 0.7, None),
    "wide": ([0] * 150 + [2, 1] + [0] * 148, 0.5, None),
    "support, never tried": ([0, 0, 0, 0, 0, 0], 0.3, [1, 0, 1, 1, 0, 0]),
    "support, some seen": ([2, 0, 0, 5, 0, 0], 0.9, [1, 0, 1, 1, 0, 1]),
    "support of one": ([0, 6, 0], 0.4, [0, 1, 0]),
    "faded to a fraction": ([0.2, 0.0, 0.1, 0.0], 0.3, None),
    "unit mass": ([0, 3, 1, 0, 0], 1.0, None),
    "light, several seen": ([0, 3, 1, 0, 0], 0.05, None),
}


def fork(counts, transitions, rows=1):
    """A belief about N equal states with one action before a layer of these states."""
    n, width = float(np.sum(counts)), len(counts)
    visits = [np.full((rows, 1), n), np.asarray(counts, float)[:, None]]
    zeros = [np.zeros((rows, 1)), np.zeros((width, 1))]
    moves = np.broadcast_to(np.asarray(counts, float), (rows, 1, width))
    return kl.Belief.from_counts(kl.Prior(CERTAIN, transitions), visits, zeros, [moves], np.full(rows, 1 / rows))


def row_posterior(counts, mass, support, rows=1):
    """The belief as the kernels read it, and the Dirichlet's parameters over the whole layer."""
    allowed = np.ones(len(counts)) if support is None else np.asarray(support, float)
    blocks = None if support is None else [np.broadcast_to(allowed, (rows, 1, len(counts)))]
    alpha = np.asarray(counts) + mass * allowed / allowed.sum()
    return fork(counts, kl.Dirichlet(mass, blocks), rows).posterior(), alpha


def stick_draws(p, V, seed):
    """P·V for one draw of every row: rewards are certain, so what the last layer's state pays is V."""
    p.model.reward[:, -len(V) :] = V
    Q, values = np.zeros((1, p.model.layers[-1])), np.zeros(p.model.layers[-1])
    draw_optimal(p, np.random.default_rng(0), np.random.default_rng(seed), Q, values)
    np.testing.assert_array_equal(values[-len(V) :], V)
    return values[: -len(V)]


def dirichlet_draws(alpha, seed):
    """Rows of a Dirichlet from one gamma an entry, as logarithms, for parameters near zero."""
    rng = np.random.default_rng(seed)
    alpha = alpha[alpha > 0]
    logs = np.log(rng.standard_gamma(alpha + 1, (DRAWS, len(alpha)))) + np.log(rng.random((DRAWS, len(alpha)))) / alpha
    gammas = np.exp(logs - logs.max(axis=1, keepdims=True))
    return gammas / gammas.sum(axis=1, keepdims=True)


def directions(width, seed):
    """Values of the next layer: scattered, all but one zero, and rising."""
    rng = np.random.default_rng(seed)
    return {"scattered": rng.normal(size=width), "one": np.eye(width)[rng.integers(width)], "rising": np.arange(width)}


@pytest.mark.thin(7)
@pytest.mark.parametrize("direction", ["scattered", "one", "rising"])
@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_the_law_of_its_dirichlet(row, direction):
    """P·V: mean and variance in closed form, and the whole law against direct draws. By chance: 1.3e-4 each."""
    counts, mass, support = ROWS[row]
    p, alpha = row_posterior(counts, mass, support, DRAWS)
    V = directions(len(counts), 2)[direction].astype(float)
    got = stick_draws(p, V, 1)

    share = alpha / alpha.sum()
    mean = share @ V
    variance = share @ (V - mean) ** 2 / (alpha.sum() + 1)
    off = got - mean
    assert abs(off.mean()) <= ERRORS * off.std() / np.sqrt(DRAWS) + 1e-12
    assert abs((off**2).mean() - variance) <= ERRORS * (off**2).std() / np.sqrt(DRAWS) + 1e-12

    direct = dirichlet_draws(alpha, 3) @ V[alpha > 0]
    # one atom often has all the weight: what differs by rounding is a tie
    assert stats.ks_2samp(got.round(9), direct.round(9), method="asymp").pvalue > 1e-4


def test_weights_sum_to_one():
    """Where all next states are worth the same, so is every draw: no probability is lost or added."""
    for row, (counts, mass, support) in ROWS.items():
        p, _ = row_posterior(counts, mass, support, 500)
        draws = stick_draws(p, np.ones(len(counts)), 4)
        np.testing.assert_allclose(draws, 1.0, rtol=1e-12, err_msg=row)


def test_known_rows_are_not_drawn():
    probabilities = np.array([0.2, 0.5, 0.0, 0.3])
    known = kl.Known([probabilities[None, None]])
    p = kl.Belief.empty(kl.Prior(CERTAIN, known), [1, 4], 1, [1.0]).posterior()
    p.model.reward[0, 1:] = [1.0, -2.0, 7.0, 4.0]
    rng, rewards, Q, V = np.random.default_rng(0), np.random.default_rng(1), np.zeros((1, 5)), np.zeros(5)
    state = rng.bit_generator.state
    for _ in range(5):
        assert draw_optimal(p, rewards, rng, Q, V) == pytest.approx(probabilities @ V[1:], abs=1e-12)
    assert rng.bit_generator.state == state


def test_nothing_lies_behind_the_last_layer():
    p = fork([1, 2], kl.Dirichlet(0.3)).posterior()
    V = np.full(3, 9.0)
    draw_optimal(p, *np.random.default_rng(0).spawn(2), np.full((1, 3), 9.0), V)
    np.testing.assert_array_equal(V, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "total"), [(0, 0.0), (1, 0.7), (30, -4.0)])
def test_gaussian_rewards(n, total):
    """Kolmogorov–Smirnov: 1e-4 by chance."""
    prior = kl.Prior(kl.Gaussian(0.4, 0.9, 0.6))
    p = kl.Belief.from_counts(prior, [[[n]]], [[[total]]], [], [1.0]).posterior()
    precision = 1 / 0.9**2 + n / 0.6**2
    law = stats.norm((0.4 / 0.9**2 + total / 0.6**2) / precision, precision**-0.5)
    rng = np.random.default_rng(5)
    assert stats.kstest([sample_reward(p, 0, 0, rng) for _ in range(DRAWS)], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(("n", "heads"), [(0, 0), (1, 1), (30, 4)])
def test_coin_rewards(n, heads):
    """Kolmogorov–Smirnov: 1e-4 by chance."""
    p = kl.Belief.from_counts(kl.Prior(kl.Beta(0.7, 1.6)), [[[n]]], [[[heads]]], [], [1.0]).posterior()
    law = stats.beta(0.7 + heads, 1.6 + n - heads)
    rng = np.random.default_rng(6)
    assert stats.kstest([sample_reward(p, 0, 0, rng) for _ in range(DRAWS)], law.cdf).pvalue > 1e-4


def test_certain_rewards_are_not_perturbed():
    """A prior without spread, and a noiseless reward that was seen."""
    for prior in (kl.Gaussian(0.3, 0.0, 0.5), kl.Gaussian(0.0, 1.0, 0.0)):
        p = kl.Belief.from_counts(kl.Prior(prior), [[[2]]], [[[0.6]]], [], [1.0]).posterior()
        assert sample_reward(p, 0, 0, np.random.default_rng(0)) == pytest.approx(0.3, abs=1e-12)


def test_streams_for_rewards_and_rows_are_independent():
    """One stream a use: correlations of 20 000 draws within 4.4 standard errors. By chance: 7e-5 in all."""
    task = new_task(kl.PSRL(), kl.deep_sea(3), 1, seed=0)
    streams = (task.world_stream, task.action_stream, task.reward_stream, task.row_stream)
    draws = np.array([stream.standard_normal(20_000) for stream in streams])
    assert np.abs(np.corrcoef(draws)[np.triu_indices(4, 1)]).max() < ERRORS / np.sqrt(20_000)


def believed_fork():
    """One state with two actions before three states, each tried a little."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.5), kl.Dirichlet(0.8))
    visits = [np.array([[3.0, 1.0]]), np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 0.0]])]
    sums = [np.array([[1.0, -0.5]]), np.array([[0.5, 0.0], [-1.0, 2.0], [0.0, 0.0]])]
    counts = [np.array([[[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]]])]
    return kl.Belief.from_counts(prior, visits, sums, counts, [1.0]), visits, sums, counts


def direct_q_values(visits, sums, counts):
    """Q of MDPs drawn without PSRL: (draws, 2) of the first state."""
    rng = np.random.default_rng(8)
    rewards = []
    for n, total in zip(visits, sums):
        precision = 1 + n / 0.25
        rewards.append(rng.normal(total / 0.25 / precision, precision**-0.5, (DRAWS, *n.shape)))
    V = rewards[1].max(axis=2)
    rows = np.stack([dirichlet_draws(counts[0][0, a] + 0.8 / 3, 9 + a) for a in range(2)], axis=1)
    return rewards[0][:, 0] + np.einsum("nay,ny->na", rows, V)


def test_a_whole_plan_has_the_law_of_a_drawn_mdp():
    """Q(·, 1), Q(·, 2), their sum and their difference, with the streams of a run. By chance: 4e-4."""
    belief, *statistics = believed_fork()
    task, memory = new_task(kl.PSRL(), kl.deep_sea(2), 1, seed=7), planning(belief.posterior())
    got = np.zeros((DRAWS, 2))
    for i in range(DRAWS):
        psrl.plan(memory, 1.0, task.reward_stream, task.row_stream)
        got[i] = memory.Q[:, 0]
        assert memory.policy[memory.Q[:, 0].argmax(), 0] == 1.0
    want = direct_q_values(*statistics)
    for mix in ([1, 0], [0, 1], [1, 1], [1, -1]):
        assert stats.ks_2samp(got @ mix, want @ mix).pvalue > 1e-4


def test_plans_are_drawn_afresh():
    belief, *_ = believed_fork()
    memory, streams = planning(belief.posterior()), np.random.default_rng(1).spawn(2)
    seen = set()
    for _ in range(20):
        psrl.plan(memory, 1.0, *streams)
        seen.add(memory.Q.tobytes())
    assert len(seen) == 20


def test_covariances_of_a_row():
    """Entries of one row, by the values of unit vectors under one seed: every mean and covariance of the Dirichlet.

    Weights and places are the same whatever V is. 14 numbers within 4.4 standard errors: 1.5e-4 by chance.
    """
    counts, mass = [2, 0, 1, 0], 0.7
    P = np.array([stick_draws(row_posterior(counts, mass, None, DRAWS)[0], V, 1) for V in np.eye(4)]).T
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    alpha = np.asarray(counts) + mass / 4
    share, total = alpha / alpha.sum(), alpha.sum()
    off = P - share
    assert (np.abs(off.mean(axis=0)) <= ERRORS * off.std(axis=0) / np.sqrt(DRAWS)).all()
    products = off[:, :, None] * off[:, None]
    covariance = (np.diag(share) - np.outer(share, share)) / (total + 1)
    assert (np.abs(products.mean(axis=0) - covariance) <= ERRORS * products.std(axis=0) / np.sqrt(DRAWS)).all()
    assert np.abs(np.corrcoef(P[1:, 0], P[:-1, 0])[0, 1]) < ERRORS / np.sqrt(DRAWS)  # rows are independent


def believed(prior, stationary):
    """What is believed after some episodes in a small world."""
    world = kl.random_mdp([3] * 4, actions=2, prior=kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), seed=5)
    belief, rng = kl.Belief.before(kl.Prior(*prior, stationary=stationary), world), np.random.default_rng(3)
    for _ in range(4):
        states = 3 * np.arange(4) + rng.integers(3, size=4)
        belief = belief.update(states, rng.integers(2, size=4), rng.integers(2, size=4).astype(float))
    return belief


PRIORS = {
    "gaussian": (kl.Gaussian(0.0, 1.0, 0.5), kl.Dirichlet(0.3)),
    "coins": (kl.Beta(), kl.Dirichlet(1.0)),
    "unknown noise": (kl.UnknownNoise(), kl.Dirichlet(3.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("stationary", [False, True], ids=["layered", "stationary"])
@pytest.mark.parametrize("name", PRIORS)
def test_the_optimal_value_of_a_draw_is_that_of_a_dense_draw(name, stationary):
    """E_ρ V* of `draw_optimal` against `Belief.sample`, solved: Kolmogorov–Smirnov, 1e-4 by chance."""
    belief, streams = believed(PRIORS[name], stationary), np.random.default_rng(9).spawn(2)
    p, Q, V = belief.posterior(), np.zeros((2, 12)), np.zeros(12)
    got = [draw_optimal(p, *streams, Q, V) for _ in range(2000)]
    dense = [kl.optimal(belief.sample(seed)).value for seed in range(1000)]
    assert stats.ks_2samp(got, dense).pvalue > 1e-4
