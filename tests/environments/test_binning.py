"""Bins: where every number goes, which ends are asked for, and what is no number."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from tests.support.cases import modest


class Shows(gym.Env):
    """An environment that shows whatever it is told to."""

    def __init__(self, space, value=None):
        self.observation_space, self.action_space, self.value = space, Discrete(2), value

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.value, {}

    def step(self, action):
        return self.value, 0.0, False, False, {}


def binned(space, value, **options):
    env = kl.Binned(Shows(space, np.asarray(value, space.dtype)), **options)
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    assert (env.step(0)[0] == seen).all()
    return seen.tolist()


UNIT = Box(0.0, 1.0, (1,), np.float64)


@pytest.mark.parametrize(
    ("x", "bin_"), [(0.0, 0), (0.0999, 0), (0.1, 1), (0.55, 5), (0.95, 9), (1.0, 9), (1.5, 9), (-0.5, 0),
                    (np.inf, 9), (-np.inf, 0)]
)  # fmt: skip
def test_where_a_number_goes(x, bin_):
    assert binned(UNIT, [x]) == [bin_]


@modest
@given(st.integers(1, 40), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1, exclude_max=True))
def test_bins_are_equal_parts_in_order(bins, low, width, u):
    space = Box(low, low + width, (1,), np.float64)
    [k] = binned(space, [low + u * width], bins=bins)
    assert abs(k - u * bins) <= 1 + 1e-6
    [first], [last] = binned(space, [low], bins=bins), binned(space, [low + width], bins=bins)
    assert (first, last) == (0, bins - 1)


def test_each_dimension_has_its_own():
    space = Box(np.array([0.0, -1.0]), np.array([1.0, 3.0]), dtype=np.float64)
    env = kl.Binned(Shows(space), bins=[4, 8])
    assert env.observation_space == MultiDiscrete([4, 8])
    assert binned(space, [0.5, 0.0], bins=[4, 8]) == [2, 2]


def test_ends_that_are_given():
    space = Box(np.array([-4.8, -np.inf]), np.array([4.8, np.inf]), dtype=np.float64)
    assert binned(space, [0.0, 2.9], low=[None, -3.0], high=[None, 3.0], bins=6) == [3, 5]
    assert binned(space, [0.0, 2.9], low=-3.0, high=3.0, bins=6) == [3, 5]
    assert binned(space, [2.6, 99.0], low=-3.0, high=3.0, bins=6) == [5, 5]


def test_boxes_of_other_shapes_and_types():
    assert binned(Box(0, 255, (2, 2), np.uint8), [[0, 64], [128, 255]], bins=4) == [0, 1, 2, 3]
    assert binned(Box(0.0, 1.0, (), np.float32), 0.75, bins=10) == [7]


def test_on_a_real_environment():
    env = kl.Binned(gym.make("CartPole-v1"), 7, low=[None, -3, None, -3], high=[None, 3, None, 3])
    obs, _ = env.reset(seed=0)
    assert obs.tolist() == [3, 3, 3, 3]
    assert env.spec.max_episode_steps == 500
    over = False
    while not over:
        obs, _, over, _, _ = env.step(1)
        assert env.observation_space.contains(obs)
    assert obs[1] > 3  # pushed right all the time, it moves right


def shows(value):
    env = kl.Binned(Shows(Box(0.0, 1.0, (2,), np.float64), np.array(value)))
    return env.reset()


FREE = Box(np.array([0.0, -np.inf]), np.array([1.0, 1.0]), dtype=np.float64)
HUGE = Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,))
MISTAKES = {
    "unbounded": (lambda: kl.Binned(Shows(FREE)), r"low\[1\]=-inf is unbounded: give low=, where the bins of dim.* 1"),
    "as good as": (lambda: kl.Binned(Shows(HUGE)), r"low\[0\]=-3.40282e\+38 is unbounded"),
    "high unbounded": (lambda: kl.Binned(Shows(HUGE), low=0.0), r"high\[0\]=3.40282e\+38 is unbounded: give high="),
    "given unbounded": (lambda: kl.Binned(Shows(UNIT), high=np.inf), r"high\[0\]=inf is unbounded"),
    "order": (lambda: kl.Binned(Shows(UNIT), low=2.0), r"low\[0\]=2 is not below high\[0\]=1"),
    "length": (lambda: kl.Binned(Shows(FREE), low=[0, 0, 0]), r"low=\[0, 0, 0\] does not fit: give one number, or 2"),
    "text": (lambda: kl.Binned(Shows(UNIT), low="a"), "low='a' does not fit"),
    "no bins": (lambda: kl.Binned(Shows(UNIT), 0), "bins=0 is too small"),
    "half a bin": (lambda: kl.Binned(Shows(UNIT), 2.5), "bins=2.5 is not a whole number"),  # type: ignore[arg-type]
    "bins length": (lambda: kl.Binned(Shows(UNIT), [2, 3]), "bins has 2 entries: give 1"),
    "bins of none": (lambda: kl.Binned(Shows(UNIT), [0]), r"bins\[0\]=0 is too small"),
    "no box": (lambda: kl.Binned(gym.make("FrozenLake-v1")), r"observation_space=Discrete\(16\) cannot be binned"),
    "nan": (lambda: shows([0.5, np.nan]), r"observation\[1\] is nan"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()
