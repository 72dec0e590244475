"""Bounds on E V* that let layers depend on each other, on posteriors that are listed: both sides are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from tests.support.cases import modest
from tests.support.theory_cases import enumerable

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def tied_mixture(rng, states=3, actions=2, horizon=4, members=12):
    """MDPs that are the same at every step, with weights: what is unknown of a layer is so of all."""
    mdps = []
    for _ in range(members):
        P, r = rng.dirichlet(np.full(states, 0.3), (states, actions)), rng.normal(size=(states, actions))
        mdps.append(kl.MDP.from_stationary(r, P, np.eye(states)[0], horizon))
    return theory.mixture(mdps, rng.dirichlet(np.ones(members)))


def random_choice(rng, posterior):
    """V near E V* and far from it, temperatures and chances of any size."""
    shapes = [r.shape[1:] for r in posterior.rewards]
    best = posterior.average([Q.max(axis=2) for Q in posterior.q_values]).values
    values = [v + rng.choice([0.0, 1.0]) * rng.normal(size=v.shape) for v in best]
    heats = [np.exp(rng.normal(size=shape)) for shape in shapes]
    chances = [np.exp(-rng.exponential(2.0, shape)) for shape in shapes]
    return values, heats, chances


@modest
@given(seeds)
def test_whatever_the_posterior(rng):
    """Both steps of the chain, and the budget of visits alone, τ = 0."""
    posterior = tied_mixture(rng)
    values, heats, chances = random_choice(rng, posterior)
    assert theory.positive_part_bound(posterior, values).holds()
    assert theory.visits_bound(posterior, values, heats).holds()
    assert theory.two_budgets(posterior, 0.0, heats, chances).holds()


@modest
@given(enumerable(), seeds, st.sampled_from([0.0, 0.3, 2.0]))
def test_two_budgets_of_independent_layers(example, rng, tau):
    _, posterior, _ = example
    _, heats, chances = random_choice(rng, posterior)
    assert theory.two_budgets(posterior, tau, heats, chances).holds()


def test_one_mdp_is_met_exactly():
    """With V* for V nothing is left over: neither step of the chain has a term too many."""
    posterior = tied_mixture(np.random.default_rng(1), members=1)
    best = [Q[0].max(axis=1) for Q in posterior.q_values]
    assert theory.positive_part_bound(posterior, best).equal()
    cold = [np.full(r.shape[1:], 1e-9) for r in posterior.rewards]
    assert theory.visits_bound(posterior, best, cold).equal(1e-6)
    assert theory.two_budgets(posterior, 0.0, cold, [0 * T + 1.0 for T in cold]).equal(1e-6)


def test_the_two_forms_are_one():
    """λ0 = exp((K − V)/T − 1) makes the maximum of K̃ equal to V, and the sum of T λ0 that of the exponentials."""
    rng = np.random.default_rng(2)
    posterior = tied_mixture(rng, actions=1)
    values, heats, _ = random_choice(rng, posterior)
    chances = [
        np.tensordot(posterior.weights, np.exp(x / T - 1.0), 1)
        for x, T in zip(theory.visits.residuals(posterior, values), heats, strict=True)
    ]
    upper = theory.visits_bound(posterior, values, heats).upper
    assert theory.two_budgets(posterior, 0.0, heats, chances).upper == pytest.approx(upper, rel=1e-12)


def test_without_a_budget_of_visits_it_is_k_learning():
    """τ_sa = 0: certainty equivalents at τ and a soft maximum, as `split` with exact rows."""
    tau, posterior = 0.7, tied_mixture(np.random.default_rng(3))
    V = np.zeros(3)
    for r, P in zip(posterior.rewards[::-1], [0 * posterior.transitions[0], *posterior.transitions[::-1]], strict=True):
        X = r + P @ V
        K = tau * np.log(np.tensordot(posterior.weights, np.exp(X / tau), 1))
        V = tau * np.log(np.exp(K / tau).sum(axis=1))
    none, one = ([np.full((3, 2), x)] * 4 for x in (0.0, 1.0))
    assert theory.two_budgets(posterior, tau, none, one).upper == pytest.approx(V[0], rel=1e-12)


def stay_or_leave():
    """One action. The first state pays 1 and is left never, or at once: with even odds. E V* = (20 + 1)/2."""
    rows = (np.array([[[stay, 1 - stay]], [[0.0, 1.0]]]) for stay in (0.0, 1.0))
    pay = np.array([[1.0], [0.0]])
    return theory.mixture([kl.MDP.from_stationary(pay, P, [1.0, 0.0], 20) for P in rows])


def test_a_shared_temperature_is_refuted_where_layers_share_a_table():
    """It states 2 where E V* is 10.5, so that τ > 0 is a law of independent layers alone."""
    none, one = ([np.full((2, 1), x)] * 20 for x in (0.0, 1.0))
    law = theory.two_budgets(stay_or_leave(), 1e6, none, one)
    assert law.lower == pytest.approx(10.5)
    assert law.upper == pytest.approx(2.0, abs=1e-3)
    assert not law.holds()


def test_visits_of_the_same_are_exact():
    """V = ρ-value of staying, half of it paid for: a bound of 10.5 exactly."""
    values = [[float(20 - l), 0.0] for l in range(20)]
    values[0][0] = 1.0
    assert theory.positive_part_bound(stay_or_leave(), values).equal()
