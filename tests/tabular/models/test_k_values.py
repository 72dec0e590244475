"""K-values against the plain recursion, f and its derivatives against differences, and the laws they obey."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.tabular.models.soft import boltzmann, soft_arrays, soft_sweep
from klearning.tabular.optimism.program import program
from tests.support import oracles
from tests.support.cases import BONUSES, Case, any_number, cases, certain_case, modest, random_case, thorough
from tests.support.oracles import assert_close

temperatures = st.sampled_from([0.02, 0.1, 0.3, 1.0, 4.0, 50.0])
bonuses = st.sampled_from(BONUSES)
derived = st.sampled_from(["sharp", "reward"])  # those that follow from the posterior alone


def sweep(case, bonus, tau):
    """f, H̄, C̄ and f″ as the kernel gives them."""
    ready = program(case.belief(), bonus)
    return soft_sweep(ready.model, ready.c, tau, ready.work)


def parts(case, bonus):
    m, P, initial = case.mean_model()
    return m, case.half_variance(bonus), P, initial


@thorough
@given(cases(any_number), bonuses, temperatures)
def test_k_values_are_the_plain_recursion(case, bonus, tau):
    m, c, P, initial = parts(case, bonus)
    K, V, policy = oracles.k_values(m, c, P, tau)
    plan = kl.solve(case.belief(), tau, bonus)
    assert_close(plan.k_values, K, 1e-9)
    assert_close(plan.values, V, 1e-9)
    assert_close(plan.policy, policy, 1e-9)
    assert plan.temperature == tau
    assert plan.bound == pytest.approx(initial @ V[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("widths", [[1], [8], [9, 8], [7, 17, 16], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
def test_k_values_in_layers_of_any_width(widths, bonus):
    case = random_case(np.random.default_rng(sum(widths)), widths, 3)
    m, c, P, _ = parts(case, bonus)
    assert_close(kl.solve(case.belief(), 0.4, bonus).k_values, oracles.k_values(m, c, P, 0.4)[0], 1e-9)


@modest
@given(cases(any_number), bonuses, temperatures)
def test_the_policy_is_the_softmax_of_k(case, bonus, tau):
    plan = kl.solve(case.belief(), tau, bonus)
    _, P, initial = case.mean_model()
    for K, V, policy in zip(plan.k_values, plan.values, plan.policy):
        np.testing.assert_allclose(V, tau * oracles.log_sum_exp(K / tau), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(policy, np.exp((K - V[:, None]) / tau), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(policy.sum(axis=1), 1.0, atol=1e-12)
    assert_close(plan.occupancy, oracles.occupancy(P, initial, plan.policy), 1e-12)
    assert [flow.sum() for flow in plan.occupancy] == pytest.approx([1.0] * case.horizon, abs=1e-12)


@thorough
@given(cases(any_number), bonuses, st.sampled_from([0.03, 0.2, 0.7, 3.0, 40.0]))
def test_derivatives_of_f(case, bonus, tau):
    m, c, P, initial = parts(case, bonus)
    f, H, C, curvature = sweep(case, bonus, tau)
    assert f == pytest.approx(oracles.f(m, c, P, initial, tau), rel=1e-12, abs=1e-12)
    slope = oracles.slope_of_f(m, c, P, initial, tau)
    assert H - C / tau**2 == pytest.approx(slope, rel=1e-11, abs=1e-11 * (H + C / tau**2))
    differences = oracles.curvature_of_f(m, c, P, initial, tau)
    assert curvature == pytest.approx(differences, rel=1e-7, abs=1e-9 * (H / tau + C / tau**3))


@modest
@given(cases(any_number), bonuses, temperatures)
def test_f_is_return_plus_entropy_plus_uncertainty(case, bonus, tau):
    m, c, P, initial = parts(case, bonus)
    f, H, C, _ = sweep(case, bonus, tau)
    policy = oracles.k_values(m, c, P, tau)[2]
    flows = oracles.occupancy(P, initial, policy)
    assert pytest.approx(oracles.expected(oracles.entropies(policy), flows), rel=1e-9, abs=1e-12) == H
    assert pytest.approx(oracles.expected(c, flows), rel=1e-9) == C
    scale = abs(f) + tau * H + C / tau
    assert f == pytest.approx(oracles.expected(m, flows) + tau * H + C / tau, abs=1e-11 * scale)


@modest
@given(cases(), bonuses, temperatures, st.integers(0, 2**32 - 1))
def test_f_exceeds_any_policy_by_its_divergence(case, bonus, tau, seed):
    """f(τ) − J_τ(π) = τ Σ_l E_π KL(π_l ‖ π_l^K)."""
    m, c, P, initial = parts(case, bonus)
    rng = np.random.default_rng(seed)
    policy = [rng.dirichlet(np.full(case.actions, 0.5), size=n) for n in case.widths]
    plan = kl.solve(case.belief(), tau, bonus)
    flows = oracles.occupancy(P, initial, policy)
    surprise = oracles.entropies(policy)
    regularised = [r + x / tau + tau * h for r, x, h in zip(m, c, surprise)]
    divergence = [-h - (K - V[:, None]) / tau for h, K, V in zip(surprise, plan.k_values, plan.values)]
    scale = abs(plan.bound) + oracles.expected([np.abs(r) for r in regularised], flows)
    gain = plan.bound - oracles.expected(regularised, flows)
    assert gain == pytest.approx(tau * oracles.expected(divergence, flows), rel=1e-9, abs=1e-11 * scale)
    assert gain >= -1e-11 * scale


@modest
@given(cases(any_number), derived)
def test_without_uncertainty_k_is_q_star(case, bonus):
    m, P, initial = case.mean_model()
    V, Q = oracles.optimal_values(m, P)
    belief = certain_case(m, P, initial).belief()
    plan = kl.solve(belief, bonus=bonus)
    assert_close(plan.k_values, Q, 1e-12)
    assert_close(plan.values, V, 1e-12)
    assert plan.bound == pytest.approx(initial @ V[0], abs=1e-12)
    small = 1e-4
    for l, (K, q) in enumerate(zip(kl.solve(belief, small, bonus).k_values, Q)):
        left = case.horizon - 1 - l
        assert (q - 1e-12 <= K).all()
        assert (K - q <= small * left * np.log(case.actions) + 1e-12).all()


def test_ever_more_visits_make_k_q_star():
    case = random_case(np.random.default_rng(11), [2, 3, 3], 3)
    m, P, initial = case.mean_model()
    Q = oracles.optimal_values(m, P)[1]
    distance = []
    for n in (1e2, 1e4, 1e6):
        visits = [np.full(r.shape, n) for r in m]
        counts = [n * p for p in P]
        belief = kl.Belief.from_counts(case.prior, visits, [n * r for r in m], counts, initial)
        K = kl.solve(belief, 1e-3, "reward").k_values
        distance.append(max(np.abs(x - q).max() for x, q in zip(K, Q)))
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 1e-3 * 3 * np.log(3)


@pytest.mark.parametrize("tau", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("bonus", ["sharp", "reward"])
def test_gaussian_bandit_in_closed_form(bonus, tau):
    """K = μ + σ²/(2τ), the certainty equivalent of N(μ, σ²)."""
    visits, total = np.array([[0.0, 1.0, 20.0]]), np.array([[0.0, 2.0, -3.0]])
    belief = kl.Belief.from_counts(kl.Prior(kl.Gaussian(0.5, 2.0, 0.8)), [visits], [total], [], [1.0])
    n0 = (0.8 / 2.0) ** 2
    mean, variance = (n0 * 0.5 + total) / (n0 + visits), 0.8**2 / (n0 + visits)
    np.testing.assert_allclose(kl.solve(belief, tau, bonus).k_values[0], mean + variance / (2 * tau), rtol=1e-13)


def test_the_printed_bonus():
    """(σ² + (L−l)²) / (2τ (n∨1)) on a chain of three, by hand."""
    visits = [[[0.0]], [[1.0]], [[4.0]]]
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.5), kl.Known([[[[1.0]]], [[[1.0]]]]))
    belief = kl.Belief.from_counts(prior, visits, [[[0.0]], [[0.0]], [[0.0]]], [[[[0.0]]], [[[1.0]]]], [1.0])
    K = [k.item() for k in kl.solve(belief, 2.0, "paper").k_values]
    steps = [(0.25 + 4) / 4, (0.25 + 1) / 4, 0.25 / 16]
    assert pytest.approx([sum(steps), sum(steps[1:]), steps[2]], rel=1e-13) == K


@modest
@given(cases(rewards=["gaussian"]), bonuses, temperatures, st.sampled_from([-3.0, 0.7, 100.0]))
def test_a_constant_more_a_step_shifts_k(case, bonus, tau, more):
    shifted = replace(
        case,
        reward=replace(case.reward, mean=case.reward.mean + more),
        reward_sums=[total + n * more for total, n in zip(case.reward_sums, case.visits)],
    )
    one, other = kl.solve(case.belief(), tau, bonus), kl.solve(shifted.belief(), tau, bonus)
    assert_close(other.k_values, [K + more * (case.horizon - l) for l, K in enumerate(one.k_values)], 1e-9)
    best, best_shifted = kl.solve(case.belief(), bonus=bonus), kl.solve(shifted.belief(), bonus=bonus)
    assert best_shifted.temperature == pytest.approx(best.temperature, rel=1e-5)


@modest
@given(
    cases(rewards=["gaussian"]), st.sampled_from(["sharp", "reward"]), temperatures, st.sampled_from([1e-6, 0.3, 1e6])
)
def test_rewards_and_temperature_scale_together(case, bonus, tau, scale):
    r = case.reward
    case = replace(case, span=case.span or 1.0)
    scaled = replace(
        case,
        reward=kl.Gaussian(scale * r.mean, scale * r.sd, scale * r.noise),
        reward_sums=[scale * total for total in case.reward_sums],
        span=scale * case.span,
    )
    one, other = kl.solve(case.belief(), tau, bonus), kl.solve(scaled.belief(), scale * tau, bonus)
    assert_close([K / scale for K in other.k_values], one.k_values, 1e-9)
    assert_close(other.policy, one.policy, 1e-9)


def permuted(case, rng):
    """The same case with states renamed in every layer, and actions renamed in every state; and the renaming."""
    states = [rng.permutation(n) for n in case.widths]
    actions = [np.argsort(rng.random(n.shape), axis=1) for n in case.visits]

    def table(blocks):
        return [np.take_along_axis(x[s], a, axis=1) for x, s, a in zip(blocks, states, actions)]

    def cube(blocks):
        wide = [x[s][:, :, after] for x, s, after in zip(blocks, states, states[1:])]
        return [np.take_along_axis(x, a[:, :, None], axis=1) for x, a in zip(wide, actions)]

    alpha = cube(case.prior_alpha)
    support = [x > 0 for x in alpha]
    transitions = kl.Known(alpha) if case.known else kl.Dirichlet(case.transitions.mass, support)
    visits, sums, counts = table(case.visits), table(case.reward_sums), cube(case.counts)
    renamed = Case(case.reward, transitions, alpha, visits, sums, counts, case.initial[states[0]], case.span)
    return renamed, table


@modest
@given(cases(), bonuses, temperatures, st.integers(0, 2**32 - 1))
def test_names_of_states_and_actions_do_not_matter(case, bonus, tau, seed):
    renamed, table = permuted(case, np.random.default_rng(seed))
    one, other = kl.solve(case.belief(), tau, bonus), kl.solve(renamed.belief(), tau, bonus)
    assert_close(other.k_values, table(one.k_values), 1e-9)
    assert_close(other.policy, table(one.policy), 1e-9)
    assert other.bound == pytest.approx(one.bound, rel=1e-11)


def test_the_policy_from_shares_is_their_product_whatever_the_blocks():
    """To the last bit: π(a) is share(a), times 1 − share(b) for one later action after the other."""
    layers, rng = np.array([0, 3, 700, 1103]), np.random.default_rng(0)
    work, policy = soft_arrays(layers, 5), np.zeros((5, 1103))
    work.share[:] = rng.random(work.share.shape)
    boltzmann(layers, work, policy)
    places = np.concatenate([work.at[l] + np.arange(n) for l, n in enumerate(np.diff(layers))])
    share = np.vstack([np.ones((1, 1103)), work.share[1:, places]])
    for a in range(5):
        expected = share[a].copy()
        for b in range(a + 1, 5):
            expected *= 1.0 - share[b]
        np.testing.assert_array_equal(policy[a], expected)
