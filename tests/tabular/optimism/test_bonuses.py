"""With the `sharp` bonus K bounds certainty equivalents: K ≥ τ log E exp(Q*/τ)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import hyp1f1

import klearning as kl
from tests.support.cases import random_case

DRAWS = 40_000


def posterior_q_values(case, rng):
    """Q* of that many draws of the posterior, (draws, S_l, A) a layer."""
    Q = [None] * case.horizon
    V = None
    for l in reversed(range(case.horizon)):
        n, total = case.visits[l], case.reward_sums[l]
        if isinstance(case.reward, kl.Beta):
            Q[l] = rng.beta(case.reward.a + total, case.reward.b + n - total, size=(DRAWS, *n.shape))
        else:
            mean, variance = list(case.rewards())[l]
            Q[l] = rng.normal(mean, np.sqrt(variance), size=(DRAWS, *n.shape))
        if V is not None:
            gammas = rng.standard_gamma(case.alpha()[l], size=(DRAWS, *case.alpha()[l].shape))
            Q[l] = Q[l] + np.einsum("nsay,ny->nsa", gammas / gammas.sum(axis=-1, keepdims=True), V)
        V = Q[l].max(axis=2)
    return Q


def least_certainty_equivalent(Q, tau, errors=5.0):
    """A lower confidence limit on τ log E exp(Q/τ), that many standard errors below the estimate."""
    top = Q.max(axis=0)
    x = np.exp((Q - top) / tau)
    low = x.mean(axis=0) - errors * x.std(axis=0) / np.sqrt(len(Q))
    return top + tau * np.log(np.maximum(low, 1e-300))


@pytest.mark.thin(3)
@pytest.mark.parametrize("transitions", ["even", "support"])
@pytest.mark.parametrize("reward", ["gaussian", "beta"])
@pytest.mark.parametrize("seed", range(3))
def test_k_bounds_the_certainty_equivalents(seed, reward, transitions):
    """5 standard errors, one-sided, on 45 numbers, were every bound tight: 1.3e-5 by chance for each of the 12.

    Gaussian rewards have no range: their span is taken above what any draw shows.
    """
    rng = np.random.default_rng([seed, len(reward)])
    case = random_case(rng, [2, 3, 2], 2, reward, transitions, most=6)
    Q = posterior_q_values(case, rng)
    if reward == "gaussian":
        case = replace(case, span=1.2 * max(np.ptp(q.max(axis=2), axis=1).max() for q in Q[1:]))
    belief = case.belief()
    best = kl.solve(belief, bonus="sharp").temperature
    for tau in (best, 2 * best, 10.0):
        plan = kl.solve(belief, tau, "sharp")
        for K, q in zip(plan.k_values, Q):
            assert (least_certainty_equivalent(q, tau) - 1e-9 <= K).all()
        starts = np.einsum("s,ns->n", case.initial, Q[0].max(axis=2))
        assert plan.bound >= starts.mean() - 5 * starts.std() / np.sqrt(DRAWS)


def test_the_bound_on_a_known_chain_is_tight():
    """Gaussian rewards, known P, one action: Q* is Gaussian and K its certainty equivalent, up to simulation.

    4 numbers within 5 standard errors: 2.3e-6 by chance.
    """
    case = random_case(np.random.default_rng(0), [1, 1, 1, 1], 1, "gaussian", "known")
    Q = posterior_q_values(case, np.random.default_rng(1))
    for K, q in zip(kl.solve(case.belief(), 2.0, "sharp").k_values, Q):
        x = np.exp((q - K) / 2.0)
        assert abs(x.mean() - 1.0) < 5 * x.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("tau", [0.02, 0.1, 0.5, 2.0, 20.0])
@pytest.mark.parametrize(("heads", "tails"), [(0.5, 0.5), (1, 1), (3, 1), (0.2, 6), (40, 60)])
def test_a_coin_against_its_exact_certainty_equivalent(heads, tails, tau):
    """τ log E exp(p/τ) for p ~ Beta is τ log ₁F₁; the bound is within a tenth where the coin is fair and τ is large."""
    belief = kl.Belief.empty(kl.Prior(kl.Beta(heads, tails)), [1], 1, [1.0])
    K = kl.solve(belief, tau, "sharp").k_values[0].item()
    exact = tau * np.log(hyp1f1(heads, heads + tails, 1 / tau))
    assert exact - 1e-12 <= K
    if heads == tails and tau >= 0.5:
        mean = heads / (heads + tails)
        assert exact - mean >= 0.9 * (K - mean)


def fork(mass, seen):
    """One state, one action, then one of two states, worth 0 and 1 for certain; each seen so often."""
    prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(mass), span=1.0)
    visits = [[[2.0 * seen]], [[seen], [seen]]]
    return kl.Belief.from_counts(prior, visits, [[[0.0]], [[0.0], [seen]]], [[[[seen, seen]]]], [1.0])


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0, 10.0])
@pytest.mark.parametrize(("mass", "seen"), [(0.1, 1), (0.3, 1), (1.0, 2), (2.0, 30), (20.0, 1)])
def test_an_unknown_fork_against_its_exact_certainty_equivalent(mass, seen, tau):
    """The value behind the fork is p ~ Beta(mass/2 + seen, …). `reward` knows nothing of it, `sharp` just enough."""
    belief = fork(mass, seen)
    a = mass / 2 + seen
    exact = tau * np.log(hyp1f1(a, 2 * a, 1 / tau))
    K = kl.solve(belief, tau, "sharp").k_values[0].item()
    assert exact - 1e-12 <= K
    if tau >= 1.0:
        assert exact - 0.5 >= 0.9 * (K - 0.5)
    assert kl.solve(belief, tau, "reward").k_values[0].item() < exact
