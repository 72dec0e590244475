"""Laws of the pure functions: each against plain NumPy, or against what is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from klearning.deep import DQN, DeepKLearning, counts, network, replay
from klearning.deep.learner import draw
from klearning.deep.replay import Steps

SMALL = {"hidden": (8,), "batch": 4, "capacity": 32, "tilings": 4, "places": 2**8}


def some_steps(rng, n, features, actions):
    """Steps of noise, with masks that allow at least one action."""
    allowed = (rng.random((n, actions)) < 0.7).astype(np.float32)
    allowed[np.arange(n), rng.integers(actions, size=n)] = 1.0
    return Steps(
        *map(
            jnp.asarray,
            (
                rng.normal(size=(n, features)).astype(np.float32), rng.integers(actions, size=n).astype(np.int32),
                rng.normal(size=n).astype(np.float32), rng.normal(size=(n, features)).astype(np.float32),
                (rng.random(n) < 0.5).astype(np.float32), allowed,
            ),
        )
    )  # fmt: skip


fresh = jax.jit(
    lambda agent, like, points, actions: agent.begin(jax.random.key(1), like, points, actions), static_argnums=(0, 2, 3)
)
inserted = jax.jit(lambda agent, memory, block, count: agent.insert(memory, block, count), static_argnums=0)
concluded = jax.jit(lambda agent, memory, numbers: agent.concluded(memory, numbers), static_argnums=0)


def perceptron(params, x, normalised=True):
    for i, layer in enumerate(params):
        if i:
            centred = x - x.mean(axis=-1, keepdims=True)
            x = np.maximum(centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) if normalised else x, 0.0)
        x = x @ np.asarray(layer["weight"], float) + np.asarray(layer["bias"], float)
    return x


def brute_force_places(tiles, x, each):
    """One tiling and one step at a time, with Python's whole numbers."""
    shift, factor = np.asarray(tiles.shift), np.asarray(tiles.factor)
    at = np.zeros((len(x), len(shift)), int)
    for i, point in enumerate(np.asarray(x)):
        for k in range(len(shift)):
            cubes = np.floor(point * np.float32(tiles.per_unit) + shift[k]).astype(int)
            hashed = sum(int(cube) * int(f) for cube, f in zip(cubes, factor[k])) % 2**32
            at[i, k] = k * each + (hashed >> (32 - each.bit_length() + 1))
    return at


def half_variance(rewards, agent):
    """Of rewards that were seen in one place."""
    n, spread = len(rewards), float(np.sum((rewards - np.mean(rewards)) ** 2)) if len(rewards) else 0.0
    s2 = (agent.noise_strength * agent.noise**2 + spread) / (agent.noise_strength + n - 1) if n > 1 else agent.sd**2
    return 0.5 * s2 / (n + s2 / agent.sd**2)


@pytest.fixture(scope="module")
def met():
    """An agent that has seen a block of steps, and the block."""
    agent = DeepKLearning(**SMALL, noise=0.3)
    block = some_steps(np.random.default_rng(0), 20, 3, 3)
    return agent, block, inserted(agent, fresh(agent, jnp.zeros(3), 3, 3), block, 20)


def brute_force_c(agent, memory, block, x):
    each = memory.counts.c.shape[0] // agent.tilings
    seen, at = brute_force_places(memory.tiles, block.x, each), brute_force_places(memory.tiles, x, each)
    scaled, action = np.asarray(block.reward, np.float64) / float(memory.largest), np.asarray(block.action)
    return np.array(
        [
            [
                np.mean([half_variance(scaled[(seen[:, k] == row[k]) & (action == a)], agent) for k in range(len(row))])
                for a in range(3)
            ]
            for row in at
        ]
    )


def test_the_bonus_is_that_of_rewards_around(met):
    agent, block, memory = met
    assert float(memory.largest) == pytest.approx(max(1.0, np.abs(block.reward).max()))
    x = jnp.concatenate([block.x, jax.random.normal(jax.random.key(2), (5, 3))])
    expected = brute_force_c(agent, memory, block, x)
    assert expected.min() < 0.2 < expected.max()
    np.testing.assert_allclose(agent.c(memory, x), expected, rtol=2e-4)


def test_another_scale_of_rewards_values_all_places_anew(met):
    agent, block, memory = met
    later = inserted(agent, memory, block._replace(reward=50.0 * block.reward), 1)
    assert float(later.largest) > 5.0 * float(memory.largest)
    both = Steps(*(jnp.concatenate([a, b[:1]]) for a, b in zip(block, block._replace(reward=50.0 * block.reward))))
    np.testing.assert_allclose(agent.c(later, block.x), brute_force_c(agent, later, both, block.x), rtol=2e-4)


def test_the_loss_of_a_batch_by_hand(met):
    agent, block, memory = met
    memory = memory._replace(target=network.initial(jax.random.key(5), (3, 8, 3)))
    tau, (x, action, reward, after, terminal, allowed) = float(jnp.exp(memory.log_tau)), map(np.asarray, block)
    c = brute_force_c(agent, memory, block, after)
    K = np.minimum(c / tau, agent.largest_bonus * np.sqrt(2.0 * c))
    for i, W in enumerate(perceptron(memory.target, after)):
        left = c[i] / (0.5 * agent.sd**2)
        best = max((w for w, rho in zip(W, left) if rho < 0.5), default=W.max())
        K[i] += (1.0 - left) * W + left * agent.discount * best
    V = tau * np.log(np.sum(np.where(allowed > 0, np.exp(K / tau), 0.0), axis=1))
    y = reward / float(memory.largest) + agent.discount * (1.0 - terminal) * V
    W = perceptron(memory.params, x)[np.arange(20), action]
    assert float(agent.loss(memory.params, memory, block, agent.beside(memory, block))) == pytest.approx(
        0.5 * np.mean((W - y) ** 2), rel=1e-4
    )


def test_one_bad_reward_is_no_reason_to_give_up():
    """Twice the same is: rewards have no noise there."""
    seen = ((), (-0.2,), (-0.2, -0.2), (-0.2, 1.1))
    n, sums, squares = (jnp.array([sum(x**k for x in rewards) for rewards in seen]) for k in range(3))
    c = np.asarray(counts.half_variance(n, sums, squares, 1.0, 0.02, 1.0))
    np.testing.assert_allclose(c[:2], [0.5, 0.25])
    assert c[2] < 2e-4
    assert c[3] > 0.05


def test_an_action_that_was_never_taken_is_as_good_as_the_best_that_was():
    """Whatever the network says of it, and in both modules."""
    agent, W = DeepKLearning(sd=0.5), np.array([[9.0, -0.7, 3.0], [9.0, -0.7, 3.0], [-1.0, 2.0, 0.0]], np.float32)
    left = agent.left(np.array([[0.0, 0.125, 0.0], [0.125, 0.125, 1e-4], [0.125] * 3], np.float32))
    want = [[9.0, 0.99 * 9.0, 3.0], [0.99 * 3.0, 0.99 * 3.0, 3.0], [0.99 * 2.0] * 3]
    np.testing.assert_allclose(agent.believed(W, left), want, rtol=1e-4)
    np.testing.assert_allclose(agent.believed(jnp.asarray(W), jnp.asarray(left)), want, rtol=1e-4)


@pytest.mark.parametrize("k", [None, 0.5, 3.0])
def test_the_bonus_has_a_bound_and_its_c_is_its_slope(k):
    """C/τ is −τ ∂b/∂τ, by automatic differentiation: what the temperature's rule needs."""
    agent = DeepKLearning(largest_bonus=k)
    for c in (1e-6, 1e-3, 0.02, 0.5):
        for tau in (1e-3, 0.03, 0.9):
            b, slope = jax.value_and_grad(lambda t, c=c: agent.bonus(jnp.float32(c), t)[0])(jnp.float32(tau))
            most = np.inf if k is None else k * (2.0 * c) ** 0.5
            assert float(b) == pytest.approx(min(c / tau, most), rel=1e-5)
            assert float(agent.bonus(jnp.float32(c), jnp.float32(tau))[1]) == pytest.approx(
                -(tau**2) * float(slope), rel=1e-5
            )
            in_numpy = agent.bonus(np.array(c, np.float32), np.array(tau, np.float32))
            np.testing.assert_allclose(in_numpy, agent.bonus(jnp.float32(c), jnp.float32(tau)), rtol=1e-5)


def test_dqns_loss_by_hand():
    agent, block = DQN(hidden=(8,), capacity=32), some_steps(np.random.default_rng(1), 20, 3, 3)
    memory = inserted(agent, fresh(agent, jnp.zeros(3), 3, 3), block, 20)
    x, action, reward, after, terminal, allowed = map(np.asarray, block)
    V = np.where(allowed > 0, perceptron(memory.target, after), -np.inf).max(axis=1)
    y = reward / float(memory.largest) + agent.discount * (1.0 - terminal) * V
    Q = perceptron(memory.params, x)[np.arange(20), action]
    assert float(agent.loss(memory.params, memory, block, agent.beside(memory, block))) == pytest.approx(
        0.5 * np.mean((Q - y) ** 2), rel=1e-4
    )


@pytest.mark.parametrize("numbers", [(3.0, 0.5), (0.2, 4.0)])
def test_the_temperature_rests_where_the_exact_solvers_does(numbers):
    """At τ = √(C/H), where τH = C/τ; and each step is −η tanh(log τ − log √(C/H))."""
    H, C = numbers
    agent = DeepKLearning(**SMALL)
    memory = fresh(agent, jnp.zeros(3), 3, 2)
    before = float(memory.log_tau)
    once = concluded(agent, memory, np.array(numbers))
    rest = 0.5 * np.log(C / H)
    assert float(once.log_tau) - before == pytest.approx(-agent.temperature_rate * np.tanh(before - rest), abs=1e-6)
    for _ in range(200):
        memory = concluded(agent, memory, np.array(numbers))
    assert float(memory.log_tau) == pytest.approx(rest, abs=1e-5)


@pytest.mark.parametrize("whole", [True, False], ids=["Discrete", "one-hot"])
def test_counts_of_discrete_observations_are_exact(whole):
    """Up to collisions of the hash, of which there is none here."""
    points, rng = 12, np.random.default_rng(3)
    numbers, action = rng.integers(points, size=60), jnp.asarray(rng.integers(2, size=60))
    x = jnp.asarray(numbers, jnp.int32) if whole else jnp.asarray(np.eye(points)[numbers] * points**0.5, jnp.float32)
    tiles = counts.new_tiles(jax.random.key(0), 0 if whole else points, 4, 10 / 12**0.5)
    table = counts.new_counts(points if whole else 4 * 2**12, 2, 1.0)
    at = counts.places(tiles, table, x)
    table = counts.counted(table, at, action, jnp.ones(60), jnp.ones(60))
    n = np.asarray(table.visits)[np.asarray(at), np.asarray(action)[:, None]]
    exact = [np.sum((numbers == k) & (np.asarray(action) == a)) for k, a in zip(numbers, action)]
    np.testing.assert_array_equal(n, np.broadcast_to(np.array(exact)[:, None], n.shape))


def test_whole_numbers_are_unit_vectors_to_the_network():
    params = network.initial(jax.random.key(0), (5, 7, 2))
    one_hot = jnp.eye(5) * 5**0.5
    np.testing.assert_allclose(
        network.values(params, jnp.arange(5), True), network.values(params, one_hot, True), rtol=1e-5
    )


@pytest.mark.parametrize("normal", [True, False])
def test_a_network_by_hand_in_both_modules(normal):
    params = network.initial(jax.random.key(0), (3, 6, 5, 2))
    params = jax.tree.map(lambda part: 3.0 * part + 0.1, params)
    x = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    np.testing.assert_allclose(network.values(params, jnp.asarray(x), normal), perceptron(params, x, normal), rtol=2e-5)
    in_numpy = jax.tree.map(np.asarray, params)
    for point in x:
        np.testing.assert_allclose(
            network.values(in_numpy, point, normal), perceptron(params, point, normal), rtol=2e-5
        )


def test_normalised_units_forget_the_size_of_what_is_seen():
    """As far as that is large beside what is added to their variance."""
    params = network.initial(jax.random.key(0), (3, 6, 2))
    x = jnp.asarray(np.random.default_rng(0).standard_normal((7, 3)))
    np.testing.assert_allclose(network.values(params, x, True), network.values(params, 40.0 * x, True), rtol=1e-3)
    assert abs(network.values(params, 40.0 * x, False) - network.values(params, x, False)).max() > 1.0


def test_the_ring_holds_the_newest():
    ring, n = replay.empty(8, jnp.zeros(()), 2), 0
    for length in (3, 4, 5):  # twelve in all, of which eight are left
        block = some_steps(np.random.default_rng(0), 6, 1, 2)
        block = block._replace(x=jnp.arange(n, n + 6.0), after=jnp.zeros(6))
        ring, n = replay.written(ring, block, n, length), n + length
    assert sorted(np.asarray(ring.x).tolist()) == list(range(4, 12))
    assert set(np.asarray(replay.sampled(ring, n, jax.random.key(0), (200,)).x).tolist()) == set(range(4, 12))


def test_an_action_of_no_chance_is_never_drawn():
    chances = np.array([0.0, 0.3, 0.0, 0.7, 0.0])
    assert {draw(chances, u) for u in np.linspace(0.0, 1.0, 101)} == {1, 3}
    assert [draw(chances, u) for u in (0.0, 0.299, 0.301)] == [1, 1, 3]


def test_with_a_fixed_temperature_the_network_finds_the_exact_soft_values():
    """Two states, two actions, all of it in the ring: W(s,a) = r + γ τ log Σ exp((W(s',·) + c(s',·)/τ)/τ)."""
    gamma = 0.6
    agent = DeepKLearning(
        hidden=(16,), batch=16, capacity=4, discount=gamma, temperature=0.5, temperature_rate=0.0, polyak=0.2,
        learning_rate=3e-3, updates=1,
    )  # fmt: skip
    reward, after, terminal = np.array([0.3, -0.2, 1.0, 0.0]), np.array([1, 0, 0, 1]), np.array([0, 0, 0, 1.0])
    parts = (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), reward, after, terminal, np.ones((4, 2)))
    kinds = (np.int32, np.int32, *[np.float32] * 1, np.int32, np.float32, np.float32)
    block = Steps(*(jnp.asarray(part, kind) for part, kind in zip(parts, kinds, strict=True)))
    memory = inserted(agent, fresh(agent, jnp.zeros((), jnp.int32), 2, 2), block, 4)
    memory = inserted(agent, memory, block, 4)  # twice each: nothing is left of the prior
    memory = jax.jit(agent.improve)(memory, 4000, jax.random.key(1))
    c = 0.5 * 0.01**2
    W = np.zeros(4)
    for _ in range(200):
        K = W.reshape(2, 2) + c / 0.5
        V = 0.5 * np.log(np.exp(K / 0.5).sum(axis=1))
        W = reward + gamma * (1.0 - terminal) * V[after]
    np.testing.assert_allclose(np.asarray(agent.outputs(memory.target, jnp.arange(2))).ravel(), W, atol=0.01)
