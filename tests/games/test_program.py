"""Matrix games: equilibria against a linear program, K-learning's program against a cone solver and brute force."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.special import logsumexp

from klearning import games


def value_by_lp(A):
    """The most that a mixture of columns is sure of, by HiGHS."""
    m, n = A.shape
    most = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=np.c_[-A, np.ones(m)], b_ub=np.zeros(m), A_eq=[np.r_[np.ones(n), 0.0]],
        b_eq=[1.0], bounds=[(0, None)] * n + [(None, None)], method="highs",
    )  # fmt: skip
    return -most.fun


def bound_of(means, sds, y, tau):
    """F(y, τ), as it is written."""
    K = y @ means + y**2 @ sds**2 / (2 * tau)
    return tau * logsumexp(K / tau)


def bound_by_cone(means, sds):
    import cvxpy as cp

    m, n = means.shape
    y, q, tau = cp.Variable(m, nonneg=True), cp.Variable(m), cp.Variable(nonneg=True)
    bound, u = cp.Variable(), cp.Variable(n)
    K = means.T @ y + 0.5 * (sds**2).T @ q
    rotated = [cp.quad_over_lin(y[i], tau) <= q[i] for i in range(m)]
    exponential = [cp.constraints.ExpCone(K[j] - bound, tau, u[j]) for j in range(n)]
    problem = cp.Problem(cp.Minimize(bound), [cp.sum(y) == 1, cp.sum(u) <= tau, *rotated, *exponential])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value


def random_belief(rng, size=1.0, most=8):
    m, n = rng.integers(1, most), rng.integers(2, most)
    return rng.normal(size=(m, n)), size * rng.uniform(0.2, 1.0, size=(m, n))


def some_game(rng, k):
    """Of any size; often with ties, repeated moves, constant payoffs or large ones."""
    m, n = rng.integers(1, 12, size=2)
    A = rng.normal(size=(m, n)) if k % 2 else rng.integers(-1, 2, size=(m, n)).astype(float)
    if k % 5 == 0:
        A[:, rng.integers(n)] = A[:, 0]
    if k % 7 == 0:
        A[rng.integers(m)] = A[0]
    if k % 50 == 0:
        A[:] = 3.0
    return A * 10.0 ** rng.integers(-6, 7) if k % 11 == 0 else A


@pytest.mark.slow
def test_equilibria_are_those_of_a_linear_program():
    rng = np.random.default_rng(0)
    for k in range(400):
        A = some_game(rng, k)
        found, scale = games.saddle(A), max(1e-300, np.abs(A).max())
        assert abs(found.value - value_by_lp(A / scale) * scale) <= 1e-8 * scale  # what HiGHS is good for
        assert found.gap <= 1e-12 * scale
        for mixture in (found.policy, found.opponent):
            assert (mixture >= 0.0).all()
            assert abs(mixture.sum() - 1.0) <= 1e-12
        gap = (found.opponent @ A).max() - (A @ found.policy).min()
        assert abs(found.gap - max(gap, 0.0)) <= 1e-14 * scale


def test_cycling_ends():
    """Beale's example, as a game: the steepest column alone may cycle."""
    A = np.array([[0.25, 0.5, 0.0], [-60.0, -90.0, 0.0], [-0.04, -0.02, 1.0], [9.0, 3.0, 0.0]])
    for game in (A, A.T, np.zeros((6, 6)), np.eye(30), np.tri(20)):
        assert games.saddle(game).gap <= 1e-11 * max(1.0, np.ptp(game))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of Clarabel's, at the edge of its tolerance
@pytest.mark.parametrize("size", [3.0, 1.0, 0.1, 0.01])
def test_bound_is_that_of_a_cone_solver(size):
    rng = np.random.default_rng(1)
    for _ in range(4):
        means, sds = random_belief(rng, size)
        plan = games.solve(means, sds)
        assert abs(plan.bound - bound_by_cone(means, sds)) <= 3e-8  # what Clarabel is good for
        assert plan.gap <= 1e-9 * max(np.ptp(means), sds.max())


def test_plan_is_a_point_of_the_program_and_nothing_is_below_it():
    rng = np.random.default_rng(2)
    for k in range(60):
        means, sds = random_belief(rng, 10.0 ** rng.uniform(-3, 0.5))
        plan = games.solve(means, sds)
        y, tau = plan.opponent, plan.temperature
        assert plan.bound == pytest.approx(bound_of(means, sds, y, tau), abs=1e-12)
        K = y @ means + y**2 @ sds**2 / (2 * tau)
        np.testing.assert_allclose(plan.policy, np.exp(K / tau - logsumexp(K / tau)), atol=1e-9 / tau)
        for _ in range(20):
            near = rng.dirichlet(np.maximum(y, 0.01) * 10.0 ** rng.uniform(0, 4))
            other = tau * np.exp(rng.normal() * 10.0 ** rng.uniform(-3, 0))
            assert bound_of(means, sds, near, other) >= plan.bound - plan.gap - 1e-13, k


def test_gap_is_honest_for_any_policy():
    """Σ(f − a)₊²/(2b) = H: the certificate of a mixture is the least of the Lagrangian, found by a fine search."""
    from klearning.games.newton import lower_bound

    rng = np.random.default_rng(3)
    for _ in range(20):
        means, sds = rng.normal(size=(2, 3)), rng.uniform(0.1, 1.0, size=(2, 3))
        x = rng.dirichlet(np.ones(3))
        H, a, b = -(x * np.log(x)).sum(), means @ x, sds**2 @ x
        share = np.linspace(0.0, 1.0, 20_001)
        y = np.stack([share, 1.0 - share])
        least = (a @ y + np.sqrt(2.0 * H * (b @ y**2))).min()  # the least over τ is closed
        found = lower_bound(means, sds**2, x, np.zeros(2), np.zeros(2))
        assert least - 1e-7 <= found <= least + 1e-12


def test_one_row_is_a_bandit():
    """One temperature, minimised in one dimension."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        means, sds = rng.normal(size=(1, 5)), rng.uniform(0.1, 2.0, size=(1, 5))
        best = minimize_scalar(lambda t, m, s: bound_of(m, s, np.ones(1), np.exp(t)), (-3.0, 1.0), args=(means, sds))
        assert games.solve(means, sds).bound == pytest.approx(best.fun, abs=1e-8)


def test_certainty_is_the_equilibrium():
    rng = np.random.default_rng(5)
    for k in range(50):
        means = some_game(rng, k + 1) if k % 11 != 10 else rng.normal(size=(3, 4))
        sure, scale = games.saddle(means), max(1e-300, np.abs(means).max())
        plan = games.solve(means, np.zeros(means.shape))
        assert plan.bound == pytest.approx(sure.value, abs=1e-9 * scale)
        assert plan.gap <= 1e-9 * scale
        assert (means @ plan.policy).min() >= sure.value - 1e-9 * scale
        for sd in (1e-3, 1e-6, 1e-12):
            almost = games.solve(means, np.full(means.shape, sd * scale))
            assert -1e-9 * scale <= almost.bound - sure.value <= 3.0 * sd * scale + 1e-8 * scale
            assert (means @ almost.policy).min() >= sure.value - 3.0 * sd * scale - 1e-6 * scale


def test_sds_of_all_sizes_and_none():
    """Rows known for certain beside unknown ones, ties, an offset of ten thousand: certified or nearly so."""
    rng = np.random.default_rng(6)
    gaps = []
    for k in range(400):
        m, n = rng.integers(1, 8, size=2)
        means = rng.normal(size=(m, n)).round(rng.integers(0, 3)) + rng.choice([0.0, 0.0, 1e4])
        sds = rng.choice([2.0, 1.0, 0.1, 0.01, 1e-4, 1e-7], size=(m, n) if k % 2 else (1, 1)) * np.ones((m, n))
        sds[rng.random((m, n)) < rng.choice([0.0, 0.3, 0.7, 0.95])] = 0.0
        plan = games.solve(means, sds)
        gaps.append(plan.gap / max(np.ptp(means), sds.max(), 1e-300))
        assert plan.bound >= games.saddle(means).value - 1e-9 * max(1.0, np.abs(means).max())
    assert np.mean(np.array(gaps) <= 2e-9) >= 0.98
    assert max(gaps) <= 1e-4


def test_units_and_offsets_do_not_matter():
    rng = np.random.default_rng(7)
    means, sds = rng.normal(size=(4, 5)), rng.uniform(0.1, 1.0, size=(4, 5))
    plan = games.solve(means, sds)
    for unit, offset in ((1e40, 0.0), (1e-40, 0.0), (3.0, 100.0)):
        other = games.solve(unit * means + offset, unit * sds)
        assert other.bound == pytest.approx(unit * plan.bound + offset, rel=1e-8)
        assert other.temperature == pytest.approx(unit * plan.temperature, rel=1e-4)
        np.testing.assert_allclose(other.policy, plan.policy, atol=1e-4)


def test_bound_is_above_the_expected_value():
    """By proof; here in 400 draws per belief, at 4.5 standard errors: a false alarm in 10⁵ runs of all ten."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        means, sds = random_belief(rng, 1.0, 5)
        values = [games.saddle(means + sds * rng.standard_normal(means.shape)).value for _ in range(400)]
        assert np.mean(values) - 4.5 * np.std(values) / 20.0 <= games.solve(means, sds).bound


def test_one_move_of_ours():
    plan = games.solve([[1.0], [-2.0], [0.5]], [[1.0], [3.0], [0.0]])
    assert (plan.bound, plan.gap, plan.temperature) == (-2.0, 0.0, np.inf)
    assert plan.policy.tolist() == [1.0]
    assert plan.opponent.tolist() == [0.0, 1.0, 0.0]
