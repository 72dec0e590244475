"""Every world as a dm_env environment, for those who run bsuite's agents (extra ``bsuite``)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.simulators.walk import Walk
from klearning.tabular.models.mdp import MDP

try:
    import dm_env
    from dm_env import specs
except ImportError as error:
    raise ImportError("klearning.simulators.adapters.dm_env needs dm_env: pip install dm_env") from error


class DmWorld(dm_env.Environment):  # type: ignore[misc]
    """An MDP to be stepped through.

    Observations are numbers of states (`Walk` says how they are counted), or vectors with a one in that place
    where ``one_hot``. As dm_env asks, a step after the last of an episode begins the next; the last observation
    is that of the last state again.
    """

    def __init__(self, mdp: MDP, seed: int | None = None, *, numbering: str = "auto", one_hot: bool = False) -> None:
        self.walk = Walk(mdp, numbering)
        self._one_hot = one_hot
        self._rng = np.random.default_rng(seed)

    @property
    def mdp(self) -> MDP:
        """The world itself."""
        return self.walk.mdp

    def reset(self) -> dm_env.TimeStep:
        """Begin an episode."""
        self.walk.begin(self._rng)
        return dm_env.restart(self._observe())

    def step(self, action: Any) -> dm_env.TimeStep:
        """Take an action; begin an episode instead if none is under way."""
        if self.walk.over:
            return self.reset()
        reward = self.walk.step(action, self._rng)
        if not self.walk.over:
            return dm_env.transition(reward=reward, observation=self._observe())
        finish = dm_env.truncation if self.walk.by_time else dm_env.termination
        return finish(reward=reward, observation=self._observe())

    def observation_spec(self) -> specs.Array:
        """A number of a state, or its one-hot vector."""
        n = self.walk.observations
        if self._one_hot:
            return specs.BoundedArray((n,), np.float32, 0.0, 1.0, name="observation")
        return specs.DiscreteArray(n, name="observation")

    def action_spec(self) -> specs.DiscreteArray:
        """A number of an action."""
        return specs.DiscreteArray(self.mdp.actions, name="action")

    def _observe(self) -> NDArray[Any]:
        if self._one_hot:
            return np.eye(1, self.walk.observations, self.walk.observation, dtype=np.float32)[0]
        return np.asarray(self.walk.observation, np.int32)


def picture_spec(side: int) -> specs.Array:
    """The spec of a square picture, as bsuite's environments show."""
    return specs.Array((side, side), np.float32, name="observation")
