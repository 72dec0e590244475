"""The optimal temperature: certified, never beaten by another, and sensible at every edge."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import klearning as kl
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.temperature import Point, at_optimum, lowest_between
from klearning.tabular.trials.trial import Trial
from tests.support import oracles
from tests.support.cases import BONUSES, Case, any_number, cases, certain_case, modest, random_case, thorough

bonuses = st.sampled_from(BONUSES)
TINY = 1e-300


def mean_return(case, plan):
    """J of the plan's policy in the posterior-mean model."""
    m, P, initial = case.mean_model()
    return oracles.expected(m, oracles.occupancy(P, initial, plan.policy))


def assert_sound(case, plan, bonus):
    """Finite, certified, and one and the same (τ, K, V, π) that the plain recursion gives."""
    m, P, initial = case.mean_model()
    c = case.half_variance(bonus)
    for table in (plan.k_values, plan.values, plan.policy, plan.occupancy):
        assert all(np.isfinite(x).all() for x in table)
    assert np.isfinite([plan.bound, plan.gap]).all()
    assert 0.0 <= plan.gap <= 1e-8 * max(abs(plan.bound), TINY)
    optimism = plan.bound - mean_return(case, plan)
    rounding = 1e-14 * case.horizon * max(np.abs(K).max() for K in plan.k_values)
    assert plan.gap <= 1e-8 * max(optimism, 0.0) + rounding
    if 0.0 < plan.temperature < math.inf:
        K, V, _ = oracles.k_values(m, c, P, plan.temperature)
        for got, want in zip([*plan.k_values, *plan.values], [*K, *V]):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=rounding)
        assert plan.bound == pytest.approx(initial @ V[0], rel=1e-12, abs=rounding)


def blank(widths, actions, reward=None, transitions=None):
    """A case in which nothing was ever visited."""
    visits = [np.zeros((n, actions)) for n in widths]
    counts = [np.zeros((x, actions, y)) for x, y in pairwise(widths)]
    learnt = transitions or kl.Dirichlet(1.0)
    alpha = [np.full(n.shape, 1.0 / n.shape[-1]) for n in counts]
    return Case(reward or kl.Gaussian(), learnt, alpha, visits, visits, counts, np.full(widths[0], 1 / widths[0]))


@thorough
@given(cases(), bonuses)
def test_the_gap_is_certified(case, bonus):
    assert_sound(case, kl.solve(case.belief(), bonus=bonus), bonus)


@modest
@given(cases(), bonuses, st.sampled_from([1e-2, 1e-4, 1e-6, 1e-12]))
def test_the_gap_is_within_the_tolerance_asked_for(case, bonus, tolerance):
    plan = kl.solve(case.belief(), bonus=bonus, tolerance=tolerance)
    assert plan.gap <= 1.01 * tolerance * (plan.bound - mean_return(case, plan))


@modest
@given(cases(), bonuses)
def test_no_temperature_on_a_grid_is_better(case, bonus):
    m, P, initial = case.mean_model()
    c = case.half_variance(bonus)
    plan = kl.solve(case.belief(), bonus=bonus, tolerance=1e-14)
    grid = plan.temperature * np.exp(np.linspace(-1.5, 1.5, 61))
    values = np.array([oracles.f(m, c, P, initial, tau) for tau in grid])
    scale = abs(plan.bound) + values.max() - values.min()
    assert values.min() >= plan.bound - 1e-12 * scale
    assert grid[values.argmin()] == plan.temperature == grid[30]


@modest
@given(cases(), bonuses, st.floats(-6, 6))
def test_the_gap_certifies_any_temperature(case, bonus, away):
    """f(τ) − gap(τ) ≤ min f, and gap = (√(τH̄) − √(C̄/τ))²."""
    _, P, initial = case.mean_model()
    c = case.half_variance(bonus)
    belief = case.belief()
    best = kl.solve(belief, bonus=bonus)
    tau = best.temperature * math.exp(away)
    plan = kl.solve(belief, tau, bonus)
    flows = oracles.occupancy(P, initial, plan.policy)
    H, C = oracles.expected(oracles.entropies(plan.policy), flows), oracles.expected(c, flows)
    scale = tau * H + C / tau
    assert plan.gap == pytest.approx((math.sqrt(tau * H) - math.sqrt(C / tau)) ** 2, rel=1e-6, abs=1e-10 * scale)
    assert plan.bound - plan.gap <= best.bound + 1e-9 * scale
    assert plan.bound >= best.bound - 1e-12 * (abs(best.bound) + scale)


@modest
@given(cases(any_number), bonuses, st.floats(-3, 3), st.floats(-3, 3), st.floats(0.05, 0.95))
def test_f_is_convex(case, bonus, one, other, weight):
    belief = case.belief()
    taus = math.exp(one), math.exp(other)
    middle = weight * taus[0] + (1 - weight) * taus[1]
    at = [kl.solve(belief, tau, bonus).bound for tau in (*taus, middle)]
    assert at[2] <= weight * at[0] + (1 - weight) * at[1] + 1e-12 * max(map(abs, at))


@modest
@given(cases(), bonuses, st.floats(-3, 3))
def test_the_optimum_is_inside_the_bracket(case, bonus, where):
    """C_u / (f(τ0) − J_u) ≤ τ* ≤ (f(τ0) − J_u) / (L log A), u the uniform policy, any τ0."""
    m, P, initial = case.mean_model()
    uniform = [np.full(n.shape, 1 / case.actions) for n in case.visits]
    flows = oracles.occupancy(P, initial, uniform)
    J, C = oracles.expected(m, flows), oracles.expected(case.half_variance(bonus), flows)
    belief = case.belief()
    excess = kl.solve(belief, math.exp(where), bonus).bound - J
    tau = kl.solve(belief, bonus=bonus).temperature
    assert C / excess <= tau * (1 + 1e-6)
    assert tau <= excess / (case.horizon * math.log(case.actions)) * (1 + 1e-6)


@modest
@given(cases(), bonuses, st.integers(1, 10**6))
def test_the_schedule(case, bonus, t):
    L, S, A = case.horizon, sum(case.widths), case.actions
    if bonus == "paper":
        noise = case.reward.noise if isinstance(case.reward, kl.Gaussian) else 0.5
        B = noise**2 + L**2
    else:
        B = max((2 * c * np.maximum(n, 1)).max() for c, n in zip(case.half_variance(bonus), case.visits))
    tau = math.sqrt(B * S * A * (1 + math.log(t)) / (4 * L * t * math.log(A)))
    plan = kl.solve(case.belief(), kl.schedule(t), bonus)
    assert plan.temperature == pytest.approx(tau, rel=1e-12)
    assert plan.bound == pytest.approx(kl.solve(case.belief(), tau, bonus).bound, rel=1e-11)


@modest
@given(cases(), bonuses)
def test_a_warm_start_finds_what_a_cold_one_finds(case, bonus):
    belief = case.belief()
    ready = program(belief, bonus)
    policy = np.zeros_like(ready.c)
    cold = kl.solve(belief, bonus=bonus, tolerance=1e-12)
    for factor in (1e-6, 0.1, 0.99, 1.0, 1.3, 50.0, 1e6):
        warm = at_optimum(ready.model, ready.c, factor * cold.temperature, 1e-12, policy, ready.work)
        assert warm.tau == pytest.approx(cold.temperature, rel=1e-4)
        assert warm.bound == pytest.approx(cold.bound, rel=1e-11, abs=1e-11)
        start = 0
        for pi in cold.policy:
            np.testing.assert_allclose(policy[:, start : start + len(pi)].T, pi, atol=1e-4)
            start += len(pi)
        assert warm.sweeps <= 40
        if factor == 1.0:
            assert warm.sweeps == 1


@modest
@given(cases(), bonuses)
def test_a_cold_start_needs_few_sweeps(case, bonus):
    assert kl.solve(case.belief(), bonus=bonus).sweeps <= 15


@pytest.mark.parametrize("seed", range(3))
def test_a_cold_start_needs_few_sweeps_where_f_is_steep(seed):
    """While DeepSea is about to be solved the optimum falls through a steep part of f, where Newton took 10."""
    world, begun = kl.deep_sea(50), kl.Belief.before(kl.Prior(), kl.deep_sea(50))
    trial = Trial(kl.KLearning().algorithm, world, kl.Prior(), seed, 500)
    sweeps = []
    for _ in range(25):
        trial.advance(20)
        plan = kl.solve(begun.after(trial.memory.posterior))
        assert plan.gap <= 1e-10 * plan.bound
        sweeps.append(plan.sweeps)
    assert 4 < max(sweeps) <= 6


def test_the_lowest_between_two_points_of_a_quintic_is_exact():
    """f = (x − 1)² + (x − 1)⁴/10 + (x − 1)⁵/50 in x = log τ, from x = 0 and x = 3."""

    def point(x):
        d = x - 1.0
        f, slope = d**2 + d**4 / 10 + d**5 / 50, 2 * d + 0.4 * d**3 + d**4 / 10
        return Point(math.exp(x), f, slope, 2 + 1.2 * d**2 + 0.4 * d**3)

    assert lowest_between(point(0.0), point(3.0)) == pytest.approx(math.e, rel=1e-13)


@modest
@given(cases(actions=st.just(1)), bonuses)
def test_one_action_leaves_no_choice(case, bonus):
    belief = case.belief()
    plan = kl.solve(belief, bonus=bonus)
    assert (plan.temperature, plan.gap) == (math.inf, 0.0)
    assert all((pi == 1.0).all() for pi in plan.policy)
    m, P, initial = case.mean_model()
    V, Q = oracles.policy_values(m, P, plan.policy)
    assert plan.bound == pytest.approx(initial @ V[0], rel=1e-12, abs=1e-12)
    oracles.assert_close(plan.k_values + plan.values, Q + V)
    assert kl.solve(belief, kl.schedule(3), bonus).temperature == math.inf
    collected = oracles.expected(case.half_variance(bonus), oracles.occupancy(P, initial, plan.policy))
    assert kl.solve(belief, 0.5, bonus).bound == pytest.approx(plan.bound + collected / 0.5, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("reward", [kl.Gaussian(0.2, 1.5, 0.3), kl.Beta(1.0, 2.0)])
@pytest.mark.parametrize("widths", [[1], [7], [1, 1, 1], [1, 9, 2], [3] * 12])
def test_nothing_visited(widths, reward, bonus):
    case = blank(widths, 3, reward)
    plan = kl.solve(case.belief(), bonus=bonus)
    assert_sound(case, plan, bonus)
    for pi in plan.policy:
        np.testing.assert_allclose(pi, 1 / 3, atol=1e-12)
    C = sum(c[0, 0] for c in case.half_variance(bonus))
    assert plan.temperature == pytest.approx(math.sqrt(C / (len(widths) * math.log(3))), rel=1e-5)


@pytest.mark.parametrize("bonus", ["sharp", "reward"])
def test_nothing_uncertain_is_greedy_and_uniform_over_ties(bonus):
    m = [np.array([[1.0, 1.0, 0.0]]), np.array([[0.0, 3.0, 3.0], [2.0, 2.0, 2.0]])]
    P = [np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])]
    case = certain_case(m, P, [1.0])
    plan = kl.solve(case.belief(), bonus=bonus)
    assert (plan.temperature, plan.bound, plan.gap) == (0.0, 4.0, 0.0)
    assert [pi.tolist() for pi in plan.policy] == [[[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5], [1 / 3] * 3]]
    assert plan.occupancy[1].tolist() == [[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]
    assert kl.solve(case.belief(), 0.0, bonus).policy[0].tolist() == [[0.5, 0.5, 0.0]]
    assert kl.solve(case.belief(), kl.schedule(5), bonus).temperature == 0.0


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_rewards_known_from_the_start_are_certain(noise):
    case = blank([2, 3], 2, kl.Gaussian(0.7, 0.0, noise), kl.Known([np.full((2, 2, 3), 1 / 3)]))
    plan = kl.solve(case.belief())
    assert (plan.temperature, plan.gap) == (0.0, 0.0)
    assert plan.bound == pytest.approx(1.4, rel=1e-14)
    assert all((pi == 0.5).all() for pi in plan.policy)


def test_uncertainty_out_of_reach_does_not_warm():
    P = [np.array([[[1.0, 0.0], [1.0, 0.0]]])]
    visits = [np.ones((1, 2)), np.array([[1.0, 1.0], [0.0, 0.0]])]
    sums = [np.array([[1.0, 2.0]]), np.array([[5.0, 3.0], [0.0, 0.0]])]
    counts = [np.array([[[1.0, 0.0], [1.0, 0.0]]])]
    belief = kl.Belief.from_counts(kl.Prior(kl.Gaussian(noise=0.0), kl.Known(P)), visits, sums, counts, [1.0])
    plan = kl.solve(belief)
    assert (plan.temperature, plan.bound, plan.gap) == (0.0, 7.0, 0.0)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("visits", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("reward", ["gaussian", "beta"])
@pytest.mark.parametrize("transitions", ["even", "known"])
def test_huge_counts(visits, reward, transitions, bonus):
    case = random_case(np.random.default_rng(6), [2, 4, 3], 3, reward, transitions)
    m, P, _ = case.mean_model()
    n = [np.full(r.shape, visits) for r in m]
    many = replace(case, visits=n, reward_sums=[visits * r for r in m], counts=[visits * p for p in P])
    plan = kl.solve(many.belief(), bonus=bonus)
    assert_sound(many, plan, bonus)
    best = oracles.optimal_values(m, P)[0][0] @ case.initial
    assert plan.bound == pytest.approx(best, abs=0.2)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("visits", [1e6, 1e12])
def test_huge_counts_and_ties(visits, bonus):
    """Equal actions: τ* shrinks like the uncertainty, with no gap to hold it up."""
    m = [np.full((2, 3), 0.5)] * 3
    P = [np.full((2, 3, 2), 0.5)] * 2
    n = [np.full((2, 3), visits)] * 3
    case = Case(
        kl.Gaussian(0.5, 1.0, 0.1), kl.Known(P), P, n, [visits * r for r in m], [visits * p for p in P],
        np.array([0.5, 0.5]),
    )  # fmt: skip
    plan = kl.solve(case.belief(), bonus=bonus)
    assert_sound(case, plan, bonus)
    C = sum(c[0, 0] for c in case.half_variance(bonus))
    assert plan.temperature == pytest.approx(math.sqrt(C / (3 * math.log(3))), rel=1e-3)


@pytest.mark.parametrize("bonus", ["sharp", "reward"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_scales_with_the_rewards(seed, scale, bonus):
    case = random_case(np.random.default_rng(seed), [2, 3, 4], 3, "gaussian", span=1.0)
    r = case.reward
    scaled = replace(
        case,
        reward=kl.Gaussian(scale * r.mean, scale * r.sd, scale * r.noise),
        reward_sums=[scale * total for total in case.reward_sums],
        span=scale,
    )
    one, other = kl.solve(case.belief(), bonus=bonus), kl.solve(scaled.belief(), bonus=bonus)
    assert_sound(scaled, other, bonus)
    assert other.temperature == pytest.approx(scale * one.temperature, rel=1e-5)
    assert other.bound == pytest.approx(scale * one.bound, rel=1e-9)


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_means_and_uncertainty_on_different_scales(scale, bonus):
    """Means of size ``scale`` under a bonus of size one."""
    case = random_case(np.random.default_rng(9), [3, 4], 3, "gaussian")
    other = replace(case, reward_sums=[scale * total for total in case.reward_sums])
    assert_sound(other, kl.solve(other.belief(), bonus=bonus), bonus)


@pytest.mark.parametrize("bonus", BONUSES)
def test_noiseless_rewards_half_seen(bonus):
    case = random_case(np.random.default_rng(10), [3, 5, 2], 2, "gaussian")
    case = replace(case, reward=kl.Gaussian(0.1, 0.8, 0.0))
    assert_sound(case, kl.solve(case.belief(), bonus=bonus), bonus)


@pytest.mark.parametrize("start", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_a_start_that_leaves_states_out(start):
    case = replace(random_case(np.random.default_rng(12), [3, 4, 4], 2), initial=np.array(start))
    for bonus in BONUSES:
        assert_sound(case, kl.solve(case.belief(), bonus=bonus), bonus)


@pytest.mark.parametrize("visits", [1e2, 1e6, 1e12])
def test_two_arms_with_an_action_gap(visits):
    """f = c/τ + τ log(1 + exp(−gap/τ)) for equally known arms; its stationary point by bisection."""
    n, sums = np.full((1, 2), visits), np.array([[visits, 0.0]])
    case = Case(kl.Gaussian(0.0, 1.0, 1.0), kl.Known([]), [], [n], [sums], [], np.ones(1))
    c, gap = 0.5 / (1 + visits), visits / (1 + visits)

    def slope(tau):
        return math.log1p(math.exp(-gap / tau)) + gap / tau / (1 + math.exp(gap / tau)) - c / tau**2

    plan = kl.solve(case.belief())
    assert_sound(case, plan, "reward")
    assert plan.temperature == pytest.approx(brentq(slope, 0.01, 10.0, xtol=1e-15), rel=1e-5)
    assert 0.5 < plan.temperature * math.log(1 / c) / gap < 2


def test_an_uncertain_arm_that_can_never_win():
    """A huge action gap: the minimum of f is beyond the range of floats, and so is what it costs."""
    n, sums = np.array([[1e15, 1.0]]), np.array([[0.0, -1e6]])
    case = Case(kl.Gaussian(0.0, 1.0, 1e-3), kl.Known([]), [], [n], [sums], [], np.ones(1))
    plan = kl.solve(case.belief())
    assert_sound(case, plan, "reward")
    assert plan.policy[0][0, 0] == 1.0
