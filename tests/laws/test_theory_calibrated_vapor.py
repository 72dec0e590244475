"""Calibrated VAPOR: the identity behind its regret statement, the statement, and how the value moves with κ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.tabular.optimism.vapor.variances import VARIANCES
from tests.support.cases import cases, modest
from tests.support.theory_cases import enumerable

bonuses = st.sampled_from(sorted(VARIANCES))
shares = st.floats(-6.0, 0.0).map(lambda x: float(np.exp(x)))


@modest
@given(cases(), bonuses, shares)
def test_the_value_is_return_and_phi(case, bonus, optimism):
    """g = J + Φ_κ; and Φ_κ is at most what entropy and C̄ allow, from which the sum over episodes is bounded."""
    belief = case.belief()
    assert theory.calibrated_vapor.vapor_identity(belief, optimism, bonus).equal(1e-8)
    assert theory.calibrated_vapor.vapor_pays_at_most(belief, optimism, bonus).holds()


@modest
@given(enumerable(("sharp", "reward")), shares)
def test_regret_of_an_episode(example, optimism):
    """By enumeration; with equality where the value is below E V*, so that neither term can be left out."""
    case, posterior, bonus = example
    belief = case.belief()
    law = theory.calibrated_vapor.vapor_regret(belief, posterior, optimism, bonus)
    assert law.holds(tolerance=1e-8)
    if kl.solve_vapor(belief, bonus, 1e-12, optimism).bound < posterior.at_start(posterior.q_values[0].max(axis=2))[0]:
        assert law.equal(1e-7)


def test_both_terms_are_needed():
    """Two arms: with little optimism the shortfall counts, with much of it Φ alone is enough."""
    belief = kl.Belief.empty(kl.Prior(kl.Beta(), kl.Dirichlet(1.0)), [1], 2, [1.0])
    posterior = theory.quadrature(belief, 5)
    for optimism, short in ((0.01, True), (1.0, False)):
        law = theory.calibrated_vapor.vapor_regret(belief, posterior, optimism)
        assert law.holds()
        assert law.equal(1e-7) == short
        assert (
            law.lower > theory.calibrated_vapor.vapor_phi(belief, kl.solve_vapor(belief, optimism=optimism), optimism)
        ) == short


@modest
@given(cases(), bonuses, shares, shares)
def test_the_value_is_convex_in_the_root_of_the_share(case, bonus, optimism, other):
    """Above every tangent, whose slope is that of the envelope: near κ both sides are the same to second order."""
    belief = case.belief()
    assert theory.calibrated_vapor.vapor_tangent(belief, optimism, other, bonus).holds(tolerance=1e-8)
    phi = theory.calibrated_vapor.vapor_phi(belief, kl.solve_vapor(belief, bonus, optimism=optimism), optimism, bonus)
    near = theory.calibrated_vapor.vapor_tangent(belief, optimism, optimism * 0.998, bonus)
    assert abs(near.slack[0]) <= 1e-4 * phi + 1e-8 * (1 + abs(near.upper))


def test_layers_that_share_a_table():
    """Where transitions are known the statement holds there too; elsewhere it is refused."""
    learns = kl.Belief.empty(kl.Prior(stationary=True), [2, 2], 2, [0.5, 0.5])
    with pytest.raises(ValueError, match="stationary=True"):
        theory.calibrated_vapor.vapor_regret(learns, theory.draws(learns, 10), 0.5)
    known = kl.Known([np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])])
    belief = kl.Belief.empty(kl.Prior(kl.Gaussian(), known, stationary=True), [2, 2, 2], 2, [0.5, 0.5])
    law = theory.calibrated_vapor.vapor_regret(belief, theory.draws(belief, 2000), 0.01)
    # below E V* both sides are equal, up to the errors of the draws: four standard errors, 6e-5 by chance
    assert abs(law.slack[0]) < 4.0 * law.error + 1e-3
    assert theory.calibrated_vapor.vapor_regret(belief, theory.draws(belief, 200), 1.0).holds()
