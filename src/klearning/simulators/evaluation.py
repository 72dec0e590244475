"""How good what was learnt is, by playing: greedily, as one would deploy it, or softly, as it explores.

Where an environment tells its transitions, ``learn(..., evaluate_every=...)`` does this exactly; this needs no
model.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from klearning.numerics import checks
from klearning.numerics.frames import data_frame
from klearning.simulators.actor import Actor
from klearning.simulators.callbacks import EpisodeReport
from klearning.tabular.trials.streams import whole_number

if TYPE_CHECKING:
    from pandas import DataFrame

WAYS = ("greedy", "soft")


def play_returns(
    learner: Actor, env: gymnasium.Env[Any, Any], *, episodes: int = 10, how: str = "greedy", seed: int = 0
) -> list[float]:
    """Returns of whole episodes in which nothing is learnt.

    ``how`` is "greedy", the action of ``learner.predict``, or "soft", drawn from the policy that explores. Episode t
    resets the environment with a seed made of ``seed`` and t, and with no seed that learning uses.
    """
    checks.choice("how", how, WAYS)
    seed, count = checks.whole("seed", seed, 0), checks.whole("episodes", episodes)
    return [_play(learner, env, how, whole_number(seed, "evaluation", number=t)) for t in range(count)]


def _play(learner: Actor, env: gymnasium.Env[Any, Any], how: str, seed: int) -> float:
    observation, info = env.reset(seed=seed)
    collected, step, over = 0.0, 0, False
    while not over and step < learner.horizon:
        mask = info.get("action_mask")
        allowed = {} if mask is None else {"action_mask": mask}
        action = learner.predict(observation, step, how, **allowed)
        observation, reward, terminated, truncated, info = env.step(action)
        collected, step, over = collected + float(reward), step + 1, bool(terminated or truncated)
    return collected


class Evaluation:
    """A callback: every so many episodes, mean returns of greedy and of soft play in an environment of its own.

    ``rows`` holds them, `frame` as a data frame: ``episode``, ``steps`` of the environment until then, and a column per
    way. Give it another environment than the one that is learnt in, because it is reset.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], every: int = 50, episodes: int = 10, how: str | Sequence[str] = WAYS,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.env, self.every, self.episodes = env, checks.whole("every", every), checks.whole("episodes", episodes)
        self.how = tuple(checks.choice("how", way, WAYS) for way in ((how,) if isinstance(how, str) else how))
        self.seed = checks.whole("seed", seed, 0)
        self.rows: list[dict[str, float]] = []
        self._steps = 0

    def __call__(self, report: EpisodeReport) -> None:
        self._steps += report.steps
        if report.episode % self.every == 0:
            means = {
                way: float(
                    np.mean(play_returns(report.learner, self.env, episodes=self.episodes, how=way, seed=self.seed))
                )
                for way in self.how
            }
            self.rows.append({"episode": report.episode, "steps": self._steps, **means})

    def frame(self) -> "DataFrame":
        """One row per time that it was looked at."""
        return data_frame({name: [row[name] for row in self.rows] for name in ("episode", "steps", *self.how)})

    def __repr__(self) -> str:
        return f"Evaluation({self.env}, every={self.every}, episodes={self.episodes}, how={self.how})"
