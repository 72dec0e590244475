"""Bins are part of the learner: it reads raw observations, keeps edges in files and exports, and shows intervals."""

import copy
import json
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.simulators.bins import Bins, equal_edges, interval_text, readable
from klearning.simulators.evaluation import play_returns
from klearning.simulators.space_index import SpaceIndex
from tests.support.cases import modest
from tests.support.doc_blocks import ROOT, blocks_of

PRIOR = kl.Prior(kl.Gaussian(0.0, 1.0, 0.3), kl.Dirichlet(0.5), stationary=True)


class Tank(gym.Env):
    """A level that leaks and is filled, and a valve that is seen."""

    observation_space = Dict({"level": Box(0.0, 1.0, (2,), np.float64), "valve": Discrete(2)})
    action_space = Discrete(3)

    def see(self):
        return {"level": np.array([self.level, self.level**2]), "valve": int(self.level > 0.5)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.level = float(self.np_random.random())
        return self.see(), {}

    def step(self, action):
        self.level = float(np.clip(self.level + 0.1 * (action - 1) - 0.05 + 0.05 * self.np_random.normal(), 0.0, 1.0))
        return self.see(), 1.0 - abs(self.level - 0.6), False, False, {}


def learnt(agent=None, **cut):
    env = kl.Binned(Tank(), **cut or {"bins": {"level": [6, 3]}})
    return kl.learn(agent or kl.PSRL(), env, horizon=8, episodes=30, prior=PRIOR), env


def test_intervals_are_shown_without_rounding_errors():
    """Equal bins of [-1, 1] end at -0.5, -5.55e-17 and 0.4999999999999999, the least floats of their bins."""
    edges = equal_edges(-1.0, 1.0, 4)
    assert readable(edges) == [-0.5, 0.0, 0.5]
    assert [interval_text(edges, k) for k in range(4)] == ["below -0.5", "-0.5 to 0", "0 to 0.5", "from 0.5"]
    assert readable([1e-20, 0.1, 1 / 3]) == [0.0, 0.1, 0.333333333333]
    assert readable([1e-20, 3e-20]) == [1e-20, 3e-20]


@modest
@given(st.integers(1, 40), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(-0.1, 1.1))
def test_edges_of_equal_bins_are_exact(bins, low, width, u):
    """Each is the least float of its bin: the one before it is in the bin before."""
    high = low + width

    def formula(x):
        return min(int((np.clip(x, low, high) - low) / (high - low) * bins), bins - 1)

    edges = equal_edges(low, high, bins)
    x = low + u * width
    assert int(edges.searchsorted(x, "right")) == formula(x)
    for k, edge in enumerate(edges.tolist(), start=1):
        assert (formula(edge), formula(np.nextafter(edge, -np.inf))) == (k, k - 1)


def test_a_learner_reads_raw_and_binned_observations_alike():
    learner, env = learnt()
    raw = Tank()
    for seed in range(20):
        shown, _ = raw.reset(seed=seed)
        cut, _ = env.reset(seed=seed)
        assert env.observation_space.contains(cut)
        assert learner.predict(shown) == learner.predict(cut)
        assert learner.values([shown])[0, 0] == learner.values([cut])[0, 0]
        assert learner.met(shown) == learner.met(cut)
        assert repr(learner.about(shown).actions) == repr(learner.about(cut).actions)
    assert play_returns(learner, raw, episodes=5) == play_returns(learner, env, episodes=5)


def test_learning_is_the_same_with_and_without_the_wrapper():
    """A learner that has bins goes on in the environment itself, and as if it had been cut."""
    one, env = learnt()
    other = copy.deepcopy(one)
    kl.learn(one, env, episodes=10)
    kl.learn(other, Tank(), episodes=10)
    assert one.returns == other.returns
    np.testing.assert_array_equal(one.memory.policy, other.memory.policy)


def test_edges_are_saved_and_nothing_else_is_resumed(tmp_path):
    learner, env = learnt()
    learner.save(tmp_path / "tank.npz")
    again = kl.load(tmp_path / "tank.npz")
    assert again.observations.bins.edges == env.edges
    shown, _ = Tank().reset(seed=3)
    assert again.predict(shown) == learner.predict(shown)
    same = kl.learn(kl.PSRL(), env, horizon=8, episodes=35, prior=PRIOR, resume=tmp_path / "tank.npz")
    assert same.returns == kl.learn(learner, env, episodes=5).returns
    other = kl.Binned(Tank(), bins={"level": [6, 4]})
    with pytest.raises(ValueError, match=r"observation\['level'\] have edges .*, and the learner's have "):
        kl.learn(kl.load(tmp_path / "tank.npz"), other, episodes=1)
    with pytest.raises(ValueError, match="observation space"):
        kl.learn(again, gym.make("FrozenLake-v1"), episodes=1)


def test_a_table_shows_intervals():
    learner, _ = learnt()
    frame = learner.table(draws=0)
    assert list(frame)[:3] == ["observation.level.0", "observation.level.1", "observation.valve"]
    for _, row in frame.iterrows():
        low = row["observation.level.0"]
        middle = np.clip(np.array([(x.left + x.right) / 2 if np.isfinite(x.left + x.right) else
                                   (x.left if np.isfinite(x.left) else x.right - 1e-9)
                                   for x in (low, row["observation.level.1"])]), 0.0, 1.0)  # fmt: skip
        point = {"level": middle, "valve": row["observation.valve"]}
        assert learner.predict(point) == row["action"]
    assert "to" in repr(learner.about(Tank().reset(seed=0)[0]))
    assert len(learner.table(by="action", draws=0)) == 3 * len(frame)


@pytest.mark.parametrize("form", ["npz", "json"])
def test_an_exported_policy_cuts_by_itself(form, tmp_path):
    """By the lines that the page shows, in a process without klearning: raw observations, 0 differences."""
    learner, _ = learnt()
    learner.export(tmp_path / f"policy.{form}")
    reader = {b.remark("file"): b.text for b in blocks_of(ROOT / "docs" / "howto" / "looking.md")}
    (tmp_path / "reader.py").write_text(reader[f"read_{form}.py"])
    points = [Tank().reset(seed=seed)[0] for seed in range(50)]
    plain = [{"level": p["level"].tolist(), "valve": p["valve"]} for p in points]
    (tmp_path / "points.json").write_text(json.dumps(plain))
    code = (
        "import json, sys; sys.modules['klearning'] = None\nfrom reader import act\nimport numpy as np\n"
        "print(json.dumps([[int(np.ravel(act(p, s))[0]) for p in json.load(open('points.json'))] for s in (0, 5)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[learner.predict(p, step) for p in points] for step in (0, 5)]


def test_vectors_of_binned_environments_have_bins():
    envs = gym.vector.SyncVectorEnv([lambda: kl.Binned(gym.wrappers.TimeLimit(Tank(), 8), bins=5)] * 2)
    learner = kl.learn(kl.PSRL(), envs, episodes=12, horizon=8, prior=PRIOR)
    assert learner.predict(Tank().reset(seed=0)[0]) in (0, 1, 2)
    with pytest.raises(ValueError, match="have edges"):
        kl.learn(learner, kl.Binned(Tank(), bins=4), episodes=1)


def test_bins_of_whole_numbers_are_told_from_the_numbers():
    space = Box(0, 99, (2,), np.int64)
    bins = Bins(space, bins=4)
    index = SpaceIndex("observation", space, False, bins)
    raw = np.array([3, 60])
    assert bins.cut(raw).tolist() == [0, 2]
    assert bins.cut(bins.cut(raw)).tolist() == [0, 2]
    assert index.number(raw) == index.number(bins.cut(raw)) == 2
    assert Bins.from_data(space, json.loads(json.dumps(bins.data()))).edges == bins.edges
    assert pickle.loads(pickle.dumps(index)).number(raw) == 2
    with pytest.raises(ValueError, match="is outside"):
        index.number(np.array([3.0, np.nan]))
