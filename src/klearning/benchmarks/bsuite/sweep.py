"""bsuite's sweeps from end to end: an agent in every setting of an experiment, and bsuite's score of it.

Observations are the cells of DeepSea's grid, numbered as they are met. The agent knows nothing of the swapped actions,
and nothing of how many cells there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from klearning.arrays import checks
from klearning.arrays.types import Floats, Ints
from klearning.beliefs.belief import Prior
from klearning.beliefs.rewards import Gaussian, UnknownNoise
from klearning.beliefs.transitions import Dirichlet
from klearning.benchmarks.bsuite.environments import DeepSeaEnv, bandit_env
from klearning.benchmarks.bsuite.scores import bandit_score, deep_sea_score, deep_sea_stochastic_score, logged
from klearning.benchmarks.bsuite.worlds import BANDIT_SWEEP, DEEP_SEA_STOCHASTIC_SWEEP, DEEP_SEA_SWEEP, EPISODES
from klearning.environments.callbacks import EpisodeReport
from klearning.environments.learn import learn
from klearning.environments.world_env import WorldEnv
from klearning.trials.agent import Agent


@dataclass(frozen=True)
class Experiment:
    """An experiment of bsuite: its settings, how to make the environment of one, and what an agent may know."""

    settings: tuple[dict[str, int], ...]
    make: Callable[..., WorldEnv]
    prior: Prior


@dataclass(frozen=True, eq=False)
class Result:
    """One setting: bsuite's total (bad episodes, or regret) at the episodes at which it logs."""

    setting: dict[str, int]
    episodes: Ints
    totals: Floats


# Nobody is told which cells are noisy: a third of the sd, worth one visit, is soon found to be none or far more.
DEEP_SEA_PRIOR = Prior(UnknownNoise(0.0, 1.0, noise=0.3, strength=1.0), Dirichlet(0.3), stationary=True)
EXPERIMENTS = {
    "deep_sea": Experiment(
        DEEP_SEA_SWEEP,
        lambda size, mapping_seed: DeepSeaEnv(size, mapping_seed),
        DEEP_SEA_PRIOR,
    ),
    "deep_sea_stochastic": Experiment(
        DEEP_SEA_STOCHASTIC_SWEEP,
        lambda size, mapping_seed: DeepSeaEnv(size, mapping_seed, False),
        DEEP_SEA_PRIOR,
    ),
    "bandit": Experiment(BANDIT_SWEEP, bandit_env, Prior(Gaussian(0.0, 1.0, 0.05), Dirichlet(0.3), stationary=True)),
}


def run_setting(name: str, setting: dict[str, int], agent: Agent, episodes: int = EPISODES, seed: int = 0) -> Result:
    """An agent learns in one setting; what bsuite would have logged."""
    experiment = EXPERIMENTS[checks.choice("experiment", name, EXPERIMENTS)]
    env, totals = experiment.make(**setting), np.zeros(checks.whole("episodes", episodes))

    def count(report: EpisodeReport) -> None:
        t = report.episode - 1
        if isinstance(env, DeepSeaEnv):
            totals[t] = env.tally.total_bad_episodes
        else:
            totals[t] = (totals[t - 1] if t else 0.0) + 1.0 - report.collected

    learn(agent, env, episodes=episodes, seed=seed, prior=experiment.prior, callbacks=[count])
    return Result(setting, *logged(totals))


def score(name: str, results: Sequence[Result]) -> float:
    """bsuite's score of an experiment."""
    checks.choice("experiment", name, EXPERIMENTS)
    episodes = np.concatenate([result.episodes for result in results])
    totals = np.concatenate([result.totals for result in results])
    if name == "bandit":
        return bandit_score(episodes, totals)
    sizes = np.concatenate([np.full(result.episodes.size, result.setting["size"]) for result in results])
    measure: Any = deep_sea_score if name == "deep_sea" else deep_sea_stochastic_score
    return float(measure(sizes, episodes, totals))
