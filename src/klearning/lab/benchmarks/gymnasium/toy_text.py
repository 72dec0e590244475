"""Gymnasium's toy-text problems: the number of episodes until an agent's greedy policy is nearly optimal.

Agents learn in the real environment, step by step. Their greedy policy is evaluated exactly in the environment's model
every few episodes, until its value reaches 95% of the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from klearning.lab.benchmarks.gymnasium import textbook
from klearning.lab.benchmarks.gymnasium.blackjack import Model, blackjack
from klearning.numerics import checks
from klearning.simulators.actor import tabulated
from klearning.simulators.learn import LearnSettings, learn
from klearning.simulators.learner import Learner
from klearning.tabular.agents.baselines import Random
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.bolt import BOLT
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.optimistic_q_learning import OptimisticQLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.q_learning import QLearning
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.soft_q_learning import SoftQLearning
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.agents.ucfh import UCFH
from klearning.tabular.agents.ucrl2 import UCRL2
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent

SHARE = 0.95  # of the optimal return; if that is negative, 5% of its size below it


@dataclass(frozen=True, eq=False)
class Problem:
    """An environment with its horizon, the agent's prior, the limit of episodes and the evaluation interval."""

    name: str
    horizon: int
    prior: Prior
    most: int
    every: int
    within: float | None = None  # tolerated gap to the optimum instead of 5%

    def make(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.name, max_episode_steps=self.horizon)

    def model(self) -> MDP:
        if self.name == "Blackjack-v1":
            return blackjack(self.horizon)
        return MDP.from_gymnasium(self.make(), self.horizon)


def _prior(sd: float, noise: float, mass: float) -> Prior:
    return Prior(Gaussian(0.0, sd, noise), Dirichlet(mass), stationary=True)


# Small masses for nearly deterministic problems: one visit then settles a row. sd is about the size of rewards.
PROBLEMS = {
    "FrozenLake": Problem("FrozenLake8x8-v1", 200, _prior(0.15, 0.2, 1.0), most=5000, every=25),
    "Taxi": Problem("Taxi-v4", 200, _prior(4.0, 0.1, 0.01), most=2000, every=10),
    "CliffWalking": Problem("CliffWalking-v1", 100, _prior(20.0, 0.1, 0.01), most=1000, every=1),
    "Blackjack": Problem("Blackjack-v1", 12, _prior(0.5, 1.0, 1.0), most=10_000, every=100, within=0.03),
}


AGENTS: dict[str, Callable[[], Agent]] = {
    "K-learning": lambda: KLearning(tolerance=1e-3),
    "PSRL": PSRL,
    "RLSVI": RLSVI,
    "UCBVI, scale 0.01": lambda: UCBVI(scale=0.01),
    "UCRL2, scale 0.05": lambda: UCRL2(scale=0.05),
    "UCFH, scale 0.05": lambda: UCFH(scale=0.05, least_visits=1),
    "BEB, scale 0.001": lambda: BEB(scale=0.001),
    "BOLT, scale 0.1": lambda: BOLT(scale=0.1, imagined_reward=1.0),
    "soft Q-learning": lambda: SoftQLearning(form="model"),
    "optimistic Q-learning, scale 0.01": lambda: OptimisticQLearning(scale=0.01),
    "Q-learning, after the episode": lambda: QLearning(0.1, 0.5),
    "random": Random,
}


@dataclass(frozen=True)
class Outcome:
    """The number of episodes, or None, and the last value of the greedy policy."""

    episodes: int | None
    value: float
    optimum: float


def wanted_value(problem: Problem, optimum: float) -> float:
    """The value that counts as nearly optimal."""
    return optimum - ((1.0 - SHARE) * abs(optimum) if problem.within is None else problem.within)


def tune_textbook(problem: Problem, seeds: int = 3) -> list[tuple[float, textbook.Setting]]:
    """Settings of textbook Q-learning with their mean number of episodes, best first."""
    env: Any = Model() if problem.name == "Blackjack-v1" else problem.make().unwrapped
    mdp = problem.model()
    outcomes = textbook.read_outcomes(env.P, env.initial_state_distrib)
    wanted = wanted_value(problem, optimal_value(mdp))
    return textbook.tune(outcomes, mdp, wanted, problem.most, problem.every, seeds)


def episodes_needed(
    problem: Problem, agent: Agent, seed: int = 0, most: int | None = None, action_masks: bool = False
) -> Outcome:
    """Let an agent learn until its greedy policy is nearly optimal.

    Action masks are off by default, because textbook Q-learning has none.
    """
    env, mdp = problem.make(), problem.model()
    best = optimal_value(mdp)
    wanted = wanted_value(problem, best)
    most = problem.most if most is None else checks.whole("most", most)
    spaces = env.observation_space, env.action_space
    learner = Learner(agent, *spaces, problem.horizon, prior=problem.prior, seed=seed)
    value = -np.inf
    while learner.episodes_done < most:
        count = min(problem.every, most - learner.episodes_done)
        learn(learner, env, episodes=count, seed=seed, settings=LearnSettings(action_masks=action_masks))
        value = mdp.value(tabulated(learner, mdp, learner.observations.all_points(), "greedy"))
        if value >= wanted:
            return Outcome(learner.episodes_done, value, best)
    return Outcome(None, value, best)
