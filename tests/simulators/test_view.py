"""What a learner shows of itself: values against evaluation, spreads against sampling, a policy read elsewhere."""

import json
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import klearning as kl
from klearning.simulators.space_index import named_parts, plain
from klearning.tabular.agents import AGENTS
from klearning.tabular.beliefs.value_draws import value_spread
from klearning.tabular.trials.agent import as_agent
from tests.support.crafted_records import ESCAPES, SCRIPT
from tests.support.doc_blocks import ROOT, blocks_of
from tests.support.oracles import assert_close

PRIOR = kl.Prior(kl.Gaussian(0.0, 0.5, 0.2), kl.Dirichlet(1.0), stationary=True)
LAYERED = kl.Prior(kl.Gaussian(0.0, 0.5, 0.2), kl.Dirichlet(1.0))
HORIZON = 4


class Corridor(gym.Env):
    """Six places in a row, of which the last ends the episode; left or right, and sometimes the other way."""

    def __init__(self, observation_space=None, action_space=None):
        self.observation_space = observation_space or spaces.Discrete(6)
        self.action_space = action_space or spaces.Discrete(2)
        self.place = 0

    def see(self):
        match self.observation_space:
            case spaces.Discrete():
                return self.place + int(self.observation_space.start)
            case spaces.MultiDiscrete():
                return np.array([self.place // 3, self.place % 3])
            case spaces.Dict():
                return {"half": self.place // 3, "rest": np.array([self.place % 3])}
        return self.place // 3, self.place % 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.see(), {}

    def step(self, action):
        right = bool(np.ravel(action)[-1] if not isinstance(action, dict) else action["go"])
        right ^= self.np_random.random() < 0.2
        self.place = max(0, self.place + (1 if right else -1))
        return self.see(), 0.1 * self.place, self.place == 5, False, {}


def learnt(agent=None, prior=PRIOR, episodes=12, env=None, **options):
    settings = kl.LearnSettings(**options)
    env = env or Corridor()
    return kl.learn(agent or kl.PSRL(), env, horizon=HORIZON, prior=prior, episodes=episodes, settings=settings)


def mean_world(learner):
    """The MDP of posterior means."""
    b = learner.belief
    return kl.MDP.from_layers(b.reward_means, b.transition_means, b.initial)


@pytest.mark.parametrize("prior", [PRIOR, LAYERED], ids=["stationary", "layered"])
def test_values_are_those_of_the_greedy_policy_in_the_mean_world(prior):
    learner = learnt(prior=prior)
    greedy = learner.policies([0, 1, 2, 3, 4], how="greedy")
    world, points = mean_world(learner), learner.observations.numbered_points()
    table = learner.view.greedy.T
    exact = kl.evaluate(world, table)
    numbers = [1 + points.index(o) for o in points]
    assert_close(learner.values(points), np.array(exact.values)[:, numbers])
    assert_close(learner.action_values(points), np.array(exact.q_values)[:, numbers])
    for step in range(HORIZON):
        frame = learner.table(step=step, draws=0)
        assert frame["observation"].tolist() == points
        assert_close(frame["value"].to_numpy(), np.array(exact.values)[step, numbers])
        assert frame["action"].tolist() == [learner.predict(o, step=step) for o in points]
    assert greedy.shape == (HORIZON, 5, 2)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [PRIOR, LAYERED], ids=["stationary", "layered"])
def test_uncertainty_is_the_spread_over_worlds_drawn_from_the_belief(prior):
    """Two estimates of each standard deviation, from 2,000 and 400 draws: relative errors of 1.6% and 3.5% each.

    25% is more than six standard deviations of their difference: a false alarm once in 1e7 (and seeds are fixed).
    """
    learner = learnt(prior=prior, episodes=6)
    belief, width = learner.belief, learner.view.width
    policy = learner.view.greedy
    drawn = [kl.evaluate(belief.sample(seed), policy.T) for seed in range(400)]
    first = slice(0, width)
    spread = value_spread(belief.posterior(), policy, first, 2000, 0)
    values = np.std([d.values[0] for d in drawn], axis=0, ddof=1)
    actions = np.std([d.q_values[0] for d in drawn], axis=0, ddof=1).T
    assert values[0] == spread.values[0] == 0.0  # nothing is uncertain where the episode is over
    np.testing.assert_allclose(spread.values, values, rtol=0.25)
    np.testing.assert_allclose(spread.action_values, actions, rtol=0.25)
    np.testing.assert_allclose(
        value_spread(belief.posterior(), policy, first, 2000, 0, by_action=False).values, values, rtol=0.25
    )
    one, same, other = (learner.table(draws=5, seed=seed)["uncertainty"].tolist() for seed in (3, 3, 4))
    assert one == same != other


def test_uncertainty_is_discounted():
    """One state for two steps, its reward N(0, 1): V = (1 + γ)·μ. 7% is 4.4 standard errors: 1e-5 by chance."""
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.5), kl.Known([np.ones((1, 1, 1))]), stationary=True)
    p = kl.Belief.empty(prior, [1, 1], 1, [1.0], discount=0.25).posterior()
    np.testing.assert_allclose(value_spread(p, np.ones((1, 2)), slice(0, 2), 2000, 0).values, [1.25, 1.0], rtol=0.07)


@pytest.mark.parametrize("prior", [PRIOR, LAYERED], ids=["stationary", "layered"])
def test_what_is_believed_of_an_observation(prior):
    learner = learnt(prior=prior, episodes=20)
    belief, points = learner.belief, learner.observations.numbered_points()
    for o in points:
        account, s = learner.about(o, step=1), 1 + points.index(o)
        assert account.met
        assert account.best == learner.predict(o, step=1)
        for a, action in enumerate(account.actions):
            probabilities = belief.transition_means[1][s, a]
            assert action.end == pytest.approx(probabilities[0])
            for successor in action.successors:
                assert successor.probability == pytest.approx(probabilities[1 + points.index(successor.observation)])
            assert action.end + action.elsewhere + sum(y.probability for y in action.successors) == pytest.approx(1.0)
            assert action.reward == pytest.approx(belief.reward_means[1][s, a])
            assert action.reward_sd**2 == pytest.approx(belief.reward_variances[1][s, a])
            assert action.visits == belief.in_layers(belief.visits)[1][s, a]
    assert not learner.about(5).met  # the end of the corridor is never acted in
    assert "never" in repr(learner.about(5))
    assert len(repr(learner.about(0)).splitlines()) <= 10


def test_predict_tells_what_was_never_met():
    learner = learnt()
    action, info = learner.predict(0, info=True)
    assert (action, info["met"], info["probability"]) == (learner.predict(0), True, 1.0)
    assert info["visits"] == learner.table(draws=0).set_index("observation").loc[0, "visits"]
    assert info["value"] == learner.values([0])[0, 0]
    assert learner.predict(5, info=True)[1] == {**learner.predict(5, info=True)[1], "met": False, "visits": 0.0}
    chances = learner.policies([0])[0, 0]
    action, info = learner.predict(0, how="soft", info=True)
    assert info["probability"] == chances[action]


def test_all_points_are_rows_where_all_have_a_number():
    learner = learnt(grow_states=False)
    frame = learner.table(draws=3)
    assert frame["observation"].tolist() == list(range(6))
    assert frame["met"].tolist() == [bool(n) for n in frame["visits"]]
    assert not frame["met"].iloc[5]
    assert not learner.met(5)
    assert learner.met(0)


@pytest.mark.parametrize("name", sorted(set(AGENTS.ours) - {"OptimalAgent", "VBOS"}))
def test_every_agent_can_be_looked_at(name, tmp_path):
    learner = learnt(AGENTS[name](), grow_states=True)
    frame = learner.table(draws=2)
    assert list(frame) == ["observation", "action", "value", "uncertainty", "visits", "met"]
    assert np.isfinite(frame["value"]).all()
    counted = not frame["visits"].isna().any()
    assert counted == (name != "Random")
    if counted:
        assert frame["visits"].max() > 0
    with_prior = {"KLearning", "InformationDirected", "VAPOR", "PSRL", "BEB", "BOLT"}
    assert frame["uncertainty"].notna().all() == (name in with_prior)
    assert frame["uncertainty"].isna().any() == frame["uncertainty"].isna().all()
    by_action = learner.table(by="action", draws=2)
    assert len(by_action) == 2 * len(frame)
    assert by_action.groupby("observation")["probability"].sum().to_numpy() == pytest.approx(1.0)
    assert repr(learner.about(0))
    learner.export(tmp_path / "policy.json")
    assert "Learner" in learner._repr_html_()


def test_what_cannot_be(tmp_path):
    learner = learnt()
    for call, text in (
        (lambda: learner.table(step=HORIZON), "not below the horizon"),
        (lambda: learner.table(by="state"), "by='state'"),
        (lambda: learner.table(draws=1), "give at least 2"),
        (lambda: learner.about(7), "outside"),
        (lambda: learner.met("x"), "outside"),
        (lambda: learner.export("policy.csv"), "neither in .npz nor in .json"),
        (lambda: learnt(kl.Random()).action_values([0]), "no values of actions"),
        (lambda: learner.values(3), "observations=3 is one: give a list, [3]"),
        (lambda: learner.policies({"at": 3}), "is one: give a list, [{'at': 3}]"),
    ):
        with pytest.raises(ValueError, match=re.escape(text)):
            call()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="cannot write"):
        learner.export(tmp_path / "file" / "policy.npz")


def test_looking_changes_nothing(tmp_path):
    """The same bytes, with looks in between or without."""
    env = Corridor()
    for name, looks in (("with", True), ("without", False)):
        learner = kl.Learner(kl.PSRL(), env.observation_space, env.action_space, HORIZON, prior=PRIOR)
        for _ in range(3):
            kl.learn(learner, env, episodes=3)
            if looks:
                learner.table(draws=3)
                learner.about(0)
                learner.predict(1, info=True)
                learner.export(tmp_path / "policy.npz")
        learner.save(tmp_path / name)
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()


def test_parts_of_points_are_columns():
    space = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.MultiBinary(2), spaces.Discrete(2)])})
    point = {"a": 2, "b": (np.array([0, 1], np.int8), 1)}
    assert space.contains(point)
    columns = {"x.a": [2], "x.b.0.0": [0], "x.b.0.1": [1], "x.b.1": [1]}
    assert named_parts("x", [point]) == columns
    pandas = pytest.importorskip("pandas")
    assert list(pandas.json_normalize({"x": {"a": 2}})) == ["x.a"]
    assert json.loads(json.dumps(plain(point))) == {"a": 2, "b": [[0, 1], 1]}


SPACES = {
    "numbers": (spaces.Discrete(6, start=10), spaces.Discrete(2, start=-1)),
    "arrays": (spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([1, 2])),
    "names": (spaces.Dict({"half": spaces.Discrete(2), "rest": spaces.MultiDiscrete([3])}), spaces.Discrete(2)),
    "tuples": (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)]), spaces.Dict({"go": spaces.Discrete(2)})),
}
WITHOUT_US = """
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("klearning", "numba", "gymnasium", "rich", "pandas"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
from {module} import act
points = json.load(open("points.json"))
print(json.dumps([[act(p, step) for p in points] for step in range({horizon})], default=lambda x: x.tolist()))
"""


@pytest.mark.parametrize("form", ["npz", "json"])
@pytest.mark.parametrize("kind", SPACES)
def test_a_policy_is_read_without_klearning(kind, form, tmp_path):
    """By the very lines that the page shows, in a process that can import neither klearning nor Numba."""
    observation_space, action_space = SPACES[kind]
    learner = learnt(env=Corridor(observation_space, action_space))
    learner.export(tmp_path / f"policy.{form}")
    reader = {b.remark("file"): b.text for b in blocks_of(ROOT / "docs" / "howto" / "looking.md")}
    (tmp_path / f"read_{form}.py").write_text(reader[f"read_{form}.py"])
    assert len([line for line in reader[f"read_{form}.py"].splitlines() if line]) <= 12
    everything = [plain(p) for p in learner.observations.all_points()]
    (tmp_path / "points.json").write_text(json.dumps(everything))
    script = textwrap.dedent(WITHOUT_US).format(module=f"read_{form}", horizon=HORIZON)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    points = learner.observations.all_points()
    expected = [[plain(learner.predict(p, step)) for p in points] for step in range(HORIZON)]
    answers = json.loads(done.stdout)
    if form == "npz":  # which knows the numbers that an action is made of, not its form
        expected = [[list(dict(named_parts("a", [a])).values()) for a in row] for row in expected]
        expected = [[[x[0] for x in a] for a in row] for row in expected]
        answers = [[np.ravel(a).tolist() for a in row] for row in answers]
    assert answers == expected


def test_an_exported_policy_holds_odd_names_as_text(tmp_path):
    """Names of parts come from the simulator; they name no file, and nothing is pickled."""
    names = ["__class__", "../../x", SCRIPT, ESCAPES, "=1+1", "日本\u202e"]
    learner = kl.Learner(
        kl.QLearning(), spaces.Dict({name: spaces.Discrete(2) for name in names}), spaces.Discrete(2), 2
    )
    learner.act(dict.fromkeys(names, 0))
    learner.observe(1.0, dict.fromkeys(names, 1), terminated=True)
    learner.end_episode()
    for form in ("npz", "json"):
        learner.export(tmp_path / f"policy.{form}")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["policy.json", "policy.npz"]
    parts = json.loads((tmp_path / "policy.json").read_text())["observation_parts"]
    assert set(parts) == {f"observation.{name}" for name in names}
    with np.load(tmp_path / "policy.npz", allow_pickle=False) as arrays:
        assert set(arrays["observation_parts"]) == {f"observation.{name}" for name in names}
        assert set(arrays.files) == {
            "best", "never_met", "observations", "actions", "observation_parts", "action_parts"
        }  # fmt: skip


def test_an_agent_that_is_no_child_of_ours_can_be_looked_at():
    learner = learnt()
    stranger = SimpleNamespace(**{name: getattr(learner.agent, name) for name in ("exploit", "values")})
    learner.methods = as_agent(SimpleNamespace(begin=learner.agent.begin, **vars(stranger)))
    assert learner.table(draws=2)["uncertainty"].notna().all()


def test_frequencies_are_no_belief_even_where_they_are_shrunk_like_one():
    learner = learnt(kl.RLSVI(sd=0.5, noise=0.2))
    assert learner.view.posterior.prior == PRIOR.reward.numbers()
    assert learner.table()["uncertainty"].isna().all()
