"""Memory that agents that plan by value iteration carry from one episode to the next."""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.trials.agent import Agent


@field_roles(finite=("reward", "Q", "V", "scratch"), probabilities=("policy",))
class Planning(NamedTuple):
    """The posterior, the last plan made from it, and a workspace for the next; axes (action, state)."""

    posterior: Posterior
    reward: Floats  # the reward that is planned with, bonus included, a column per row of the tables
    Q: Floats
    V: Floats
    policy: Floats
    scratch: Floats


def planning(posterior: Posterior, Q: Floats | None = None) -> Planning:
    """Begin with this posterior, and with Q if the algorithm needs one to begin from."""
    layers = posterior.model.layers
    shape = (posterior.visits.shape[0], int(layers[-1]))
    start = np.zeros(shape) if Q is None else Q
    scratch = np.zeros(int(np.diff(layers).max()))
    return Planning(posterior, np.zeros_like(posterior.visits), start, np.zeros(shape[1]), np.zeros(shape), scratch)


@kernel
def update(memory: Planning, episode: Episode) -> Planning:
    """Condition on one episode."""
    p = learn(memory.posterior, episode)
    return Planning(p, memory.reward, memory.Q, memory.V, memory.policy, memory.scratch)


class ValueIteration(Agent[Planning]):
    """An agent that begins with the posterior; what it plans on top of that is its own."""

    def begin(self, belief: Belief) -> Planning:
        return planning(belief.posterior())


def steps_to_go(posterior: Posterior) -> Floats:
    """L − l for every (a, s), layers counted from 0: the most that rewards in [0, 1] can still pay."""
    layers = posterior.model.layers
    to_go = np.repeat(np.arange(len(layers) - 1, 0, -1.0), np.diff(layers))
    return np.tile(to_go, (posterior.visits.shape[0], 1))
