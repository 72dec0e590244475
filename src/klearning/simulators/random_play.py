"""Random play: rewards and transitions of an environment under random actions."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from klearning.numerics import checks
from klearning.simulators.environments import reset, step
from klearning.simulators.space_index import SpaceIndex
from klearning.tabular.models.tabular import read_horizon
from klearning.tabular.trials.streams import streams, whole_number


class Step(NamedTuple):
    """One step of random play, its action by number. The first of an episode has none (-1), and its reward is 0."""

    episode: int
    action: int
    reward: float
    observation: Any
    terminated: bool


def random_play(
    env: gymnasium.Env[Any, Any], purpose: str, episodes: int, seed: int = 0, horizon: int | None = None
) -> Iterator[Step]:
    """Episodes of at most ``horizon`` steps, by default the environment's time limit.

    Actions are uniform, among those that ``info["action_mask"]`` allows if there is one. Every ``purpose`` has
    random streams of its own.
    """
    count, most = checks.whole("episodes", episodes), read_horizon(env, horizon)
    actions = SpaceIndex("action", env.action_space, grows=False)
    (rng,) = streams(checks.whole("seed", seed, 0), purpose, uses=1)
    for t in range(count):
        observation, info = reset(env, whole_number(seed, purpose, number=t))
        yield Step(t, -1, 0.0, observation, False)
        for _ in range(most):
            a = _random_action(info.get("action_mask"), actions.count, rng)
            observation, reward, terminated, truncated, info = step(env, actions.point(a))
            paid = float(checks.array("reward", reward, ()))
            yield Step(t, a, paid, observation, bool(terminated))
            if terminated or truncated:
                break


def _random_action(mask: Any, actions: int, rng: np.random.Generator) -> int:
    allowed = np.arange(actions) if mask is None else np.flatnonzero(mask)
    return int(rng.choice(allowed)) if len(allowed) else int(rng.integers(actions))
