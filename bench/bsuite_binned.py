"""bsuite's catch, mountain_car and cartpole, binned, with the prior that random play suggests: reported as they are.

    python -m bench.bsuite_binned [catch mountain_car cartpole] [--episodes 1000] [--seeds 3]

Needs bsuite (the extra of that name). Time since the start, which bsuite shows in two of them, is left out: with it
hardly any observation would be met twice. What bins cannot tell apart, no tabular agent can.
"""

import argparse
import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bsuite
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary

import klearning as kl
from klearning.lab.benchmarks.bsuite.scores import cartpole_score, catch_score, mountain_car_score


class Loaded(gymnasium.Env[Any, Any]):
    """An environment of bsuite for Gymnasium, of whose observation some numbers are kept."""

    def __init__(self, name: str, seed: int, keep: tuple[int, ...]) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.inner = bsuite.load_from_id(f"{name}/{seed}")
        self.keep = list(keep)
        self.action_space = Discrete(self.inner.action_spec().num_values)
        size = int(np.prod(self.inner.observation_spec().shape))
        self.observation_space = Box(-np.inf, np.inf, (len(keep),)) if keep else MultiBinary(size)

    def seen(self, timestep: Any) -> Any:
        numbers = np.asarray(timestep.observation).ravel()
        return numbers[self.keep].astype(np.float32) if self.keep else numbers.astype(np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.seen(self.inner.reset()), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        t = self.inner.step(int(action))
        over = bool(t.last())
        return self.seen(t), float(t.reward), over and t.discount == 0.0, over and t.discount != 0.0, {}


@dataclass(frozen=True)
class Experiment:
    """Which numbers of an observation are binned, how, and bsuite's score of (episodes, what it logged)."""

    horizon: int
    score: Callable[[int, dict[str, float]], float]
    keep: tuple[int, ...] = ()
    bins: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def make(self, name: str, seed: int) -> gymnasium.Env[Any, Any]:
        env = Loaded(name, seed, self.keep)
        return kl.Binned(env, list(self.bins), low=list(self.low), high=list(self.high)) if self.keep else env


EXPERIMENTS = {
    "catch": Experiment(10, lambda n, log: catch_score([n], [log["total_regret"]])),
    "mountain_car": Experiment(
        1000, lambda n, log: mountain_car_score([n], [-100.0 * n - log["raw_return"]]),
        (0, 1), (16, 16), (-1.2, -0.07), (0.6, 0.07),
    ),
    "cartpole": Experiment(
        1000, lambda n, log: cartpole_score([n], [1000.0 * n - log["raw_return"]], [log["best_episode"]]),
        (0, 1, 2, 4), (3, 3, 8, 6), (-1.0, -1.0, -0.4, -2.0), (1.0, 1.0, 0.4, 2.0),
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--episodes", type=int, help="default: bsuite's, 10,000 of catch and 1,000 of the others")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("| experiment | episodes | score, by seed |\n|---|---|---|")
    for name in given.experiments:
        experiment, scores = EXPERIMENTS[name], []
        for seed in range(given.seeds):
            prior = kl.suggest_prior(experiment.make(name, seed), horizon=experiment.horizon, seed=seed)
            env = experiment.make(name, seed)
            inner: Any = env.unwrapped
            episodes = given.episodes or inner.inner.bsuite_num_episodes
            agent = kl.KLearning(tolerance=1e-3)
            kl.learn(agent, env, episodes=episodes, seed=seed, prior=prior, horizon=experiment.horizon)
            scores.append(experiment.score(episodes, inner.inner.bsuite_info()))
        print(f"| {name} | {episodes:,} | {', '.join(f'{x:.3f}' for x in scores)} |", flush=True)


if __name__ == "__main__":
    main()
