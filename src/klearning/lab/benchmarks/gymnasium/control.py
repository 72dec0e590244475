"""Gymnasium's classic control: the return of the greedy policy after learning, for agents of `klearning.deep`."""

from typing import Any

import gymnasium
import numpy as np

from klearning.numerics import checks
from klearning.simulators.evaluation import play_returns
from klearning.simulators.learn import learn

PROBLEMS = {"MountainCar": ("MountainCar-v0", 150), "CartPole": ("CartPole-v1", 100), "Acrobot": ("Acrobot-v1", 60),
            "LunarLander": ("LunarLander-v3", 200)}  # fmt: skip
DEPLOYED = 20  # episodes of evaluation
LATE = 20  # last episodes of learning


def deployed(name: str, agent: Any, episodes: int | None = None, seed: int = 0) -> dict[str, Any]:
    """Learn, then return the mean returns of greedy episodes and of the last episodes of learning."""
    problem, usual = PROBLEMS[checks.choice("problem", name, PROBLEMS)]
    count = usual if episodes is None else checks.whole("episodes", episodes)
    try:
        env = gymnasium.make(problem)
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"problem={name!r} needs an engine that is not installed: pip install box2d pygame") from error
    learner = learn(agent, env, episodes=count, seed=seed)
    greedy = play_returns(learner, env, episodes=DEPLOYED, how="greedy", seed=seed)
    return {
        "episodes": count, "steps": learner.steps, "greedy": float(np.mean(greedy)),
        "late": float(np.mean(learner.returns[-LATE:])),
    }  # fmt: skip
