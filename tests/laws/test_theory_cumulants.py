"""Cumulants against closed forms and other people's code; Gauss rules by their moments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import hyp1f1, roots_hermitenorm

import klearning as kl
from klearning.lab import theory
from klearning.tabular.beliefs import distributions
from klearning.tabular.beliefs.distributions import gauss_beta, gauss_dirichlet, gauss_normal
from tests.support import oracles
from tests.support.cases import cases, modest, random_case

masses = st.floats(0.05, 30.0)


@modest
@given(masses, masses, st.floats(-80.0, 80.0))
def test_the_cumulant_of_a_coin(heads, tails, beta):
    """log ₁F₁, to a relative 1e-11; and the Dirichlet of two is the same number by another series."""
    exact = math.log(hyp1f1(heads, heads + tails, beta))
    assert distributions.beta_cumulant(heads, tails, beta) == pytest.approx(exact, rel=1e-9, abs=1e-11)
    assert theory.cumulants.dirichlet_cumulant([heads, tails], [1.0, 0.0], beta) == pytest.approx(
        exact, rel=1e-9, abs=1e-11
    )


@modest
@given(st.lists(st.floats(0.1, 5.0), min_size=3, max_size=4), st.integers(0, 10**6), st.floats(-15.0, 15.0))
def test_the_cumulant_of_a_dirichlet_row(alpha, seed, beta):
    """Against a product of Gauss rules, which is exact for polynomials of degree 59 in every break of the stick."""
    b = np.random.default_rng(seed).uniform(-1, 1, len(alpha))
    rows, weights = gauss_dirichlet(np.array(alpha), 30)
    assert theory.cumulants.dirichlet_cumulant(alpha, b, beta) == pytest.approx(
        math.log(weights @ np.exp(beta * rows @ b)), abs=1e-9
    )


def test_cumulants_at_their_edges():
    assert distributions.beta_cumulant(2.0, 3.0, 0.0) == 0.0
    assert theory.cumulants.dirichlet_cumulant([1.0, 2.0], [0.7, 0.7], 3.0) == pytest.approx(2.1)
    assert theory.cumulants.dirichlet_cumulant(
        [1.0, 0.0, 2.0], [0.0, 9.0, 1.0], 3.0
    ) == theory.cumulants.dirichlet_cumulant([1.0, 2.0], [0.0, 1.0], 3.0)
    assert distributions.beta_cumulant(1.0, 1.0, 4000.0) == pytest.approx(4000.0 - math.log(4000.0))  # (e^β − 1)/β
    with pytest.raises(ValueError, match="beta · span"):
        theory.cumulants.dirichlet_cumulant([1.0, 1.0], [0.0, 1.0], 1e9)


@modest
@given(masses, masses, st.integers(1, 8))
def test_gauss_rules_of_a_beta_have_its_moments(heads, tails, nodes):
    x, w = gauss_beta(heads, tails, nodes)
    moment = 1.0
    for k in range(2 * nodes):
        assert w @ x**k == pytest.approx(moment, rel=1e-8)
        moment *= (heads + k) / (heads + tails + k)


def test_gauss_rules_of_a_normal_are_hermites():
    x, w = gauss_normal(1.0, 4.0, 7)
    nodes, weights = roots_hermitenorm(7)
    np.testing.assert_allclose(x, 1.0 + 2.0 * nodes, atol=1e-12)
    np.testing.assert_allclose(w, weights / weights.sum(), atol=1e-13)
    assert [v.tolist() for v in gauss_normal(1.0, 0.0, 7)] == [[1.0], [1.0]]


@modest
@given(cases(), st.floats(-2, 1.5))
def test_reward_cumulants(case, log_beta):
    """Gaussian and Beta posteriors from the raw counts, and a slope at zero that is the mean."""
    beta, belief = math.exp(log_beta), case.belief()
    G = theory.cumulants.reward_cumulants(belief, beta)
    if isinstance(case.reward, kl.Beta):
        a, b = case.reward.a, case.reward.b
        counts = zip(case.visits, case.reward_sums)
        want = [np.log(hyp1f1(a + total, a + b + n, beta)) for n, total in counts]
    else:
        want = [m * beta + v * beta**2 / 2 for m, v in case.rewards()]
    oracles.assert_close(G, want, 1e-9)
    slope = [g / 1e-6 for g in theory.cumulants.reward_cumulants(belief, 1e-6)]
    oracles.assert_close(slope, [m for m, _ in case.rewards()], 1e-4)


@pytest.mark.parametrize(("reward", "holds"), [
    (kl.Beta(0.3, 2.0), True),
    (kl.Gaussian(0.2, 0.5, 0.5), True),
    (kl.Gaussian(0.2, 0.4, 0.5), True),
    (kl.Gaussian(0.2, 0.51, 0.5), False),
])  # fmt: skip
def test_where_the_reward_bound_holds(reward, holds):
    """τ G(1/τ) ≤ mean + σ²/(2τ(n∨1)): for Beta priors and for sd ≤ noise, at any τ; not for sd > noise at n = 0."""
    for seed in range(5):
        case = random_case(np.random.default_rng(seed), [2, 2], 3, "beta", "even")
        belief = kl.Belief.from_counts(kl.Prior(reward), case.visits, case.reward_sums, case.counts, case.initial)
        for tau in (0.05, 0.5, 5.0):
            law = theory.reward_bound(belief, tau)
            assert law.holds() == holds
            seen = np.concatenate(case.visits).ravel() > 0
            assert (law.slack[seen] >= -1e-12).all()  # from the first visit on it holds for any sd


@pytest.mark.parametrize("total", [1e4, 1e6, 1e9])
def test_a_dirichlet_of_many_counts(total):
    """The coefficients of the series are beyond floats, the cumulant is not."""
    for heads, beta in ((0.15, 3000.0), (0.3 * total, 40.0), (total - 1.0, 2000.0)):
        exact = distributions.beta_cumulant(heads, total - heads, beta)
        alpha = [heads / 3, 2 * heads / 3, total - heads]
        assert theory.cumulants.dirichlet_cumulant(alpha, [1.0, 1.0, 0.0], beta) == pytest.approx(
            exact, rel=1e-8, abs=1e-9
        )
