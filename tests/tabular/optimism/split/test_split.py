"""The bonus `split`: K bounds certainty equivalents with no span stated.

Rows are compared with exact certainty equivalents (a series of positive terms), whole beliefs with posteriors that are
enumerated by quadrature, if nothing is random, and with draws where a false-alarm rate is stated.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.tabular.beliefs import distributions
from tests.support import oracles
from tests.support.cases import any_number, cases, modest, random_case, thorough
from tests.support.split_cases import any_mass, exact, mean, random_row, row_bound
from tests.support.theory_cases import NODES, SHAPES, temperatures
from tests.tabular.optimism.test_bonuses import least_certainty_equivalent, posterior_q_values

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@thorough
@given(seeds)
def test_a_row_is_at_least_its_certainty_equivalent(seed):
    """Masses 0.01 to 10, up to 1e4 visits, 0 to 5 successors, span/τ from 0.1 to 200; up to 1e-11 of the span."""
    rng = np.random.default_rng(seed)
    mass = any_mass(rng, 0.01, 10.0)
    for _ in range(10):
        counts, W, tau = random_row(rng)
        ours = row_bound(mass, counts, W, tau)
        assert exact(mass, counts, W, tau) - 1e-11 * np.ptp(W) <= ours <= W.max() + 1e-11 * np.ptp(W)


@pytest.mark.slow
def test_a_row_is_far_tighter_than_sharp():
    """Excess over the posterior mean, as a multiple of the exact one, on 400 rows; `sharp` is given W's own span.

    Measured, median, 90% and most: 1.1, 1.5 and 2.9 against 3.8, 69 and 6400.
    """
    rng = np.random.default_rng(1)
    ours, sharp = [], []
    for mass in np.repeat([any_mass(rng, 0.03, 3.0) for _ in range(40)], 10).tolist():
        counts, W, tau = random_row(rng, most=100, ratios=(0.1, 50.0))
        m = mean(mass, counts, W)
        least = exact(mass, counts, W, tau) - m
        if least < 1e-9 * np.ptp(W):
            continue
        ours.append((row_bound(mass, counts, W, tau) - m) / least)
        sharp.append(np.ptp(W) ** 2 / (8 * tau * (mass + counts.sum() + 1)) / least)
    assert len(ours) > 300
    assert np.median(ours) < 1.2
    assert max(ours) < 4.0
    assert np.median(sharp) > 3.0
    assert np.quantile(sharp, 0.9) > 30.0


@pytest.mark.parametrize("tau", [0.01, 0.1, 1.0, 100.0])
def test_a_row_never_seen_is_a_random_corner(tau):
    """No visits, mass ≤ 1: φ = τ log mean_i exp(W_i/τ), whatever the mass."""
    W = np.array([0.0, 1.0, 0.2, -0.5])
    want = tau * np.log(np.mean(np.exp((W - 1.0) / tau))) + 1.0
    for mass in (0.01, 0.3, 1.0):
        assert row_bound(mass, np.zeros(4), W, tau) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("mass", [0.3, 4.0])
@pytest.mark.parametrize("counts", [[1, 0, 0], [3, 2, 0], [0.5, 0.5, 0.5]])
def test_many_visits_leave_the_mean(mass, counts):
    """φ − mean falls as 1/n: hardly anything is left at 1e8, and a tenth of it from each power of ten to the next."""
    W, tau = np.array([0.0, 1.0, 2.5]), 0.3
    excess = []
    for n in 10.0 ** np.arange(2, 9):
        seen = n * np.array(counts, float)
        excess.append(row_bound(mass, seen, W, tau) - mean(mass, seen, W))
    assert 0 <= excess[-1] < 1e-6
    np.testing.assert_allclose(np.array(excess[2:]) / excess[1:-1], 0.1, rtol=0.15)


def test_the_two_ways_to_weigh_knots_agree():
    """Numbers up to span/τ = 600, logarithms beyond: φ goes on as it was, and is a bound there."""
    W = np.array([0.0, 0.4, 1.0])
    for n in (1, 40, 50.5, 2000.5):
        near, far = (row_bound(0.3, [n, 0, 0], W, 1 / ratio) for ratio in (600.0 * (1 - 1e-9), 600.0 * (1 + 1e-9)))
        assert near == pytest.approx(far, abs=1e-8)
    for n in (1, 40, 50.5):
        least = theory.cumulants.dirichlet_cumulant([0.1 + n, 0.1, 0.1], W, 3000.0) / 3000
        assert least - 1e-11 <= row_bound(0.3, [n, 0, 0], W, 1 / 3000) <= 1.0


@pytest.mark.parametrize("n", [1e-3, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("ratio", [0.1, 10.0, 1000.0])
def test_a_row_that_was_seen_less_than_once(n, ratio):
    """Between the table's counts 0 and 1: a coin of chance α0/(α0+n) for nothing seen, else all is."""
    mass, W, heads = 0.3, np.array([0.0, 1.0]), 0.3 / (0.3 + n)
    logs = np.logaddexp(np.log(heads) + np.logaddexp(0.0, ratio) - np.log(2.0), np.log1p(-heads))
    assert row_bound(mass, [n, 0], W, 1 / ratio) == pytest.approx(logs / ratio, rel=1e-9)


EDGES = [  # mass, visits of the state worth 0, span/τ: where weights, or means of exponentials, are beyond floats
    (0.3, 2000, 4919), (0.3, 3000, 10_000), (0.3, 10_000, 19_920), (0.3, 1_000_000, 100_000), (1e-9, 5, 100_000),
    (1e-9, 50_000, 100_000), (1000, 1, 3375), (3000, 1, 2080), (3000, 1, 3000), (3000, 10, 100_000), (3000, 0.5, 1e5),
    (3000, 0, 30_000), (1.0, 300, 1e5), (1.1, 300, 1e5), (11.0, 1e5, 1e5), (13.0, 1e5, 1e5),
]  # fmt: skip


@pytest.mark.parametrize(("mass", "n", "ratio"), EDGES)
def test_a_row_at_the_edges_of_floats(mass, n, ratio):
    """Two states, one seen, worth 0, the other worth 1: exactly τ log ₁F₁(α0/2; α0+n; 1/τ)."""
    least = distributions.beta_cumulant(mass / 2, mass / 2 + n, ratio) / ratio
    ours = row_bound(mass, [n, 0], np.array([0.0, 1.0]), 1 / ratio)
    assert max(least, mean(mass, [n, 0], np.array([0.0, 1.0]))) - 1e-11 <= ours <= 1.0 + 1e-11


@pytest.mark.slow
@modest
@given(seeds)
def test_rows_of_any_mass_and_any_span(seed):
    """Masses 1e-9 to 3e3, span/τ up to 1e5, values 0 and 1, so that P·W is a Beta; any of them seen or not."""
    rng = np.random.default_rng(seed)
    mass = any_mass(rng, 1e-9, 3e3)
    for _ in range(4):
        counts, W, _ = random_row(rng, most=1e6)
        W, ratio = (W.max() == W) * 1.0, float(np.exp(rng.uniform(0.0, np.log(1e5))))
        if W.all():
            continue
        alpha = mass / W.size + counts
        least = distributions.beta_cumulant(alpha @ W, alpha @ (1 - W), ratio) / ratio
        ours = row_bound(mass, counts, W, 1 / ratio)
        assert max(least, mean(mass, counts, W)) - 1e-11 <= ours <= 1.0 + 1e-11


@pytest.mark.parametrize("span", [0.0, 0.5, 1.0, 2.0])
def test_a_stated_span_clips_the_unseen_part(span):
    """One successor, the worst: φ is that of values at most ``span`` above the least; a wide span changes nothing."""
    W, tau, counts = np.array([0.0, 1.0, 0.3]), 0.2, [3, 0, 0]
    got = row_bound(0.3, counts, W, tau, span)
    assert got == pytest.approx(row_bound(0.3, counts, np.minimum(W, span), tau), rel=1e-13, abs=1e-13)
    best = row_bound(0.3, [0, 3, 0], W, tau, span)  # what was seen is not clipped
    assert best <= row_bound(0.3, [0, 3, 0], W, tau) + 1e-14
    assert best >= 3 / 3.3 * 1.0
    if span >= 1.0:
        assert best == pytest.approx(row_bound(0.3, [0, 3, 0], W, tau), rel=1e-14)


@modest
@given(st.sampled_from(SHAPES), st.sampled_from(["gaussian", "beta"]), seeds, temperatures)
def test_k_bounds_an_enumerated_posterior(shape, reward, seed, tau):
    """e-upperb with no span, on every member of a finite posterior with the belief's means and independence.

    A Gauss rule has smaller cumulants than the law it stands for, so this holds exactly.
    """
    case = random_case(np.random.default_rng(seed), *shape, reward, "even", most=6)
    belief = case.belief()
    posterior = theory.quadrature(belief, NODES)
    assert theory.k_value_inequality(belief, posterior, tau, "split").holds()
    assert theory.certainty.maximal_chain(belief, posterior, tau, "split").second.holds()
    best = posterior.at_start(posterior.q_values[0].max(axis=2))[0]
    assert kl.solve(belief, bonus="split").bound >= best - 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("transitions", ["even", "support"])
@pytest.mark.parametrize("reward", ["gaussian", "beta"])
def test_k_bounds_the_certainty_equivalents(reward, transitions):
    """By simulation: 5 standard errors, one-sided, on 45 numbers, hence 1.3e-5 by chance for each of the 4."""
    rng = np.random.default_rng([7, len(reward)])
    case = random_case(rng, [2, 3, 2], 2, reward, transitions, most=6)
    Q, belief = posterior_q_values(case, rng), case.belief()
    best = kl.solve(belief, bonus="split").temperature
    starts = np.einsum("s,ns->n", case.initial, Q[0].max(axis=2))
    for tau in (best, 2 * best, 10.0):
        plan = kl.solve(belief, tau, "split")
        for K, q in zip(plan.k_values, Q):
            assert (least_certainty_equivalent(q, tau) - 1e-9 <= K).all()
        assert plan.bound >= starts.mean() - 5 * starts.std() / np.sqrt(len(starts))


@modest
@given(cases(any_number), temperatures)
def test_the_plan_is_of_one_piece(case, tau):
    """V = τ log Σ exp(K/τ), the policy its Boltzmann policy, f = E_ρ V_1, the occupancy that of the mean model."""
    case = replace(case, span=None)
    plan = kl.solve(case.belief(), tau, "split")
    for K, V, pi in zip(plan.k_values, plan.values, plan.policy):
        np.testing.assert_allclose(V, theory.optimistic.soft_maximum(K, tau), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(pi, np.exp((K - V[:, None]) / tau), rtol=1e-9, atol=1e-11)
    _, P, initial = case.mean_model()
    assert plan.bound == pytest.approx(initial @ plan.values[0], rel=1e-12, abs=1e-12)
    oracles.assert_close(plan.occupancy, oracles.occupancy(P, initial, plan.policy))
