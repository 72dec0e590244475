"""A simulator with an interface of its own: an adapter of two methods, and everything for Gymnasium takes it."""

import json

import numpy as np
from gymnasium.vector import SyncVectorEnv

import klearning as kl
from tests.support.commands import klearning
from tests.support.own_code import imported

FILE = """
import random

from gymnasium import Env, spaces


class Ferry:
    '''Somebody's simulator: carry five passengers over the river, each boat half full or full.'''

    def new_day(self, seed):
        self.waiting, self.weather = 5, random.Random(seed)

    def sail(self, passengers):
        sunk = passengers == 2 and self.weather.random() < 0.1
        self.waiting = max(self.waiting - passengers, 0)
        return {"waiting": self.waiting, "cost": 20.0 if sunk else 3.0, "done": sunk or not self.waiting}


class FerryEnv(Env):
    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.ferry = Ferry()
        self.ferry.new_day(int(self.np_random.integers(2**31)))
        return self.ferry.waiting, {}

    def step(self, action):
        day = self.ferry.sail(int(action) + 1)
        return day["waiting"], -day["cost"], day["done"], False, {}
"""
PRIOR = kl.Prior(kl.Gaussian(-5.0, 5.0, 5.0), kl.Dirichlet(0.5), stationary=True)


def test_a_learner_learns_in_it(tmp_path):
    env = imported(FILE, tmp_path / "ferry_of_mine.py").FerryEnv()
    learner = kl.learn(kl.KLearning(), env, prior=PRIOR, episodes=60, horizon=5, seed=0)
    learner.save(tmp_path / "ferry.npz")
    back = kl.load(tmp_path / "ferry.npz")
    assert [back.predict(s) for s in range(6)] == [learner.predict(s) for s in range(6)]
    assert np.isfinite(learner.returns).all()
    assert back.predict(1) == 0  # one passenger needs no full boat


def test_several_at_once(tmp_path):
    module = imported(FILE, tmp_path / "ferry_of_mine.py")
    both = SyncVectorEnv([module.FerryEnv, module.FerryEnv])
    assert kl.learn(kl.PSRL(), both, prior=PRIOR, episodes=10, horizon=5, seed=0).episodes_done == 10


def test_the_command_line_takes_it(tmp_path):
    (tmp_path / "ferry.py").write_text(FILE)
    done = klearning("learn", "ferry.py:FerryEnv", "PSRL", "-n", "10", "--horizon", "5", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
