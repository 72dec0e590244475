"""What the agents that plan by value iteration have in common: what they carry from one episode to the next."""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compiled import kernel
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, check_derived, learn
from klearning.tabular.trials.agent import Agent


@marked(finite=("reward", "Q", "V", "scratch"), chances=("policy",))
class Planning(NamedTuple):
    """What is known, the last plan made from it, and room for making one; axes (action, state)."""

    posterior: Posterior
    reward: Floats  # the reward that is planned with, bonus included, a column per row of the tables
    Q: Floats
    V: Floats
    policy: Floats
    scratch: Floats

    def check(self, fresh: "Planning", name: str) -> None:
        check_derived(self.posterior, fresh.posterior, f"{name}.posterior")


def planning(posterior: Posterior, Q: Floats | None = None) -> Planning:
    """Begin with this knowledge, and with Q where the algorithm needs one to begin from."""
    layers = posterior.model.layers
    shape = (posterior.visits.shape[0], int(layers[-1]))
    start = np.zeros(shape) if Q is None else Q
    room = np.zeros(int(np.diff(layers).max()))
    return Planning(posterior, np.zeros_like(posterior.visits), start, np.zeros(shape[1]), np.zeros(shape), room)


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
    left = np.repeat(np.arange(len(layers) - 1, 0, -1.0), np.diff(layers))
    return np.tile(left, (posterior.visits.shape[0], 1))
