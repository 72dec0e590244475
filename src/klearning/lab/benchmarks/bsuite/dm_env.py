"""bsuite's experiments as dm_env environments, in place of bsuite's own, and any world with bsuite's log."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klearning.lab.benchmarks.bsuite.worlds import EPISODES, DeepSeaTally, bandit, deep_sea
from klearning.simulators.adapters.dm_env import DmWorld, picture_spec
from klearning.tabular.models.mdp import MDP, optimal_value

if TYPE_CHECKING:
    import dm_env
    from dm_env import specs


class LoggedWorld(DmWorld):
    """Any world with the attributes that bsuite's `Logging` reads: ``bsuite_info`` and ``bsuite_num_episodes``."""

    def __init__(self, mdp: MDP, seed: int | None = None, *, episodes: int = EPISODES, **options: Any) -> None:
        super().__init__(mdp, seed, **options)
        self.bsuite_num_episodes = episodes
        self._optimum = optimal_value(mdp)
        self._earned = 0.0  # mean rewards of this episode
        self._regret = 0.0

    def reset(self) -> "dm_env.TimeStep":
        """Begin an episode."""
        self._earned = 0.0
        return super().reset()

    def step(self, action: Any) -> "dm_env.TimeStep":
        """Take an action, or begin an episode if none is under way."""
        state, playing = self.walk.state, not self.walk.over
        timestep = super().step(action)
        if playing:
            self._earned += float(self.mdp.reward[int(action), state])
            if self.walk.over:
                self._regret += self._optimum - self._earned
        return timestep

    def bsuite_info(self) -> dict[str, Any]:
        """The regret of all finished episodes: optimal value minus mean rewards of the actions taken."""
        return {"total_regret": self._regret}


class DeepSea(DmWorld):
    """bsuite's DeepSea: the observation is an N × N image with a one at the diver's cell, all zeros at the end."""

    def __init__(
        self,
        size: int,
        deterministic: bool = True,
        unscaled_move_cost: float = 0.01,
        randomize_actions: bool = True,
        seed: int | None = None,
        mapping_seed: int = 42,
    ) -> None:
        world = deep_sea(size, mapping_seed, deterministic, unscaled_move_cost, randomize_actions)
        super().__init__(world, seed, numbering="through")
        self.bsuite_num_episodes = EPISODES
        self.tally = DeepSeaTally(size, mapping_seed, randomize_actions)

    def reset(self) -> "dm_env.TimeStep":
        """Begin an episode."""
        self.tally.begin()
        return super().reset()

    def step(self, action: Any) -> "dm_env.TimeStep":
        """Take an action, or begin an episode if none is under way."""
        row, column, playing = self.walk.layer, self.walk.place, not self.walk.over
        timestep = super().step(action)
        if playing:
            self.tally.see(row, column, int(action))
        return timestep

    def observation_spec(self) -> "specs.Array":
        """The image."""
        return picture_spec(self.mdp.horizon)

    def bsuite_info(self) -> dict[str, Any]:
        """total_bad_episodes and denoised_return."""
        return self.tally.info()

    def _observe(self) -> NDArray[Any]:
        picture = np.zeros((self.mdp.horizon, self.mdp.horizon), np.float32)
        if not self.walk.over:
            picture[self.walk.layer, self.walk.place] = 1.0
        return picture


class Bandit(LoggedWorld):
    """bsuite's bandit: the observation is a single pixel of one."""

    def __init__(self, mapping_seed: int = 0, num_actions: int = 11) -> None:
        super().__init__(bandit(mapping_seed, num_actions))

    def observation_spec(self) -> "specs.Array":
        """The pixel."""
        return picture_spec(1)

    def _observe(self) -> NDArray[Any]:
        return np.ones((1, 1), np.float32)
