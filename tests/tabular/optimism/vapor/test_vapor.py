"""VAPOR: its dual, the certificate, and what other solvers and other formulas say of the same program."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import klearning as kl
from klearning.extension import Episode
from klearning.tabular.optimism.vapor.cone import solve_vapor_cone
from klearning.tabular.optimism.vapor.occupancy import dual, flow_arrays, follow, inflows, set_flow_limits, set_sds
from klearning.tabular.optimism.vapor.plan import uncertain

WIDTHS = {"one state": [1], "ragged": [2, 4, 1, 3], "triangle": [1, 2, 3, 4], "one per layer": [1, 1, 1]}


def learnt(widths, actions=2, episodes=8, prior=None, seed=0, discount=1.0, end=None):
    """A belief after some episodes at random in a world that does not matter."""
    rng = np.random.default_rng(seed)
    start = np.full(widths[0], 1.0 / widths[0])
    belief = kl.Belief.empty(prior or kl.Prior(kl.Gaussian(noise=0.3)), widths, actions, start, end, discount)
    for _ in range(episodes):
        states = [int(low + rng.integers(n)) for low, n in zip(belief.layers, widths, strict=False)]
        belief = belief.update(states, rng.integers(actions, size=len(widths)), rng.integers(2, size=len(widths)))
    return belief


def value(belief, plan, s):
    """Σ λ (m + s √(−2 ln λ)), in plain arrays."""
    total = 0.0
    for occupancy, m, s_l in zip(plan.occupancy, belief.reward_means, s, strict=True):
        inside = occupancy[occupancy > 0]
        total += np.sum(occupancy * m) + np.sum(s_l[occupancy > 0] * inside * np.sqrt(-2 * np.log(inside)))
    return total


@pytest.mark.thin(3)
@pytest.mark.parametrize("bonus", ["reward", "sharp", "published"])
@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
def test_clarabel_says_the_same(widths, bonus):
    pytest.importorskip("cvxpy")
    belief = learnt(widths, actions=3)
    ours, theirs = kl.solve_vapor(belief, bonus), solve_vapor_cone(belief, bonus)
    assert ours.bound == pytest.approx(theirs.bound, rel=1e-6)
    assert 0.0 <= ours.gap <= 1e-8
    assert ours.proved == theirs.proved
    for field in ("policy", "occupancy", "values"):
        for x, y in zip(getattr(ours, field), getattr(theirs, field), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-2, atol=2e-3)  # the solver's own 1e-8 is in the value


@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
def test_the_certificate_is_the_gap_between_both_programs(widths):
    """By hand: D(V) and the value of the policy's occupancy; at other values too, where the gap is not small."""
    belief = learnt(widths)
    p, W = uncertain(belief, "reward", 1.0)
    policy, V = np.full(W.u.shape, 0.5), np.linspace(-1.0, 2.0, belief.states)
    set_flow_limits(p.model, 1.0, W)
    inflows(p.model, W, policy)
    set_sds(p.model, W, 0.0)
    D = dual(p.model, V, W)
    mean, optimism, gap = follow(p.model, W, policy)
    assert gap > 1e-3
    assert mean + optimism + gap == pytest.approx(D, rel=1e-12)
    plan = kl.solve_vapor(belief)
    s = [np.sqrt(v) for v in belief.reward_variances]
    assert plan.bound - plan.gap == pytest.approx(value(belief, plan, s), rel=1e-12)
    assert plan.bound <= D + 1e-12


def test_the_gradient_is_the_residual_of_the_flow():
    belief = learnt([2, 3, 3])
    p, W = uncertain(belief, "reward", 1.0)
    set_flow_limits(p.model, 1.0, W)
    inflows(p.model, W, np.full(W.u.shape, 0.5))
    set_sds(p.model, W, 0.0)
    V = np.random.default_rng(1).normal(size=belief.states)
    dual(p.model, V, W)
    residual, h = W.residual.copy(), 1e-6
    for s in range(belief.states):
        up, down = V.copy(), V.copy()
        up[s], down[s] = V[s] + h, V[s] - h
        assert (dual(p.model, up, W) - dual(p.model, down, W)) / (2 * h) == pytest.approx(residual[s], abs=1e-8)


@pytest.mark.parametrize("widths", WIDTHS.values(), ids=WIDTHS)
def test_a_plan_is_what_its_equations_say(widths):
    """λ flows, π = λ/Σλ, λ = exp((K − V)/τ − 1), K = m + s²/(2τ) + P̄V."""
    belief = learnt(widths)
    plan, P = kl.solve_vapor(belief, tolerance=1e-14), belief.transition_means
    inflow = belief.initial
    for l, occupancy in enumerate(plan.occupancy):
        np.testing.assert_allclose(occupancy.sum(axis=1), inflow, rtol=1e-12)
        np.testing.assert_allclose(plan.policy[l], occupancy / occupancy.sum(axis=1, keepdims=True), rtol=1e-12)
        tau, K, V = plan.temperature[l], plan.k_values[l], plan.values[l][:, None]
        np.testing.assert_allclose(occupancy, np.exp((K - V) / tau - 1.0), rtol=1e-4)
        ahead = P[l] @ plan.values[l + 1] if l + 1 < len(widths) else 0.0
        bonus = belief.reward_variances[l] / (2.0 * tau)
        np.testing.assert_allclose(K, belief.reward_means[l] + bonus + ahead, rtol=1e-12, atol=1e-12)
        inflow = np.einsum("sa,sap->p", occupancy, P[l]) if l + 1 < len(widths) else None


def test_one_state_is_vbos():
    """With one state the program has one value, the root of Σ exp(−u²/2) = 1."""
    belief = learnt([1], actions=4, episodes=5)
    m, s = belief.reward_means[0][0], np.sqrt(belief.reward_variances[0][0])

    def shares(V):
        z = (V - m) / s
        return np.exp(-(((z + np.sqrt(z * z + 4)) / 2) ** 2) / 2)

    policy = shares(brentq(lambda V: shares(V).sum() - 1.0, -10.0, 10.0, xtol=1e-14))
    plan = kl.solve_vapor(belief, tolerance=1e-14)
    np.testing.assert_allclose(plan.policy[0][0], policy, rtol=1e-6)
    assert plan.bound == pytest.approx(np.sum(policy * (m + s * np.sqrt(-2 * np.log(policy)))), rel=1e-10)


def tied_value(belief, conditional):
    """The program with one temperature for all pairs, the best one: max over λ of Σλm + 2√(C·surprise).

    By CVXPY, for a grid of τ: Σ λ (m + c/τ) + τ Σ λ (−ln λ), or −ln π in the place of −ln λ.
    """
    import cvxpy as cp
    from scipy.optimize import minimize_scalar

    P, m = belief.transition_means, belief.reward_means
    c = [0.5 * v for v in belief.reward_variances]
    x = [cp.Variable(r.shape, nonneg=True) for r in m]
    inflow, flow, surprise = belief.initial, [], 0.0
    for l, y in enumerate(x):
        flow.append(cp.sum(y, axis=1) == inflow)
        through = cp.reshape(cp.sum(y, axis=1), (y.shape[0], 1), order="C") @ np.ones((1, y.shape[1]))
        surprise += -cp.sum(cp.rel_entr(y, through)) if conditional else cp.sum(cp.entr(y))
        if l + 1 < len(x):
            inflow = sum(P[l][:, a, :].T @ y[:, a] for a in range(y.shape[1]))
    warmth = cp.Parameter(2, nonneg=True)
    mean = sum(cp.sum(cp.multiply(r, y)) for r, y in zip(m, x, strict=True))
    doubt = sum(cp.sum(cp.multiply(r, y)) for r, y in zip(c, x, strict=True))
    problem = cp.Problem(cp.Maximize(mean + warmth[0] * doubt + warmth[1] * surprise), flow)

    def f(log_tau):
        warmth.value = [math.exp(-log_tau), math.exp(log_tau)]
        return problem.solve(solver="CLARABEL")

    return minimize_scalar(f, bounds=(-4.0, 3.0), method="bounded", options={"xatol": 1e-3}).fun


def test_one_temperature_for_all_is_k_learning():
    """If it is one's surprise at the action, −ln π, that is paid for; VAPOR pays for that at the state too."""
    pytest.importorskip("cvxpy")
    belief = learnt([1, 2, 2], episodes=4)
    assert tied_value(belief, conditional=True) == pytest.approx(kl.solve(belief).bound, rel=1e-5)
    assert tied_value(belief, conditional=False) > kl.solve_vapor(belief).bound + 0.01
    bandit = learnt([1], actions=3, episodes=4)
    assert tied_value(bandit, conditional=False) == pytest.approx(kl.solve(bandit).bound, rel=1e-5)
    assert kl.solve_vapor(bandit).bound < kl.solve(bandit).bound


@pytest.mark.parametrize("sd", [0.0, 1e-9])
def test_certain_rewards_are_the_linear_program(sd):
    belief = learnt([2, 3, 3], prior=kl.Prior(kl.Gaussian(0.0, 1.0, noise=0.0)), episodes=40)
    assert all((v == 0).all() for v in belief.reward_variances)
    plan = kl.solve_vapor(belief)
    best = kl.optimal(kl.MDP.from_layers(belief.reward_means, belief.transition_means, belief.initial)).value
    assert plan.bound == pytest.approx(best, rel=1e-12)
    assert plan.gap == 0.0
    assert not np.concatenate(plan.temperature).any()


@pytest.mark.parametrize("episodes", [1, 3, 10])
def test_some_rewards_certain(episodes):
    """Pairs without noise that were tried, beside others that were not: the limit of little doubt."""
    pytest.importorskip("cvxpy")
    belief = learnt([2, 3, 3], prior=kl.Prior(kl.Gaussian(0.0, 1.0, noise=0.0)), episodes=episodes)
    plan = kl.solve_vapor(belief)
    assert plan.bound == pytest.approx(solve_vapor_cone(belief).bound, rel=1e-6)
    assert plan.gap <= 1e-8


def test_one_action():
    """Nothing to choose, and still surprise at the state: λ is what the mean model makes it."""
    belief = learnt([2, 3], actions=1)
    plan = kl.solve_vapor(belief)
    s = [np.sqrt(v) for v in belief.reward_variances]
    assert plan.bound == pytest.approx(value(belief, plan, s), rel=1e-12)
    assert plan.gap == 0.0
    alone = kl.solve_vapor(learnt([1, 1], actions=1))
    assert np.isinf(np.concatenate(alone.temperature)).all()
    assert np.isfinite(np.concatenate(alone.k_values)).all()


def test_optimism_is_a_share_of_the_variance():
    belief = learnt([1, 3, 3])
    plans = [kl.solve_vapor(belief, optimism=kappa) for kappa in (0.1, 0.5, 1.0)]
    assert plans[0].bound < plans[1].bound < plans[2].bound
    noise = 0.3 * math.sqrt(0.5)
    same = learnt([1, 3, 3], prior=kl.Prior(kl.Gaussian(sd=math.sqrt(0.5), noise=noise)))
    assert plans[1].bound == pytest.approx(kl.solve_vapor(same).bound, rel=1e-9)


def test_what_is_proved():
    layered, shared = learnt([2, 2, 2]), learnt([2, 2, 2], prior=kl.Prior(stationary=True))
    coins = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
    known = kl.Known([np.full((2, 2, 2), 0.5)])
    everywhere = kl.Prior(transitions=known, stationary=True)
    assert not kl.solve_vapor(layered).proved
    assert not kl.solve_vapor(shared, "sharp").proved
    flips, bonuses = learnt([2, 2, 2], prior=coins), ("reward", "sharp", "published")
    assert [kl.solve_vapor(flips, bonus).proved for bonus in bonuses] == [False, True, True]
    assert kl.solve_vapor(learnt([2, 2, 2], prior=everywhere)).proved  # where K-learning's bound is not
    assert not kl.solve(learnt([2, 2, 2], prior=everywhere)).proved
    assert not kl.solve_vapor(learnt([2, 2, 2], prior=everywhere), optimism=0.9).proved


@pytest.mark.parametrize("stationary", [False, True])
def test_a_proved_bound_bounds(stationary):
    """E V* over 500 draws, less four standard errors: below the bound but for a chance of 3e-5 per case."""
    known = [np.full((2, 2, 2), 0.5)] * (1 if stationary else 3)
    belief = learnt([2] * 4, prior=kl.Prior(kl.Gaussian(noise=0.5), kl.Known(known), stationary=stationary))
    values = [kl.optimal(belief.sample(seed)).value for seed in range(500)]
    plan = kl.solve_vapor(belief)
    assert plan.proved
    assert np.mean(values) - 4 * np.std(values) / math.sqrt(500) <= plan.bound


def test_tables_that_layers_share_are_as_good_as_their_copies():
    """With one layer's data in all layers, the program is the same."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 4, (3, 2)).astype(float)
    sums, counts = rng.normal(size=(3, 2)), np.zeros((3, 2, 3))
    counts[np.arange(3)[:, None], np.arange(2), rng.integers(3, size=(3, 2))] = n
    initial = [0.5, 0.5, 0.0]
    blank = [np.zeros_like(x) for x in (n, sums, counts)]
    prior = kl.Prior(kl.Gaussian(noise=0.3), kl.Dirichlet(0.5))
    # the last layer of the shared one saw nothing, so that visits and moves agree
    copies = kl.Belief.from_counts(prior, [n] * 3, [sums] * 3, [counts] * 2, initial)
    shared = kl.Belief.from_counts(
        kl.Prior(prior.reward, prior.transitions, stationary=True),
        [n, blank[0], blank[0]], [sums, blank[1], blank[1]], [counts, blank[2]], initial,
    )  # fmt: skip
    one, other = kl.solve_vapor(copies), kl.solve_vapor(shared)
    assert one.bound == pytest.approx(other.bound, rel=1e-9)
    for x, y in zip(one.policy, other.policy, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4)


def test_a_discount_and_an_end():
    """Where all is over nothing flows; a discounted λ is at most γ^l, and its share of that is what surprises."""
    belief = learnt([3, 3, 3], prior=kl.Prior(stationary=True), episodes=0, discount=0.5, end=2)
    belief = kl.Belief.empty(belief.prior, [3, 3, 3], 2, [0.5, 0.5, 0.0], 2, 0.5)
    plan = kl.solve_vapor(belief, tolerance=1e-13)
    total = 0.0
    for l, occupancy in enumerate(plan.occupancy):
        lam = occupancy[:2]
        total += np.sum(lam * np.sqrt(-2 * np.log(lam / 0.5**l)))
        assert plan.values[l][2] == 0.0
    assert plan.bound == pytest.approx(total, rel=1e-9)


def test_warm_or_cold_is_the_same():
    """The agent's plans, each from the one before, against `vapor` on the belief of that episode."""
    world, prior, agent = kl.deep_sea(6), kl.Prior(), kl.VAPOR(tolerance=1e-12)
    belief = kl.Belief.before(prior, world)
    memory, rng = agent.begin(belief), np.random.default_rng(0)
    said = np.zeros(4)
    for t in range(25):
        memory = agent.plan(memory, None, t, said)
        cold = kl.solve_vapor(belief, tolerance=1e-12)
        assert said[0] == pytest.approx(cold.bound, rel=1e-9)
        np.testing.assert_allclose(memory.policy.T, np.concatenate(cold.policy), atol=1e-3)
        states, actions = [0], []
        for l in range(world.horizon):
            actions.append(int(rng.choice(2, p=memory.policy[:, states[-1]])))
            if l + 1 < world.horizon:
                row = belief.layers[l + 1] + rng.integers(belief.layers[l + 2] - belief.layers[l + 1])
                states.append(int(row))
        episode = Episode(np.array(states), np.array(actions), rng.normal(size=world.horizon))
        memory, belief = agent.update(memory, episode, t), belief.update(*episode)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bonus": "split"}, "bonus='split'"),
        ({"optimism": 0.0}, "optimism"),
        ({"optimism": "all"}, "optimism"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        kl.solve_vapor(learnt([1, 2]), **arguments)
    with pytest.raises(ValueError, match=words):
        kl.VAPOR(**arguments)


def test_calibration_takes_an_agent():
    with pytest.raises(ValueError, match="optimism='calibrated' is not a number"):
        kl.solve_vapor(learnt([1, 2]), optimism="calibrated")


def test_no_belief():
    with pytest.raises(ValueError, match="is not a Belief"):
        kl.solve_vapor(kl.deep_sea(3))
    with pytest.raises(ValueError, match=r"use kl\.solve_vapor"):
        solve_vapor_cone(kl.Belief.empty(kl.Prior(stationary=True), [2, 2], 2, [1.0, 0.0], 1))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    def scaled(unit):
        rng, belief = np.random.default_rng(3), None
        prior = kl.Prior(kl.Gaussian(unit, unit, 0.1 * unit))
        belief = kl.Belief.empty(prior, [1, 3, 2], 2, [1.0])
        for _ in range(6):
            states = [0, 1 + rng.integers(3), 4 + rng.integers(2)]
            belief = belief.update(states, rng.integers(2, size=3), unit * rng.normal(size=3))
        return kl.solve_vapor(belief)

    assert scaled(scale).bound == pytest.approx(scale * scaled(1.0).bound, rel=1e-8)


def test_room_is_no_part_of_the_memory():
    from klearning.numerics.records.fields import leaves

    names = leaves(kl.VAPOR().begin(kl.Belief.before(kl.Prior(), kl.deep_sea(3))))
    assert not any(".work." in name for name in names)
    assert flow_arrays(2, 3).u.shape == (2, 3)
