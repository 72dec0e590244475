"""Laws of the pure functions: each against plain NumPy, or against what is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from klearning.deep import DeepKLearning, counts, network, replay, scaling
from klearning.deep.learner import draw
from klearning.deep.replay import Steps

SMALL = {"hidden": (8,), "batch": 4, "capacity": 32, "tilings": 4, "tiles": 2**8}


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
on_episode_end = jax.jit(lambda agent, memory, numbers: agent.on_episode_end(memory, numbers), static_argnums=0)
bonus_at = jax.jit(lambda agent, memory, x: agent.c(memory, agent.inputs(memory, x)), static_argnums=0)
network_values = jax.jit(network.values, static_argnums=2)
written, rescaled = jax.jit(replay.written), jax.jit(scaling.updated)


def perceptron(params, x, normalised=True):
    for i, layer in enumerate(params):
        if i:
            centred = x - x.mean(axis=-1, keepdims=True)
            x = np.maximum(centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) if normalised else x, 0.0)
        x = x @ np.asarray(layer["weight"], float) + np.asarray(layer["bias"], float)
    return x


def brute_force_tiles(memory, scale, z):
    """One tiling and one step at a time, with Python's whole numbers."""
    tilings = memory.tilings
    direction, shift, factor = map(np.asarray, tilings[:3])
    each = memory.counts.c.shape[0] // (len(counts.SCALES) * len(shift))
    at = np.zeros((len(z), len(shift)), int)
    for i, k in np.ndindex(*at.shape):
        columns = direction[:, k * counts.PROJECTIONS : (k + 1) * counts.PROJECTIONS]
        numbers = np.floor(np.asarray(z[i] @ columns) * np.float32(counts.SCALES[scale]) + shift[k]).astype(int)
        hashed = sum(int(number) * int(f) for number, f in zip(numbers, factor[k])) % 2**32
        at[i, k] = each * (scale * len(shift) + k) + (hashed >> (32 - each.bit_length() + 1))
    return at


def half_variance(rewards, agent, sd):
    """Of rewards that were seen in one place."""
    n, spread = len(rewards), float(np.sum((rewards - np.mean(rewards)) ** 2)) if len(rewards) else 0.0
    noise = agent.noise * sd / agent.sd
    s2 = (agent.noise_strength * noise**2 + spread) / (agent.noise_strength + n - 1) if n > 1 else sd**2
    return 0.5 * s2 / (n + s2 / sd**2)


@pytest.fixture(scope="module")
def met():
    """An agent that has seen a block of steps, and the block."""
    agent = DeepKLearning(**SMALL, sd=1.0, noise=0.3)
    block = some_steps(np.random.default_rng(0), 20, 3, 3)
    return agent, block, inserted(agent, fresh(agent, jnp.zeros(3), 3, 3), block, 20)


def in_scale(memory, scale):
    return memory._replace(tilings=memory.tilings._replace(scale=jnp.asarray(scale, jnp.int32)))


def brute_force_c(agent, memory, seen, x):
    """In the scale in use; ``seen`` are blocks with the scaling of features when they were met."""
    scale, sd = int(memory.tilings.scale), float(memory.sd)
    tiles = np.concatenate([brute_force_tiles(memory, scale, scaling.scaled(then, block.x)) for block, then in seen])
    at = brute_force_tiles(memory, scale, scaling.scaled(memory.scaling, x))
    rewards, action = (np.concatenate([block[i] for block, _ in seen]) for i in (2, 1))
    scaled = np.asarray(rewards, np.float64) / float(memory.largest)

    def c(row, a):
        rewards_of = [scaled[(tiles[:, k] == tile) & (action == a)] for k, tile in enumerate(row)]
        return np.mean([half_variance(part, agent, sd) for part in rewards_of])

    return np.array([[c(row, a) for a in range(3)] for row in at])


@pytest.mark.parametrize("scale", range(len(counts.SCALES)))
def test_the_bonus_is_that_of_rewards_around(met, scale):
    agent, block, memory = met
    memory = in_scale(memory, scale)
    assert float(memory.largest) == pytest.approx(max(1.0, np.abs(block.reward).max()))
    x = jnp.concatenate([block.x, jax.random.normal(jax.random.key(2), (5, 3))])
    expected = brute_force_c(agent, memory, [(block, memory.scaling)], x)
    assert expected.min() < 0.7 * 0.5 * float(memory.sd) ** 2
    np.testing.assert_allclose(bonus_at(agent, memory, x), expected, rtol=2e-4)


def test_another_scale_of_rewards_values_all_tiles_anew(met):
    agent, block, memory = met
    large = block._replace(reward=50.0 * block.reward)
    later = in_scale(inserted(agent, memory, large, 1), 0)
    assert float(later.largest) > 5.0 * float(memory.largest)
    seen = [(block, memory.scaling), (Steps(*(part[:1] for part in large)), later.scaling)]
    np.testing.assert_allclose(bonus_at(agent, later, block.x), brute_force_c(agent, later, seen, block.x), rtol=2e-4)


def test_the_targets_and_the_loss_of_a_batch_by_hand(met):
    agent, block, memory = met
    memory = in_scale(memory, 0)._replace(target=network.initial(jax.random.key(5), (3, 8, 6)))
    tau, sd, (x, action, reward, after, terminal, allowed) = (
        float(jnp.exp(memory.log_tau)), float(memory.sd), map(np.asarray, block)
    )  # fmt: skip
    assert 0.3 < sd < 0.9  # the largest reward is above 1, their mean is below it
    z, z_after = (np.asarray(scaling.scaled(memory.scaling, part)) for part in (x, after))
    c = brute_force_c(agent, memory, [(block, memory.scaling)], after)
    K = np.minimum(c / tau, agent.largest_bonus * np.sqrt(2.0 * c))
    both = perceptron(memory.target, z_after)
    for i, W in enumerate(both[:, :3]):
        left = c[i] / (0.5 * sd**2)
        best = max((w for w, rho in zip(W, left) if rho < 0.5), default=W.max())
        K[i] += (1.0 - left) * W + left * agent.discount * best
    V = tau * np.log(np.sum(np.where(allowed > 0, np.exp(K / tau), 0.0), axis=1))
    best = np.where(allowed > 0, both[:, 3:], -np.inf).max(axis=1)  # of Q, without bonus and entropy
    y = (reward / float(memory.largest))[:, None] + agent.discount * (1.0 - terminal)[:, None] * np.stack([V, best], 1)
    targets = jax.jit(agent.targets)(memory, block)
    np.testing.assert_allclose(targets, y, rtol=1e-4, atol=1e-5)
    learned = perceptron(memory.params, z).reshape(20, 2, 3)[np.arange(20), :, action]
    loss = jax.jit(agent.loss)(memory.params, jnp.asarray(z), block.action, targets)
    assert float(loss) == pytest.approx(0.5 * np.mean((learned - y) ** 2), rel=1e-4)


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
    c = np.array([[0.0, 0.125, 0.0], [0.125, 0.125, 1e-4], [0.125] * 3], np.float32)
    left = agent.prior_weight(c, agent.sd)
    want = [[9.0, 0.99 * 9.0, 3.0], [0.99 * 3.0, 0.99 * 3.0, 3.0], [0.99 * 2.0] * 3]
    np.testing.assert_allclose(agent.shrunk_values(W, left), want, rtol=1e-4)
    np.testing.assert_allclose(agent.shrunk_values(jnp.asarray(W), jnp.asarray(left)), want, rtol=1e-4)


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


@pytest.mark.parametrize("numbers", [(3.0, 0.5), (0.2, 4.0)])
def test_the_temperature_rests_where_the_exact_solvers_does(numbers):
    """At τ = √(C/H), where τH = C/τ; and each step is −η tanh(log τ − log √(C/H))."""
    H, C = numbers
    agent = DeepKLearning(**SMALL)
    memory = fresh(agent, jnp.zeros(3), 3, 2)
    before = float(memory.log_tau)
    once = on_episode_end(agent, memory, np.array(numbers))
    rest = 0.5 * np.log(C / H)
    assert float(once.log_tau) - before == pytest.approx(-agent.temperature_rate * np.tanh(before - rest), abs=1e-6)
    for _ in range(200):
        memory = on_episode_end(agent, memory, np.array(numbers))
    assert float(memory.log_tau) == pytest.approx(rest, abs=1e-5)


@pytest.mark.parametrize("whole", [True, False], ids=["Discrete", "one-hot"])
def test_counts_of_discrete_observations_are_exact(whole):
    """Up to collisions of the hash, of which there is none here."""
    points, rng = 12, np.random.default_rng(3)
    numbers, action = rng.integers(points, size=60), jnp.asarray(rng.integers(2, size=60))
    x = jnp.asarray(numbers, jnp.int32) if whole else jnp.asarray(np.eye(points)[numbers] * points**0.5, jnp.float32)

    @jax.jit
    def counted(x):
        tilings = counts.new_tilings(jax.random.key(0), 0 if whole else points, 4)
        table = counts.new_counts(points if whole else len(counts.SCALES) * 4 * 2**12, 2, 1.0)
        at = counts.tiles_of(tilings, table, x, scale=0)
        return at, counts.counted(table, at, action, jnp.ones(60), jnp.ones(60))

    at, table = counted(x)
    n = np.asarray(table.visits)[np.asarray(at), np.asarray(action)[:, None]]
    exact = [np.sum((numbers == k) & (np.asarray(action) == a)) for k, a in zip(numbers, action)]
    np.testing.assert_array_equal(n, np.broadcast_to(np.array(exact)[:, None], n.shape))


def test_whole_numbers_are_unit_vectors_to_the_network():
    params = network.initial(jax.random.key(0), (5, 7, 2))
    one_hot = jnp.eye(5) * 5**0.5
    np.testing.assert_allclose(
        network_values(params, jnp.arange(5), True), network_values(params, one_hot, True), rtol=1e-5
    )


@pytest.mark.parametrize("normal", [True, False])
def test_a_network_by_hand_in_both_modules(normal):
    params = network.initial(jax.random.key(0), (3, 6, 5, 2))
    params = jax.tree.map(lambda part: 3.0 * part + 0.1, params)
    x = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    np.testing.assert_allclose(network_values(params, jnp.asarray(x), normal), perceptron(params, x, normal), rtol=2e-5)
    in_numpy = jax.tree.map(np.asarray, params)
    for point in x:
        np.testing.assert_allclose(
            network.values(in_numpy, point, normal), perceptron(params, point, normal), rtol=2e-5
        )


def test_normalised_units_forget_the_size_of_what_is_seen():
    """As far as that is large beside what is added to their variance."""
    params = network.initial(jax.random.key(0), (3, 6, 2))
    x = jnp.asarray(np.random.default_rng(0).standard_normal((7, 3)))
    np.testing.assert_allclose(network_values(params, x, True), network_values(params, 40.0 * x, True), rtol=1e-3)
    assert abs(network_values(params, 40.0 * x, False) - network_values(params, x, False)).max() > 1.0


def test_the_ring_holds_the_newest():
    ring, n = replay.empty(8, jnp.zeros(()), 2), 0
    for length in (3, 4, 5):  # twelve in all, of which eight are left
        block = some_steps(np.random.default_rng(0), 6, 1, 2)
        block = block._replace(x=jnp.arange(n, n + 6.0), after=jnp.zeros(6))
        ring, n = written(ring, block, n, length), n + length
    assert sorted(np.asarray(ring.x).tolist()) == list(range(4, 12))
    steps = replay.taken(ring, replay.drawn(ring, n, jax.random.key(0), (200,)))
    assert set(np.asarray(steps.x).tolist()) == set(range(4, 12))


def test_an_action_of_no_chance_is_never_drawn():
    chances = np.array([0.0, 0.3, 0.0, 0.7, 0.0])
    assert {draw(chances, u) for u in np.linspace(0.0, 1.0, 101)} == {1, 3}
    assert [draw(chances, u) for u in (0.0, 0.299, 0.301)] == [1, 1, 3]


def test_with_a_fixed_temperature_the_network_finds_the_exact_soft_values():
    """Two states, two actions, all in the ring: W = r + γ τ log Σ exp((W(s',·) + c/τ)/τ), Q = r + γ max Q(s',·)."""
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
    W, Q = np.zeros(4), np.zeros(4)
    for _ in range(200):
        K = W.reshape(2, 2) + c / 0.5
        V = 0.5 * np.log(np.exp(K / 0.5).sum(axis=1))
        W = reward + gamma * (1.0 - terminal) * V[after]
        Q = reward + gamma * (1.0 - terminal) * Q.reshape(2, 2).max(axis=1)[after]
    assert np.abs(W - Q).max() > 0.1
    for learned, exact in zip(agent.values(memory, memory.target, jnp.arange(2)), (W, Q), strict=True):
        np.testing.assert_allclose(np.asarray(learned).ravel(), exact, atol=0.01)


def normalised_by_hand(rows):
    """Of features with many values: as if they had been seen 100 times before, with mean 0 and variance 1."""
    n, first = len(rows), scaling.PRIOR
    mean = rows.sum(axis=0) / (n + first)
    square = (first + (rows**2).sum(axis=0)) / (n + first)
    return mean, (square - mean**2) ** -0.5


def fed(rows, blocks):
    """The scaling after these rows, block by block; a last row of each block does not count."""
    now, seen = scaling.new_scaling(jnp.zeros(rows.shape[1])), 0
    for part in np.array_split(rows, blocks):
        padded = np.concatenate([part, np.full((1, rows.shape[1]), 99.0)])
        weight = np.append(np.ones(len(part)), 0.0)
        now = rescaled(now, jnp.asarray(padded, jnp.float32), jnp.asarray(weight, jnp.float32), seen)
        seen += len(part)
    return now


@pytest.mark.parametrize("blocks", [1, 7])
def test_numbers_are_normalised_by_what_was_seen(blocks):
    rows = np.random.default_rng(0).normal([3.0, -40.0, 0.0], [0.1, 7.0, 1e-3], (500, 3))
    now = fed(rows, blocks)
    centre, gain = normalised_by_hand(rows)
    np.testing.assert_allclose(now.centre, centre, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(now.gain, gain, rtol=1e-3)
    np.testing.assert_array_equal(now.binary, 0.0)


@pytest.mark.parametrize("top", [1.0, 12**0.5])
def test_bits_stay_and_have_one_gain(top):
    """One-hot vectors become unit vectors times √n, as integers are; also those that were not yet seen."""
    rows = top * np.eye(9)[np.random.default_rng(0).integers(8, size=60)]
    now = fed(rows, 4)
    np.testing.assert_array_equal(now.binary, 1.0)
    np.testing.assert_array_equal(now.centre, 0.0)
    np.testing.assert_allclose(now.gain, 3.0 / top, rtol=1e-5)
    mixed = np.column_stack([rows, np.linspace(0.0, 1.0, 60)])  # the last one has a third value
    np.testing.assert_array_equal(fed(mixed, 4).binary, [1.0] * 9 + [0.0])


def shown(agent, rows, blocks, action=None):
    """The memory of an agent that has met these observations, in blocks, with rewards of 0."""
    memory = fresh(agent, jnp.zeros(rows.shape[1]), rows.shape[1], 2)
    actions = np.zeros(len(rows), np.int32) if action is None else action
    for x, a in zip(np.split(rows.astype(np.float32), blocks), np.split(actions, blocks), strict=True):
        zero = np.zeros(len(x), np.float32)
        block = Steps(*map(jnp.asarray, (x, a, zero, x, zero, np.ones((len(x), 2), np.float32))))
        memory = inserted(agent, memory, block, len(x))
    return memory


def remaining(agent, memory, x):
    """The share of the prior's variance that is left."""
    return np.asarray(bonus_at(agent, memory, jnp.asarray(x, jnp.float32))) / (0.5 * float(memory.sd) ** 2)


@pytest.mark.parametrize("sigma", [0.25, 1.0])
def test_on_a_table_c_is_the_variance_of_the_posterior(sigma):
    """(σ²/sd²)/(n + σ²/sd²) after n visits, to the last digits of 32 bits. After one visit σ is sd."""
    n = np.repeat([1, 2, 4, 8], 4)
    order = np.concatenate([np.flatnonzero(n > visit) for visit in range(8)])
    agent = DeepKLearning(capacity=64, sd=1.0, noise=sigma, noise_strength=1e6)
    memory = shown(agent, np.eye(16)[order], 4)
    assert int(memory.tilings.scale) == 0
    left = remaining(agent, memory, np.eye(16))
    np.testing.assert_allclose(left[:, 0], np.where(n == 1, 0.5, sigma**2 / (n + sigma**2)), rtol=1e-4)
    np.testing.assert_array_equal(left[:, 1], 1.0)


def test_what_is_near_is_known_and_what_is_far_is_not():
    rng = np.random.default_rng(0)
    agent = DeepKLearning(capacity=64)
    memory = shown(agent, rng.uniform(-1.0, 0.0, (320, 2)), 10)
    near, far = rng.uniform(-0.9, -0.1, (50, 2)), rng.uniform(2.0, 3.0, (50, 2))
    assert remaining(agent, memory, near)[:, 0].mean() < 0.1  # of points that were never seen, among those that were
    assert remaining(agent, memory, far).mean() > 0.95  # up to collisions of the hash


def test_the_scale_in_use_is_the_finest_in_which_most_steps_repeat():
    rng, agent = np.random.default_rng(0), DeepKLearning(capacity=64)
    pictures = (rng.random((640, 100)) < 0.1).astype(float)
    never, again = shown(agent, pictures, 20), shown(agent, np.tile(pictures[:64], (10, 1)), 20)
    assert float(never.tilings.repeats[0]) < 0.1
    assert int(never.tilings.scale) > 0
    assert float(again.tilings.repeats[0]) == pytest.approx(0.9, abs=0.01)
    assert int(again.tilings.scale) == 0


def test_a_tile_that_is_taken_by_chance_is_not_a_repeat():
    """Of few tiles all are taken soon, and say nothing."""
    rng = np.random.default_rng(0)
    memory = shown(DeepKLearning(capacity=64, tiles=2**6), rng.normal(size=(1280, 30)), 20)
    assert (np.asarray(memory.counts.visits).sum(axis=1) > 0)[: 8 * 2**6].mean() > 0.9
    assert float(memory.tilings.repeats[0]) < 0.3


UNITS = {
    "small costs": (np.full(20, -0.4), 1.0),
    "noise": (np.tile([0.6, -0.6], 10), 1.0),
    "half of them": (np.tile([0.0, 0.8], 10), 0.8 * 0.5**0.5),  # 4.47 standard errors from 0
    "of two sizes": (np.tile([0.4, 0.8], 10), 0.6),
    "a fourth of them": (np.tile([0.0, 0.0, 0.0, 0.8], 5), 1.0),  # 2.6 of them
    "one large reward": (np.append(np.ones(19), -100.0), 119 / 20),
}
KNOWN = ("half of them", "of two sizes")  # the cases in which it is


@pytest.mark.parametrize("case", UNITS)
def test_the_hope_is_the_usual_size_of_rewards_once_it_is_known(case):
    """Times `spread`; or 1 at least, until then. And the temperature keeps its size in the units of rewards."""
    (rewards, unit), agent = UNITS[case], DeepKLearning(**SMALL)
    unit *= agent.spread if case in KNOWN else 1.0
    largest, block = max(1.0, np.abs(rewards).max()), some_steps(np.random.default_rng(0), 20, 3, 3)
    before = fresh(agent, jnp.zeros(3), 3, 3)
    memory = inserted(agent, before, block._replace(reward=jnp.asarray(rewards, jnp.float32)), 20)
    assert float(memory.largest) == largest
    assert float(memory.sd) * largest == pytest.approx(agent.sd * unit, rel=1e-5)
    assert float(memory.counts.c.max()) == pytest.approx(0.5 * (agent.sd * unit / largest) ** 2, rel=1e-5)
    assert float(jnp.exp(memory.log_tau - before.log_tau)) == pytest.approx(1.0 / largest, rel=1e-5)


def test_what_is_deployed_is_an_average_of_the_last_quarter_of_updates():
    agent = DeepKLearning(**SMALL, learning_rate=0.01, updates=8)
    memory = inserted(agent, fresh(agent, jnp.zeros(3), 3, 3), some_steps(np.random.default_rng(0), 20, 3, 3), 20)
    improved, average = jax.jit(agent.improve), np.asarray(memory.average[0]["weight"])
    for i in range(1, 20):
        memory = improved(memory, 1, jax.random.key(i))
        share = min(1.0, 8 / (0.25 * 8 * i))
        average = average + share * (np.asarray(memory.params[0]["weight"]) - average)
        np.testing.assert_allclose(memory.average[0]["weight"], average, rtol=1e-5, atol=1e-6)
    assert np.abs(memory.average[0]["weight"] - memory.params[0]["weight"]).max() > 1e-3
    x = jnp.ones(3)
    values = agent.outputs(memory.average, agent.inputs(memory, x))
    np.testing.assert_allclose(agent.greedy(memory, x), values[3:])  # Q, which is deployed
