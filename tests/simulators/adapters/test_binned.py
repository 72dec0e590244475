"""Bins: where every number goes, which ends are asked for, what is not a number, and which part of what is observed."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
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


# -- edges ------------------------------------------------------------------------------------------------------------

TWO = Box(np.array([0.0, -np.inf]), np.array([1.0, np.inf]), dtype=np.float64)


@pytest.mark.parametrize(
    ("x", "bin_"), [(-9.0, 0), (0.0999, 0), (0.1, 1), (0.3, 1), (0.5, 2), (9.0, 2), (np.inf, 2), (-np.inf, 0)]
)
def test_edges_of_ones_own(x, bin_):
    assert binned(UNIT, [x], edges=[0.1, 0.5]) == [bin_]


def test_edges_may_differ_by_dimension():
    assert binned(TWO, [0.5, 3.0], edges=[None, [-1.0, 0.0, 2.0]], bins=4) == [2, 3]
    assert binned(TWO, [0.5, 3.0], edges=[0.2, 0.4, 0.6]) == [2, 3]
    env = kl.Binned(Shows(TWO), edges=[[], [0.0]])
    assert env.observation_space == MultiDiscrete([1, 2])
    assert env.edges == [[], [0.0]]
    assert kl.Binned(Shows(UNIT), 4).edges == [[0.25, 0.5, 0.75]]


@modest
@given(st.integers(1, 30), st.floats(-1e3, 1e3), st.floats(1e-2, 1e3), st.floats(-0.2, 1.2))
def test_equal_bins_are_those_of_their_edges(bins, low, width, u):
    """But within rounding of an edge."""
    space, x = Box(low, low + width, (1,), np.float64), low + u * width
    edges = kl.Binned(Shows(space), bins).edges
    if not edges[0] or np.abs(np.array(edges[0]) - x).min() > 1e-9 * width:
        assert binned(space, [x], bins=bins) == binned(space, [x], edges=edges)


# -- boxes within a Dict or a Tuple ----------------------------------------------------------------------------------

ROBOT = Dict([
    ("mode", Discrete(3)),
    ("arm", Dict([("angle", Box(-1.0, 1.0, (2,), np.float64)), ("count", Box(0, 5, (1,), np.int64))])),
    ("pair", Tuple([Box(0.0, 1.0, (), np.float64), Discrete(2)])),
])  # fmt: skip
SEEN = {
    "mode": 1,
    "arm": {"angle": np.array([-1.0, 0.5]), "count": np.array([4])},
    "pair": (np.float64(0.3), 1),
}


def look(**options):
    env = kl.Binned(Shows(ROBOT, SEEN), **options)
    seen, _ = env.reset()
    assert seen in env.observation_space
    arm, (first, second) = seen["arm"], seen["pair"]
    assert (seen["mode"], second) == (1, 1)
    return arm["angle"].tolist(), np.asarray(arm["count"]).tolist(), first.tolist()


def test_all_floats_within_are_binned_and_whole_numbers_only_if_named():
    assert look() == ([0, 7], [4], [3])
    assert look(bins=4) == ([0, 3], [4], [1])
    assert look(bins={"arm": {"angle": 4}}) == ([0, 3], [4], [3])
    assert look(bins={"arm": {"angle": [4, 2]}, "pair": {0: 2}}) == ([0, 1], [4], [0])
    assert look(bins={"arm": {"count": 2}}) == ([0, 7], [1], [3])
    assert look(low={"arm": {"angle": -3.0}}, bins=4) == ([2, 3], [4], [1])
    assert look(edges={"arm": {"angle": [[-2.0], [0.0, 0.4]]}}) == ([1, 2], [4], [3])
    assert list(kl.Binned(Shows(ROBOT)).observation_space.spaces) == ["mode", "arm", "pair"]


def test_an_agent_learns_from_bins_within(tmp_path):
    class Robot(Shows):
        def step(self, action):
            return self.observation_space.sample(), float(action), False, False, {}

    env = kl.Binned(Robot(ROBOT, SEEN), 2)
    learner = kl.learn(kl.KLearning(), env, episodes=5, horizon=4)
    learner.save(tmp_path / "robot.npz")
    assert kl.learn(kl.load(tmp_path / "robot.npz"), env, episodes=2).episodes_done == 7


# -- quantiles --------------------------------------------------------------------------------------------------------


class Skewed(gym.Env):
    """A number with a long tail, a constant, and a coin."""

    observation_space = Dict({"x": Box(-np.inf, np.inf, (3,), np.float64), "n": Discrete(2)})
    action_space = Discrete(2)

    def look(self):
        return {"x": np.array([self.np_random.exponential(), 3.0, self.np_random.integers(2)]), "n": 0}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.look(), {}

    def step(self, action):
        return self.look(), 0.0, False, False, {}


def test_quantiles_share_out_what_random_play_shows():
    env = kl.Binned.from_quantiles(Skewed(), 4, episodes=20, horizon=50)
    assert env.observation_space["x"] == MultiDiscrete([4, 1, 2])
    cuts, none, coin = env.edges["x"]
    assert np.abs(np.array(cuts) - -np.log([0.75, 0.5, 0.25])).max() < 0.2  # 1,020 draws: some 4 standard errors
    assert (none, coin) == ([], [1.0])
    again = kl.Binned.from_quantiles(Skewed(), 4, episodes=20, horizon=50)
    assert again.edges == env.edges
    assert kl.Binned.from_quantiles(Skewed(), 4, episodes=20, horizon=50, seed=1).edges != env.edges
    fewer = kl.Binned.from_quantiles(Skewed(), {"x": [2, 9, 9]}, horizon=50)
    assert fewer.observation_space["x"] == MultiDiscrete([2, 1, 2])


def test_random_play_leaves_the_environment_as_it_was():
    env = gym.make("CartPole-v1")
    env.action_space.seed(3)
    before = [int(env.action_space.sample()) for _ in range(20)]
    env.action_space.seed(3)
    kl.Binned.from_quantiles(env, 3, episodes=2)
    assert [int(env.action_space.sample()) for _ in range(20)] == before


def test_quantiles_need_an_end_of_episodes():
    with pytest.raises(ValueError, match="give horizon="):
        kl.Binned.from_quantiles(Skewed())


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
    "2**63 bins": (lambda: kl.Binned(Shows(UNIT), 2**63), "bins=9223372036854775808 is too large: give .* 1000000"),
    "10**9 bins": (lambda: kl.Binned(Shows(TWO), [2, 10**9]), r"bins\[1\]=1000000000 is too large"),
    "half a bin": (lambda: kl.Binned(Shows(UNIT), 2.5), "bins=2.5 is not a whole number"),  # type: ignore[arg-type]
    "bins length": (lambda: kl.Binned(Shows(UNIT), [2, 3]), "bins has 2 entries: give 1"),
    "bins of none": (lambda: kl.Binned(Shows(UNIT), [0]), r"bins\[0\]=0 is too small"),
    "no box": (lambda: kl.Binned(gym.make("FrozenLake-v1")), r"observation_space=Discrete\(16\) cannot be binned"),
    "falling": (lambda: kl.Binned(Shows(UNIT), edges=[0.5, 0.1]), r"edges=\[0.5, 0.1\] does not rise"),
    "twice": (lambda: kl.Binned(Shows(TWO), edges=[None, [1.0, 1.0]]), r"edges\[1\]=\[1.0, 1.0\] does not rise"),
    "edges length": (lambda: kl.Binned(Shows(TWO), edges=[[1.0]]), "edges has 1 entries: give 2, one list per dim"),
    "edges text": (lambda: kl.Binned(Shows(UNIT), edges="ab"), "edges='ab' is not a list"),
    "edges of nan": (lambda: kl.Binned(Shows(UNIT), edges=[[np.nan]]), r"edges\[0\].*finite"),
    "no such name": (lambda: kl.Binned(Shows(ROBOT), {"leg": 3}), "bins={'leg': 3} names 'leg', which is not observed"),
    "no such place": (lambda: kl.Binned(Shows(ROBOT), {"pair": {7: 3}}), "names 7, which is not observed"),
    "named twice": (lambda: kl.Binned(Shows(ROBOT), {"mode": 3}), r"observation\['mode'\] is Discrete\(3\) and cannot"),
    "names of none": (lambda: kl.Binned(Shows(UNIT), {"x": 3}), r"bins=\{'x': 3\} has names"),
    "unbounded within": (
        lambda: kl.Binned(Shows(Dict({"a": FREE}))), r"low\['a'\]\[1\]=-inf is unbounded: give low=.*from_quantiles"
    ),
    "no box within": (lambda: kl.Binned(Shows(Tuple([Discrete(2)]))), "cannot be binned: give an environment"),
    "nan": (lambda: shows([0.5, np.nan]), r"observation\[1\] is nan"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()
