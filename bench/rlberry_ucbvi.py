"""An episode of UCBVI on DeepSea in rlberry-scool; ours is in the table of agents that `make bench` prints.

It needs an environment of its own, for it wants a Gymnasium older than ours:

    python -m venv peers && peers/bin/pip install rlberry-scool==0.7.3 && peers/bin/python bench/rlberry_ucbvi.py
"""

import logging
import time
from typing import Any


def theirs(depth: int, episodes: int) -> float:
    """CPU seconds an episode, of rlberry-scool's agent in a DeepSea of plain Python."""
    import rlberry.spaces as spaces
    from rlberry.envs.interface import Model
    from rlberry_scool.agents.ucbvi import UCBVIAgent

    class Sea(Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = spaces.Discrete(depth * (depth + 1) // 2)
            self.action_space, self.reward_range = spaces.Discrete(2), (0.0, 1.0)

        def reset(self, seed: Any = None, options: Any = None) -> Any:
            self.row = self.column = 0
            return 0, {}

        def step(self, action: int) -> Any:
            reward = float(action == 1 and self.column == depth - 1)
            self.row, self.column = self.row + 1, self.column + 1 if action else max(self.column - 1, 0)
            over = self.row == depth
            return (0 if over else self.row * (self.row + 1) // 2 + self.column), reward, over, False, {}

    agent = UCBVIAgent(Sea(), gamma=1.0, horizon=depth)
    agent.fit(budget=1)  # compiles
    began = time.process_time()
    agent.fit(budget=episodes)
    return (time.process_time() - began) / episodes


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    for depth, episodes in ((10, 50), (20, 20)):
        print(f"depth {depth}: {theirs(depth, episodes):.3g} s an episode")
