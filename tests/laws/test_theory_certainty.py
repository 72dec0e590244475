"""Certainty equivalents of Q*: enumerated, drawn, and bounded as the paper says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory.inequality import Inequality, flat
from tests.support import oracles
from tests.support.cases import modest, random_case
from tests.support.theory_cases import enumerable, temperatures

outcomes = arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-50, 50))


def test_an_inequality_tells_its_slack():
    law = Inequality([np.array([[0.0, 1.0]])], [np.array([[1.0, 0.5]])], [np.array([[0.0, 0.2]])])
    assert law.slack.tolist() == [1.0, -0.5]
    assert not law.holds(errors=2.0)
    assert law.holds(errors=2.5)
    assert not law.equal()
    assert Inequality(1.0, 1.0 + 1e-12).equal()


@modest
@given(enumerable(), temperatures)
def test_k_values_bound_certainty_equivalents(example, tau):
    """e-upperb by enumeration: no error bars, a relative rounding of 1e-9."""
    case, posterior, bonus = example
    assert theory.k_value_inequality(case.belief(), posterior, tau, bonus).holds()


@modest
@given(enumerable(), temperatures)
def test_the_bellman_inequality(example, tau):
    case, posterior, bonus = example
    assert theory.certainty.bellman_inequality(case.belief(), posterior, tau, bonus).holds()


@modest
@given(enumerable(["paper"]), temperatures)
def test_the_bellman_inequality_of_cumulants(example, tau):
    """l-bellman-ineq. It is the sharper one: it has the exact cumulant of the reward."""
    case, posterior, _ = example
    belief = case.belief()
    law = theory.certainty.cumulant_inequality(belief, posterior, 1 / tau)
    assert law.holds()
    left = np.arange(belief.horizon - 1, -1, -1.0)
    price = [(k / tau) ** 2 / (2 * np.maximum(n, 1)) for k, n in zip(left, case.visits)]
    rewards = theory.cumulants.reward_cumulants(belief, 1 / tau)
    oracles.assert_close(
        theory.certainty.tilde_cumulants(belief, 1 / tau), [g + x for g, x in zip(rewards, price)], 1e-9
    )
    assert (tau * law.slack <= theory.certainty.bellman_inequality(belief, posterior, tau, "paper").slack + 1e-9).all()


@modest
@given(enumerable(), temperatures)
def test_the_maximal_chain(example, tau):
    case, posterior, bonus = example
    chain = theory.certainty.maximal_chain(case.belief(), posterior, tau, bonus)
    assert chain.first.holds()
    assert chain.second.holds()
    best = [posterior.weights @ Q.max(axis=2).reshape(len(Q), -1) for Q in posterior.q_values]
    oracles.assert_close(chain.expected_maximum, best, 1e-9)
    equivalents = theory.certainty_equivalents(posterior, tau).values
    oracles.assert_close(
        chain.of_certainty_equivalents, [tau * oracles.log_sum_exp(Q / tau) for Q in equivalents], 1e-9
    )


def test_the_maximal_chain_needs_its_whole_temperature():
    """1000 actions, of which one at random pays 1: a soft maximum at half the temperature would be below E max Q*."""
    arms, tau = 1000, 0.2
    worlds = [kl.MDP.from_layers([np.eye(arms)[None, i]], [], [1.0]) for i in range(arms)]
    Q = theory.certainty_equivalents(theory.mixture(worlds), tau).values[0]
    cooler = theory.optimistic.soft_maximum(Q, tau / 2)
    assert theory.optimistic.soft_maximum(Q, tau) >= 1.0 > cooler


@modest
@given(outcomes, st.floats(-3, 5), st.integers(0, 10**6))
def test_the_maximal_inequality(x, log_tau, seed):
    """l-max-ineq, of any law, dependent or not; at τ = 0 too."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(x)))
    tau = math.exp(log_tau)
    law = theory.certainty.maximal_inequality(x, tau, weights)
    assert law.holds()
    plain = tau * np.log(sum(weights @ np.exp((x[:, i] - x.max()) / tau) for i in range(x.shape[1]))) + x.max()
    assert law.upper == pytest.approx(plain, rel=1e-9, abs=1e-9)
    assert theory.certainty.maximal_inequality(x, 0.0, weights).holds()


@modest
@given(outcomes, outcomes, temperatures)
def test_certainty_equivalents_of_independents_add_up(x, y, tau):
    assert theory.certainty.sum_of_independents(x[:, 0], y[:, 0], tau).equal()


@modest
@given(enumerable(), temperatures)
def test_certainty_equivalents_are_between_the_mean_and_the_largest(example, tau):
    """And they fall with τ, to the mean."""
    _, posterior, _ = example
    means = flat(posterior.average(posterior.q_values).values)
    largest = flat([Q.max(axis=0) for Q in posterior.q_values])
    colder, here, warmer = (flat(theory.certainty_equivalents(posterior, c * tau).values) for c in (0.5, 1.0, 2.0))
    for low, high in ((means, warmer), (warmer, here), (here, colder), (colder, largest)):
        assert Inequality(low, high).holds()
    np.testing.assert_allclose(flat(theory.certainty_equivalents(posterior, 1e7).values), means, atol=1e-4)


def test_the_bandit_of_the_paper():
    """𝒬(a) = μ + σ²/(2τ) for Gaussian arms: a rule of 30 nodes is exact to 1e-9, and K is the same."""
    prior = kl.Prior(kl.Gaussian(0.3, 1.0, 0.5))
    belief = kl.Belief.from_counts(prior, [[[0.0, 4.0]]], [[[0.0, 2.0]]], [], [1.0])
    variance = np.array([1.0, 1 / (1 + 4 / 0.25)])
    exact = np.array([[0.3, 0.3 * variance[1] + 2.0 / 0.25 * variance[1]]]) + variance / (2 * 0.7)
    values, errors = theory.certainty_equivalents(theory.quadrature(belief, 30), 0.7)
    np.testing.assert_allclose(values[0], exact, atol=1e-9)
    assert (errors[0] == 0).all()
    np.testing.assert_allclose(kl.solve(belief, 0.7, "reward").k_values[0], exact, atol=1e-12)


def test_a_mixture_of_two_worlds_by_hand():
    worlds = [kl.bandit([0.0, 1.0]), kl.bandit([2.0, -1.0])]
    posterior = theory.mixture(worlds, [0.25, 0.75])
    want = [np.log([[0.25 + 0.75 * math.e**2, 0.25 * math.e + 0.75 / math.e]])]
    oracles.assert_close(theory.certainty_equivalents(posterior, 1.0).values, want)
    oracles.assert_close(posterior.average(posterior.q_values).values, [np.array([[1.5, -0.5]])])
    assert theory.mixture(worlds).weights.tolist() == [0.5, 0.5]


def test_members_have_the_values_that_the_package_gives_them():
    """Q* and Q^π of every member of an ensemble, against `optimal` and `evaluate`."""
    worlds = [kl.random_mdp([2, 3, 2], 2, seed=k) for k in range(4)]
    posterior = theory.mixture(worlds)
    policy = [np.random.default_rng(l).dirichlet([1, 1], n) for l, n in enumerate([2, 3, 2])]
    for i, world in enumerate(worlds):
        oracles.assert_close([Q[i] for Q in posterior.q_values], kl.optimal(world).q_values)
        oracles.assert_close([Q[i] for Q in posterior.policy_q_values(policy)], kl.evaluate(world, policy).q_values)


@pytest.mark.parametrize("reward", ["gaussian", "beta"])
def test_a_quadrature_has_the_means_of_its_belief(reward):
    case = random_case(np.random.default_rng(3), [1, 3, 1], 1, reward, "support")
    posterior = theory.quadrature(case.belief(), 4)
    m, P, _ = case.mean_model()
    assert posterior.weights.sum() == pytest.approx(1.0)
    oracles.assert_close(posterior.average(posterior.rewards).values, m, 1e-9)
    oracles.assert_close(posterior.average(posterior.transitions).values, P, 1e-9)


@pytest.mark.slow
def test_draws_agree_with_a_fine_quadrature():
    """One action, so that nothing is kinked and the rule is exact to 1e-6; 5 errors on 8 numbers: 4.6e-6 by chance."""
    case = random_case(np.random.default_rng(5), [1, 2, 1], 1, "beta", "even", most=4)
    belief = case.belief()
    drawn = theory.certainty_equivalents(theory.draws(belief, 4000, seed=1), 0.5)
    exact = theory.certainty_equivalents(theory.quadrature(belief, 8), 0.5)
    for value, error, want in zip(drawn.values, drawn.errors, exact.values):
        assert (error > 0).all()
        assert (np.abs(value - want) <= 5 * error + 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("bonus", ["paper", "sharp"])
def test_the_laws_on_draws(bonus):
    """Up to 5 standard errors, one-sided, on 14 numbers a law, were every bound tight: 1.6e-5 by chance a bonus."""
    case = random_case(np.random.default_rng(7), [2, 3, 2], 2, "beta", "even", most=6)
    belief = case.belief()
    posterior = theory.draws(belief, 3000, seed=2)
    tau = kl.solve(belief, bonus=bonus).temperature
    assert theory.k_value_inequality(belief, posterior, tau, bonus).holds()
    assert theory.certainty.bellman_inequality(belief, posterior, tau, bonus).holds()
    assert theory.certainty.cumulant_inequality(belief, posterior, 1 / tau).holds()
    chain = theory.certainty.maximal_chain(belief, posterior, tau, bonus)
    assert chain.first.holds()
    assert chain.second.holds()


def test_without_a_transition_term_the_bound_fails():
    """`reward` where P is unknown, and `sharp` with a third of the span: the laws can fail, and say so."""
    seen = [[[2.0]], [[1.0], [1.0]]], [[[0.0]], [[0.0], [1.0]]], [[[[1.0, 1.0]]]], [1.0]
    for bonus, span, holds in (("reward", 1.0, False), ("sharp", 1.0, True), ("sharp", 1 / 3, False)):
        prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(0.3), span=span)
        belief = kl.Belief.from_counts(prior, *seen)
        posterior = theory.quadrature(belief, 20)
        assert theory.k_value_inequality(belief, posterior, 0.3, bonus).holds() == holds
        assert theory.certainty.bellman_inequality(belief, posterior, 0.3, bonus).holds() == holds


def test_errors_name_the_fix():
    belief = kl.Belief.empty(kl.Prior(), [3, 3], 2, [1 / 3] * 3)
    with pytest.raises(ValueError, match="use draws"):
        theory.quadrature(belief)
    with pytest.raises(ValueError, match="of one shape"):
        theory.mixture([kl.bandit([0.0, 1.0]), kl.bandit([0.0])])
    with pytest.raises(ValueError, match="at least one"):
        theory.mixture([])
    with pytest.raises(ValueError, match="tau"):
        theory.certainty_equivalents(theory.mixture([kl.bandit()]), 0.0)
