"""An agent from outside the package: one file, three methods at most, and it goes wherever ours go."""

import importlib.util
import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import klearning as kl
from klearning import extension
from klearning.extension import Episode
from klearning.tabular.trials.agent import Agent, check_methods

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own_agent.md"
FILE = '''
"""Sets out as if all had been tried once and had paid ``hope``."""

from dataclasses import dataclass
from typing import NamedTuple

import klearning as kl
from klearning.extension import Floats, greedy


class Memory(NamedTuple):
    Q: Floats
    visits: Floats
    policy: Floats


@dataclass(frozen=True)
class Averaging(kl.Agent[Memory]):
    hope: float = 1.0

    def begin(self, belief):
        Q = kl.QLearning().begin(belief).policy * 0.0 + self.hope
        return Memory(Q, Q * 0.0 + 1.0, Q * 0.0)

    def plan(self, memory, streams, t, diagnostics):
        greedy(memory.Q, memory.policy)
        return memory

    def update(self, memory, episode, t):
        for i, (s, a) in enumerate(zip(episode.states, episode.actions)):
            memory.visits[a, s] += 1.0
            memory.Q[a, s] += (episode.rewards[i:].sum() - memory.Q[a, s]) / memory.visits[a, s]
        return memory
'''


@pytest.fixture
def averaging(tmp_path):
    path = tmp_path / "averaging.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location("averaging", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Averaging


def test_one_file_is_an_agent(averaging):
    agent = averaging()
    kl.check_agent(agent, episodes=5)
    runs = kl.run(agent, kl.bandit([0.1, 0.9], noise=0.05), episodes=50, seeds=2)
    assert (runs.values[:, -1] == 0.9).all()
    learner = kl.learn(agent, gym.make("FrozenLake-v1"), episodes=5, seed=0)
    assert learner.episodes_done == 5
    assert learner.predict(0) in range(4)


def test_the_page_names_all_that_is_promised():
    page = (PAGE.parents[1] / "reference" / "api" / "extension.md").read_text()
    named = re.findall(r"^\.\. (?:autoclass|autofunction|data):: (\w+)$|^.*?\[`(\w+)`\]", page, re.MULTILINE)
    assert sorted(a or b for a, b in named) == sorted(extension.__all__)
    assert all(name in extension.__doc__ for name in extension.__all__)


class Complete:
    """Has all methods, and does not inherit from `Agent`."""

    diagnostics = kl.KLearning().diagnostics
    inner = kl.KLearning()

    def __getattr__(self, name):
        if name in ("set_start", "posterior"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def test_a_class_that_does_not_inherit_will_do():
    agent = Complete()
    kl.check_agent(agent, episodes=5)
    assert kl.run(agent, kl.deep_sea(3), episodes=5, seeds=1).values.shape == (1, 5)
    assert kl.learn(agent, gym.make("FrozenLake-v1"), episodes=3).episodes_done == 3


def test_defaults_do_what_the_compiled_loop_does():
    """Bit for bit: `advance` in Python, conditioning the posterior, values and policy for the end."""

    class Plain(kl.PSRL):
        advance = Agent.advance

    Plain.__name__ = "PSRL"  # streams go by the name
    world = kl.river_swim(horizon=6)
    for name in ("values", "returns", "visits"):
        ours, plain = (getattr(kl.run(a, world, episodes=30, seeds=2), name) for a in (kl.PSRL(), Plain()))
        np.testing.assert_array_equal(ours, plain)


def test_defaults_without_a_posterior():
    agent = kl.Random()
    memory = agent.begin(kl.Belief.empty(kl.Prior(), [1, 2], 2, [1.0]))
    assert agent.posterior(memory) is None
    assert agent.update(memory, Episode(np.array([0, 1]), np.array([0, 0]), np.zeros(2)), 0) is memory
    np.testing.assert_array_equal(agent.values(memory), np.zeros(3))
    best = agent.exploit(memory)
    best[:] = 0.0
    np.testing.assert_array_equal(memory.policy, 0.5)
    agent.set_start(memory, np.ones(1))


# -- not an agent -----------------------------------------------------------------------------------------------------


class Speechless:
    def begin(self, belief): ...

    def advance(self, memory, task, first, count): ...

    def values(self, memory): ...


class Repeating(kl.PSRL):
    diagnostics = ("value", "value")


WORLD = kl.bandit([0.1, 0.9])


@pytest.mark.parametrize("use", [lambda agent: kl.run(agent, WORLD), kl.check_agent, check_methods])
@pytest.mark.parametrize(
    ("agent", "complaint"),
    [
        (kl.KLearning, r"^agent=.*KLearning.* is a class: give an agent, KLearning\(\)$"),
        ("KLearning", r"^agent='KLearning' is a string: give an agent, for example KLearning\(\)$"),
        (None, "^agent=None has no method 'begin': inherit from klearning.Agent"),
        (Speechless(), r"^agent=.* has diagnostics=None: give a tuple of different names"),
        (Repeating(), r"^agent=Repeating\(\) has diagnostics=\('value', 'value'\): give a tuple of different names"),
    ],
    ids=["a class", "a text", "none", "without diagnostics", "diagnostics twice"],
)
def test_what_is_no_agent_is_refused(agent, complaint, use):
    with pytest.raises(ValueError, match=complaint):
        use(agent)


def test_what_is_no_prior_is_refused():
    with pytest.raises(ValueError, match=r"^prior=Gaussian\(.*\) is not a Prior: give one"):
        kl.run(kl.PSRL(), WORLD, prior=kl.Gaussian())


@pytest.mark.parametrize(
    ("thing", "complaint"),
    [
        (kl.deep_sea, r"^world=<function deep_sea.* is not an MDP: call it, deep_sea\(…\)$"),
        (kl.WorldEnv(WORLD), r"is not an MDP: let the agent learn in an environment, kl\.learn\(agent, env\)"),
        ("deep_sea", r"^world='deep_sea' is not an MDP: give one, for example deep_sea\(10\)$"),
    ],
    ids=["a function", "an environment", "a name"],
)
def test_what_is_no_world_is_refused(thing, complaint):
    with pytest.raises(ValueError, match=complaint):
        kl.run(kl.PSRL(), thing)


def test_what_is_no_belief_is_refused():
    with pytest.raises(ValueError, match=r"^belief=Prior\(.*is not a Belief: give one, for example Belief\.before"):
        kl.solve(kl.Prior())


def test_begin_cannot_be_left_out():
    class Unborn(kl.Agent):
        pass

    with pytest.raises(TypeError, match="begin"):
        Unborn()
