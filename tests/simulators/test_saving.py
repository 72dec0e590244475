"""Files of learners: going on is bit for bit, a bad file is one clear error."""

import copy
import errno
import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

import klearning as kl
from klearning.numerics.records.fields import leaves
from klearning.simulators import learner_file as saving
from klearning.tabular.agents import AGENTS
from tests.simulators.test_learner import assert_same_state, state_of
from tests.support import make_corpus
from tests.support.agents import STEPWISE
from tests.support.commands import klearning
from tests.support.make_corpus import CASES, CORPUS, Clockwork, begun, follow
from tests.support.small_worlds import corridor

STATES = 5  # of the corridor, and the end


def support(blocks):
    return kl.Dirichlet(0.5, [np.ones((STATES + 1, 2, STATES + 1))] * blocks)


KINDS = {
    "stationary": {"grow_states": False},
    "layered": {"prior": kl.Prior()},
    "discovered": {},
    "coins": {"prior": kl.Prior(kl.Beta(), stationary=True)},
    "unknown noise": {"prior": kl.Prior(kl.UnknownNoise(), stationary=True)},
    "stationary support": {"prior": kl.Prior(transitions=support(1), stationary=True), "grow_states": False},
    "layered support": {"prior": kl.Prior(transitions=support(9), span=[1.0] * 10), "grow_states": False},
}

THREE_KINDS = [
    (agent, kind)
    for i, agent in enumerate(STEPWISE)
    for k, kind in enumerate(KINDS)
    if (k - i) % len(KINDS) in (0, 2, 3)
]


class Loop:
    """Somebody's own loop, one call of the learner at a time."""

    def __init__(self, learner):
        self.learner, self.env, self.called = learner, corridor(STATES), []
        self.observation, self.action, self.episode = None, None, 0

    def call(self):
        learner = self.learner
        if learner._waiting:
            self.observation, reward, terminated, truncated, _ = self.env.step(self.action)
            learner.observe(float(reward), self.observation, terminated, truncated)
        elif learner.over:
            learner.end_episode()
            self.called.append(learner.returns[-1])
        else:
            if learner.step == 0:
                self.observation, _ = self.env.reset(seed=self.episode)
                self.episode += 1
            self.action = learner.act(self.observation)
            self.called.append((self.action, learner.predict(self.observation, how="soft")))

    def calls(self, count):
        for _ in range(count):
            self.call()

    def with_learner(self, learner):
        other = copy.copy(self)
        other.env, other.learner, other.called = copy.deepcopy(self.env), learner, list(self.called)
        return other


@pytest.mark.thin(6)
@pytest.mark.parametrize(("agent", "kind"), THREE_KINDS, ids=str)
def test_a_loaded_learner_goes_on_as_if_nothing_had_been(agent, kind, tmp_path):
    """Saved before anything, waiting, between two steps, over and between two episodes."""
    space, path = spaces.Discrete(STATES), tmp_path / "learner.npz"
    loop = Loop(kl.Learner(agent, space, spaces.Discrete(2), 10, seed=4, **KINDS[kind]))
    saved, calls = {"new": 0}, 0
    while len(saved) < 5 and calls < 400:  # find the four kinds of moments, some way into learning
        loop.call()
        calls += 1
        if calls > 60:
            x = loop.learner
            between = "between steps" if x.step else "between episodes"
            moment = "waiting" if x._waiting else "over" if x.over else between
            saved.setdefault(moment, calls)
    assert len(saved) == 5
    whole, done = Loop(kl.Learner(agent, space, spaces.Discrete(2), 10, seed=4, **KINDS[kind])), 0
    for at in sorted(saved.values()):
        whole.calls(at - done)
        done = at
        whole.learner.save(path)
        parts = whole.with_learner(kl.load(path))
        assert_same_state(state_of(parts.learner), state_of(whole.learner))
        on = whole.with_learner(copy.deepcopy(whole.learner))
        for loop in (parts, on):
            loop.calls(40)
        assert parts.called == on.called
        assert_same_state(state_of(parts.learner), state_of(on.learner))


@pytest.mark.thin(6)
@pytest.mark.parametrize("prior", [kl.Prior(), kl.Prior(stationary=True)], ids=["layered", "stationary"])
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_tables_that_grew_are_saved(agent, prior, tmp_path):
    """More states than there was room for at first, saved within the episode that met them."""
    learner = kl.Learner(agent, spaces.Discrete(100), spaces.Discrete(2), 4, prior=prior, grow_states=True)
    for k in range(30):
        learner.act(3 * k)
        learner.observe(0.5, 3 * k + 1)
        if k < 29:
            learner.end_episode()
    learner.save(tmp_path / "learner.npz")
    again = kl.load(tmp_path / "learner.npz")
    for x in (learner, again):
        x.actions_taken = [x.act(88)]
        for k in (88, 89, 90, 0, 3):
            x.observe(0.5, k)
            x.end_episode()
            x.actions_taken.append(x.act(k))
    assert again.actions_taken == learner.actions_taken
    assert_same_state(state_of(again), state_of(learner))


def test_saved_learners_go_on_in_learn(tmp_path):
    whole = kl.learn(kl.PSRL(), corridor(), episodes=20, seed=6)
    kl.learn(kl.PSRL(), corridor(), episodes=9, seed=6).save(tmp_path / "x.npz")
    assert kl.learn(kl.load(tmp_path / "x.npz"), corridor(), episodes=11).returns == whole.returns


def test_the_kind_of_a_saved_learner_is_checked(tmp_path):
    kl.learn(kl.PSRL(), corridor(), episodes=2).save(tmp_path / "x.npz")
    assert kl.load(tmp_path / "x.npz", kl.Learner).belief
    with pytest.raises(ValueError, match="holds a Learner, not a Loop"):
        kl.load(tmp_path / "x.npz", Loop)


def test_spaces_of_every_kind_are_saved(tmp_path):
    vector = spaces.MultiDiscrete([2, 2], dtype=np.int8, start=[1, 0])
    space = spaces.Dict([("b", spaces.MultiBinary(2)), ("a", vector)])
    actions = spaces.Tuple([spaces.Discrete(2, start=5), spaces.MultiDiscrete([2], dtype=np.int8)])
    learner = kl.Learner(kl.QLearning(), space, actions, 5)
    space.seed(0)
    learner.act(space.sample())
    learner.save(tmp_path / "x.npz")
    again = kl.load(tmp_path / "x.npz")
    assert (again.observations.space, again.actions.space) == (space, actions)
    for _ in range(10):
        point = space.sample()
        assert again.observations.number(point) == learner.observations.number(point)


def test_settings_in_numpy_numbers_are_saved(tmp_path):
    reward = kl.Gaussian(np.float32(0.5), np.float64(2), np.int64(1))
    prior = kl.Prior(reward, kl.Dirichlet(np.float32(0.5)), span=np.float32(2.0), stationary=np.bool_(True))
    agent = kl.UCBVI("bernstein", np.float32(0.25), episodes=np.int64(50))
    kl.Learner(agent, spaces.Discrete(3), spaces.Discrete(2), np.int64(4), prior=prior).save(tmp_path / "x.npz")
    again = kl.load(tmp_path / "x.npz")
    assert again.agent == kl.UCBVI("bernstein", 0.25, episodes=50)
    assert (again.prior.reward, again.prior.span, again.prior.stationary) == (kl.Gaussian(0.5, 2.0, 1.0), 2.0, True)


def test_the_same_learner_gives_the_same_bytes(tmp_path):
    learner, _ = begun("PSRL_support")
    one, two, three = (tmp_path / f"{name}.npz" for name in "abc")
    learner.save(one)
    learner.save(two)
    kl.load(one).save(three)
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()
    learner.save(str(two))  # over what is there, by a path that is a string
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz", "c.npz"]


def test_an_agent_that_is_not_registered_cannot_be_saved(tmp_path):
    class Mine(kl.QLearning):
        pass

    class QLearning(kl.QLearning):
        """Of the name of one of ours, and not that one."""

    for agent in (Mine(), QLearning()):
        learner = kl.Learner(agent, spaces.Discrete(3), spaces.Discrete(2), 4)
        with pytest.raises(ValueError, match=r"is not registered: call klearning\.register_agent"):
            learner.save(tmp_path / "x.npz")
    assert not any(tmp_path.iterdir())


# -- unusable files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.npz"
    begun("KLearning_schedule_layered")[0].save(path)
    return path


def rewritten(path, change, checksum=True):
    """The file with another header; with the right checksum, unless asked not to."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members[saving.HEADER])
    arrays = {n[:-4]: np.lib.format.read_array(io.BytesIO(x)) for n, x in members.items() if n.endswith(".npy")}
    header = change(header)
    if checksum:
        header.pop("checksum", None)
        header["checksum"] = saving._checksum(header, arrays)
    members[saving.HEADER] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def assert_refused(path, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        kl.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_from_the_future(good):
    assert kl.load(rewritten(good, lambda h: h)).episodes_done > 0
    later = saving.VERSION + 1
    rewritten(good, lambda h: {**h, "version": later, "klearning": "9.1"}, checksum=False)
    assert_refused(
        good, rf"written by klearning 9\.1 in version {later} of the format.*: use the klearning that wrote it"
    )


CHANGES = {
    "agent": (lambda h: {**h, "agent": {"name": "KLearner"}}, "did you mean 'KLearning'"),
    "setting": (lambda h: {**h, "agent": {**h["agent"], "new": 1}}, "is not what this version of klearning writes"),
    "missing": (lambda h: {k: v for k, v in h.items() if k != "prior"}, "is not what this version"),
    "horizon": (lambda h: {**h, "horizon": 7}, "is not what this version"),
    "space": (lambda h: {**h, "action_space": {"kind": "Discrete", "n": 9, "start": 0}}, "is not what this"),
    "memory": (lambda h: {**h, "agent": {"name": "PSRL"}}, "is not what this version of klearning writes"),
    "format": (lambda h: {**h, "format": "klearning runs"}, "holds no learner"),
    "version": (lambda h: {**h, "version": "new"}, "use the klearning that wrote it"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_header_that_does_not_fit(change, good):
    make, complaint = CHANGES[change]
    assert_refused(rewritten(good, make), complaint)


def test_a_header_that_was_changed(good):
    assert_refused(
        rewritten(good, lambda h: {**h, "episodes_done": 3}, checksum=False), "is damaged, its checksum is wrong"
    )


def test_truncated_files(good):
    data = good.read_bytes()
    for size in range(0, len(data), 100):
        good.write_bytes(data[:size])
        assert_refused(good, "is not an archive of a learner, or not a whole one")


@pytest.mark.slow
def test_flipped_bits(good):
    """An error, or nothing changed: archives hold dates and other fields that nobody reads."""
    data, before = good.read_bytes(), state_of(kl.load(good))
    directory = data.index(b"PK\x01\x02")
    refused = 0
    for i in [*range(0, directory, 97), *range(directory, len(data), 11)]:
        flipped = bytearray(data)
        flipped[i] ^= 1 << (i % 8)
        good.write_bytes(flipped)
        try:
            learner = kl.load(good)
        except ValueError:
            refused += 1
        else:
            assert_same_state(state_of(learner), before)
    assert refused > 100


NO_LEARNERS = {
    "empty": (lambda path: path.write_bytes(b""), "is not an archive"),
    "text": (lambda path: path.write_text("hello"), "is not an archive"),
    "directory": (lambda path: path.mkdir(), "cannot read"),
    "missing": (lambda path: None, "cannot read .*: No such file"),
    "arrays": (lambda path: np.savez(path, x=np.arange(3)), "holds no learner"),
    "list": (lambda path: _archive(path, b"[1]"), "holds no learner"),
    "no json": (lambda path: _archive(path, b"{"), "is not an archive"),
    "deep json": (lambda path: _archive(path, b"[" * 100_000), "is not an archive"),
}


def _archive(path, header):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(saving.HEADER, header)


@pytest.mark.parametrize("kind", NO_LEARNERS)
def test_files_that_are_no_learners(kind, tmp_path):
    make, complaint = NO_LEARNERS[kind]
    make(tmp_path / "x.npz")
    assert_refused(tmp_path / "x.npz", complaint)


class Bomb:
    """Unpickling it writes a file: proof that code was run."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_a_pickle_named_npz_is_not_executed(good, tmp_path):
    mark, bad = tmp_path / "executed", tmp_path / "bad.npz"
    bad.write_bytes(pickle.dumps(Bomb(mark)))
    pickle.loads(bad.read_bytes())
    assert mark.exists()  # it would have gone off
    mark.unlink()
    assert_refused(bad, "is not an archive")
    np.savez(bad, bomb=np.array([Bomb(mark)], dtype=object))
    assert_refused(bad, "is not an archive")
    member = io.BytesIO()
    np.save(member, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    for name in ("bomb.npy", "starts.npy"):  # one more array, or in place of one
        with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as archive:
            for other in source.namelist():
                if other != name:
                    archive.writestr(other, source.read(other))
            archive.writestr(name, member.getvalue())
        assert_refused(bad, "is not an archive")
    assert not mark.exists()


# -- what cannot be loaded is not saved -------------------------------------------------------------------------------

SIZES = (5e-324, 1e-20, 1.0, 1e15)  # of rewards


def played(agent, size=1.0, episodes=4, prior=None):
    """A learner that was paid rewards of this size."""
    learner, rng = kl.Learner(agent, spaces.Discrete(6), spaces.Discrete(2), 4, prior=prior), np.random.default_rng(0)
    for _ in range(episodes):
        state = int(rng.integers(6))
        for _ in range(4):
            learner.act(state)
            state = int(rng.integers(6))
            learner.observe(float(size * rng.choice([-1.0, 0.5, 1.0])), state)
        learner.end_episode()
    return learner


@pytest.mark.thin(6)
@pytest.mark.filterwarnings("ignore::klearning.simulators.learner.PriorWarning")
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_whatever_was_paid_is_saved_and_loaded(agent, tmp_path):
    for size in SIZES:
        for prior in (None, kl.Prior()):
            learner = played(agent, size, prior=prior)
            learner.save(tmp_path / "x.npz")
            assert_same_state(state_of(kl.load(tmp_path / "x.npz")), state_of(learner))


@pytest.mark.thin(3)
@pytest.mark.parametrize("agent", STEPWISE, ids=str)
def test_a_memory_that_went_wrong_does_not_replace_a_good_file(agent, tmp_path):
    learner, path = played(agent), tmp_path / "x.npz"
    learner.save(path)
    before = path.read_bytes()
    learner.memory.policy[:] = np.nan
    with pytest.raises(ValueError, match=r"^cannot save to .*x\.npz, because it could not be loaded again: memory\."):
        learner.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]


SPOILT = {
    "returns": lambda learner: learner.returns.append(np.inf),
    "said": lambda learner: learner.plan_diagnostics.fill(np.nan),
    "starts": lambda learner: learner.starts.fill(-1.0),
    "episode": lambda learner: setattr(learner, "episodes_done", learner.episodes_done + 1),
    "rewards": lambda learner: learner._rewards.fill(1e16),
}


@pytest.mark.parametrize("part", SPOILT)
def test_a_learner_that_went_wrong_does_not_replace_a_good_file(part, tmp_path):
    learner, path = played(kl.VAPOR()), tmp_path / "x.npz"
    learner.act(0)
    learner.observe(1.0, 1)
    learner.save(path)
    before = path.read_bytes()
    SPOILT[part](learner)
    with pytest.raises(ValueError, match=r"^cannot save to .*x\.npz, because it could not be loaded again: [^\n]*$"):
        learner.save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("reward", [1.1e15, -1e16, 1e300, 1e308])
@pytest.mark.parametrize("agent", [kl.KLearning(), kl.VAPOR(), kl.QLearning()], ids=str)
def test_a_reward_too_large_to_be_added_up_is_refused(agent, reward):
    learner = played(agent)
    learner.act(0)
    with pytest.raises(ValueError, match=r"reward=.* of step 0 is beyond 1e\+15: give rewards in larger units"):
        learner.observe(reward, 1)
    learner.observe(1.0, 1, terminated=True)
    learner.end_episode()
    assert (learner.episodes_done, learner.returns[-1]) == (5, 1.0)


RICH = """
import gymnasium
class Rich(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)
    episode = -1
    def reset(self, *, seed=None, options=None):
        self.episode += 1
        return 0, {}
    def step(self, action):
        return 1, 1e300 if self.episode == 3 else 1.0, True, False, {}
"""


@pytest.mark.slow
def test_what_was_learnt_before_a_reward_is_too_large_is_saved(tmp_path):
    (tmp_path / "payer.py").write_text(RICH)
    words = ["learn", "payer.py:Rich", "QLearning", "-n", "9", "--horizon", "2", "-p", "sd=1", "--save", "x.npz"]
    done = klearning(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("klearning: reward=1e+300 of step 0 is beyond 1e+15")
    assert "Traceback" not in done.stderr
    assert kl.load(tmp_path / "x.npz").episodes_done == 3


# -- where nothing can be written -------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file(good, monkeypatch):
    before = good.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    learner, _ = begun("RLSVI")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*good\.npz: No space left on device"):
        learner.save(good)
    assert good.read_bytes() == before
    assert [path.name for path in good.parent.iterdir()] == ["good.npz"]
    monkeypatch.undo()
    learner.save(good)
    assert isinstance(kl.load(good).agent, kl.RLSVI)


def test_places_where_nothing_can_be_written(good, tmp_path):
    learner, _ = begun("RLSVI")
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in (folder, tmp_path / "none" / "x.npz", good / "x.npz"):
        with pytest.raises(OSError, match=f"cannot write {place}"):
            learner.save(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "good.npz"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    learner, _ = begun("RLSVI")
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write"):
        learner.save(tmp_path / "x.npz")


# -- files that were written before -----------------------------------------------------------------------------------

EXPECTED = json.loads((CORPUS / "expected.json").read_text())


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_corpus_is_read_and_goes_on(name):
    """A frozen file: an agent must go on as when the file was written."""
    want, learner = EXPECTED[name], kl.load(CORPUS / name)
    simulator = Clockwork(learner.observations.space)
    simulator.clock, simulator.state = want["clock"], want["state"]
    assert follow(learner, simulator, make_corpus.AFTER) == want["actions"]
    assert learner.returns == want["returns"]


def test_the_corpus_is_whole():
    files = {path.name: path.stat().st_size for path in CORPUS.glob("*.npz")}
    assert set(files) == set(EXPECTED)
    assert {f"learner_{name}.npz" for name in CASES} == set(files)
    assert max(files.values()) < 20_000
    assert {type(agent).__name__ for agent, *_ in CASES.values()} == set(AGENTS) - {"OptimalAgent"}


@pytest.mark.slow
def test_the_corpus_can_be_made_again(tmp_path):
    make_corpus.main(tmp_path)
    assert json.loads((tmp_path / "expected.json").read_text()) == EXPECTED
    for path in tmp_path.glob("*.npz"):
        path.write_bytes(b"written once")
    make_corpus.main(tmp_path)
    assert {path.read_bytes() for path in tmp_path.glob("*.npz")} == {b"written once"}


def test_memory_is_saved_by_name(good):
    """So that a later version may add to it, and knows what it reads."""
    with zipfile.ZipFile(good) as archive:
        names = {name for name in archive.namelist() if name.startswith("memory.")}
    assert "memory.posterior.model.rows.succ.npy" in names
    assert len(names) == len(leaves(kl.load(good).memory).values())
