"""Environments as pure functions against those they copy, step for step."""

import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.environments import catch as their_catch
from bsuite.environments import deep_sea as their_deep_sea

from bench.control import Acrobot, CartPole, MountainCar
from bench.pure_worlds import Catch, DeepSea
from klearning.deep.features import Features

STEPS = 400
step = jax.jit(lambda env, *arguments: env.step(*arguments), static_argnums=0)
reset = jax.jit(lambda env, *arguments: env.reset(*arguments), static_argnums=0)


@pytest.mark.parametrize(
    ("env", "name"), [(MountainCar(), "MountainCar-v0"), (CartPole(), "CartPole-v1"), (Acrobot(), "Acrobot-v1")]
)
def test_control_is_gymnasiums_step_for_step(env, name):
    """From Gymnasium's own states, because errors of single precision grow along a path; ends are met too."""
    real = gymnasium.make(name)
    assert real.spec.max_episode_steps == env.horizon
    features = Features(real.observation_space)
    assert (features.size, real.action_space.n) == (env.points, env.actions)
    seen, rng = jax.jit(env.seen), np.random.default_rng(0)
    ends = 0
    for episode in range(40):
        observation, _ = real.reset(seed=episode)
        for t in range(STEPS // 10):
            inner = real.unwrapped
            if name == "MountainCar-v0" and t == 5:  # chance alone never comes near the hill's top
                inner.state = np.array([rng.uniform(0.44, 0.5), rng.uniform(-0.01, 0.07)])
            if name == "Acrobot-v1" and t == 5:
                inner.state = np.array([*rng.uniform(1.5, 3.0, 2), *rng.uniform(-4.0, 4.0, 2)])
            state = np.asarray(inner.state, np.float32)
            action = int(rng.integers(env.actions))
            observation, reward, over, _, _ = real.step(action)
            outcome = step(env, 0.0, state, action, jax.random.key(0))
            assert (float(outcome.reward), bool(outcome.terminal)) == (reward, over)
            np.testing.assert_allclose(outcome.state, inner.state, rtol=1e-4, atol=2e-5)
            np.testing.assert_allclose(seen(np.asarray(inner.state, np.float32)), features(observation), atol=2e-5)
            ends += over
            if over:
                break
    assert ends > 0


@pytest.mark.parametrize("env", [MountainCar(), CartPole(), Acrobot()], ids=lambda env: type(env).__name__)
def test_episodes_begin_where_gymnasiums_do(env):
    states = np.asarray(jax.vmap(lambda key: env.reset(0.0, key)[0])(jax.random.split(jax.random.key(0), 500)))
    low, high = states.min(axis=0), states.max(axis=0)
    bounds = {"MountainCar": (-0.6, -0.4), "CartPole": (-0.05, 0.05), "Acrobot": (-0.1, 0.1)}[type(env).__name__]
    np.testing.assert_allclose(low[0], bounds[0], atol=0.01)  # of 500: fails once in 10^5
    np.testing.assert_allclose(high[0], bounds[1], atol=0.01)


def played(env, world, actions, key):
    """Observations, rewards and successes of a fused episode, with these actions."""
    state, seen = reset(env, world, key)
    first, steps = np.asarray(seen), []
    for t, action in enumerate(actions):
        outcome = step(env, world, state, action, jax.random.fold_in(key, t))
        state = outcome.state
        steps.append([np.asarray(x) for x in outcome[1:]])
    return first, steps


@pytest.mark.parametrize("picture", [False, True])
def test_deep_sea_is_bsuites_step_for_step(picture):
    N, rng = 6, np.random.default_rng(0)
    env, successes = DeepSea(N, picture=picture), 0
    features = Features(gymnasium.spaces.Box(0.0, 1.0, (N, N)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = their_deep_sea.DeepSea(N, mapping_seed=3)
    world = jnp.asarray(real._action_mapping.ravel(), jnp.int32)
    for episode in range(20):
        right = rng.integers(2, size=N) if episode % 3 else np.ones(N, int)
        real.reset()
        bad, column, actions, theirs = real.bsuite_info()["total_bad_episodes"], 0, [], []
        for row in range(N):
            rightwards = int(real._action_mapping[row, column])
            actions.append(rightwards if right[row] else 1 - rightwards)
            timestep = real.step(actions[-1])
            theirs.append(timestep)
            column = min(max(column + (1 if right[row] else -1), 0), N - 1)
        _, steps = played(env, world, actions, jax.random.key(episode))
        for t, ((seen, reward, terminal, _), timestep) in enumerate(zip(steps, theirs, strict=True)):
            assert reward == pytest.approx(timestep.reward, abs=1e-6)
            assert bool(terminal) == timestep.last() == (t == N - 1)
            if not terminal:
                shown = features(timestep.observation)
                np.testing.assert_allclose(seen, shown if picture else shown.argmax())
        success = real.bsuite_info()["total_bad_episodes"] == bad
        assert [bool(step[3]) for step in steps] == [False] * (N - 1) + [success]
        successes += success
    assert 0 < successes < 20


def test_stochastic_deep_sea_slips_straight_down_and_is_noisy_in_two_cells():
    """2000 episodes straight right: frequencies within 4.5 sd, so that one of 10^5 seeds fails each."""
    N, count = 4, 2000
    env = DeepSea(N, True)
    world = jnp.ones(N * N, jnp.int32)

    def episode(key):
        def step(state, key):
            outcome = env.step(world, state, jnp.ones((), jnp.int32), key)
            return outcome.state, (state.row, state.column, outcome.state.column, outcome.reward, outcome.good)

        return jax.lax.scan(step, env.reset(world, key)[0], jax.random.split(key, N))[1]

    row, column, to, reward, good = map(
        np.asarray, jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), count))
    )
    inner = column < N - 1
    slips = (to == column)[inner]
    assert set((to - column)[inner].tolist()) == {0, 1}
    assert slips.mean() == pytest.approx(1 / N, abs=4.5 * (0.25 * 0.75 / slips.size) ** 0.5)
    last = row == N - 1
    corner = last & (column == N - 1)
    left = last & (column == 0)
    quiet = ~corner & ~left
    np.testing.assert_allclose(reward[quiet], -0.01 / N, atol=1e-7)
    assert reward[corner].mean() == pytest.approx(1 - 0.01 / N, abs=4.5 / corner.sum() ** 0.5)
    assert reward[corner].std() == pytest.approx(1.0, abs=4.5 / (2 * corner.sum()) ** 0.5)
    assert (left.sum(), reward[left].std() > 0.3) == (left.sum(), True)
    assert good[:, -1].all()  # a slip is not a fault
    assert not good[:, :-1].any()


@pytest.mark.slow
def test_catch_is_bsuites_step_for_step():
    env, rng, caught = Catch(), np.random.default_rng(0), 0
    real, features = their_catch.Catch(seed=0), Features(gymnasium.spaces.Box(0.0, 1.0, (10, 5)))
    for _ in range(20):
        timestep = real.reset()
        actions = rng.integers(3, size=env.horizon).tolist()
        key = next(k for k in map(jax.random.key, range(1000)) if int(reset(env, 0.0, k)[0].column) == real._ball_x)
        first, steps = played(env, 0.0, actions, key)
        np.testing.assert_allclose(first, features(timestep.observation))
        for action, (seen, reward, terminal, good) in zip(actions, steps, strict=True):
            timestep = real.step(action)
            assert (reward, bool(terminal), bool(good)) == (timestep.reward, timestep.last(), timestep.reward == 1.0)
            np.testing.assert_allclose(seen, features(timestep.observation))
        caught += bool(good)
    assert 0 < caught < 20
