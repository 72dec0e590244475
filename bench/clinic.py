"""Agents in a clinic of 576 states (`examples/clinic.py`) at equal steps, beside networks of Stable-Baselines3.

    python -m bench.clinic [--seeds 10] [--processes 2] [AGENT ...]

Writes docs/evidence/data/simulators.clinic.json. Needs stable-baselines3 and sb3-contrib for their three agents; these
see rewards divided by ten, and have their authors' settings but for 512 steps per update of PPO and 500 steps before
DQN learns. An action that the clinic does not allow means waiting for agents that know no masks.
"""

import argparse
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import klearning as kl
from bench.record import record
from examples.clinic import STEPS, Clinic, urgent_first
from klearning.numerics.statistics import Interval, mean_interval

BUDGETS = (10_000, 40_000)  # steps
DEPLOYED = 300  # episodes
HEADINGS = ("agent", "while learning", "last 100 episodes", "deployed", "seconds")
OURS: dict[str, Callable[[], kl.Agent]] = {
    "K-learning": kl.KLearning,
    "K-learning, calibrated": lambda: kl.KLearning(optimism="calibrated"),
    "PSRL": kl.PSRL,
}
THEIRS = ("PPO", "DQN", "MaskablePPO")
Choice = Callable[[Any, int, Any], int]


class Outcome(NamedTuple):
    learning: float
    late: float
    deployed: float
    seconds: float


class Lenient(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Forbidden actions mean waiting; rewards are divided by ten. Keeps the returns of episodes."""

    def __init__(self) -> None:
        super().__init__(Clinic())
        self.returns: list[float] = []

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        self.mask, self.total = info["action_mask"], 0.0
        return observation, info

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(int(action) if self.mask[int(action)] else 0)
        self.mask, self.total = info["action_mask"], self.total + float(reward)
        if terminated or truncated:
            self.returns.append(self.total)
        return observation, float(reward) / 10.0, terminated, truncated, info

    def action_masks(self) -> Any:
        return self.mask.astype(bool)


def outcome(job: tuple[str, int, int]) -> Outcome:
    """Of one agent, number of steps and seed."""
    name, steps, seed = job
    start = time.perf_counter()
    returns, choose = (learned if name in OURS else network)(name, steps, seed)
    seconds = time.perf_counter() - start
    return Outcome(float(np.mean(returns)), float(np.mean(returns[-100:])), deployed_return(choose), seconds)


def learned(name: str, steps: int, seed: int) -> tuple[list[float], Choice]:
    learner = kl.learn(OURS[name](), Clinic(), horizon=STEPS, prior="suggest", steps=steps, seed=seed)
    return list(learner.returns), lambda seen, step, mask: int(learner.predict(seen, step, action_mask=mask))


def network(name: str, steps: int, seed: int) -> tuple[list[float], Choice]:
    import sb3_contrib
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    env = Lenient()
    kind: Any = getattr(sb3_contrib if name == "MaskablePPO" else stable_baselines3, name)
    settings = {"learning_starts": 500} if name == "DQN" else {"n_steps": 512}
    model = kind("MlpPolicy", env, seed=seed, device="cpu", **settings).learn(steps)

    def choose(seen: Any, step: int, mask: Any) -> int:
        masks = {"action_masks": mask.astype(bool)} if name == "MaskablePPO" else {}
        return int(model.predict(seen, deterministic=True, **masks)[0])

    return env.returns, choose


def deployed_return(choose: Choice) -> float:
    env, total = Clinic(), 0.0
    for episode in range(DEPLOYED):
        observation, info = env.reset(seed=700_000 + episode)
        for step in range(STEPS):
            action = choose(observation, step, info["action_mask"])
            observation, reward, _, _, info = env.step(action if info["action_mask"][action] else 0)
            total += float(reward)
    return total / DEPLOYED


def interval_text(x: Interval) -> str:
    """The estimate, with its interval if it has one."""
    return f"{x.estimate:.1f}" + ("" if np.isnan(x.low) else f" [{x.low:.1f}, {x.high:.1f}]")


def row(name: str, steps: int, outcomes: list[Outcome]) -> list[str]:
    learning, late, deployed, seconds = (mean_interval(np.array(x)) for x in zip(*outcomes))
    told = [interval_text(x) for x in (learning, late, deployed)]
    return [f"{name}, {steps:,} steps", *told, f"{seconds.estimate:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=[*OURS, *THEIRS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    for name in given.agents:
        if name in OURS:
            learned(name, STEPS, 0)  # compiles, before any clock
    jobs = [(name, steps, seed) for steps in BUDGETS[::-1] for name in given.agents for seed in range(given.seeds)]
    with get_context("spawn").Pool(given.processes) as pool:
        found = dict(zip(jobs, pool.map(outcome, jobs, chunksize=1)))
    rows = [
        row(name, steps, [found[name, steps, seed] for seed in range(given.seeds)])
        for steps in BUDGETS
        for name in given.agents
    ]
    thumb = deployed_return(lambda seen, step, mask: urgent_first(seen))
    rows.append(["rule of thumb", "", "", f"{thumb:.1f}", ""])
    for line in rows:
        print(*line, sep=" | ")
    record("simulators.clinic", f"python -m bench.clinic --seeds {given.seeds}", HEADINGS, rows, keep=True)


if __name__ == "__main__":
    main()
