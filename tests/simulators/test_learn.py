"""`learn` in Gymnasium environments, and those who watch: mirrors that can never fail a run."""

import csv
import inspect
import io
import re
import typing
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import klearning as kl
from klearning.numerics.records.fields import leaves
from klearning.tabular.models.tabular import read_horizon
from tests.support.small_worlds import Corridor, corridor


def assert_same_learning(got, want):
    """What was learned and planned; room to work in may hold other leftovers."""
    assert got.returns == want.returns
    ours, theirs = (x.memory._replace(work=0) if hasattr(x.memory, "work") else x.memory for x in (got, want))
    for x, y in zip(leaves(ours).values(), leaves(theirs).values(), strict=True):
        np.testing.assert_array_equal(x, y)


# -- learn ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL(), kl.QLearning()], ids=str)
@pytest.mark.parametrize("seed", [0, 5])
def test_learning_in_parts_is_learning_in_one_go(agent, seed):
    whole = kl.learn(agent, corridor(), episodes=20, seed=seed)
    parts = kl.learn(agent, corridor(), episodes=7, seed=seed)
    assert parts.episodes_done == 7
    for count in (1, 12):
        assert kl.learn(parts, corridor(), episodes=count) is parts
    assert_same_learning(parts, whole)
    other = kl.learn(agent, corridor(), episodes=20, seed=seed + 1)
    assert other.returns != whole.returns


def test_learn_is_the_loop_that_a_reader_would_write():
    """But for the seeds of the environment, which are handed over here."""

    class Recorded(gymnasium.Wrapper):
        seeds = []  # noqa: RUF012

        def reset(self, *, seed=None, options=None):
            self.seeds.append(seed)
            return super().reset(seed=seed, options=options)

    learnt = kl.learn(kl.PSRL(), Recorded(corridor()), episodes=15, seed=3)
    env = corridor()
    learner = kl.Learner(kl.PSRL(), env.observation_space, env.action_space, 10, seed=3)
    assert len(set(Recorded.seeds)) == 15
    for seed in Recorded.seeds:
        observation, _ = env.reset(seed=seed)
        done = False
        while not done:
            observation, reward, terminated, truncated, _ = env.step(learner.act(observation))
            learner.observe(reward, observation, terminated, truncated)
            done = terminated or truncated
        learner.end_episode()
    assert_same_learning(learnt, learner)


def test_k_learning_learns_the_corridor():
    learner = kl.learn(kl.KLearning(), corridor(6, slip=0.1, limit=15), episodes=200)
    assert np.mean(learner.returns[-50:]) > 0.9


def test_a_horizon_shorter_than_the_time_limit_cuts_episodes_short():
    steps = []
    kl.learn(kl.Random(), corridor(8), episodes=10, horizon=3, callbacks=[lambda r: steps.append(r.steps)])
    assert steps == [3] * 10


def test_spaces_of_several_kinds():
    class Both(gymnasium.Env):
        observation_space = spaces.Dict({"at": spaces.Discrete(3, start=-1), "key": spaces.MultiBinary(1)})
        action_space = spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([2, 2])])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return {"at": np.int64(-1), "key": np.zeros(1, np.int8)}, {}

        def step(self, action):
            assert action in self.action_space
            good = action[0] == 1 and action[1][0] == 0
            return self.observation_space.sample(), float(good), bool(self.np_random.random() < 0.2), False, {}

    learner = kl.learn(kl.KLearning(), Both(), episodes=150, horizon=5)
    assert learner.predict({"at": -1, "key": [0]})[0] == 1
    steps = np.mean([1, 0.8, 0.64, 0.512, 0.4096]) * 5
    assert np.mean(learner.returns[-50:]) > 0.8 * steps


class Endless(Corridor):
    def __repr__(self):
        return "<Endless>"


def test_an_environment_without_time_limit_needs_a_horizon():
    with pytest.raises(ValueError, match=r"env=<Endless> has no time limit, .*: give horizon="):
        kl.learn(kl.KLearning(), Endless(), episodes=1)
    assert kl.learn(kl.KLearning(), Endless(), episodes=1, horizon=7).horizon == 7


def test_the_horizon_is_that_of_the_time_limit():
    assert read_horizon(gymnasium.make("FrozenLake-v1"), None) == 100
    assert read_horizon(gymnasium.make("FrozenLake-v1", max_episode_steps=17), None) == 17
    assert read_horizon(corridor(limit=12), None) == 12
    assert read_horizon(gymnasium.wrappers.TransformReward(corridor(limit=12), float), None) == 12
    with pytest.raises(ValueError, match="horizon=0"):
        read_horizon(corridor(), 0)


def test_a_learner_goes_on_only_where_it_belongs():
    learner = kl.learn(kl.KLearning(), corridor(4), episodes=2)
    with pytest.raises(ValueError, match=r"observation space Discrete\(5\) is not the learner's, Discrete\(4\)"):
        kl.learn(learner, corridor(5), episodes=2)
    for more in ({"horizon": 5}, {"prior": kl.Prior()}):
        with pytest.raises(ValueError, match=f"{next(iter(more))}=.* belongs to the learner"):
            kl.learn(learner, corridor(4), episodes=2, **more)
    learner.act(0)
    with pytest.raises(ValueError, match="an episode is under way"):
        kl.learn(learner, corridor(4), episodes=2)
    learner.observe(0.0, 1, terminated=True)
    with pytest.raises(ValueError, match=r"an episode is under way.*end_episode\(\)"):
        kl.learn(learner, corridor(4), episodes=2)
    learner.end_episode()
    assert kl.learn(learner, corridor(4), episodes=2).episodes_done == 5


def test_steps_are_a_limit_beside_episodes():
    """No episode begins once N were played, and the last one is whole."""
    reports = []
    learner = kl.learn(kl.PSRL(), corridor(), steps=50, seed=6, callbacks=[reports.append])
    lengths = [report.steps for report in reports]
    assert sum(lengths) == learner.steps >= 50 > sum(lengths[:-1])
    same = kl.learn(kl.PSRL(), corridor(), episodes=len(lengths), seed=6)
    assert_same_learning(learner, same)
    assert kl.learn(kl.PSRL(), corridor(), steps=50, episodes=2).episodes_done == 2
    more = kl.learn(learner, corridor(), steps=1)  # one more episode
    assert (more.episodes_done, more.steps > sum(lengths)) == (len(lengths) + 1, True)
    assert kl.learn(kl.Random(), corridor(), steps=10**6, episodes=3).episodes_done == 3


def test_bad_numbers_of_learn_are_errors():
    for more in ({"episodes": 0}, {"steps": 0}, {"steps": 1.5}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(more))}="):
            kl.learn(kl.KLearning(), corridor(), **more)
    with pytest.raises(ValueError, match="evaluate_every=-1"):
        kl.learn(kl.KLearning(), corridor(), settings=kl.LearnSettings(evaluate_every=-1))
    with pytest.raises(ValueError, match="evaluate_every needs a model"):
        kl.learn(kl.KLearning(), corridor(), episodes=1, settings=kl.LearnSettings(evaluate_every=1))


class Fragile(Corridor):
    """Fails in the middle of the third episode."""

    episode, mended = 0, False

    def reset(self, *, seed=None, options=None):
        self.episode += 1
        return super().reset(seed=seed, options=options)

    def step(self, action):
        if self.episode == 3 and self.at == 1 and not self.mended:
            raise KeyboardInterrupt
        return super().step(action)


@pytest.mark.parametrize("agent", [kl.KLearning(), kl.PSRL(), kl.UCRL2(0.05), kl.UCBVI(scale=0.01)], ids=str)
@pytest.mark.parametrize("grow_states", [False, True])
def test_learning_goes_on_after_an_interruption_as_if_there_had_been_none(agent, grow_states):
    """The episode under way is given up, and played again from its beginning."""
    env = Fragile(30, slip=0.3)
    learner, calm = (
        kl.Learner(agent, env.observation_space, env.action_space, 25, grow_states=grow_states) for _ in range(2)
    )
    with pytest.raises(KeyboardInterrupt):
        kl.learn(learner, env, episodes=10)
    assert learner.episodes_done == 2
    env.mended = True
    for again, more in ((1, 3), (7, 7)):
        kl.learn(learner, env, episodes=again)
        kl.learn(calm, Corridor(30, slip=0.3), episodes=more)
        assert_same_learning(learner, calm)
    assert learner.observations.known == calm.observations.known
    np.testing.assert_array_equal(learner.starts, calm.starts)


# -- watching ---------------------------------------------------------------------------------------------------------


def test_callbacks_are_called_once_an_episode():
    one, two = [], []
    learner = kl.learn(kl.KLearning(), corridor(), episodes=6, callbacks=[one.append, two.append])
    assert one == two
    assert [report.episode for report in one] == [1, 2, 3, 4, 5, 6]
    assert [report.collected for report in one] == learner.returns
    assert all(report.terminated == (report.collected == 1.0) for report in one)
    assert one[-1].diagnostics == learner.diagnostics
    assert set(one[0].numbers()) == {"return", "steps", "temperature", "bound", "gap", "sweeps"}
    kl.learn(learner, corridor(), episodes=2, callbacks=[one.append])
    assert [report.episode for report in one[-2:]] == [7, 8]


def test_a_failing_callback_is_one_warning_and_learning_goes_on():
    calls, seen = [], []

    def broken(report):
        calls.append(report)
        if len(calls) == 2:
            raise OSError("disk full")

    with pytest.warns(RuntimeWarning, match="broken.*failed and is not called again: OSError: disk full"):
        learner = kl.learn(kl.KLearning(), corridor(), episodes=6, callbacks=[broken, seen.append])
    assert (len(calls), len(seen), learner.episodes_done) == (2, 6, 6)
    assert_same_learning(learner, kl.learn(kl.KLearning(), corridor(), episodes=6))


def test_interrupting_a_callback_interrupts():
    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kl.learn(kl.KLearning(), corridor(), episodes=6, callbacks=[stop])


def by_false(report):
    return report.episode < 3


def by_numpy(report):
    return np.float64(report.episode) < 3.0


def by_exception(report):
    if report.episode == 3:
        raise StopIteration


@pytest.mark.parametrize("stop", [by_false, by_numpy, by_exception])
def test_a_callback_may_stop_learning(stop):
    seen = []
    learner = kl.learn(kl.KLearning(), corridor(), episodes=6, callbacks=[stop, seen.append])
    assert (learner.episodes_done, len(seen)) == (3, 3)
    assert_same_learning(kl.learn(learner, corridor(), episodes=3), kl.learn(kl.KLearning(), corridor(), episodes=6))


def test_an_answer_that_is_merely_empty_stops_nothing():
    answers = [None, 0, "", []]
    learner = kl.learn(kl.KLearning(), corridor(), episodes=4, callbacks=[lambda r: answers[r.episode - 1]])
    assert learner.episodes_done == 4


# -- what is learned is handed back ------------------------------------------------------------------------------------


def test_an_interrupt_hands_the_learner_back():
    env = Fragile(30, slip=0.3)
    with pytest.raises(KeyboardInterrupt, match=r"stopped after 2 episodes; .* sys\.last_value\.learner") as caught:
        kl.learn(kl.KLearning(), env, episodes=10, horizon=25)
    learner = caught.value.learner
    assert (learner.episodes_done, len(learner.returns), learner.under_way) == (2, 2, False)
    env.mended = True
    assert_same_learning(
        kl.learn(learner, env, episodes=8), kl.learn(kl.KLearning(), Corridor(30, slip=0.3), episodes=10, horizon=25)
    )
    assert any(entry.name == "step" for entry in caught.traceback)  # where the simulator was is shown


# -- what people give in place of an environment ----------------------------------------------------------------------

MISTAKES = {
    "name": ("FrozenPond-v1", r"environment='FrozenPond-v1' is unknown: did you mean"),
    "world": (kl.deep_sea(4), r"env=MDP\(.*is a world: give kl\.WorldEnv\(world\), or .*kl\.run\(agent, world\)"),
    "class": (Corridor, r"env=<class .*Corridor'> is a class: give an environment, Corridor\(\)"),
    "none": (None, "env=None is not a Gymnasium environment"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_no_environment(mistake):
    thing, complaint = MISTAKES[mistake]
    with pytest.raises(ValueError, match=complaint):
        kl.learn(kl.KLearning(), thing, episodes=1)


def test_a_callback_that_is_no_list():
    with pytest.raises(ValueError, match=r"callbacks=.* is not a list of functions: give a list, \[callback\]"):
        kl.learn(kl.Random(), corridor(), episodes=1, callbacks=print)


def test_a_prior_that_is_none():
    for prior in (kl.Gaussian(0.0, 1.0, 0.5), kl.Dirichlet()):
        with pytest.raises(ValueError, match=r"prior=.* is not a Prior: give kl\.Prior\(reward="):
            kl.learn(kl.KLearning(), corridor(), episodes=1, prior=prior)


def test_csv(tmp_path):
    path = tmp_path / "log.csv"
    learner = kl.learn(kl.KLearning(), corridor(), episodes=4, callbacks=[kl.callbacks.CSVWriter(path)])
    kl.learn(learner, corridor(), episodes=3, callbacks=[kl.callbacks.CSVWriter(path)])  # continues the same file
    text = path.read_text()
    assert text.startswith("episode,return,steps,temperature,bound,gap,sweeps,value,regret\n")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["episode"]) for row in rows] == list(range(1, 8))
    assert [float(row["return"]) for row in rows] == learner.returns
    assert float(rows[-1]["temperature"]) == learner.diagnostics["temperature"]
    assert {row["value"] for row in rows} == {""}


def test_csv_of_another_agent_is_not_mixed_in(tmp_path):
    path = tmp_path / "log.csv"
    kl.learn(kl.KLearning(), corridor(), episodes=2, callbacks=[kl.callbacks.CSVWriter(path)])
    before = path.read_bytes()
    with pytest.warns(RuntimeWarning, match=r"log\.csv.* has other columns"):
        kl.learn(kl.PSRL(), corridor(), episodes=2, callbacks=[kl.callbacks.CSVWriter(path)])
    assert path.read_bytes() == before


def test_csv_that_cannot_be_written_is_a_warning(tmp_path):
    with pytest.warns(RuntimeWarning, match="CSVWriter.*failed"):
        learner = kl.learn(kl.KLearning(), corridor(), episodes=3, callbacks=[kl.callbacks.CSVWriter(tmp_path)])
    assert learner.episodes_done == 3


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX", reason="the extra `tensorboard` is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        writer = kl.callbacks.TensorBoardWriter(tmp_path)
        kl.learn(kl.KLearning(), corridor(), episodes=3, callbacks=[writer])
        writer.close()
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for name in (b"return", b"steps", b"temperature", b"gap"):
        assert data.count(name) == 3


def test_tensorboard_that_is_missing_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"pip install tensorboardX"):
        kl.callbacks.TensorBoardWriter(tmp_path)


def test_live_view(capsys):
    with kl.callbacks.LiveView() as view:
        learner = kl.learn(kl.KLearning(), corridor(), episodes=120, callbacks=[view])
    shown = capsys.readouterr().out
    assert "episode 120" in shown
    assert "mean of 100" in shown
    for name in ("return", "steps", "temperature", "bound", "gap"):
        assert name in shown
    assert f"{learner.diagnostics['temperature']:.4g}" in shown
    assert f"{np.mean(learner.returns[-100:]):.4g}" in shown


def test_live_view_of_steps(capsys):
    with kl.callbacks.LiveView(steps=40) as view:
        learner = kl.learn(kl.Random(), corridor(), steps=40, callbacks=[view])
    assert f"episode {learner.episodes_done}, step {learner.steps} of 40" in " ".join(capsys.readouterr().out.split())


def test_live_view_of_nothing(capsys):
    with kl.callbacks.LiveView():
        pass
    assert "episode" not in capsys.readouterr().out


# -- what the command line does ---------------------------------------------------------------------------------------


def test_an_environment_by_name_and_steps_as_others_write_them():
    learner = kl.learn(kl.PSRL(), "FrozenLake-v1", steps=1e2, seed=1)
    other = kl.learn(kl.PSRL(), gymnasium.make("FrozenLake-v1"), steps=100, seed=1)
    assert learner.returns == other.returns
    with pytest.raises(ValueError, match="did you mean 'FrozenLake-v1'"):
        kl.learn(kl.PSRL(), "FrozenLaek-v1")
    with pytest.raises(ValueError, match=r"steps=1\.5 is not a whole number"):
        kl.learn(kl.PSRL(), corridor(), steps=1.5)


def test_a_prior_is_suggested():
    learner = kl.learn(kl.PSRL(), "FrozenLake-v1", episodes=5, seed=3, prior="suggest")
    prior = kl.suggest_prior(gymnasium.make("FrozenLake-v1"), seed=3)
    assert repr(learner.prior) == repr(prior)
    assert learner.returns == kl.learn(kl.PSRL(), "FrozenLake-v1", episodes=5, seed=3, prior=prior).returns
    with pytest.raises(ValueError, match="prior='suggets' is unknown: did you mean 'suggest'"):
        kl.learn(kl.PSRL(), corridor(), prior="suggets")


def test_it_is_saved_at_the_end_and_on_an_interrupt_and_resumed(tmp_path):
    path, env = tmp_path / "out" / "x.npz", corridor()
    whole = kl.learn(kl.PSRL(), env, episodes=20, seed=6, save=path)
    assert kl.load(path).returns == whole.returns

    def stop(report):
        if report.episode == 9:
            raise KeyboardInterrupt

    cut = tmp_path / "cut.npz"
    with pytest.raises(KeyboardInterrupt, match=re.escape(f"stopped after 9 episodes; saved: {cut}")):
        kl.learn(kl.PSRL(), env, episodes=20, seed=6, resume=cut, callbacks=[stop])
    assert kl.load(cut).episodes_done == 9
    again = kl.learn(kl.PSRL(), env, episodes=20, seed=6, resume=cut)
    assert again.returns == whole.returns
    assert cut.read_bytes() == path.read_bytes()
    assert kl.learn(kl.PSRL(), env, episodes=20, seed=6, resume=cut).returns == whole.returns  # nothing is left to do
    for other in ({"seed": 7}, {"horizon": 3}, {"prior": kl.Prior()}, {"settings": kl.LearnSettings(decay=0.9)}):
        with pytest.raises(ValueError, match=r"=.* is not that of .*cut\.npz, "):
            kl.learn(kl.PSRL(), env, episodes=30, resume=cut, **other)
    with pytest.raises(ValueError, match=r"agent=KLearning\(.* is not that of"):
        kl.learn(kl.KLearning(), env, episodes=30, resume=cut)
    with pytest.raises(ValueError, match="leave one out"):
        kl.learn(again, env, episodes=30, resume=cut)


def test_it_is_saved_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr("klearning.simulators.autosave.SECONDS", 0.0)
    monkeypatch.setattr("klearning.simulators.autosave.TIMES", 0.0)
    path, seen = tmp_path / "x.npz", []

    def look(report):
        seen.append(kl.load(path).episodes_done if path.exists() else 0)

    kl.learn(kl.Random(), corridor(), episodes=5, save=path, callbacks=[look])
    assert seen == [0, 1, 2, 3, 4]


def test_progress_is_shown(capsys):
    kl.learn(kl.Random(), corridor(), episodes=7, progress=True)
    assert "episode 7 of 7" in capsys.readouterr().out
    with pytest.raises(ValueError, match="progress='yes' is neither True nor False"):
        kl.learn(kl.Random(), corridor(), episodes=7, progress="yes")


class OldGym:
    """A simulator of the old Gym: reset returns an observation alone, step returns four things."""

    observation_space: Any = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    spec, unwrapped = None, None

    def reset(self, seed=None):
        return 0

    def step(self, action):
        return 1, 1.0, True, {}


class Seedless(OldGym):
    def reset(self):
        return 0


class HalfOld(OldGym):
    def reset(self, seed=None):
        return 0, {}


class OtherSpaces(OldGym):
    observation_space: Any = "Discrete(2)"


@pytest.mark.parametrize(
    ("env", "line"),
    [
        (
            OldGym(),
            r"reset\(\) returned 0, and Gymnasium's returns \(observation, info\): wrap a simulator of the old Gym",
        ),
        (Seedless(), r"takes no seed=, as Gymnasium's does"),
        (HalfOld(), r"step\(\) returned \(1, 1\.0, True, \{\}\), and Gymnasium's returns \(observation, reward, "),
        (OtherSpaces(), r"has the space 'Discrete\(2\)', which is not one of Gymnasium's"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_foreign_shapes_get_one_clear_line(env, line):
    """Pain 12: `Moment() argument after * must be an iterable, not int`."""
    with pytest.raises(ValueError, match=line):
        kl.learn(kl.PSRL(), env, episodes=1, horizon=3)
    with pytest.raises(ValueError, match=line):
        kl.suggest_prior(env, horizon=3)


class Bare:
    """A simulator with no more than an environment needs: neither spec nor unwrapped."""

    observation_space, action_space = OldGym.observation_space, OldGym.action_space

    def reset(self, seed=None):
        return 0, {}

    def step(self, action):
        return 1, 1.0, True, False, {}


def test_an_environment_without_a_spec_needs_a_horizon():
    assert kl.learn(kl.PSRL(), Bare(), episodes=2, horizon=3).returns == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"has no time limit, so an episode may never end: give horizon="):
        kl.learn(kl.PSRL(), Bare(), episodes=1)


def test_what_learn_returns_is_what_its_annotation_says():
    assert typing.get_overloads(kl.learn)[-1].__annotations__["return"] in (kl.Learner, "Learner")
    parameters = inspect.signature(kl.learn).parameters
    assert len(parameters) <= 12
