"""bsuite's experiments as Gymnasium environments, with bsuite's counts."""

from typing import Any

from klearning.lab.benchmarks.bsuite.worlds import DeepSeaTally, bandit, deep_sea
from klearning.simulators.adapters.world_env import WorldEnv


class DeepSeaEnv(WorldEnv):
    """bsuite's DeepSea, stochastic unless ``deterministic``, with cells numbered row by row.

    `bsuite_info` counts as bsuite does, over all episodes since the environment was made.
    """

    def __init__(
        self,
        size: int = 10,
        mapping_seed: int = 42,
        deterministic: bool = True,
        cost: float = 0.01,
        randomize_actions: bool = True,
    ) -> None:
        world = deep_sea(size, mapping_seed, deterministic, cost, randomize_actions)
        super().__init__(world, "through")
        self.tally = DeepSeaTally(size, mapping_seed, randomize_actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        self.tally.begin()
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        row, column = self.walk.layer, self.walk.place
        result = super().step(action)
        self.tally.see(row, column, int(action))
        return result

    def bsuite_info(self) -> dict[str, Any]:
        """total_bad_episodes and denoised_return."""
        return self.tally.info()


def bandit_env(mapping_seed: int = 0, actions: int = 11) -> WorldEnv:
    """bsuite's bandit."""
    return WorldEnv(bandit(mapping_seed, actions))
