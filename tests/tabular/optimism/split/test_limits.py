"""The bonus `split` where it must be something else, or the same: limits, symmetries, one table for all layers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.tabular.beliefs import distributions
from tests.support.cases import any_number, cases, modest, random_case
from tests.support.split_cases import one_row
from tests.support.theory_cases import temperatures
from tests.tabular.optimism.test_temperature import mean_return

seeds = st.integers(0, 2**32 - 1)


def assert_same_plan(a, b, rtol=1e-12):
    for x, y in zip([*a.k_values, *a.values, *a.policy], [*b.k_values, *b.values, *b.policy]):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    assert a.bound == pytest.approx(b.bound, rel=rtol)


@pytest.mark.slow
@modest
@given(cases(any_number), temperatures)
def test_known_transitions_and_single_layers_cost_nothing(case, tau):
    """Where P is known, or of no consequence, `split` is `reward` bit for bit."""
    assume(case.known or case.horizon == 1)
    for temperature in (tau, "optimal"):
        assert_same_plan(*(kl.solve(case.belief(), temperature, b) for b in ("split", "reward")), rtol=1e-15)


@pytest.mark.slow
@modest
@given(cases(), temperatures)
def test_k_is_at_least_that_of_the_mean_model(case, tau):
    """φ ≥ P̄V: `split` is above `reward` everywhere."""
    case = replace(case, span=None)
    for K, least in zip(*(kl.solve(case.belief(), tau, b).k_values for b in ("split", "reward"))):
        assert (least - 1e-11 * (1 + np.abs(least)) <= K).all()


@modest
@given(cases(actions=st.just(1)))
def test_one_action_leaves_no_choice(case):
    belief = replace(case, span=None).belief()
    plan = kl.solve(belief, bonus="split")
    assert (plan.temperature, plan.gap) == (math.inf, 0.0)
    assert plan.bound == pytest.approx(mean_return(case, plan), rel=1e-11, abs=1e-11)
    hot = kl.solve(belief, 1e8, "split")
    assert hot.bound == pytest.approx(plan.bound, rel=1e-5, abs=1e-5)


@pytest.mark.slow
@modest
@given(seeds, st.floats(-5, 5), st.floats(-6, 6))
def test_shifting_and_scaling_rewards(seed, shift, power):
    """Rewards x ↦ λ(x + b): τ ↦ λτ, K_l ↦ λ(K_l + b·(layers left))."""
    factor, g = math.exp(power), kl.Gaussian(0.3, 0.8, 0.2)
    case = random_case(np.random.default_rng(seed), [2, 3, 4], 2, "gaussian", "even")
    case = replace(case, reward=g, span=2.0)
    moved = replace(
        case,
        reward=kl.Gaussian(factor * (g.mean + shift), factor * g.sd, factor * g.noise),
        reward_sums=[factor * (x + n * shift) for x, n in zip(case.reward_sums, case.visits)],
        span=factor * 2.0,
    )
    a, b = kl.solve(case.belief(), 0.7, "split"), kl.solve(moved.belief(), factor * 0.7, "split")
    for l, (K, L) in enumerate(zip(a.k_values, b.k_values)):
        np.testing.assert_allclose(L, factor * (K + shift * (3 - l)), rtol=1e-9, atol=1e-9 * factor)
    a, b = (kl.solve(replace(x, span=None).belief(), bonus="split", tolerance=1e-12) for x in (case, moved))
    assert b.temperature == pytest.approx(factor * a.temperature, rel=1e-4)
    assert b.bound == pytest.approx(factor * (a.bound + 3 * shift), rel=1e-9, abs=1e-9 * factor)


@pytest.mark.slow
@modest
@given(cases(), seeds, temperatures)
def test_names_of_states_and_actions_do_not_matter(case, seed, tau):
    assume(not case.known and isinstance(case.transitions, kl.Dirichlet) and case.transitions.support is None)
    rng = np.random.default_rng(seed)
    order, b = [rng.permutation(n) for n in case.widths], rng.permutation(case.actions)
    counts = [n[order[l]][:, b][:, :, order[l + 1]] for l, n in enumerate(case.counts)]
    moved = replace(
        case,
        visits=[n[o][:, b] for n, o in zip(case.visits, order)],
        reward_sums=[x[o][:, b] for x, o in zip(case.reward_sums, order)],
        counts=counts,
        initial=case.initial[order[0]],
    )
    one, other = (kl.solve(x.belief(), tau, "split") for x in (case, moved))
    for K, L, o in zip(one.k_values, other.k_values, order):
        np.testing.assert_allclose(K[o][:, b], L, rtol=1e-10, atol=1e-10)


@modest
@given(seeds, temperatures)
def test_a_support_is_a_row_without_an_unseen_part(seed, tau):
    """With mass only on a support, φ is the KL bound on Dirichlet(prior + counts): above it, and exact for one."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 6))
    support = rng.random((1, 1, width)) < 0.6
    support[0, 0, int(rng.integers(width))] = True
    counts = np.where(support, rng.integers(0, 20, support.shape), 0).astype(float)
    W = rng.normal(size=width)
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.0), kl.Dirichlet(0.7, support=[support]))
    visits = [[[counts.sum()]], np.ones((width, 1))]
    belief = kl.Belief.from_counts(prior, visits, [[[0.0]], W[:, None]], [counts], [1.0])
    K = kl.solve(belief, tau, "split").k_values[0].item() - (0.0 if counts.sum() else 0.5 / tau)
    inside = support[0, 0]
    alpha = (0.7 / inside.sum() + counts)[0, 0, inside]
    want = tau * theory.cumulants.dirichlet_cumulant(alpha, W[inside], 1 / tau)
    assert want - 1e-11 <= K <= W[inside].max() + 1e-11
    if inside.sum() == 1:
        assert pytest.approx(want, rel=1e-12) == K


@pytest.mark.parametrize("mass", [1e-50, 1e-16, 1e-9, 1e3, 1e9])
@pytest.mark.parametrize("ratio", [3.0, 1e3, 1e5])
def test_a_support_of_any_mass(mass, ratio):
    """A state that was seen often, worth 0, and two that were not, worth 1 and 0."""
    alpha, W = mass / 3 + np.array([1e5, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.0), kl.Dirichlet(mass, support=[np.ones((1, 1, 3))]))
    counts = [[[[1e5, 0.0, 0.0]]]]
    belief = kl.Belief.from_counts(prior, [[[1e5]], np.ones((3, 1))], [[[0.0]], W[:, None]], counts, [1.0])
    K = kl.solve(belief, 1 / ratio, "split").k_values[0].item()
    least = distributions.beta_cumulant(alpha[1], alpha[0] + alpha[2], ratio) / ratio
    assert max(least, alpha[1] / alpha.sum()) - 1e-11 <= K <= 1.0


def tied(horizon, width, actions, seed, span=None):
    """A stationary belief, and the layered one in which every layer has seen what all layers have."""
    rng = np.random.default_rng(seed)
    prior = kl.Prior(kl.Gaussian(0.1, 1.0, 0.3), kl.Dirichlet(0.4), span=span)
    block = rng.integers(0, 4, (width, actions, width)).astype(float)
    n, none = block.sum(axis=-1), np.zeros((width, actions))
    sums = n * rng.normal(size=n.shape)
    initial = np.full(width, 1 / width)
    shared = kl.Belief.from_counts(
        replace(prior, stationary=True), [n] + [none] * (horizon - 1), [sums] + [none] * (horizon - 1),
        [block] + [0 * block] * (horizon - 2), initial,
    )  # fmt: skip
    return shared, kl.Belief.from_counts(prior, [n] * horizon, [sums] * horizon, [block] * (horizon - 1), initial)


@pytest.mark.parametrize("temperature", [0.2, 1.0, "optimal"])
@pytest.mark.parametrize("seed", range(4))
def test_one_table_is_as_good_as_many(seed, temperature):
    shared, layered = tied(5, 4, 3, seed, span=None if seed % 2 else 1.5)
    assert_same_plan(kl.solve(shared, temperature, "split"), kl.solve(layered, temperature, "split"), 1e-10)


@pytest.mark.parametrize("support", [None, [np.ones((4, 2, 4))]])
def test_the_end_is_worth_nothing(support):
    """No value, entropy or bonus there, but a policy; and it is one of the states that a row may lead to."""
    prior = kl.Prior(kl.Gaussian(0.5, 1.0, 0.3), kl.Dirichlet(0.4, support), stationary=True)
    belief = kl.Belief.empty(prior, [4] * 3, 2, np.full(4, 0.25), end=1)
    plan = kl.solve(belief, 1.0, "split")
    for K, V, pi in zip(plan.k_values, plan.values, plan.policy):
        assert (K[1] == 0).all()
        assert V[1] == 0
        np.testing.assert_allclose(pi, 0.5, rtol=1e-12)
    last = 1.0 + math.log(2)  # mean, c/τ = 1/2, and the entropy
    V = np.array([last, 0.0, last, last])
    if support is None:
        above = 1.0 + np.log(np.mean(np.exp(V))) + math.log(2)
        np.testing.assert_allclose(plan.values[1], [above, 0.0, above, above], rtol=1e-12)
    assert np.isfinite(kl.solve(belief, bonus="split").bound)


def test_the_schedule_is_refused():
    belief = one_row(0.3, [1, 0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"bonus='split'.*temperature='optimal'"):
        kl.solve(belief, kl.schedule(3), "split")
    with pytest.raises(ValueError, match=r"bonus='split'.*temperature='optimal'"):
        kl.KLearning("schedule", "split")


def test_laws_about_bonuses_over_tau_refuse_it():
    belief = random_case(np.random.default_rng(0), [1, 2, 2], 2).belief()
    plan = kl.solve(belief, bonus="split")
    with pytest.raises(ValueError, match=r"bonus='split' is not of the form c/τ"):
        theory.duality.dual_value(belief, plan.occupancy, "split")
