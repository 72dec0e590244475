"""A network from outside the package: a pair of functions, its first parameters and its values."""

import gymnasium as gym
import jax
import numpy as np
import pytest

import klearning as kl
from klearning import deep


def init(key, x):
    return {"linear": np.zeros((x.shape[-1], 2), np.float32), "square": np.zeros((x.shape[-1], 2), np.float32)}


def apply(params, x):
    """K-values that are a quadratic function of the features."""
    return x @ params["linear"] + x**2 @ params["square"]


@pytest.fixture(scope="module", params=[deep.DeepKLearning, deep.BootstrappedDQN])
def learner(request):
    agent = request.param(batch=16, updates=1, network=(init, apply))
    return kl.learn(agent, gym.make("CartPole-v1"), episodes=4, seed=0)


def test_it_learns(learner):
    assert np.isfinite(learner.diagnostics["loss"]).all()
    params = learner.memory.params
    assert np.abs(getattr(params, "W", params)["square"]).max() > 0.0
    assert learner.predict(np.array([0.1, 0.0, -0.1, 0.0], np.float32)) in (0, 1)


def test_what_cannot_be_saved_says_so(learner, tmp_path):
    with pytest.raises(ValueError, match="network"):
        learner.save(tmp_path / "a.npz")


def test_what_is_no_network():
    with pytest.raises(ValueError, match=r"network=3 is not a pair of functions: give \(init, apply\)"):
        deep.DQN(network=3)
    with pytest.raises(ValueError, match=r"network: apply\(params, x\) is of shape \(2, 2\) .* give \(2, 3\)"):
        kl.learn(deep.DQN(network=(init, apply)), gym.make("MountainCar-v0"), episodes=1)
    with pytest.raises(ValueError, match="needs vectors, not Discrete"):
        kl.learn(deep.DQN(network=(init, apply)), gym.make("CliffWalking-v1"), episodes=1, horizon=5)


class Light(gym.Env):
    """A picture of bytes with one bright pixel, on the left or on the right: the action is to say where."""

    observation_space, action_space = gym.spaces.Box(0, 255, (5, 6, 1), np.uint8), gym.spaces.Discrete(2)

    def seen(self):
        picture = self.np_random.integers(20, size=(5, 6, 1), dtype=np.uint8)
        self.right = int(self.np_random.integers(2))
        picture[self.np_random.integers(5), self.np_random.integers(3) + 3 * self.right] = 255
        return picture

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.seen(), {}

    def step(self, action):
        reward = float(action == self.right)
        return self.seen(), reward, False, False, {}


@pytest.mark.slow
def test_pictures_are_remembered_as_bytes_and_seen_by_filters():
    """Right in 90% of 200 pictures that were never seen: chance alone does it less often than once in 10^30."""
    env = gym.wrappers.TimeLimit(Light(), 20)
    agent = deep.DeepKLearning(learning_rate=2e-3, discount=0.0, capacity=2000)
    learner = kl.learn(agent, env, episodes=40, seed=0)
    assert learner.memory.ring.x.dtype == np.uint8
    assert learner.memory.ring.x.shape == (2000, 30)
    env.reset(seed=7)
    right = [learner.predict(env.unwrapped.seen()) == env.unwrapped.right for _ in range(200)]
    assert np.mean(right) > 0.9


def test_pictures_have_filters_by_themselves_and_are_saved(tmp_path):
    env = gym.wrappers.TimeLimit(Light(), 20)
    agent = deep.DQN(batch=8, updates=1, capacity=100)
    learner = kl.learn(agent, env, episodes=1, seed=0)
    assert learner.memory.params["filters"][0]["weight"].shape == (3, 3, 1, 16)
    assert "network" not in repr(learner)
    learner.save(tmp_path / "a.npz")
    loaded = kl.load(tmp_path / "a.npz")
    env.reset(seed=7)
    picture = env.unwrapped.seen()
    np.testing.assert_array_equal(loaded.action_values([picture]), learner.action_values([picture]))
    with pytest.raises(ValueError, match="network is code"):
        learner.export(tmp_path / "policy.npz")


@pytest.mark.parametrize("shape", [(84, 84, 3), (3, 84, 84), (10, 10, 4), (3, 3, 1)])
def test_a_large_picture_is_halved_and_channels_may_come_first(shape):
    """The same picture in both orders has the same values."""
    init, apply = deep.convolutions(shape, 2, filters=4, hidden=(8,))
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    params = init(jax.random.key(0), x.ravel())
    values = apply(params, x.reshape(1, -1))
    assert values.shape == (1, 2)
    assert params["layers"][0]["weight"].shape[0] <= 4 * 10 * 10
    turned = np.moveaxis(x, 0, -1) if shape[0] < shape[2] else np.moveaxis(x, -1, 0)
    other = deep.convolutions(turned.shape, 2, filters=4, hidden=(8,))[1]
    np.testing.assert_allclose(other(params, turned.reshape(1, -1)), values, rtol=1e-4, atol=1e-5)


def test_what_is_no_picture():
    with pytest.raises(ValueError, match=r"shape=\(4, 4\) is not a picture: give \(rows, columns, channels\)"):
        deep.convolutions((4, 4), 2)
