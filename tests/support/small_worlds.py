"""Small stationary worlds whose state 0 is where an episode is over, and the same as Gymnasium environments."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import klearning as kl

HORIZON = 6


def leaving(seed=0, horizon=HORIZON, states=4, actions=3, always=False):
    """State 1 begins. Every action may end the episode; if ``always``, states only go up, so that every episode ends.

    Rewards are in [0, 1] and without noise, so that they may be learned as coin flips too.
    """
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(states + 1, 0.5), size=(states + 1, actions))
    if always:  # from s to s + 1 .. states, or to the end
        P *= (np.arange(states + 1) > np.arange(states + 1)[:, None])[:, None, :]
    P[:, :, 0] = 0.25
    P[:, :, 1:] *= 0.75 / np.maximum(P[:, :, 1:].sum(axis=2, keepdims=True), 1e-9)
    P[P.sum(axis=2) < 0.9] = np.eye(states + 1)[0]
    P[0] = np.eye(states + 1)[0]
    rewards = rng.uniform(0, 1, (states + 1, actions))
    rewards[0] = 0.0
    world = kl.MDP.from_stationary(rewards, P, np.eye(states + 1)[1], horizon, name="leaving")
    return replace(world, end=0)


class Corridor(gymnasium.Env[Any, Any]):
    """States 0 .. length−1; right reaches the last and ends with 1, left goes back; a step may slip. Begins at 0."""

    def __init__(self, length=4, slip=0.2):
        self.length, self.slip = length, slip
        self.observation_space, self.action_space = spaces.Discrete(length), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        right = (action == 1) != (self.np_random.random() < self.slip)
        self.at = min(self.at + 1, self.length - 1) if right else max(self.at - 1, 0)
        there = self.at == self.length - 1
        return self.at, float(there), there, False, {}


def corridor(length=4, slip=0.2, limit=10):
    return gymnasium.wrappers.TimeLimit(Corridor(length, slip), limit)
