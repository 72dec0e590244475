"""Random play: what an environment shows to somebody who wants nothing of it."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import gymnasium

from klearning.arrays import checks
from klearning.models.tabular import read_horizon
from klearning.trials.streams import whole_number


class Step(NamedTuple):
    """One step of random play. The first of an episode has no action, and its reward is 0."""

    episode: int
    action: Any
    reward: float
    observation: Any
    terminated: bool


def random_play(
    env: gymnasium.Env[Any, Any], episodes: int, seed: int = 0, horizon: int | None = None
) -> Iterator[Step]:
    """Episodes of random actions, each of at most ``horizon`` steps, by default the environment's time limit.

    The environment's own action space is left as it is: its generator is copied.
    """
    count, most = checks.whole("episodes", episodes), read_horizon(env, horizon)
    actions = deepcopy(env.action_space)
    actions.seed(whole_number(checks.whole("seed", seed, 0), "random actions", number=0))
    for t in range(count):
        observation, _ = env.reset(seed=whole_number(seed, "random play", number=t))
        yield Step(t, None, 0.0, observation, False)
        for _ in range(most):
            action = actions.sample()
            observation, reward, terminated, truncated, _ = env.step(action)
            yield Step(t, action, float(reward), observation, bool(terminated))
            if terminated or truncated:
                break
