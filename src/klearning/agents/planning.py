"""What the agents that plan by value iteration carry from one episode to the next."""

from typing import NamedTuple

import numpy as np

from klearning.beliefs import Episode, Posterior, learn
from klearning.compiled import Floats, kernel


class Planning(NamedTuple):
    """What is known, the last plan made from it, and room for making one; axes (action, state)."""

    posterior: Posterior
    reward: Floats  # the reward that is planned with, bonus included
    Q: Floats
    V: Floats
    policy: Floats
    scratch: Floats


def planning(posterior: Posterior, Q: Floats | None = None) -> Planning:
    """Begin with this knowledge, and with Q where the algorithm needs one to begin from."""
    shape = posterior.visits.shape
    start = np.zeros(shape) if Q is None else Q
    width = int(np.diff(posterior.model.layers).max())
    return Planning(posterior, np.zeros(shape), start, np.zeros(shape[1]), np.zeros(shape), np.zeros(width))


@kernel
def update(memory: Planning, episode: Episode) -> Planning:
    """Condition on one episode."""
    p = learn(memory.posterior, episode)
    return Planning(p, memory.reward, memory.Q, memory.V, memory.policy, memory.scratch)


def steps_to_go(posterior: Posterior) -> Floats:
    """L − l for every (a, s), layers counted from 0: the most that rewards in [0, 1] can still pay."""
    layers = posterior.model.layers
    left = np.repeat(np.arange(len(layers) - 1, 0, -1.0), np.diff(layers))
    return np.array(np.broadcast_to(left, posterior.visits.shape), order="C")


def planned_values(memory: Planning) -> Floats:
    """V of the last plan."""
    return memory.V.copy()
