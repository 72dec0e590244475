"""Exact values of MDPs against enumeration, plain recursions and simulation; the worlds' numbers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab.theory import regret_bound
from tests.support import oracles
from tests.support.cases import modest
from tests.support.oracles import assert_close

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def random_parts(rng, widths, actions, sparse=0.4):
    r = [rng.normal(size=(n, actions)) for n in widths]
    P = [rng.random((x, actions, y)) * (rng.random((x, actions, y)) > sparse) for x, y in pairwise(widths)]
    P = [oracles.normalised(p + np.eye(p.shape[-1])[0] * 0.1) for p in P]
    return r, P, rng.dirichlet(np.ones(widths[0]))


def random_policy(rng, widths, actions):
    return [rng.dirichlet(np.ones(actions), size=n) for n in widths]


@modest
@given(st.sampled_from([[1], [2], [1, 2], [2, 2], [1, 2, 2], [2, 1, 2]]), st.integers(1, 3), seeds)
def test_optimal_is_the_best_of_all_policies(widths, actions, seed):
    r, P, initial = random_parts(np.random.default_rng(seed), widths, actions)
    best = kl.optimal(kl.MDP.from_layers(r, P, initial))
    assert best.value == pytest.approx(oracles.best_by_enumeration(r, P, initial), abs=1e-12)
    V, Q = oracles.optimal_values(r, P)
    assert_close(best.values, V)
    assert_close(best.q_values, Q)


def test_optimal_is_uniform_over_ties():
    mdp = kl.MDP.from_layers([[[1.0, 1.0, 0.0]], [[2.0, 2.0, 2.0]]], [np.ones((1, 3, 1))], [1.0])
    assert_close(kl.optimal(mdp).policy, [[[0.5, 0.5, 0.0]], [[1 / 3] * 3]])


@modest
@given(shapes, st.integers(1, 4), seeds)
def test_evaluate_follows_the_recursion(widths, actions, seed):
    rng = np.random.default_rng(seed)
    r, P, initial = random_parts(rng, widths, actions)
    policy = random_policy(rng, widths, actions)
    V, Q = oracles.policy_values(r, P, policy)
    mdp = kl.MDP.from_layers(r, P, initial)
    got = kl.evaluate(mdp, policy)
    assert_close(got.values, V)
    assert_close(got.q_values, Q)
    assert got.value == pytest.approx(initial @ V[0], abs=1e-12)
    assert kl.evaluate(mdp, np.concatenate(policy)).value == got.value


@modest
@given(shapes, st.integers(1, 4), seeds)
def test_occupancy_is_a_distribution_and_gives_the_value(widths, actions, seed):
    rng = np.random.default_rng(seed)
    r, P, initial = random_parts(rng, widths, actions)
    policy = random_policy(rng, widths, actions)
    got = kl.evaluate(kl.MDP.from_layers(r, P, initial), policy)
    assert_close(got.occupancy, oracles.occupancy(P, initial, policy))
    assert [flow.sum() for flow in got.occupancy] == pytest.approx([1.0] * len(widths), abs=1e-12)
    assert got.value == pytest.approx(oracles.expected(r, got.occupancy), abs=1e-11)


def test_evaluate_is_the_mean_of_simulated_returns():
    """Off by 5 standard errors in one of 5 checks: 3e-6 by chance."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        widths = [2, 4, 3, 5]
        r, P, initial = random_parts(rng, widths, 3)
        policy = random_policy(rng, widths, 3)
        returns = oracles.rollouts(r, P, initial, policy, 20_000, rng)
        value = kl.evaluate(kl.MDP.from_layers(r, P, initial), policy).value
        assert abs(returns.mean() - value) < 5 * returns.std() / np.sqrt(len(returns))


@modest
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 5), seeds)
def test_stationary_is_the_same_layer_again_and_again(states, actions, horizon, seed):
    r, P, initial = random_parts(np.random.default_rng(seed), [states, states], actions)
    once = kl.MDP.from_stationary(r[0], P[0], initial, horizon, noise=0.5)
    unrolled = kl.MDP.from_layers([r[0]] * horizon, [P[0]] * (horizon - 1), initial, noise=0.5)
    assert_close(once.rewards, unrolled.rewards)
    assert_close(once.transitions, unrolled.transitions)
    assert once.horizon == horizon
    assert once.noise == unrolled.noise == 0.5
    assert kl.optimal(once).value == kl.optimal(unrolled).value


@modest
@given(shapes, st.integers(1, 4), seeds)
def test_an_mdp_gives_back_its_parts(widths, actions, seed):
    r, P, initial = random_parts(np.random.default_rng(seed), widths, actions)
    mdp = kl.MDP.from_layers(r, P, initial)
    assert_close(mdp.rewards, r)
    assert_close(mdp.transitions, P)
    assert (mdp.widths, mdp.states, mdp.actions, mdp.horizon) == (widths, sum(widths), actions, len(widths))


@pytest.mark.parametrize("depth", [1, 2, 5, 30])
@pytest.mark.parametrize("cost", [0.0, 0.01, 0.9])
def test_deep_sea_pays_one_less_the_way_there(depth, cost):
    best = kl.optimal(kl.deep_sea(depth, cost=cost))
    assert best.value == pytest.approx(1 - (depth - 1) * cost / depth, abs=1e-12)
    if depth > 1 and cost > 0:
        assert all(pi[-1].tolist() == [0.0, 1.0] for pi in best.policy)
        assert all((pi[:-1] == [1.0, 0.0]).all() for pi in best.policy)


def test_deep_sea_is_the_reachable_triangle():
    sea = kl.deep_sea(4, cost=0.4, noise=0.3)
    assert sea.widths == [1, 2, 3, 4]
    assert (sea.noise, sea.goal, sea.initial.tolist()) == (0.3, (9, 1), [1.0])
    for l, P in enumerate(sea.transitions):
        for column in range(l + 1):
            assert P[column, 0].argmax() == max(column - 1, 0)
            assert P[column, 1].argmax() == column + 1
        assert (P.max(axis=-1) == 1.0).all()
    for l, r in enumerate(sea.rewards):
        want = np.tile([0.0, -0.1], (l + 1, 1))
        if l == 3:
            want[-1, 1] = 1.0
        np.testing.assert_array_equal(r, want)
    uniform = [np.full((n, 2), 0.5) for n in sea.widths]
    assert all(flow.sum(axis=1).min() > 0 for flow in kl.evaluate(sea, uniform).occupancy)


@pytest.mark.parametrize("slip", [0.0, 0.1, 0.6, 1.0])
def test_deep_sea_slips_straight_down(slip):
    depth, cost = 6, 0.3
    sea = kl.deep_sea(depth, cost=cost, slip=slip)
    for l, P in enumerate(sea.transitions):
        for column in range(l + 1):
            want = np.zeros(l + 2)
            want[column + 1], want[column] = 1 - slip, slip
            np.testing.assert_allclose(P[column, 1], want, atol=1e-15)
    value = 1.0
    for _ in range(depth - 1):  # up the diagonal; once off it, left for nothing is best
        value = max((1 - slip) * value - cost / depth, 0.0)
    assert kl.optimal(sea).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_deep_sea_mapping_only_swaps_actions(slip):
    plain = kl.deep_sea(8, slip=slip)
    swapped_somewhere = 0
    for seed in range(5):
        mapped = kl.deep_sea(8, slip=slip, mapping_seed=seed)
        assert kl.optimal(mapped).value == pytest.approx(kl.optimal(plain).value, abs=1e-15)
        goal_state, goal_action = mapped.goal
        assert mapped.reward[goal_action, goal_state] == 1.0
        for r, q, P, T in zip(plain.rewards, mapped.rewards, plain.transitions, mapped.transitions):
            for s in range(len(r)):
                swap = q[s, 0] != r[s, 0]
                swapped_somewhere += swap
                order = [1, 0] if swap else [0, 1]
                np.testing.assert_array_equal(q[s], r[s, order])
                np.testing.assert_array_equal(T[s], P[s, order])
    assert 0.3 < swapped_somewhere / (5 * 28) < 0.7


def test_river_swim_has_the_stated_numbers():
    river = kl.river_swim()
    assert (river.horizon, river.actions, river.widths) == (20, 2, [6] * 20)
    left = np.eye(6)[[0, 0, 1, 2, 3, 4]]
    right = np.array(
        [
            [0.4, 0.6, 0, 0, 0, 0],
            [0.05, 0.6, 0.35, 0, 0, 0],
            [0, 0.05, 0.6, 0.35, 0, 0],
            [0, 0, 0.05, 0.6, 0.35, 0],
            [0, 0, 0, 0.05, 0.6, 0.35],
            [0, 0, 0, 0, 0.4, 0.6],
        ]
    )
    for P in river.transitions:
        np.testing.assert_array_equal(P[:, 0], left)
        np.testing.assert_array_equal(P[:, 1], right)
    for r in river.rewards:
        want = np.zeros((6, 2))
        want[0, 0], want[5, 1] = 0.005, 1.0
        np.testing.assert_array_equal(r, want)
    assert river.initial.tolist() == [1, 0, 0, 0, 0, 0]


def test_bandit_is_one_state_and_one_step():
    arms = kl.bandit([0.1, 0.7, 0.4], noise=0.5)
    assert (arms.horizon, arms.states, arms.actions, arms.noise) == (1, 1, 3, 0.5)
    best = kl.optimal(arms)
    assert best.value == 0.7
    assert best.policy[0].tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("reward", [kl.Gaussian(1.0, 2.0, 0.5), kl.Beta(2.0, 3.0)])
def test_random_mdp_is_a_valid_draw(reward):
    prior = kl.Prior(reward, kl.Dirichlet(2.0))
    world = kl.random_mdp([2, 4, 3], actions=3, prior=prior, seed=7)
    assert (world.widths, world.actions) == ([2, 4, 3], 3)
    for P in world.transitions:
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=-1), 1.0, atol=1e-12)
    again = kl.MDP.from_layers(world.rewards, world.transitions, world.initial, world.noise)
    assert kl.optimal(again).value == pytest.approx(kl.optimal(world).value, abs=1e-12)
    assert world.noise == ("bernoulli" if isinstance(reward, kl.Beta) else 0.5)


def test_random_mdp_depends_on_its_seed_alone():
    values = [kl.optimal(kl.random_mdp(4, 2, horizon=3, seed=s)).value for s in (0, 1, 0)]
    assert values[0] == values[2] != values[1]
    assert kl.random_mdp(4, 2, horizon=3).widths == [4, 4, 4]


def test_the_goal_of_a_stationary_model_counts_at_any_step():
    """As the visits of single episodes say."""
    world = kl.MDP.from_stationary(
        np.zeros((3, 2)), np.full((3, 2, 3), 1 / 3), np.full(3, 1 / 3), horizon=3, goal=(2, 1), noise=0.1
    )
    assert (world.goal, world.recurring) == ((2, 1), True)
    runs = kl.run(kl.Random(), world, episodes=1, seeds=200, threads=1)
    there = runs.visits.reshape(200, 3, 3, 2)[:, :, 2, 1].any(axis=1)
    np.testing.assert_array_equal(runs.hits[:, 0], there)
    assert 0 < there.sum() < 200


def test_the_goal_of_layers_is_numbered_through_all_of_them():
    layers = [np.zeros((1, 2)), np.zeros((2, 2))]
    for state, place in ((0, 0), (1, 1), (2, 2)):
        world = kl.MDP.from_layers(layers, [np.full((1, 2, 2), 0.5)], [1.0], goal=(state, 1))
        runs = kl.run(kl.Random(), world, episodes=1, seeds=50, threads=1)
        np.testing.assert_array_equal(runs.hits[:, 0], runs.visits[:, place, 1] > 0)


@pytest.mark.parametrize("goal", [(3, 0), (0, 2), (-1, 0), 3, (0,), (0.0, 1), "ab", (0, 0, 0)], ids=str)
def test_what_is_no_goal_is_refused(goal):
    with pytest.raises(ValueError, match=r"is not a \(state, action\) pair: give indices below \(3, 2\)"):
        kl.MDP.from_stationary(np.zeros((3, 2)), np.full((3, 2, 3), 1 / 3), np.full(3, 1 / 3), 4, goal=goal)


# Noise


def parts_with_noise():
    rng = np.random.default_rng(5)
    r, P, initial = random_parts(rng, [2, 3], 2)
    return r, P, initial, [rng.random((n, 2)) for n in (2, 3)]


def test_one_noise_for_all_is_the_same_noise_everywhere():
    """Bit for bit, in a run and step by step."""
    r, P, initial, noise = parts_with_noise()
    one = kl.MDP.from_layers(r, P, initial, 0.3)
    all_alike = kl.MDP.from_layers(r, P, initial, [np.full_like(x, 0.3) for x in noise])
    runs = [kl.run(kl.KLearning(), world, episodes=30, seeds=2) for world in (one, all_alike)]
    np.testing.assert_array_equal(runs[0].returns, runs[1].returns)
    rewards = []
    for world in (one, all_alike):
        env = kl.WorldEnv(world)
        env.reset(seed=1)
        rewards.append([env.step(0)[1], env.step(1)[1]])
    assert rewards[0] == rewards[1]
    stationary = [
        kl.MDP.from_stationary(r[0], np.full((2, 2, 2), 0.5), initial, 3, sd) for sd in (0.3, np.full((2, 2), 0.3))
    ]
    runs = [kl.run(kl.KLearning(), world, episodes=30, seeds=2) for world in stationary]
    np.testing.assert_array_equal(runs[0].returns, runs[1].returns)


def test_noise_is_that_of_its_state_and_action():
    """Spread of 4,000 rewards, to 5 standard errors of 1.1%: 1e-6 by chance; no noise is none at all."""
    r, P, initial, noise = parts_with_noise()
    noise[0][0, 1] = 0.0
    world = kl.MDP.from_layers(r, P, initial, noise)
    np.testing.assert_array_equal(world.noise, np.concatenate(noise).T)
    tiled = kl.MDP.from_stationary(r[0], np.full((2, 2, 2), 0.5), initial, 3, noise[0])
    np.testing.assert_array_equal(tiled.noise, np.tile(noise[0].T, 3))
    env, rewards = kl.WorldEnv(world, numbering="through"), {}
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(20_000):
        s, _ = env.reset()
        over = False
        while not over:
            a = int(rng.integers(2))
            before = s
            s, reward, terminated, truncated, _ = env.step(a)
            rewards.setdefault((a, before), []).append(reward)
            over = terminated or truncated
    for (a, s), seen in rewards.items():
        assert np.std(seen) == pytest.approx(world.noise[a, s], rel=5 / np.sqrt(2 * len(seen)), abs=1e-12)
    arms = kl.bandit([0.25, 0.5], noise=[0.0, 1.0])
    runs = kl.run(kl.Random(), arms, episodes=4000, seeds=1)
    still = runs.returns[0] == 0.25
    assert np.std(runs.returns[0][~still]) == pytest.approx(1.0, rel=5 / np.sqrt(4000))
    assert 1700 < still.sum() < 2300  # 9 standard deviations


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda r, P, i: kl.MDP.from_layers(r, P, i, [[[0.1, 0.1]]]), "noise has 1 entries: give 2"),
        (lambda r, P, i: kl.MDP.from_layers(r, P, i, [r[0] * 0, r[0] * 0]), r"noise\[1\] has shape \(2, 2\)"),
        (lambda r, P, i: kl.MDP.from_layers(r, P, i, [r[0] * 0 - 1, r[1] * 0]), r"noise\[0\]\[0, 0\]=-1 is negative"),
        (lambda r, P, i: kl.MDP.from_stationary(r[0], np.full((2, 2, 2), 0.5), i, 3, [0.1, 0.1]), "noise has shape"),
        (lambda r, P, i: kl.MDP.from_layers(r, P, i, -0.1), "noise=-0.1 is out of range"),
        (lambda r, P, i: kl.MDP.from_layers(r, P, i, "normal"), "noise='normal' is unknown"),
        (lambda r, P, i: kl.bandit([0.1, 0.2], noise=[1.0]), r"noise has shape \(1,\): give shape \(2,\)"),
    ],
)
def test_a_noise_that_is_none(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(*parts_with_noise()[:3])


def test_a_bound_takes_the_largest_noise():
    assert regret_bound(kl.bandit([0.1, 0.2], noise=[0.5, 2.0]), 10) == regret_bound((1, 1, 2), 10, noise=2.0)
