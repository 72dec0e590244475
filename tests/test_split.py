"""The bonus `split`: K bounds certainty equivalents with no span stated, and the search for τ rests on its f.

Rows are compared with exact certainty equivalents (a series of positive terms), whole beliefs with posteriors that are
enumerated by quadrature, where nothing is random, and with draws where a false-alarm rate is stated.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import klearning as kl
from klearning import theory
from tests import oracles
from tests.cases import any_number, cases, certain_case, modest, random_case, thorough
from tests.split_cases import Sweeps, exact, mean, one_row, random_row, row_bound
from tests.test_optimism import least_certainty_equivalent, posterior_q_values
from tests.test_temperature import mean_return
from tests.theory_cases import NODES, SHAPES, temperatures

seeds = st.integers(0, 2**32 - 1)

# -- a row ------------------------------------------------------------------------------------------------------------


@thorough
@given(seeds)
def test_a_row_is_at_least_its_certainty_equivalent(seed):
    """Masses 0.01 to 10, up to 1e4 visits, 0 to 5 successors, span/τ from 0.1 to 200; up to 1e-11 of the span."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        mass, counts, W, tau = random_row(rng)
        ours = row_bound(mass, counts, W, tau)
        assert exact(mass, counts, W, tau) - 1e-11 * np.ptp(W) <= ours <= W.max() + 1e-11 * np.ptp(W)


def test_a_row_is_far_tighter_than_sharp():
    """Excess over the posterior mean, as a multiple of the exact one, on 400 rows; `sharp` is given W's own span.

    Measured, median, 90% and most: 1.1, 1.5 and 2.9 against 3.8, 69 and 6400.
    """
    rng = np.random.default_rng(1)
    ours, sharp = [], []
    for _ in range(400):
        mass, counts, W, tau = random_row(rng, masses=(0.03, 3.0), most=100, ratios=(0.1, 50.0))
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
        least = theory.dirichlet_cumulant([0.1 + n, 0.1, 0.1], W, 3000.0) / 3000
        assert least - 1e-11 <= row_bound(0.3, [n, 0, 0], W, 1 / 3000) <= 1.0


@pytest.mark.parametrize("span", [0.0, 0.5, 1.0, 2.0])
def test_a_stated_span_clips_the_unseen_part(span):
    """One successor, the worst: φ is that of values no more than ``span`` above the least; a wide span changes nothing."""
    W, tau, counts = np.array([0.0, 1.0, 0.3]), 0.2, [3, 0, 0]
    got = row_bound(0.3, counts, W, tau, span)
    assert got == pytest.approx(row_bound(0.3, counts, np.minimum(W, span), tau), rel=1e-13, abs=1e-13)
    best = row_bound(0.3, [0, 3, 0], W, tau, span)  # what was seen is not clipped
    assert best <= row_bound(0.3, [0, 3, 0], W, tau) + 1e-14
    assert best >= 3 / 3.3 * 1.0
    if span >= 1.0:
        assert best == pytest.approx(row_bound(0.3, [0, 3, 0], W, tau), rel=1e-14)


# -- whole beliefs ----------------------------------------------------------------------------------------------------


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
    assert theory.maximal_chain(belief, posterior, tau, "split").second.holds()
    best = posterior.at_start(posterior.q_values[0].max(axis=2))[0]
    assert kl.solve(belief, bonus="split").bound >= best - 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("transitions", ["even", "support"])
@pytest.mark.parametrize("reward", ["gaussian", "beta"])
def test_k_bounds_the_certainty_equivalents(reward, transitions):
    """By simulation, 3 temperatures: 5 standard errors, one-sided, on 45 numbers: 1.3e-5 by chance for each of the 4."""
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
        np.testing.assert_allclose(V, theory.soft_maximum(K, tau), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(pi, np.exp((K - V[:, None]) / tau), rtol=1e-9, atol=1e-11)
    _, P, initial = case.mean_model()
    assert plan.bound == pytest.approx(initial @ plan.values[0], rel=1e-12, abs=1e-12)
    oracles.assert_close(plan.occupancy, oracles.occupancy(P, initial, plan.policy))


# -- f, its derivatives and the search --------------------------------------------------------------------------------


def derivative(function, tau, order=8):
    """Richardson's extrapolation of central differences, in log τ: good to about 1e-10."""
    steps = 0.2 / 2.0 ** np.arange(order)
    table = [(function(tau * math.exp(h)) - function(tau * math.exp(-h))) / (2 * h) for h in steps]
    best, least = table[0], math.inf
    for k in range(1, order):
        new = [(4**k * b - a) / (4**k - 1) for a, b in zip(table, table[1:])]
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


@pytest.mark.parametrize("seed", range(30))
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
    """Rows are unknown, but all that can follow is worth the same: τ = 0, greedy. So too where all rewards are 0."""
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


# -- limits and symmetries --------------------------------------------------------------------------------------------


def assert_same_plan(a, b, rtol=1e-12):
    for x, y in zip([*a.k_values, *a.values, *a.policy], [*b.k_values, *b.values, *b.policy]):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    assert a.bound == pytest.approx(b.bound, rel=rtol)


@modest
@given(cases(any_number), temperatures)
def test_known_transitions_and_single_layers_cost_nothing(case, tau):
    """Where P is known, or of no consequence, `split` is `reward` bit for bit."""
    assume(case.known or case.horizon == 1)
    for temperature in (tau, "optimal"):
        assert_same_plan(*(kl.solve(case.belief(), temperature, b) for b in ("split", "reward")), rtol=1e-15)


@modest
@given(cases(), temperatures)
def test_k_is_at_least_that_of_the_mean_model(case, tau):
    """φ ≥ P̄V: `split` is above `reward` everywhere."""
    case = replace(case, span=None)
    for K, least in zip(*(kl.solve(case.belief(), tau, b).k_values for b in ("split", "reward"))):
        assert (K >= least - 1e-11 * (1 + np.abs(least))).all()


@modest
@given(cases(actions=st.just(1)))
def test_one_action_leaves_no_choice(case):
    belief = replace(case, span=None).belief()
    plan = kl.solve(belief, bonus="split")
    assert (plan.temperature, plan.gap) == (math.inf, 0.0)
    assert plan.bound == pytest.approx(mean_return(case, plan), rel=1e-11, abs=1e-11)
    hot = kl.solve(belief, 1e8, "split")
    assert hot.bound == pytest.approx(plan.bound, rel=1e-5, abs=1e-5)


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
    """With mass only on a support, φ of a row is the KL bound on Dirichlet(prior + counts): above it, and exact for one."""
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
    want = tau * theory.dirichlet_cumulant(alpha, W[inside], 1 / tau)
    assert want - 1e-11 <= K <= W[inside].max() + 1e-11
    if inside.sum() == 1:
        assert K == pytest.approx(want, rel=1e-12)


# -- one table for all layers, and the end ----------------------------------------------------------------------------


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
    """No value, entropy or bonus there; a policy all the same; and to be there is one of the things a row may lead to."""
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


# -- what is refused --------------------------------------------------------------------------------------------------


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
        theory.dual_value(belief, plan.occupancy, "split")
