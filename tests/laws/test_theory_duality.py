"""The convex program and its dual: weak and strong duality, the saddle point, the optimal temperature."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory.duality import half_variances
from tests.laws.test_theory_unrolling import random_policy
from tests.support import oracles
from tests.support.cases import BONUSES, any_number, cases, modest
from tests.support.theory_cases import temperatures

bonuses = st.sampled_from(BONUSES)


@modest
@given(cases(any_number), bonuses, st.integers(0, 10**6))
def test_occupancies_are_feasible(case, bonus, seed):
    belief = case.belief()
    _, P, initial = case.mean_model()
    policy = random_policy(case, seed)
    flows = theory.duality.occupancy_of(belief, policy)
    oracles.assert_close(flows, oracles.occupancy(P, initial, policy), 1e-10)
    assert theory.duality.flow_residual(belief, flows) < 1e-12
    assert theory.duality.flow_residual(belief, kl.solve(belief, bonus=bonus).occupancy) < 1e-12
    for spoilt in (0, -1):
        wrong = [flow.copy() for flow in flows]
        wrong[spoilt][0, 0] += 0.5
        assert theory.duality.flow_residual(belief, wrong) == pytest.approx(0.5)


@modest
@given(cases(any_number), bonuses, temperatures, st.integers(0, 10**6))
def test_weak_duality(case, bonus, tau, seed):
    """No λ is above any f(τ); with the dual value by hand."""
    belief = case.belief()
    m, P, initial = case.mean_model()
    policy = random_policy(case, seed)
    flows = oracles.occupancy(P, initial, policy)
    law = theory.duality.weak_duality(belief, flows, tau, bonus)
    assert law.holds()
    H, C = oracles.expected(oracles.entropies(policy), flows), oracles.expected(case.half_variance(bonus), flows)
    by_hand = oracles.expected(m, flows) + 2 * math.sqrt(H * C)
    assert law.lower == pytest.approx(by_hand, rel=1e-7, abs=1e-7)
    oracles.assert_close(half_variances(belief, bonus), case.half_variance(bonus), 1e-9)


@modest
@given(cases(), bonuses)
def test_strong_duality(case, bonus):
    """To a relative 1e-8; and the optimal temperature is that of its own occupancy (e-tau-isopt)."""
    belief = case.belief()
    assert theory.duality.strong_duality(belief, bonus).equal(1e-8)
    assert theory.duality.strong_duality(belief, bonus).holds()
    assert theory.duality.temperature_is_optimal(belief, bonus).equal(1e-8)


@modest
@given(cases(), bonuses, temperatures, st.integers(0, 10**6))
def test_the_saddle_point(case, bonus, tau, seed):
    """ℒ(τ*, λ) ≤ ℒ(τ*, λ*) ≤ ℒ(τ, λ*), and strictly so away from it."""
    belief = case.belief()
    plan = kl.solve(belief, bonus=bonus)
    three = theory.duality.saddle_point(
        belief, theory.duality.occupancy_of(belief, random_policy(case, seed)), tau, bonus
    )
    assert three.inequality.holds(tolerance=1e-8)
    assert three.saddle == pytest.approx(plan.bound, rel=1e-8, abs=1e-8)
    if abs(math.log(tau / plan.temperature)) > 0.1:
        assert three.other_temperature > three.saddle


@modest
@given(cases(), bonuses, st.integers(1, 10**4))
def test_the_optimum_has_the_smaller_phi_on_its_own_occupancy(case, bonus, t):
    """l-cvx-opt-regret: Φ(τ*, λ*) ≤ Φ(τ_t, λ*)."""
    three = theory.optimum_against_schedule(case.belief(), t, bonus)
    assert three.optimal <= three.its_occupancy_at_the_schedule * (1 + 1e-8) + 1e-10


def test_the_edges():
    """One action: τ* = ∞, no heat, the dual is the primal. Nothing uncertain: τ* = 0."""
    belief = kl.Belief.empty(kl.Prior(), [1, 2], 1, [1.0])
    assert theory.duality.strong_duality(belief, "sharp").equal()
    plan = kl.solve(belief, bonus="sharp")
    assert theory.unrolling.phi(belief, plan.temperature, plan.occupancy, "sharp") == 0.0
    assert theory.unrolling.big_delta(belief, plan).equal()
    known = kl.Prior(kl.Gaussian(0.5, 0.0, 1.0), kl.Known(kl.random_mdp([1, 2], 2)))
    sure = kl.Belief.empty(known, [1, 2], 2, [1.0])
    assert theory.duality.strong_duality(sure, "reward").equal()
    assert theory.unrolling.phi(sure, 0.0, kl.solve(sure).occupancy, "reward") == 0.0


def test_a_bonus_that_is_no_c_over_tau_is_refused():
    """`split` prices transitions, and is its c if there are none to learn."""
    belief = kl.Belief.empty(kl.Prior(), [1, 2], 2, [1.0])
    with pytest.raises(ValueError, match="not of the form"):
        half_variances(belief, "split")
    known = kl.Belief.empty(kl.Prior(transitions=kl.Known(kl.random_mdp([1, 2], 2))), [1, 2], 2, [1.0])
    oracles.assert_close(half_variances(known, "split"), half_variances(known, "reward"))
