"""DQN and the ensembles: losses by hand, fixed priors, who acts, how ε falls; and that fused runs learn."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import fused
from bench.pure_worlds import Catch, DeepSea
from klearning.deep import DQN, BootstrappedDQN, DeepKLearning, EnsembleKLearning
from klearning.deep.replay import Steps

FEATURES, ACTIONS, BATCH = 3, 2, 5
NUMBERS = np.zeros(FEATURES, np.float32)
SMALL = {"hidden": (4,), "normalised": False, "batch": 8, "capacity": 64}


@partial(jax.jit, static_argnums=0)
def begun(agent, like=NUMBERS):
    return agent.begin(jax.random.key(1), jnp.asarray(like), FEATURES, ACTIONS)


@partial(jax.jit, static_argnums=0)
def loss(agent, memory, steps):
    return agent.loss(memory.params, steps.x, steps.action, agent.targets(memory, steps))


@partial(jax.jit, static_argnums=0)
def chances(agent, memory, x, allowed):
    pi, *numbers = agent.chances(memory, x, allowed)
    return pi, jnp.stack(numbers)


@partial(jax.jit, static_argnums=0)
def greedy(agent, memory, x):
    return agent.greedy(memory, x)


def batch():
    rng = np.random.default_rng(0)
    x, after = rng.normal(size=(2, BATCH, FEATURES)).astype(np.float32)
    terminal = np.array([0, 1, 0, 0, 1], np.float32)
    allowed = np.array([[1, 1], [1, 1], [0, 1], [1, 0], [1, 1]], np.float32)
    reward = rng.normal(size=BATCH).astype(np.float32)
    return Steps(*map(jnp.asarray, (x, rng.integers(ACTIONS, size=BATCH), reward, after, terminal, allowed)))


def forward(params, x):
    """The network in NumPy; its units are not normalised, which test_deep_laws looks at."""
    h = np.asarray(x, np.float64)
    for i, layer in enumerate(params):
        h = (np.maximum(h, 0.0) if i else h) @ np.asarray(layer["weight"], np.float64) + np.asarray(layer["bias"])
    return h


@jax.jit
def moved(params):
    """Other parameters, so that target networks differ from networks."""
    return jax.tree.map(lambda w: w + 0.3 * jnp.cos(jnp.arange(w.size)).reshape(w.shape), params)


def member(tree, k):
    return jax.tree.map(lambda w: w[k], tree)


def squared_error(Q, Q_after, steps, largest, discount):
    rows = np.arange(BATCH)
    best = np.where(np.asarray(steps.allowed) > 0, Q_after, -np.inf).max(axis=1)
    y = np.asarray(steps.reward) / largest + discount * (1.0 - np.asarray(steps.terminal)) * best
    return 0.5 * np.mean((Q[rows, np.asarray(steps.action)] - y) ** 2)


def test_dqn_loss_by_hand():
    agent, steps = DQN(discount=0.9, **SMALL), batch()
    m = begun(agent)
    m = m._replace(target=moved(m.params), largest=jnp.array(2.0))
    by_hand = squared_error(forward(m.params, steps.x), forward(m.target, steps.after), steps, 2.0, 0.9)
    assert float(loss(agent, m, steps)) == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize("kind", [BootstrappedDQN, EnsembleKLearning])
def test_ensemble_loss_by_hand(kind):
    """The sum over members of each one's own loss, with its own target and its own prior."""
    agent, steps = kind(members=3, prior_scale=2.0, discount=0.9, **SMALL), batch()
    m = begun(agent)
    m = m._replace(target=moved(m.params), largest=jnp.array(2.0))
    total = 0.0
    for k in range(3):
        prior = [2.0 * forward(member(m.prior, k), x) for x in (steps.x, steps.after)]
        Q, after = forward(member(m.params, k), steps.x), forward(member(m.target, k), steps.after)
        total += squared_error(Q + prior[0], after + prior[1], steps, 2.0, 0.9)
    assert float(loss(agent, m, steps)) == pytest.approx(total, rel=1e-5)


def test_epsilon_falls_in_a_line_to_its_last_value():
    agent = DQN(epsilon=0.1, exploration=100, **SMALL)
    m, x = begun(agent), jnp.ones(FEATURES)
    for seen, epsilon in ((0, 1.0), (50, 0.55), (100, 0.1), (1000, 0.1)):
        pi, _ = chances(agent, m._replace(seen=jnp.array(seen)), x, jnp.ones(ACTIONS))
        best = int(forward(m.params, x).argmax())
        expected = np.full(ACTIONS, epsilon / ACTIONS)
        expected[best] += 1.0 - epsilon
        np.testing.assert_allclose(pi, expected, rtol=1e-5)


def learnt(agent):
    """After a few updates of steps that were seen."""

    def learn(m, block):
        return agent.improve(agent.insert(m, block, jnp.array(BATCH)), jnp.array(4), jax.random.key(2))

    m = begun(agent)
    return m, jax.jit(learn)(m, batch())


@pytest.mark.thin(4)
@pytest.mark.parametrize("kind", [DeepKLearning, DQN, BootstrappedDQN, EnsembleKLearning])
@pytest.mark.parametrize("whole", [False, True])
def test_acting_in_numpy_is_acting_in_jax(kind, whole):
    """What acts step by step is the same lines on copied arrays; on random parameters, and with a mask."""
    agent, rng = kind(**SMALL), np.random.default_rng(3)
    like = np.zeros((), np.int32) if whole else NUMBERS
    m = begun(agent, like)
    m = m._replace(target=moved(m.params), seen=jnp.array(1500))
    if not whole:
        m = m._replace(scaling=m.scaling._replace(centre=jnp.arange(3.0), gain=jnp.array([1.0, 2.0, 0.5])))
    copied = jax.tree.map(np.array, agent.acting(m))
    for x in (np.array(2, np.int32), np.array(0, np.int32)) if whole else rng.normal(size=(5, FEATURES)):
        x = np.asarray(x, like.dtype)
        for allowed in (np.ones(ACTIONS, np.float32), np.eye(ACTIONS, dtype=np.float32)[1]):
            pi, *numbers = agent.chances(copied, x, allowed)
            assert type(pi) is np.ndarray
            expected, sums = chances(agent, m, jnp.asarray(x), jnp.asarray(allowed))
            np.testing.assert_allclose(pi, expected, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(numbers, sums, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(agent.greedy(copied, x), greedy(agent, m, jnp.asarray(x)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [BootstrappedDQN, EnsembleKLearning])
def test_priors_stay_and_networks_move(kind):
    before, after = learnt(kind(members=3, **SMALL))
    for old, new in zip(jax.tree.leaves(before.prior), jax.tree.leaves(after.prior), strict=True):
        np.testing.assert_array_equal(old, new)
    for k in range(3):
        old, new = jax.tree.leaves(member(before.params, k)), jax.tree.leaves(member(after.params, k))
        assert any((np.asarray(a) != np.asarray(b)).any() for a, b in zip(old, new, strict=True))


def test_members_differ_from_each_other_and_from_their_priors():
    m, x = begun(BootstrappedDQN(members=4, **SMALL)), np.ones(FEATURES)
    values = [forward(member(tree, k), x)[0] for tree in (m.params, m.prior) for k in range(4)]
    assert len({round(float(v), 6) for v in values}) == 8


def test_one_member_acts_through_an_episode_and_all_do_in_their_turn():
    agent = BootstrappedDQN(members=3, **SMALL)
    m, x = begun(agent), jnp.ones(FEATURES)
    chosen = set()
    for episode in range(40):  # one of three is missing once in 3·(2/3)^40 < 10^-6
        started = agent.start(m, jax.random.key(episode))
        k = int(started.member)
        chosen.add(k)
        Q = forward(member(m.params, k), x) + agent.prior_scale * forward(member(m.prior, k), x)
        pi, _ = chances(agent, started, x, jnp.ones(ACTIONS))
        assert pi.tolist() == pytest.approx(np.eye(ACTIONS)[Q.argmax()].tolist(), abs=1e-6)
    assert chosen == {0, 1, 2}


def test_a_masked_member_takes_the_best_of_what_is_allowed():
    agent = BootstrappedDQN(members=2, **SMALL)
    m, x = begun(agent), jnp.ones(FEATURES)
    for a in range(ACTIONS):
        pi, numbers = chances(agent, m, x, jnp.eye(ACTIONS)[a])
        np.testing.assert_allclose(pi, np.eye(ACTIONS)[a])
        assert np.isfinite(numbers).all()


def test_the_ensemble_acts_by_mean_and_spread():
    agent = EnsembleKLearning(members=4, temperature=0.5, **SMALL)
    m, x = begun(agent), jnp.ones(FEATURES)
    Q = np.stack(
        [forward(member(m.params, k), x) + agent.prior_scale * forward(member(m.prior, k), x) for k in range(4)]
    )
    c = 0.5 * Q.var(axis=0)
    scores = (Q.mean(axis=0) + c / 0.5) / 0.5
    pi = np.exp(scores - scores.max())
    pi /= pi.sum()
    mixture, numbers = chances(agent, m, x, jnp.ones(ACTIONS))
    np.testing.assert_allclose(mixture, pi, rtol=1e-4)
    np.testing.assert_allclose(numbers, [-(pi * np.log(pi)).sum(), (pi * c).sum()], rtol=1e-4)
    np.testing.assert_allclose(agent.greedy(m, x), Q.mean(axis=0), rtol=1e-4)


def test_the_ensembles_temperature_rests_where_entropy_and_bonus_balance():
    agent = EnsembleKLearning(members=2, temperature=0.5, temperature_rate=0.2, **SMALL)
    m, H = begun(agent), 2.0
    for C, sign in ((0.5, 0), (5.0, 1), (0.05, -1)):  # τ = √(C/H) is 0.5, above it, below it
        change = float(agent.on_episode_end(m, jnp.array([H, C])).log_tau - m.log_tau)
        assert np.sign(round(change, 6)) == sign
        assert abs(change) <= 0.2


@pytest.mark.slow
def test_a_fused_run_solves_a_small_sea_and_repeats_itself():
    """At N = 6, with room: seeds 0 to 3 succeed in every episode from the 59th on. Chance succeeds once in 64."""
    agent = replace(DeepKLearning(), hidden=(20,), batch=32, capacity=400, learning_rate=2e-3)
    run = jax.jit(jax.vmap(lambda seed: fused.run(agent, DeepSea(6), 80, seed)[1]))
    trace = run(jnp.arange(3))
    good = np.asarray(trace.good)
    assert (good[:, -15:].mean(axis=1) >= 0.6).all()
    np.testing.assert_array_equal(trace.length, np.full((3, 80), 6))
    assert (np.asarray(trace.temperature) > 0).all()
    again = run(jnp.arange(3))
    np.testing.assert_array_equal(trace.returns, again.returns)


@pytest.mark.slow
def test_dqn_learns_to_catch_and_is_deployed_greedily():
    agent = DQN(hidden=(20,), batch=32, capacity=2000, exploration=500, learning_rate=3e-3)

    def one(seed):
        memory, trace = fused.run(agent, Catch(5, 3), 150, seed)
        keys = jax.random.split(jax.random.key(seed), 20)
        return trace, jax.vmap(lambda key: fused.greedy_return(agent, memory, Catch(5, 3), key))(keys)

    trace, deployed = jax.jit(one)(0)
    assert np.asarray(deployed).mean() >= 0.9
    assert np.asarray(trace.returns)[:20].mean() < np.asarray(trace.returns)[-20:].mean()
