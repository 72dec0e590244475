"""The search for τ with the bonus `split`: f and its derivatives, its certificate, and where rewards are certain."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from tests.support.cases import any_number, cases, certain_case, modest, random_case, thorough
from tests.support.split_cases import Sweeps

seeds = st.integers(0, 2**32 - 1)


def derivative(function, tau, order=8):
    """Richardson's extrapolation of central differences, in log τ: good to about 1e-10."""
    steps = 0.2 / 2.0 ** np.arange(order)
    table = [(function(tau * math.exp(h)) - function(tau * math.exp(-h))) / (2 * h) for h in steps]
    best, least = table[0], math.inf
    for k in range(1, order):
        new = [(4**k * b - a) / (4**k - 1) for a, b in pairwise(table)]
        if abs(new[-1] - table[-1]) < least:
            best, least = new[-1], abs(new[-1] - table[-1])
        table = new
    return best / tau


@modest
@given(cases(any_number), st.floats(-1.5, 2.0))
def test_the_derivatives_are_those_of_f(case, where):
    sweeps, tau = Sweeps(replace(case, span=None).belief()), math.exp(where)
    f, H, C, f2 = sweeps(tau)
    first, second = derivative(lambda t: sweeps(t)[0], tau), derivative(sweeps.slope, tau)
    scale = (abs(f) + abs(H) * tau + C / tau) / tau
    assert H - C / tau**2 == pytest.approx(first, rel=1e-7, abs=1e-8 * scale)
    assert f2 == pytest.approx(second, rel=1e-6, abs=1e-7 * scale / tau)


@pytest.mark.parametrize("seed", range(6))
def test_the_slope_with_a_span_is_that_of_f(seed):
    """Where no value is just being clipped, which no seed here is."""
    case = random_case(np.random.default_rng(seed), [2, 5, 5, 4], 3, "gaussian", "even", most=4, span=0.2)
    sweeps, free, clipped = Sweeps(case.belief()), Sweeps(replace(case, span=None).belief()), False
    for tau in (0.3, 1.0, 3.0):
        f, H, C, f2 = sweeps(tau)
        up, down = (sweeps(tau * (1 + h)) for h in (1e-5, -1e-5))
        assert f <= free(tau)[0]
        clipped = clipped or f < free(tau)[0] - 1e-3
        assert H - C / tau**2 == pytest.approx((up[0] - down[0]) / (2e-5 * tau), rel=1e-6, abs=1e-7)
        slopes = [h - c / (tau * (1 + e)) ** 2 for (_, h, c, _), e in ((up, 1e-5), (down, -1e-5))]
        assert f2 == pytest.approx((slopes[0] - slopes[1]) / (2e-5 * tau), rel=1e-5, abs=1e-6)
    assert clipped


@modest
@given(cases(any_number), st.floats(-3, 3), st.floats(-3, 3), st.floats(0.05, 0.95))
def test_f_is_convex(case, one, other, weight):
    belief = replace(case, span=None).belief()
    taus = math.exp(one), math.exp(other)
    middle = weight * taus[0] + (1 - weight) * taus[1]
    at = [kl.solve(belief, tau, "split").bound for tau in (*taus, middle)]
    assert at[2] <= weight * at[0] + (1 - weight) * at[1] + 1e-12 * max(map(abs, at))


@modest
@given(cases(), st.floats(-4, 4))
def test_the_gap_certifies_any_temperature(case, away):
    """f(τ) − gap(τ) ≤ the least f on a fine grid about τ*, and τ* itself is beaten by none of it."""
    belief = replace(case, span=None).belief()
    best = kl.solve(belief, bonus="split", tolerance=1e-12)
    assume(0 < best.temperature < math.inf)
    sweeps = Sweeps(belief)
    grid = [sweeps(best.temperature * math.exp(x))[0] for x in np.linspace(-1, 1, 101)]
    scale = 1e-12 * (abs(best.bound) + max(grid) - min(grid))
    assert min(grid) >= best.bound - best.gap - scale
    assert best.bound <= min(grid) + best.gap + scale
    plan = kl.solve(belief, best.temperature * math.exp(away), "split")
    assert plan.bound >= best.bound - best.gap - scale
    assert plan.bound - plan.gap <= best.bound + scale


@pytest.mark.slow
@thorough
@given(cases())
def test_the_search_ends(case):
    """With a span too, where the gap is that of a local minimum."""
    plan = kl.solve(case.belief(), bonus="split")
    assert 0.0 <= plan.gap <= 1e-8 * max(abs(plan.bound), 1e-6)
    assert plan.sweeps <= 30
    for table in (plan.k_values, plan.values, plan.policy, plan.occupancy):
        assert all(np.isfinite(x).all() for x in table)


def known_rewards(seed, scale=1.0, shift=0.0):
    """Every reward was seen, without noise; rows were seen now and then."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, [2, 4, 3], 2, "gaussian", "even")
    visits = [np.maximum(n, 1.0) for n in case.visits]
    counts = [rng.multinomial(n.astype(int), np.full(y, 1 / y)).astype(float) for n, y in zip(visits, [4, 3])]
    reward = kl.Gaussian(0.0, scale, 0.0)
    sums = [n * scale * (rng.normal(size=n.shape) + shift) for n in visits]
    return replace(case, reward=reward, visits=visits, counts=counts, reward_sums=sums)


@pytest.mark.thin(3)
@pytest.mark.parametrize("seed", [*range(20), 41, 56, 68])  # in the last three H̄ comes to 0 from below
def test_known_rewards_and_unknown_rows(seed):
    """C̄ = 0: the minimum is where H̄ = 0, or nowhere. It is found, certified, a bound, and no less at any other τ."""
    belief = known_rewards(seed).belief()
    plan = kl.solve(belief, bonus="split")
    assert plan.gap <= 1e-9 * abs(plan.bound)
    assert plan.sweeps <= 40
    assert plan.temperature > 0.0
    values = [kl.solve(belief, plan.temperature * math.exp(x), "split").bound for x in np.linspace(-3, 3, 41)]
    assert min(values) >= plan.bound - 1e-9 * abs(plan.bound)
    assert plan.bound > kl.optimal(theory.optimistic.mean_mdp(belief)).value + 1e-6


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6])
def test_known_rewards_on_any_scale(scale):
    one, other = (kl.solve(known_rewards(3, s).belief(), bonus="split") for s in (1.0, scale))
    assert other.temperature == pytest.approx(scale * one.temperature, rel=1e-3)
    assert other.bound == pytest.approx(scale * one.bound, rel=1e-8)


def test_nothing_that_matters_is_uncertain():
    """Rows are unknown, but all that can follow is worth the same: τ = 0, greedy. So too if all rewards are 0."""
    prior = kl.Prior(kl.Gaussian(noise=0.0))
    for paid, greedy in (([1.0, 2.0], [0.0, 1.0]), ([0.0, 0.0], [0.5, 0.5])):
        visits, sums = [[[1.0, 1.0]], np.ones((2, 2))], [[paid], np.full((2, 2), paid[0])]
        belief = kl.Belief.from_counts(prior, visits, sums, [[[[1.0, 0.0], [1.0, 0.0]]]], [1.0])
        plan = kl.solve(belief, bonus="split")
        assert (plan.temperature, plan.gap) == (0.0, 0.0)
        assert plan.bound == paid[0] + paid[1]
        assert plan.policy[0].tolist() == [greedy]
    with pytest.raises(ValueError, match="temperature=0"):
        kl.solve(belief, 0.0, "split")


def test_nothing_uncertain_is_greedy():
    m = [np.array([[1.0, 1.0, 0.0]]), np.array([[0.0, 3.0, 3.0], [2.0, 2.0, 2.0]])]
    P = [np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])]
    plan = kl.solve(certain_case(m, P, [1.0]).belief(), bonus="split")
    assert (plan.temperature, plan.bound, plan.gap) == (0.0, 4.0, 0.0)
    assert plan.policy[0].tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.thin(3)
@pytest.mark.parametrize("noise", [1e-5, 1e-12, 1e-50])
@pytest.mark.parametrize("mass", [1e-50, 1e-16, 1e-9, 0.3, 1000.0, 1e9])
def test_rewards_that_are_all_but_certain(noise, mass):
    """The first guess is some τ ≈ noise, the optimum far from it: it is found, and certified."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, noise), kl.Dirichlet(mass))
    visits, sums = [[[1, 1]], [[1, 1], [1, 1]]], [[[0, 0]], [[0, 0], [1, 1]]]
    belief = kl.Belief.from_counts(prior, visits, sums, [[[[1, 0], [1, 0]]]], [1.0])
    plan = kl.solve(belief, bonus="split")
    assert 0.0 <= plan.gap <= 1e-9
    assert plan.sweeps <= 40
    mean = mass / 2 / (mass + 1)
    grid = [kl.solve(belief, tau, "split").bound for tau in np.geomspace(1e-5, 10.0, 40)]
    assert mean - 1e-12 <= plan.bound <= min(grid) + 1e-9


@pytest.mark.thin(3)
@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_hardly_any_noise_in_larger_beliefs(seed):
    belief = replace(known_rewards(seed), reward=kl.Gaussian(0.0, 1.0, 1e-12)).belief()
    plan = kl.solve(belief, bonus="split")
    assert 0.0 <= plan.gap <= 1e-9 * abs(plan.bound)
    grid = [kl.solve(belief, tau, "split").bound for tau in np.geomspace(1e-4, 30.0, 40)]
    assert plan.bound <= min(grid) + 1e-9
