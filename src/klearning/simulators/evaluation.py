"""How good what was learned is, by playing: greedily, as one would deploy it, or softly, as it explores.

Where an environment tells its transitions, ``learn(..., evaluate_every=...)`` does this exactly; this needs no
model.
"""

from typing import Any

import gymnasium

from klearning.numerics import checks
from klearning.simulators.actor import WAYS, Actor
from klearning.simulators.environments import reset, step
from klearning.tabular.trials.streams import whole_number


def play_returns(
    learner: Actor, env: gymnasium.Env[Any, Any], *, episodes: int = 10, how: str = "greedy", seed: int = 0
) -> list[float]:
    """Returns of whole episodes in which nothing is learned.

    ``how`` is "greedy", the action of ``learner.predict``, or "soft", drawn from the policy that explores. Episode t
    resets the environment with a seed made of ``seed`` and t, and with no seed that learning uses.
    """
    checks.choice("how", how, WAYS)
    seed, count = checks.whole("seed", seed, 0), checks.whole("episodes", episodes)
    return [_play(learner, env, how, whole_number(seed, "evaluation", number=t)) for t in range(count)]


def _play(learner: Actor, env: gymnasium.Env[Any, Any], how: str, seed: int) -> float:
    observation, info = reset(env, seed)
    collected, played, over = 0.0, 0, False
    while not over and played < learner.horizon:
        mask = info.get("action_mask")
        allowed = {} if mask is None else {"action_mask": mask}
        action = learner.predict(observation, played, how, **allowed)
        observation, reward, terminated, truncated, info = step(env, action)
        collected, played, over = collected + float(reward), played + 1, bool(terminated or truncated)
    return collected
