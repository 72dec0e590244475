"""DeepLearner in environments: files, interrupts, vectors, masks, misuse."""

import copy
import inspect
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import klearning as kl
from klearning.deep import DQN, BootstrappedDQN, DeepKLearning, EnsembleKLearning, register_features
from klearning.deep.features import Features
from klearning.deep.learner import DeepLearner
from klearning.deep.saving import arrays_of, leaves, settings_of
from klearning.simulators.actor import SimulatorLearner
from klearning.simulators.evaluation import play_returns
from klearning.simulators.learner_file import read_archive, write_archive
from tests.support.doc_blocks import ROOT, blocks_of

TINY: dict[str, Any] = {"hidden": (8,), "batch": 8, "capacity": 64, "updates": 1}
AGENT = DeepKLearning(**TINY, tilings=2, tiles=2**6, train_every=4)
WALL = np.array([0.0, 0.0], np.float32)


class Corridor(gymnasium.Env):
    """Two numbers are seen, three actions; right is worth 1 at the end, the last action is forbidden at odd steps."""

    observation_space = spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32))
    action_space = spaces.Discrete(3, start=1)
    fails_at, bad_reward, failure = -1, 0.0, RuntimeError

    def __init__(self):
        self.played = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.x = 0, float(self.np_random.uniform(-1.0, 1.0))
        return self.seen()

    def seen(self):
        mask = np.array([1, 1, self.t % 2 == 0], np.int8)
        return np.array([self.x, 3.0 * self.x], np.float32), {"action_mask": mask}

    def step(self, action):
        assert action != 3 or self.t % 2 == 0
        self.played += 1
        if self.played == self.fails_at:
            raise self.failure("the simulator")
        self.t += 1
        self.x = float(np.clip(self.x + 0.3 * (action - 2), -1.0, 1.0))
        observation, info = self.seen()
        return observation, float(self.x > 0.9) + self.bad_reward, self.x > 0.9, False, info


def corridor(**settings):
    env = Corridor()
    for name, value in settings.items():
        setattr(env, name, value)
    return gymnasium.wrappers.TimeLimit(env, 9)


def assert_same(one, other):
    assert (one.returns, one.steps, one.episodes_done) == (other.returns, other.steps, other.episodes_done)
    assert one.diagnostics == other.diagnostics
    for (name, x), (_, y) in zip(leaves(one.memory), leaves(other.memory), strict=True):
        np.testing.assert_array_equal(x, y, err_msg=name)


@pytest.fixture(scope="module")
def whole():
    return kl.learn(AGENT, corridor(), episodes=16, seed=4)


def test_stop_and_resume_is_the_whole_run(whole, tmp_path):
    """The ring of 64 steps goes round, too."""
    path = tmp_path / "learner.npz"
    kl.learn(AGENT, corridor(), episodes=6, seed=4).save(path)
    again = kl.load(path)
    again.save(tmp_path / "twice.npz")
    assert (tmp_path / "twice.npz").read_bytes() == path.read_bytes()
    kl.learn(again, corridor(), episodes=10)
    assert again.steps > AGENT.capacity
    assert_same(whole, again)
    point = np.array([0.3, 0.9], np.float32)
    assert [again.predict(point, how="soft") for _ in range(9)] == [whole.predict(point, how="soft") for _ in range(9)]


def test_saved_in_the_middle_of_an_episode(tmp_path):
    """After an act, and after an observe: it goes on as a learner that never was in a file."""

    def play(learner, file=None):
        env, actions = corridor(), []
        observation, info = env.reset(seed=3)
        while not learner.over:
            actions.append(learner.act(observation, info["action_mask"]))
            if file and learner.step == 2:
                learner.save(file)
                learner = kl.load(file)
            observation, reward, terminated, truncated, info = env.step(actions[-1])
            learner.observe(reward, observation, terminated, truncated)
            if file and learner.step in (4, 6):  # before it learned within the episode, and after
                learner.save(file)
                learner = kl.load(file)
        learner.end_episode()
        return learner, actions

    env = corridor()
    one = DeepLearner(AGENT, env.observation_space, env.action_space, 9, seed=1)
    other = DeepLearner(AGENT, env.observation_space, env.action_space, 9, seed=1)
    (one, first), (other, second) = play(one), play(other, tmp_path / "a.npz")
    assert first == second
    assert len(first) > 5
    assert_same(one, other)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_what_fails_in_an_episode_loses_that_episode_alone(whole, failure, tmp_path):
    with pytest.raises(failure) as caught:
        kl.learn(AGENT, corridor(fails_at=30, failure=failure), episodes=16, seed=4)
    if failure is KeyboardInterrupt:
        learner = caught.value.learner
        assert 0 < learner.episodes_done < 16
        assert not learner.under_way
        learner.save(tmp_path / "l.npz")
        learner = kl.load(tmp_path / "l.npz")
        assert_same(whole, kl.learn(learner, corridor(), episodes=16 - learner.episodes_done))


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent", [DQN(**TINY), EnsembleKLearning(**TINY, members=3)], ids=lambda agent: type(agent).__name__
)
def test_other_agents_are_saved_too(agent, tmp_path):
    kl.learn(agent, corridor(), episodes=3).save(tmp_path / "a.npz")
    assert_same(kl.learn(kl.load(tmp_path / "a.npz"), corridor(), episodes=2), kl.learn(agent, corridor(), episodes=5))


CRAFTED = {
    "shape": (lambda s, a: a.update({"memory.params.0.bias": np.zeros(3, np.float32)}), "memory.params.0.bias is"),
    "dtype": (lambda s, a: a.update(chosen=a["chosen"].astype(np.int64)), "chosen is int64"),
    "nan": (lambda s, a: a["memory.params.0.weight"].__setitem__((0, 0), np.nan), r"weight\[0, 0\]=nan is not from"),
    "count": (lambda s, a: a["memory.counts.visits"].__setitem__((0, 0), -1), "visits"),
    "scale": (lambda s, a: a["memory.tilings.scale"].__setitem__((), 4), "scale=4 is not from 0 to 3"),
    "action": (lambda s, a: a["memory.ring.action"].__setitem__(0, 3), r"ring.action\[0\]=3 is not from 0 to 2"),
    "mask": (lambda s, a: a["memory.ring.allowed"].__setitem__(0, 0.0), "a mask that allows nothing"),
    "terminal": (lambda s, a: a["memory.ring.terminal"].__setitem__(0, 0.5), "is neither 0 nor 1"),
    "steps": (lambda s, a: s.update(steps=s["steps"] - 1), r"memory.seen=\d+ is not steps=\d+"),
    "learned": (lambda s, a: s.update(learned=1), "learned=1 is more than step=0"),
    "episode": (lambda s, a: s.update(episodes_done=0), "returns is"),
    "moment": (lambda s, a: s.update(over=True), "over=True at step 0"),
    "waiting": (lambda s, a: s.update(waiting=1), "is not a moment of an episode"),
    "end": (lambda s, a: s.update(terminal=True), "terminal=True of an episode with over=False"),
    "bins": (lambda s, a: s.update(bins=[[["x"], [[0.5]]]]), "has names"),
    "hidden": (lambda s, a: s["agent"].update(hidden=[10**9]), "memory.params.0"),
    "normalised": (lambda s, a: s["agent"].update(normalised=1), "normalised=1 is neither True nor False"),
    "capacity": (lambda s, a: s["agent"].update(capacity=10**8), "more than 805,306,368: give capacity="),
    "no capacity": (lambda s, a: s["agent"].update(capacity=10**13), "capacity=10000000000000 is too large"),
    "batch": (lambda s, a: s["agent"].update(batch=10**9), "more than 805,306,368: give batch="),
    "updates": (lambda s, a: s["agent"].update(updates=10**13), "updates=10000000000000 is too large"),
    "noise": (lambda s, a: s["agent"].update(noise=1e308), r"noise=1e\+308 is out of range"),
    "name": (lambda s, a: s["agent"].update(name="KLearning"), "agent='KLearning' is unknown"),
    "setting": (lambda s, a: s["agent"].update(polyak=2.0), "polyak=2.0 is out of range"),
    "unknown": (lambda s, a: s["agent"].update(colour=1), "colour"),
    "kind": (lambda s, a: s.update(kind="deeper"), "kind='deeper' is unknown"),
    "space": (lambda s, a: s["observation_space"].update(low="nan"), "low above its high"),
    "stream": (lambda s, a: s["predictions"]["state"].update(inc=2), "not the state of a random stream"),
    "absent": (lambda s, a: a.pop("memory.seen"), "it has no 'memory.seen'"),
    "temperature": (lambda s, a: a.update({"memory.log_tau": np.float32(np.inf)}), "log_tau"),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", CRAFTED)
def test_a_crafted_file_is_refused(case, whole, tmp_path):
    change, words = CRAFTED[case]
    settings, arrays = json.loads(json.dumps(settings_of(whole))), {k: v.copy() for k, v in arrays_of(whole).items()}
    change(settings, arrays)
    unchecked = lambda *_: None  # noqa: E731
    write_archive(tmp_path / "a.npz", settings, {name: np.asarray(x) for name, x in arrays.items()}, unchecked)
    with pytest.raises(ValueError, match=words):
        kl.load(tmp_path / "a.npz")


SPOILT = {
    "params": lambda m: m._replace(params=jax.tree.map(lambda x: x * np.nan, m.params)),
    "target": lambda m: m._replace(target=jax.tree.map(lambda x: x + np.inf, m.target)),
    "temperature": lambda m: m._replace(log_tau=m.log_tau * np.nan),
    "counts": lambda m: m._replace(counts=m.counts._replace(sums=m.counts.sums * np.nan)),
    "loss": lambda m: m._replace(loss=m.loss + np.inf),
}


@pytest.mark.parametrize("part", SPOILT)
def test_networks_that_went_wrong_do_not_replace_a_good_file(part, whole, tmp_path):
    whole.save(tmp_path / "a.npz")
    before = (tmp_path / "a.npz").read_bytes()
    learner = kl.load(tmp_path / "a.npz")
    learner.memory = SPOILT[part](learner.memory)
    with pytest.raises(ValueError, match=r"^cannot save to .*a\.npz, because it could not be loaded again: memory\."):
        learner.save(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    kl.load(tmp_path / "a.npz")


def test_a_replay_buffer_has_a_limit_of_its_own():
    """The same on every machine: what one saves another loads."""
    wide = spaces.Box(-1.0, 1.0, (2000,))
    with pytest.raises(
        ValueError, match=r"capacity=100000 steps of 2000 features take 1,60.* give capacity=\d+ or less"
    ):
        DeepLearner(DeepKLearning(), wide, spaces.Discrete(2), 9)
    with pytest.raises(ValueError, match="batch=10000000 steps of 2 features"):
        DeepLearner(DQN(batch=10**7), Corridor.observation_space, Corridor.action_space, 9)


def test_a_file_says_what_it_is_in_plain_json(whole, tmp_path):
    whole.save(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        text = archive.read("learner.json").decode()
    assert "Infinity" not in text
    header = json.loads(text)
    assert (header["kind"], header["agent"]["name"]) == ("deep", "DeepKLearning")
    assert read_archive(tmp_path / "a.npz")[0]["observation_space"]["high"] == [1.0, "inf"]


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_episodes_side_by_side(mode):
    """Steps are those of the environments, the idle ones apart; every step is learned from once."""
    envs = SyncVectorEnv([corridor] * 3, autoreset_mode=mode)
    reports = []
    learner = kl.learn(AGENT, envs, episodes=8, seed=2, callbacks=[reports.append])
    assert (learner.episodes_done, len(reports)) == (8, 8)
    assert learner.steps == int(learner.memory.seen) == sum(report.steps for report in reports)
    assert int(learner.memory.optimiser[0].count) == learner.agent.updates * learner.steps
    assert all(0.0 < report.diagnostics["entropy"] <= report.steps * np.log(3) for report in reports)
    assert learner._aside == 0
    again = kl.learn(AGENT, SyncVectorEnv([corridor] * 3, autoreset_mode=mode), episodes=8, seed=2)
    assert_same(learner, again)


def test_a_vector_of_one_is_one_environment():
    envs = SyncVectorEnv([corridor], autoreset_mode=AutoresetMode.DISABLED)
    assert_same(kl.learn(AGENT, corridor(), episodes=4, seed=4), kl.learn(AGENT, envs, episodes=4, seed=4))


def side_by_side(agent, count=3):
    """A learner with episodes that have begun."""
    env = corridor()
    learner = DeepLearner(agent, env.observation_space, env.action_space, 9, seed=1)
    forks, seen = [], [np.array([0.1 * i, 0.3 * i], np.float32) for i in range(count)]
    for i, x in enumerate(seen):
        learner.act(x)
        forks.append(learner.fork_episode())
        forks[-1].observe(0.5 * i, x)
    return learner, forks, seen


@pytest.mark.parametrize("agent", [AGENT, BootstrappedDQN(**TINY, members=4)], ids=lambda agent: type(agent).__name__)
def test_a_batch_acts_as_each_alone(agent):
    """With the member of an ensemble that the episode has drawn, and three rows in a batch of four."""
    learner, forks, seen = side_by_side(agent)
    alone, masks = copy.deepcopy(forks), [None, [1, 0, 1], None]
    actions = learner.act_together(forks, seen, masks)
    assert actions == [fork.act(*given) for fork, *given in zip(alone, seen, masks, strict=True)]
    for fork, other in zip(forks, alone, strict=True):
        np.testing.assert_allclose(fork.sums, other.sums, rtol=1e-4)
        np.testing.assert_array_equal(fork._masks, other._masks)
    with pytest.raises(RuntimeError, match="before observe"):
        learner.act_together(forks, seen, masks)


def test_networks_learn_before_episodes_side_by_side_end():
    """From all of them together, every `train_every` steps; what is then forgotten was learned from all the same."""
    learner, forks, seen = side_by_side(AGENT)
    learner.learn_together(forks)
    assert learner.steps == 0  # 3 steps of 4
    learner.act_together(forks, seen, [None] * 3)
    for fork, x in zip(forks, seen, strict=True):
        fork.observe(1.0, x)
    learner.learn_together(forks)
    assert (learner.steps, int(learner.memory.seen), [fork.learned for fork in forks]) == (6, 6, [2, 2, 2])
    assert int(learner.memory.optimiser[0].count) == 6 * AGENT.updates
    rewards = np.asarray(learner.memory.ring.reward[:6])
    np.testing.assert_array_equal(rewards, [0.0, 1.0, 0.5, 1.0, 1.0, 1.0])
    new = np.asarray(learner.memory.params[0]["weight"])
    assert all((fork._acting.params[0]["weight"] == new).all() for fork in forks)
    for fork in forks:
        learner.discard_episode(fork)
    assert (learner.steps, learner.episodes_done, learner._aside) == (6, 0, 0)


def test_an_interrupt_of_a_vector_leaves_a_learner_that_can_be_saved(tmp_path):
    def stop(report):
        if report.episode == 3:
            raise KeyboardInterrupt

    envs = SyncVectorEnv([corridor] * 3, autoreset_mode=AutoresetMode.NEXT_STEP)
    with pytest.raises(KeyboardInterrupt) as stopped:
        kl.learn(AGENT, envs, episodes=8, seed=2, callbacks=[stop], save=tmp_path / "a.npz")
    learner = stopped.value.learner
    assert (learner.episodes_done, learner._aside, learner.steps) == (3, 0, int(learner.memory.seen))
    again = kl.load(tmp_path / "a.npz")
    assert_same(learner, again)
    assert kl.learn(again, envs, episodes=3).episodes_done == 6


def test_networks_learn_within_an_episode_and_forget_one_that_is_abandoned():
    learner = kl.learn(AGENT, corridor(), episodes=9, seed=4)
    before, seen = arrays_of(learner), int(learner.memory.seen)
    for _ in range(6):
        learner.act(WALL)
        learner.observe(0.0, WALL)
    assert (learner.learned, int(learner.memory.seen), learner.steps) == (4, seen + 4, seen + 4)
    assert (np.asarray(learner.memory.params[0]["weight"]) != before["memory.params.0.weight"]).any()
    learner.abandon_episode()
    assert (learner.learned, learner.steps) == (0, seen)
    for name, array in arrays_of(learner).items():
        if name.startswith("memory."):
            np.testing.assert_array_equal(array, before[name], err_msg=name)


class Coin(gymnasium.Env):
    """One step, worth nothing by itself; cut short after it, or ended."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(1)
    ends = False

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 1, 1.0, self.ends, not self.ends, {}


@pytest.mark.parametrize("ends", [True, False])
def test_truncation_bootstraps_and_termination_does_not(ends):
    """γ = 0.5 and a value of 3 beyond the cut: the target is 1 + 0.5·3 where it was cut short, and 1 where it ended."""
    env = Coin()
    env.ends = ends
    agent = DeepKLearning(
        **{**TINY, "hidden": ()}, discount=0.5, temperature_rate=0.0, temperature=1.0, learning_rate=0.05, polyak=0.5
    )
    learner = kl.learn(agent, env, episodes=1, horizon=5)
    layer = learner.memory.params[0]
    W = [{"weight": layer["weight"].at[1].set(3.0 / 2**0.5), "bias": 0 * layer["bias"]}]
    known = learner.memory.counts._replace(c=0 * learner.memory.counts.c)
    memory = learner.memory._replace(target=W, counts=known)
    first = type(memory.ring)(*(part[:1] for part in memory.ring))
    y = jax.jit(agent.targets)(memory, first)
    assert y[0].tolist() == pytest.approx([1.0 if ends else 2.5] * 2, rel=1e-4)  # of W and of Q


def test_masks_are_kept_and_count_in_the_entropy():
    """Corridor itself refuses what it forbids; one action left has no entropy, and no bonus of the others."""
    learner = kl.learn(AGENT, corridor(), episodes=2)
    learner.act(WALL, [0, 1, 0])
    assert learner.diagnostics["entropy"] == 0.0
    assert learner.predict(WALL, action_mask=[0, 0, 1]) == 3
    with pytest.raises(ValueError, match="allows no action"):
        learner.predict(WALL, action_mask=[0, 0, 0])
    with pytest.raises(ValueError, match="is not a mask: give a 0 or 1 for each of the 3 actions"):
        learner.predict(WALL, action_mask=[1, 0])


@pytest.mark.parametrize("reward", [np.nan, np.inf, 1e30])
def test_a_reward_that_is_no_number_is_refused_and_nothing_is_learnt(reward):
    learner = DeepLearner(AGENT, Corridor.observation_space, Corridor.action_space, 9)
    with pytest.raises(ValueError, match=r"reward=.* of step 0 is (not finite|beyond)"):
        kl.learn(learner, corridor(bad_reward=reward), episodes=2)
    assert (learner.episodes_done, learner.under_way) == (0, False)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ([np.nan, 0.0], "is not finite"),
        ([0.0], r"is outside .*: give a point of the space|has 1 features, .*: give as many"),
        ("left", "is outside .*: give a point of the space"),
        (None, "is outside|not finite|features"),
    ],
)
def test_an_observation_that_is_none_is_refused(observation, words):
    learner = DeepLearner(AGENT, Corridor.observation_space, Corridor.action_space, 9)
    with pytest.raises(ValueError, match=words):
        learner.act(observation)


def test_a_world_is_not_an_environment():
    with pytest.raises(
        ValueError, match=r"agent=DeepKLearning\(…\) learns in environments alone: kl.learn\(agent, kl.W"
    ):
        kl.run(DeepKLearning(), kl.deep_sea(3))


FEATURES = {
    "zeros stay": (spaces.Box(0.0, 2.0, (2,)), [0.0, 2.0], [0.0, 12**0.5]),
    "the middle is 0": (spaces.Box(-2.0, 4.0, (2,)), [1.0, 4.0], [0.0, 3**0.5]),
    "asinh": (spaces.Box(-np.inf, np.inf, (2,)), [0.0, 1e3], [0.0, np.arcsinh(1e3)]),
    "bits": (spaces.MultiBinary(2), [0, 1], [0, 1]),
    "bytes": (spaces.Box(0, 255, (1, 2), np.uint8), [[7, 255]], [7, 255]),
    "parts": (spaces.Tuple([spaces.Discrete(4), spaces.MultiBinary(1)]), (2, [1]), [0, 0, 2, 0, 1]),
}


@pytest.mark.parametrize("case", FEATURES)
def test_features_by_space(case):
    space, point, expected = FEATURES[case]
    features = Features(space)
    x = features(point)
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert (x.shape, features.like.shape) == ((len(expected),), (len(expected),))
    assert features.like.dtype == (np.uint8 if case in ("bits", "bytes") else np.float32)


@pytest.mark.parametrize("point", [[0, 2], [0, -1], [0], None])
def test_bits_that_are_none(point):
    with pytest.raises(ValueError, match="is outside MultiBinary"):
        Features(spaces.MultiBinary(2))(point)


def test_wrong_spaces():
    with pytest.raises(ValueError, match=r"action space Box.* is not discrete: let the agent choose among a few"):
        kl.learn(AGENT, gymnasium.make("Pendulum-v1"), episodes=1)
    text = spaces.Text(3)
    with pytest.raises(ValueError, match=r"observation space .* has no features: Text is none of Box"):
        DeepLearner(AGENT, text, spaces.Discrete(2), 3)


def test_misuse():
    learner = DeepLearner(AGENT, Corridor.observation_space, Corridor.action_space, 1)
    with pytest.raises(RuntimeError, match="before act"):
        learner.observe(0.0, WALL)
    learner.act(WALL)
    with pytest.raises(RuntimeError, match="before observe"):
        learner.act(WALL)
    learner.observe(0.0, WALL)
    with pytest.raises(RuntimeError, match="after the episode's end"):
        learner.act(WALL)
    with pytest.raises(ValueError, match="how='best' is unknown"):
        learner.predict(WALL, how="best")
    with pytest.raises(ValueError, match="networks have none"):
        kl.learn(AGENT, corridor(), episodes=1, prior=kl.Prior())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hidden": (0,)}, r"hidden\[0\]=0 is too small"),
        ({"hidden": "wide"}, r"hidden\[0\]='wide' is not a whole number"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 is out of range: give a finite number above 0 and at most 1"),
        ({"batch": 1.5}, "batch=1.5 is not a whole number"),
        ({"discount": 1.1}, "discount=1.1 is out of range"),
        ({"capacity": 0}, "capacity=0 is too small"),
        ({"noise": 0.0}, "noise=0.0 is out of range"),
        ({"noise": 1e308}, r"noise=1e\+308 is out of range: give a finite number above 0 and at most 1e\+09"),
        ({"updates": 10**13}, "updates=10000000000000 is too large: give an integer of at most 1000"),
        ({"batch": 10**12}, "batch=1000000000000 is too large: give an integer of at most 2147483647"),
        ({"largest_bonus": 1e300}, r"largest_bonus=1e\+300 is out of range"),
        ({"temperature": -1}, "temperature=-1 is out of range"),
        ({"tiles": 100}, "tiles=100 is not a power of two: give 128"),
        ({"features": 3}, "features=3 is not a named function"),
        ({"features": "pixels"}, "features='pixels' is unknown"),
        ({"features": lambda x: x}, "is not a named function"),
    ],
)
def test_settings_are_checked(settings, words):
    with pytest.raises(ValueError, match=words):
        DeepKLearning(**settings)


def test_settings_are_plain_numbers():
    agent = DeepKLearning(hidden=[np.int64(8), 4], learning_rate=np.float32(0.5), discount=1)
    assert agent == DeepKLearning(hidden=(8, 4), learning_rate=0.5, discount=1.0)
    assert hash(agent) == hash(DeepKLearning(hidden=(8, 4), learning_rate=0.5, discount=1.0))


@register_features
def polynomial(observation):
    x = observation[0]
    return [x, x**2, x**3]


@pytest.mark.slow
def test_features_of_ones_own(tmp_path):
    agent = DeepKLearning(**TINY, tilings=2, tiles=2**6, features=polynomial)
    assert agent.features == "polynomial"
    learner = kl.learn(agent, corridor(), episodes=3)
    assert learner.memory.ring.x.shape == (64, 3)
    learner.save(tmp_path / "a.npz")
    assert_same(kl.learn(kl.load(tmp_path / "a.npz"), corridor(), episodes=2), kl.learn(agent, corridor(), episodes=5))
    script = f"import klearning as kl; kl.load({str(tmp_path / 'a.npz')!r})"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "features='polynomial' are not registered: import" in answer.stderr.splitlines()[-1]


def test_callbacks_and_evaluation_by_play(tmp_path):
    looked = kl.callbacks.EvalCallback(corridor(), every=2, episodes=3)
    learner = kl.learn(AGENT, corridor(), episodes=4, callbacks=[kl.callbacks.CSVWriter(tmp_path / "a.csv"), looked])
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "episode,return,steps,temperature,entropy,c,loss,value,regret"
    assert len(lines) == 5
    assert float(lines[1].split(",")[4]) > 0.0
    assert [row["episode"] for row in looked.rows] == [2, 4]
    assert looked.rows[-1]["steps"] == learner.steps
    assert looked.rows[-1]["greedy"] == np.mean(play_returns(learner, corridor(), episodes=3))
    assert learner.episodes_done == 4


@pytest.mark.slow
def test_exact_evaluation_where_the_model_is_told():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    reports = []
    kl.learn(AGENT, lake, episodes=2, callbacks=[reports.append], settings=kl.LearnSettings(evaluate_every=1))
    assert [0.0 <= report.value <= 1.0 for report in reports] == [True, True]
    assert all(report.regret == pytest.approx(1.0 - report.value) for report in reports)


def test_a_file_of_before_is_read_and_goes_on():
    """Written once and then kept."""
    learner = kl.load(Path(__file__).parent / "corpus" / "DeepKLearning.npz")
    assert (learner.episodes_done, learner.step, learner.under_way) == (5, 2, True)
    assert learner.agent.hidden == (8,)
    learner.abandon_episode()
    kl.learn(learner, corridor(), episodes=2)
    assert learner.episodes_done == 7


def test_a_deep_learner_has_the_words_of_the_other(whole, tmp_path):
    """One protocol, each word with one meaning and one form."""
    table = kl.Learner(kl.KLearning(), spaces.Discrete(3), spaces.Discrete(3), 9)
    for learner in (whole, table):
        assert isinstance(learner, SimulatorLearner)
    for word in ("act", "observe", "end_episode", "predict", "values", "action_values", "table", "export", "save"):
        mine, other = (list(inspect.signature(getattr(x, word)).parameters) for x in (whole, table))
        assert mine == other or word == "observe", word
    seen = [np.array([x, 3.0 * x], np.float32) for x in (-0.5, 0.0, 0.5)]
    values, by_action = whole.values(seen), whole.action_values(seen)
    assert (values.shape, by_action.shape) == ((whole.horizon, 3), (whole.horizon, 3, 3))
    np.testing.assert_array_equal(values, by_action.max(axis=2))
    actions = [whole.predict(x, deterministic=True) for x in seen]
    assert actions == [1 + a for a in by_action[0].argmax(axis=1)]
    assert whole.predict(seen[0], info=True)[1]["value"] == pytest.approx(values[0, 0])
    assert repr(whole).startswith("DeepLearner(DeepKLearning(hidden=(8,), batch=8, updates=1, train_every=4, ")
    assert "episodes" in whole._repr_html_()
    with pytest.raises(ValueError, match="networks have no belief to certify: play greedy episodes"):
        kl.certify(whole)
    with pytest.raises(ValueError, match="path=5 is not a path: give the name of a file"):
        whole.export(5)


@pytest.mark.parametrize(
    "given",
    [{"prior": "suggest"}, {"settings": kl.LearnSettings(discount=0.9)}],
    ids=["prior='suggest'", "discount=0.9"],
)
def test_what_is_not_for_networks_is_said_in_one_short_line(given, request):
    line = "does not apply to DeepKLearning, which has its own settings: leave it out"
    with pytest.raises(ValueError, match=f"^{request.node.callspec.id} {line}$"):
        kl.learn(DeepKLearning(), gymnasium.make("CartPole-v1"), steps=1, **given)


def test_a_table_of_networks(whole):
    frame, by_action = whole.table(), whole.table(by="action")
    assert list(frame) == ["feature.0", "feature.1", "action", "value", "uncertainty", "visits", "met"]
    assert 0 < len(frame) <= 64
    assert len(by_action) == 3 * len(frame)
    assert by_action.groupby("feature.0")["probability"].sum().to_numpy() == pytest.approx(1.0)
    assert by_action["best"].sum() == len(frame)


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    "agent",
    [AGENT, EnsembleKLearning(**TINY, members=3), DQN(**TINY, normalised=False)],
    ids=lambda a: type(a).__name__,
)
@pytest.mark.parametrize("cut", [False, True])
def test_networks_are_read_by_numpy_alone(agent, cut, tmp_path):
    """By the lines that the page shows, in a process without klearning and JAX."""
    env = kl.Binned(corridor(), edges=[[-0.5, 0.0, 0.5], [0.0]]) if cut else corridor()
    learner = kl.learn(agent, env, episodes=3, horizon=9)
    learner.export(tmp_path / "network.npz")
    reader = {b.remark("file"): b.text for b in blocks_of(ROOT / "docs" / "howto" / "looking.md")}
    (tmp_path / "reader.py").write_text(reader["read_network.py"])
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 2)).astype(np.float32)
    np.save(tmp_path / "points.npy", points)
    code = (
        "import sys, json; sys.modules['klearning'] = sys.modules['jax'] = None\nimport numpy as np\n"
        "from reader import act\nprint(json.dumps([int(act(p)[0]) for p in np.load('points.npy')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [learner.predict(point) for point in points]


def test_bins_belong_to_networks_too(tmp_path):
    env = kl.Binned(corridor(), edges=[[-0.5, 0.0, 0.5], [0.0]])
    learner = kl.learn(AGENT, env, episodes=2, horizon=9, resume=tmp_path / "a.npz")
    again = kl.load(tmp_path / "a.npz")
    raw = np.array([0.3, 0.9], np.float32)
    assert again.predict(raw) == learner.predict(raw) == learner.predict(env.bins.cut(raw))
    with pytest.raises(ValueError, match="have edges"):
        kl.learn(again, kl.Binned(corridor(), edges=[[0.1], [0.0]]), episodes=1)


def test_what_cannot_be_exported(whole, tmp_path):
    with pytest.raises(ValueError, match=r"does not end in \.npz"):
        whole.export(tmp_path / "a.json")
