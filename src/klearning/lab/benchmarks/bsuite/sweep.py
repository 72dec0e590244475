"""bsuite's sweeps: run an agent in every setting of an experiment, and compute bsuite's score.

Observations of DeepSea are cells of its grid. The agent knows neither the swapped actions nor the number of cells.
catch, mountain_car, cartpole and cartpole_swingup are bsuite's own code, with continuous observations, for agents of
`klearning.deep`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from klearning.lab.benchmarks.bsuite.environments import DeepSeaEnv, bandit_env
from klearning.lab.benchmarks.bsuite.scores import (
    BASELINES,
    balancing_score,
    deep_sea_score,
    deep_sea_stochastic_score,
    logged,
    regret_score,
)
from klearning.lab.benchmarks.bsuite.simulators import SimulatorEnv
from klearning.lab.benchmarks.bsuite.worlds import BANDIT_SWEEP, DEEP_SEA_STOCHASTIC_SWEEP, DEEP_SEA_SWEEP, EPISODES
from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints
from klearning.simulators.actor import MakesLearner
from klearning.simulators.episode_report import EpisodeReport
from klearning.simulators.learn import learn
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian, UnknownNoise
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent

Setting = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """An experiment of bsuite: its settings, a function that makes an environment, and the agent's prior."""

    settings: tuple[Setting, ...]
    make: Callable[..., gymnasium.Env[Any, Any]]
    prior: Prior | None = None  # None if states cannot be counted
    optimum: float = 1.0  # the return without regret; DeepSea counts bad episodes instead
    horizon: int | None = None  # None: the environment's own
    episodes: int = EPISODES


@dataclass(frozen=True, eq=False)
class Result:
    """One setting: bsuite's total (bad episodes, or regret) at the logged episodes."""

    setting: Setting
    episodes: Ints
    totals: Floats
    best: float = -np.inf  # the best return of an episode


CONTROL_EPISODES = 1000
RUNS = tuple({"seed": seed} for seed in range(20))
SWINGUP_SWEEP = tuple({"height_threshold": n / 20, "x_reward_threshold": 1 - n / 20} for n in range(20))

# Which cells are noisy is unknown: a guess of a third of the sd, worth one visit, is soon corrected.
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
    "catch": Experiment(RUNS, partial(SimulatorEnv, "catch"), horizon=9),
    "mountain_car": Experiment(
        RUNS, partial(SimulatorEnv, "mountain_car"), optimum=-100.0, horizon=1000, episodes=CONTROL_EPISODES
    ),
    "cartpole": Experiment(
        RUNS, partial(SimulatorEnv, "cartpole"), optimum=1000.0, horizon=1001, episodes=CONTROL_EPISODES
    ),
    "cartpole_swingup": Experiment(
        SWINGUP_SWEEP, partial(SimulatorEnv, "cartpole_swingup"), optimum=700.0, horizon=1001, episodes=CONTROL_EPISODES
    ),
}


def run_setting(name: str, setting: Setting, agent: Agent | Any, episodes: int | None = None, seed: int = 0) -> Result:
    """Run an agent in one setting, and return what bsuite would log.

    A simulator's seed is added to the agent's. Agents of ``klearning.deep`` get no prior.
    """
    experiment = EXPERIMENTS[checks.choice("experiment", name, EXPERIMENTS)]
    count = checks.whole("episodes", experiment.episodes if episodes is None else episodes)
    if experiment.prior is None and not isinstance(agent, MakesLearner):
        raise ValueError(
            f"agent={agent} is tabular, and bsuite's {name} has continuous states: give an agent of klearning.deep, "
            "such as DeepKLearning"
        )
    env, totals, best = experiment.make(**setting), np.zeros(count), -np.inf

    def note(report: EpisodeReport) -> None:
        nonlocal best
        t = report.episode - 1
        best = max(best, report.collected)
        if isinstance(env, DeepSeaEnv):
            totals[t] = env.tally.total_bad_episodes
        else:
            totals[t] = (totals[t - 1] if t else 0.0) + experiment.optimum - report.collected

    prior = None if isinstance(agent, MakesLearner) else experiment.prior
    number = seed + int(setting.get("seed", 0))
    learn(agent, env, episodes=count, seed=number, prior=prior, horizon=experiment.horizon, callbacks=[note])
    return Result(setting, *logged(totals), best)


def score(name: str, results: Sequence[Result]) -> float:
    """bsuite's score of an experiment."""
    checks.choice("experiment", name, EXPERIMENTS)
    episodes = np.concatenate([result.episodes for result in results])
    totals = np.concatenate([result.totals for result in results])
    if name == "cartpole":
        return balancing_score(name, episodes, totals, [result.best for result in results])
    if name == "cartpole_swingup":
        return float(np.mean([balancing_score(name, r.episodes, r.totals, r.best) for r in results]))
    if name in BASELINES:
        return regret_score(name, episodes, totals)
    sizes = np.concatenate([np.full(result.episodes.size, result.setting["size"]) for result in results])
    measure: Any = deep_sea_score if name == "deep_sea" else deep_sea_stochastic_score
    return float(measure(sizes, episodes, totals))
