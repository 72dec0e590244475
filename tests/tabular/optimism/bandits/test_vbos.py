"""VBOS against brute force, a cone solver, and what lies on both sides of it: E max and K-learning's bound."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

import klearning as kl
from klearning.extension import Episode
from klearning.lab import theory
from klearning.tabular.beliefs import distributions
from klearning.tabular.optimism.bandits.beta_arms import beta_cumulants

RNG = np.random.default_rng(0)
INSTANCES = [
    (RNG.normal(size=n) * spread, RNG.uniform(0.05, 2.0, n)) for n in (2, 3, 7, 30) for spread in (0.1, 1.0, 5.0)
]


def cone(means, sds, costs=None, budget=0.0):
    """min V + λ budget + Σ y,  τ exp((m + s²/2τ − λ cost − V − τ)/τ) ≤ y: the dual, in which τ is another variable."""
    import cvxpy as cp

    n = len(means)
    V, tau, w, y, price = (
        cp.Variable(),
        cp.Variable(n, nonneg=True),
        cp.Variable(n),
        cp.Variable(n),
        cp.Variable(nonneg=True),
    )
    over = np.zeros(n) if costs is None else np.asarray(costs) - budget
    worth = means + cp.multiply(sds**2, w) - price * over - V - tau
    constraints = [cp.ExpCone(worth, tau, y), 2 * w >= cp.inv_pos(tau)]
    if costs is None:
        constraints.append(price == 0)
    problem = cp.Problem(cp.Minimize(V + cp.sum(y)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it came no closer to 1e-11
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value


@pytest.mark.parametrize(("means", "sds"), INSTANCES, ids=lambda x: f"{len(x)}")
def test_a_cone_solver_finds_the_same(means, sds):
    pytest.importorskip("cvxpy")
    best = kl.solve_vbos(means, sds)
    assert best.value == pytest.approx(cone(means, sds), rel=1e-8, abs=1e-8)
    assert best.value == pytest.approx(theory.bandits.mixture_value(best.policy, means, sds), rel=1e-13, abs=1e-13)
    assert 0.0 <= best.gap <= 1e-13 * (1.0 + abs(best.value))
    assert best.policy.sum() == pytest.approx(1.0, abs=1e-14)
    played = best.policy > 0.0
    np.testing.assert_allclose(
        best.temperatures[played], sds[played] / np.sqrt(-2 * np.log(best.policy[played])), rtol=1e-9
    )


@pytest.mark.parametrize(("means", "sds"), INSTANCES[:3], ids=str)
def test_brute_force_over_two_arms(means, sds):
    grid = np.linspace(1e-6, 1 - 1e-6, 20_001)
    values = [theory.bandits.mixture_value((p, 1 - p), means, sds) for p in grid]
    near = grid[int(np.argmax(values))]
    inside = {"bounds": (max(near - 1e-4, 1e-12), min(near + 1e-4, 1 - 1e-12)), "method": "bounded"}
    best = minimize_scalar(
        lambda p: -theory.bandits.mixture_value((p, 1 - p), means, sds), **inside, options={"xatol": 1e-12}
    )
    ours = kl.solve_vbos(means, sds)
    assert ours.value == pytest.approx(-best.fun, rel=1e-11)
    assert ours.policy[0] == pytest.approx(best.x, abs=1e-5)


@pytest.mark.slow
def test_between_the_expected_maximum_and_k_learning():
    """On 10,000 instances; E max by Gauss and Legendre, K-learning's bound by the minimum of its formula over τ."""
    rng = np.random.default_rng(1)
    x, w = np.polynomial.legendre.leggauss(160)
    for arms in (2, 3, 5, 10):
        means, sds = (
            rng.normal(size=(2500, arms)) * rng.choice([0.1, 1.0, 4.0], (2500, 1)),
            rng.uniform(0.2, 2.0, (2500, arms)),
        )
        low, high = (means - 9 * sds).max(1), (means + 9 * sds).max(1)
        t = low[:, None] + 0.5 * (high - low)[:, None] * (x + 1)
        below = ndtr((t[:, None, :] - means[:, :, None]) / sds[:, :, None]).prod(axis=1)
        expected = low + 0.5 * (high - low) * ((1 - below) @ w)
        ours = np.array([kl.solve_vbos(m, s).value for m, s in zip(means, sds)])
        theirs = k_bound(means, sds)
        assert (expected < ours).all()
        assert (ours <= theirs * (1 + 1e-12) + 1e-12).all()
        assert (theirs - ours).max() > 0.01
        for i in range(3):
            assert expected[i] == pytest.approx(theory.bandits.expected_maximum(means[i], sds[i]), abs=1e-9)
            assert theirs[i] == pytest.approx(kl.solve(belief_of(means[i], sds[i])).bound, rel=1e-9)


def belief_of(means, sds):
    """One state whose arms are N(m, s²): n visits leave 1/(1 + n) of a unit prior with unit noise."""
    prior = kl.Prior(kl.Gaussian(0.0, 10.0, 1.0))
    visits = 1.0 / sds**2 - 0.01
    return kl.Belief.from_counts(prior, [[visits]], [[means / sds**2]], [], [1.0])


def k_bound(means, sds):
    """min_τ τ log Σ exp(m/τ + s²/2τ²) by golden sections in log τ, where it is quasi-convex."""

    def f(y):
        tau = np.exp(y)[:, None]
        z = means / tau + sds**2 / (2 * tau**2)
        top = z.max(1)
        return tau[:, 0] * (top + np.log(np.exp(z - top[:, None]).sum(1)))

    a, b, g = np.full(len(means), -6.0), np.full(len(means), 6.0), (np.sqrt(5) - 1) / 2
    for _ in range(70):
        c, d = b - g * (b - a), a + g * (b - a)
        left = f(c) < f(d)
        a, b = np.where(left, a, c), np.where(left, d, b)
    return f((a + b) / 2)


def test_k_learning_is_vbos_with_one_temperature():
    """On equal arms they are the same, to the last digit of the search."""
    best, plan = kl.solve_vbos([0.3] * 4, [0.7] * 4), kl.solve(belief_of(np.full(4, 0.3), np.full(4, 0.7)))
    assert best.value == pytest.approx(plan.bound, rel=1e-9)
    np.testing.assert_allclose(best.temperatures, plan.temperature, rtol=1e-5)


# -- limits -----------------------------------------------------------------------------------------------------------


def test_certain_arms():
    """By hand: beside one certain arm at 0, an arm N(0, 1) is played as often as u = 1 says."""
    best = kl.solve_vbos([0.0, 0.0], [0.0, 1.0])
    assert best.policy[1] == pytest.approx(np.exp(-0.5), rel=1e-14)
    assert best.value == pytest.approx(np.exp(-0.5), rel=1e-14)  # of V + π τ, τ = 1
    assert best.temperatures.tolist() == [0.0, 1.0]
    assert best.gap == 0.0
    only = kl.solve_vbos([1.0, 3.0, 3.0], [0.0] * 3)
    assert only.policy.tolist() == [0.0, 0.5, 0.5]
    assert (only.value, only.gap) == (3.0, 0.0)
    np.testing.assert_allclose(
        kl.solve_vbos([0.2, 1.0], [1e-9, 1.0]).policy, kl.solve_vbos([0.2, 1.0], [0.0, 1.0]).policy, atol=1e-8
    )
    hopeless = kl.solve_vbos([0.0, 1.0, -50.0], [1.0, 1.0, 0.0])
    np.testing.assert_allclose(hopeless.policy[:2], kl.solve_vbos([0.0, 1.0], [1.0, 1.0]).policy, rtol=1e-12)
    assert hopeless.policy[2] == 0.0


def test_one_arm():
    one = kl.solve_vbos([0.4], [2.0])
    assert (one.policy.tolist(), one.value, one.temperatures.tolist(), one.gap) == ([1.0], 0.4, [np.inf], 0.0)


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-40, 1e-3, 1.0, 1e40])
def test_units_do_not_matter(scale, shift):
    means, sds = np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.5, 0.25])
    want, got = kl.solve_vbos(means, sds), kl.solve_vbos(scale * (means + shift), scale * sds)
    np.testing.assert_allclose(got.policy, want.policy, rtol=1e-7 if shift else 1e-12)
    assert got.value == pytest.approx(scale * (want.value + shift), rel=1e-14)
    np.testing.assert_allclose(got.temperatures, scale * want.temperatures, rtol=1e-7 if shift else 1e-12)


@pytest.mark.parametrize("far", [10.0, 1e3, 1e6, 1e10, 1e14, 1e20, 1e45])
def test_one_arm_far_above(far):
    """The other has a chance of 1/(2 z²), nearly: the best arm's u is 1/z, with z its distance from V, nearly far."""
    best = kl.solve_vbos([0.0, far], [1.0, 1.0])
    assert best.policy.sum() == 1.0
    assert best.gap <= 1e-15 * far
    assert best.value == pytest.approx(far, rel=1.0 / far)
    z = far - np.sqrt(-2 * np.log(max(best.policy[0], 1e-300)))
    assert best.policy[0] == pytest.approx(0.5 / z**2, rel=max(1.0 / z, 1e-4), abs=1e-26)


def test_many_arms():
    rng = np.random.default_rng(2)
    means, sds = rng.normal(size=10_000), rng.gamma(2.0, size=10_000)
    best = kl.solve_vbos(means, sds)
    assert best.value == pytest.approx(theory.bandits.mixture_value(best.policy, means, sds), rel=1e-12)
    assert best.gap < 1e-12
    even = kl.solve_vbos(np.zeros(10_000), np.ones(10_000))
    assert even.value == pytest.approx(np.sqrt(2 * np.log(1e4)), rel=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, np.nan], [1.0, 1.0]), r"means\[1\]=nan is not finite"),
        (([0.0, 1.0], [1.0, -1.0]), r"sds\[1\]=-1 is out of range: give numbers from 0"),
        (([0.0, 1.0], [1.0]), r"sds has shape \(1,\): give shape \(2,\)"),
        (([], []), "means has no entries"),
        (([[0.0]], [[1.0]]), r"means has shape \(1, 1\)"),
        (([0.0],), "sds is missing"),
        (([0.0, 1e60], [1.0, 1.0]), r"means\[1\]=1e\+60 is out of range"),
        (("high", [1.0]), "means is not an array"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        kl.solve_vbos(*arguments)


# -- within a budget --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_cone_solver_finds_the_same_within_a_budget(seed):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    means, sds, costs = rng.normal(size=n), rng.uniform(0.1, 2.0, n), rng.uniform(0.0, 1.0, n)
    budget = costs.min() + 0.3 * (kl.solve_vbos(means, sds).policy @ costs - costs.min())
    best = kl.solve_vbos(means, sds, costs=costs, budget=budget)
    assert best.value == pytest.approx(cone(means, sds, costs, budget), rel=1e-8, abs=1e-8)
    assert best.value == pytest.approx(theory.bandits.mixture_value(best.policy, means, sds), rel=1e-11)
    assert best.policy @ costs <= budget + 1e-12
    assert best.policy.sum() == pytest.approx(1.0, abs=1e-14)
    assert best.gap < 1e-12
    assert best.multiplier > 0.0
    step = 1e-5
    more, less = (kl.solve_vbos(means, sds, costs=costs, budget=budget + d).value for d in (step, -step))
    assert best.multiplier == pytest.approx((more - less) / (2 * step), rel=1e-3)


def test_limits_of_a_budget():
    means, sds, costs = [0.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]
    free, ample = kl.solve_vbos(means, sds), kl.solve_vbos(means, sds, costs=costs, budget=2.0)
    np.testing.assert_array_equal(ample.policy, free.policy)
    assert (ample.value, ample.multiplier) == (free.value, 0.0)
    least = kl.solve_vbos(means, sds, costs=costs, budget=0.0)
    assert (least.policy.tolist(), least.value, least.multiplier) == ([1.0, 0.0, 0.0], 0.0, np.inf)
    tight = kl.solve_vbos(means, sds, costs=costs, budget=1e-6)
    assert tight.policy @ np.array(costs) == pytest.approx(1e-6, rel=1e-9)
    certain = kl.solve_vbos([0.0, 1.0, 5.0], [0.0] * 3, costs=[0.0, 1.0, 2.0], budget=0.5)  # a linear program
    np.testing.assert_allclose(certain.policy, [0.75, 0.0, 0.25], atol=1e-12)
    assert certain.value == pytest.approx(1.25, rel=1e-12)
    assert certain.multiplier == pytest.approx(2.5, rel=1e-9)
    same = kl.solve_vbos([1.0, 1.0], [0.0, 0.0], costs=[0.0, 1.0], budget=0.25)
    assert same.policy @ np.array([0.0, 1.0]) <= 0.25


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"costs": [0.5, 1.0], "budget": 0.2}, "budget=0.2 is below all costs: give at least 0.5"),
        ({"costs": [0.5, 1.0]}, "budget is missing: give costs and budget together"),
        ({"budget": 0.5}, "costs is missing"),
        ({"costs": [0.5], "budget": 1.0}, r"costs has shape \(1,\)"),
        ({"costs": [0.5, np.inf], "budget": 1.0}, r"costs\[1\]=inf is not finite"),
        ({"costs": [0.5, 1.0], "budget": np.nan}, "budget=nan is out of range"),
    ],
)
def test_wrong_budgets_are_named(more, message):
    with pytest.raises(ValueError, match=message):
        kl.solve_vbos([0.0, 1.0], [1.0, 1.0], **more)


# -- beliefs ----------------------------------------------------------------------------------------------------------

COINS = kl.Prior(kl.Beta(1.0, 1.0))


def coins(heads, tails):
    heads, tails = np.asarray(heads, float), np.asarray(tails, float)
    return kl.Belief.from_counts(COINS, [[heads + tails - 2]], [[heads - 1]], [], [1.0])


def test_a_gaussian_belief_is_its_means_and_sds():
    belief = kl.Belief.from_counts(kl.Prior(kl.Gaussian(0.5, 1.0, 2.0)), [[[3, 0, 9]]], [[[1.0, 0.0, 8.0]]], [], [1.0])
    same = kl.solve_vbos(belief.reward_means[0][0], np.sqrt(belief.reward_variances[0][0]))
    np.testing.assert_allclose(kl.solve_vbos(belief).policy, same.policy, rtol=1e-13)


@pytest.mark.parametrize(("heads", "tails"), [(1, 1), (3, 9), (1, 40), (200, 30), (2000, 3000), (0.3, 0.2)])
@pytest.mark.parametrize("beta", [1e-3, 0.7, 9.0, 150.0, 3000.0])
def test_cumulants_of_a_beta(heads, tails, beta):
    from scipy.special import hyp1f1

    psi, first, second = beta_cumulants(float(heads), float(heads + tails), beta)
    want = distributions.beta_cumulant(heads, tails, beta)
    assert psi == pytest.approx(want, rel=1e-11, abs=1e-10)
    c = heads + tails
    if beta < 500:
        ratio = heads / c * hyp1f1(heads + 1, c + 1, beta) / hyp1f1(heads, c, beta)
        assert first == pytest.approx(ratio, rel=1e-9)
    h = 1e-3 * beta
    slopes = [beta_cumulants(float(heads), float(c), beta + d)[1] for d in (-h, h)]
    assert second == pytest.approx((slopes[1] - slopes[0]) / (2 * h), rel=1e-3, abs=1e-9)


def coin_value(policy, heads, tails):
    """Σ π inf_τ (τ Ψ(1/τ) − τ log π) as it is written: a search over τ for every arm."""
    total = 0.0
    for p, a, b in zip(policy, heads, tails):

        def worth(y, p=p, a=a, b=b):
            return np.exp(y) * (distributions.beta_cumulant(a, b, np.exp(-y)) - np.log(p))

        total += p * minimize_scalar(worth, bounds=(-8.0, 6.0), method="bounded", options={"xatol": 1e-9}).fun
    return total


@pytest.mark.parametrize(
    ("heads", "tails"), [([1, 4, 9], [1, 2, 20]), ([1, 1], [60, 90]), ([30, 3, 2, 1], [2, 3, 9, 1])]
)
def test_coins_by_their_own_cumulants(heads, tails):
    best = kl.solve_vbos(coins(heads, tails))
    value = coin_value(best.policy, heads, tails)
    assert best.value == pytest.approx(value, rel=1e-9)
    assert best.gap < 1e-9
    assert best.policy.sum() == pytest.approx(1.0, abs=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(10):  # nothing near it, or far from it, is better
        other = rng.dirichlet(np.ones(len(heads)))
        for share in (0.01, 0.5):
            assert coin_value((1 - share) * best.policy + share * other, heads, tails) < value + 1e-10
    draws = rng.beta(heads, tails, (20_000, len(heads))).max(axis=1)
    assert draws.mean() < best.value  # some hundred standard errors below
    wide = kl.solve_vbos(
        [h / (h + t) for h, t in zip(heads, tails)], [0.5 / np.sqrt(h + t + 1) for h, t in zip(heads, tails)]
    )
    assert best.value < wide.value  # that of Gaussians that are as wide as a Beta may be


def test_coins_within_a_budget():
    belief, costs = coins([1, 4, 9], [1, 2, 20]), np.array([1.0, 0.2, 0.0])
    best = kl.solve_vbos(belief, costs=costs, budget=0.2)
    assert best.policy @ costs == pytest.approx(0.2, abs=1e-10)
    assert best.value == pytest.approx(coin_value(best.policy, [1, 4, 9], [1, 2, 20]), rel=1e-8)
    assert best.value < kl.solve_vbos(belief).value


@pytest.mark.parametrize(("heads", "tails"), [([1e6, 1], [1, 1e6]), ([1, 1], [1e6, 2e6]), ([5000, 1], [5000, 1])])
def test_coins_that_are_nearly_certain(heads, tails):
    best = kl.solve_vbos(coins(heads, tails))
    assert np.isfinite([best.value, best.gap, *best.temperatures]).all()
    assert best.gap < 1e-8
    assert max(h / (h + t) for h, t in zip(heads, tails)) <= best.value <= 1.0


def test_beliefs_that_are_no_bandits():
    two = kl.Belief.empty(kl.Prior(), [2], 2, [0.5, 0.5])
    with pytest.raises(ValueError, match=r"^belief has 2 states: VBOS is for bandits, .* use VAPOR"):
        kl.solve_vbos(two)
    with pytest.raises(ValueError, match="sds are given beside a belief"):
        kl.solve_vbos(coins([1, 1], [1, 1]), [1.0, 1.0])
    with pytest.raises(ValueError, match="has no cumulants"):
        kl.solve_vbos(kl.Belief.empty(kl.Prior(kl.UnknownNoise()), [1], 2, [1.0]))


# -- the agent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "prior"),
    [
        (kl.bandit([0.1, 0.5, 0.9]), kl.Prior(kl.Gaussian(0.0, 1.0, 1.0))),
        (kl.bandit([0.1, 0.5, 0.9], "bernoulli"), COINS),
    ],
)
def test_the_agent_plays_what_the_function_says(world, prior):
    agent, belief = kl.VBOS(), kl.Belief.before(prior, world)
    memory, rng = agent.begin(belief), np.random.default_rng(0)
    for t in range(12):
        diagnostics = np.zeros(2)
        memory = agent.plan(memory, None, t, diagnostics)
        want = kl.solve_vbos(belief)
        np.testing.assert_allclose(memory.policy[:, 0], want.policy, rtol=1e-8)
        assert diagnostics[0] == agent.values(memory)[0] == pytest.approx(want.value, rel=1e-10)
        a, r = int(rng.integers(3)), float(rng.integers(2))
        memory = agent.update(memory, Episode(np.array([0]), np.array([a]), np.array([r])), t)
        belief = belief.update([0], [a], [r])


def test_contexts_are_bandits_by_themselves():
    world = kl.MDP.from_layers([[[0.1, 0.4], [0.3, 0.0]]], [], [0.25, 0.75], noise=0.1)
    runs = kl.run(kl.VBOS(), world, episodes=300, seeds=3)
    assert (runs.optimal_value - runs.values[:, -50:].mean() < 0.02).all()


# -- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "sds"), [([0.0, 1.0], [1.0, 0.3]), ([0.0, 0.1, 0.2, 2.0], [1.0, 1.0, 2.0, 0.1]), ([0.0] * 6, [1.0] * 6)]
)
def test_optimistic_mixtures(means, sds):
    thompson, ours = theory.bandits.thompson_is_optimistic(means, sds), theory.bandits.vbos_is_optimistic(means, sds)
    assert thompson.holds(tolerance=0.0)
    assert ours.holds(tolerance=0.0)
    assert thompson.upper <= ours.upper * (1 + 1e-12)  # which is the largest of all
    draws = np.random.default_rng(0).normal(means, sds, (200_000, len(means)))
    counts = np.bincount(draws.argmax(axis=1), minlength=len(means)) / len(draws)
    np.testing.assert_allclose(theory.bandits.best_arm_chances(means, sds), counts, atol=0.006)  # 5 standard errors
    assert theory.bandits.expected_maximum(means, sds) == pytest.approx(draws.max(axis=1).mean(), abs=0.02)
    greedy = np.eye(len(means))[int(np.argmax(means))]
    assert theory.bandits.mixture_value(greedy, means, sds) < ours.lower  # and is not optimistic


def test_the_bound_on_regret():
    assert theory.bandit_regret_bound(10, 1000.0) == pytest.approx(
        np.sqrt(2 * 10 * 1000 * np.log(10) * (1 + np.log(1000)))
    )
    assert theory.bandit_regret_bound(10, [1000.0], 0.5)[0] == pytest.approx(
        0.5 * theory.bandit_regret_bound(10, 1000.0)
    )
