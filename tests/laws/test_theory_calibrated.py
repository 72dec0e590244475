"""Calibrated optimism: the identity behind its regret statement, the statement, and how the bound moves with κ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from tests.support.cases import BONUSES, any_number, cases, modest
from tests.support.theory_cases import enumerable, temperatures

bonuses = st.sampled_from(BONUSES)
shares = st.floats(-6.0, 0.0).map(lambda x: float(np.exp(x)))


@modest
@given(cases(any_number), bonuses, shares, temperatures)
def test_the_bound_is_return_and_phi(case, bonus, optimism, tau):
    """f_κ(τ) = J + Φ_κ at any τ, and so at the best."""
    belief = case.belief()
    assert theory.calibrated.optimism_identity(belief, optimism, tau, bonus).equal(1e-8)
    assert theory.calibrated.optimism_identity(belief, optimism, bonus=bonus).equal(1e-8)


@modest
@given(enumerable(), shares, temperatures)
def test_regret_of_an_episode(example, optimism, tau):
    """By enumeration; with equality where the bound is below E V*, so that neither term can be left out."""
    case, posterior, bonus = example
    belief = case.belief()
    value = posterior.at_start(posterior.q_values[0].max(axis=2))[0]
    for temperature in ("optimal", tau):
        law = theory.calibrated.calibrated_regret(belief, posterior, optimism, temperature, bonus)
        assert law.holds()
        if kl.solve(belief, temperature, bonus, optimism=optimism).bound < value:
            assert law.equal(1e-8)


def test_both_terms_are_needed():
    """Two arms: with little optimism the shortfall counts, with much of it Φ alone is enough."""
    belief = kl.Belief.empty(kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), [1], 2, [1.0])
    posterior = theory.quadrature(belief, 5)
    for optimism, short in ((0.01, True), (1.0, False)):
        plan = kl.solve(belief, optimism=optimism)
        law = theory.calibrated.calibrated_regret(belief, posterior, optimism)
        assert law.holds()
        assert law.equal() == short
        assert (law.lower > theory.calibrated.shared_phi(belief, plan, optimism)) == short


@modest
@given(enumerable(), st.integers(0, 2**32 - 1))
def test_what_is_missed_on_a_path_of_the_mean_model(example, seed):
    """By enumeration, for any policy."""
    case, posterior, _ = example
    rng = np.random.default_rng(seed)
    policy = [rng.dirichlet(np.ones(Q.shape[2]), Q.shape[1]) for Q in posterior.q_values]
    assert theory.calibrated.missed_on_path(case.belief(), posterior, policy).equal(1e-8)


@modest
@given(cases(), bonuses, shares, shares)
def test_the_bound_is_convex_in_the_root_of_the_share(case, bonus, optimism, other):
    """Above every tangent, whose slope is that of the envelope: near κ both sides are the same to second order."""
    belief = case.belief()
    law = theory.calibrated.optimism_tangent(belief, optimism, other, bonus)
    assert law.holds(tolerance=1e-8)
    phi = theory.calibrated.shared_phi(belief, kl.solve(belief, bonus=bonus, optimism=optimism), optimism, bonus)
    near = theory.calibrated.optimism_tangent(belief, optimism, optimism * 0.998, bonus)
    assert abs(near.slack[0]) <= 1e-4 * phi + 1e-9 * (1 + abs(near.upper))


def test_tied_layers_are_refused():
    belief = kl.Belief.empty(kl.Prior(stationary=True), [2, 2], 2, [0.5, 0.5])
    with pytest.raises(ValueError, match="stationary=True"):
        theory.calibrated.calibrated_regret(belief, theory.draws(belief, 10), 0.5)
    with pytest.raises(ValueError, match="missed_on_path"):
        theory.calibrated.missed_on_path(belief, theory.draws(belief, 10), [np.full((2, 2), 0.5)] * 2)
