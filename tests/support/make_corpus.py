"""Writes tests/corpus: learners that were saved, which must be read and go on as they would have then.

    python -m tests.support.make_corpus [folder]

Beside each file, expected.json holds the actions that come next. A file that is there is kept: remove the folder's
files when the format changes, and compare the new expected.json with the old one.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

import klearning as kl

CORPUS = Path(__file__).parents[1] / "corpus"
BEFORE, AFTER = 41, 40  # steps before saving, and after
HORIZON, ACTIONS = 6, 2
FOUR = spaces.Discrete(4)
GATED = spaces.Discrete(5)  # of which four are met, and one does not allow everything
NESTED = spaces.Dict([("room", spaces.Discrete(2, start=1)), ("keys", spaces.MultiBinary(1))])

LAYERED, COINS = kl.Prior(), kl.Prior(kl.Beta(2.0, 1.0), kl.Dirichlet(1.0), span=3.0, stationary=True)
SUPPORT = kl.Prior(transitions=kl.Dirichlet(0.5, [np.ones((5, 2, 5))]), stationary=True)
NOISE = kl.Prior(kl.UnknownNoise(0.0, 1.0, 0.5, strength=2.0), kl.Dirichlet(0.5), stationary=True)
KNOWN = kl.Prior(transitions=kl.Known([np.broadcast_to(np.eye(5)[0], (5, 2, 5))]), stationary=True)

# agent, what else a learner is made with, observations, and whether it is saved in the middle of an episode
CASES: dict[str, tuple[Any, dict[str, Any], spaces.Space[Any], bool]] = {
    "KLearning": (kl.KLearning(), {}, FOUR, False),
    "KLearning_schedule_layered": (kl.KLearning("schedule", "sharp"), {"prior": LAYERED}, FOUR, True),
    "KLearning_fixed": (kl.KLearning(0.5, "paper"), {"seed": 7}, FOUR, True),
    "PSRL": (kl.PSRL(), {"prior": COINS}, FOUR, True),
    "PSRL_support": (kl.PSRL(), {"prior": SUPPORT, "grow_states": False}, NESTED, False),
    "RLSVI": (kl.RLSVI(), {}, FOUR, False),
    "UCBVI": (kl.UCBVI("bernstein", 0.001, episodes=100), {"prior": LAYERED}, FOUR, False),
    "UCRL2": (kl.UCRL2(0.05), {"grow_states": False}, FOUR, True),
    "UCFH": (kl.UCFH(0.05, least_visits=1), {}, FOUR, False),
    "BEB": (kl.BEB(0.02), {"prior": KNOWN, "grow_states": False}, FOUR, False),
    "BOLT": (kl.BOLT(0.2, imagined_reward=1.0), {}, NESTED, False),
    "QLearning": (kl.QLearning(0.2), {}, FOUR, True),
    "SoftQLearning": (kl.SoftQLearning(), {}, FOUR, False),
    "SoftQLearning_model": (kl.SoftQLearning(form="model"), {}, FOUR, False),
    "OptimisticQLearning": (kl.OptimisticQLearning("bernstein", 0.05), {"prior": COINS}, FOUR, False),
    "Random": (kl.Random(), {"grow_states": False}, NESTED, False),
    "KLearning_unknown_noise": (kl.KLearning(), {"prior": NOISE}, FOUR, False),
    "PSRL_unknown_noise": (kl.PSRL(), {"prior": NOISE}, FOUR, True),
    "KLearning_masks": (kl.KLearning(), {}, GATED, True),
    "QLearning_masks": (kl.QLearning(0.2), {}, GATED, False),
    "PSRL_continuing": (kl.PSRL(), {"discount": 0.9, "continuing": True}, FOUR, True),
    "KLearning_discount": (kl.KLearning(bonus="split"), {"discount": 0.5}, FOUR, False),
    "KLearning_decay": (kl.KLearning(), {"decay": 0.8}, FOUR, True),
    "UCBVI_decay": (kl.UCBVI("bernstein", 0.001, episodes=100), {"decay": 0.8, "discount": 0.9}, GATED, False),
    "VAPOR": (kl.VAPOR(), {}, FOUR, False),
    "VAPOR_masks": (kl.VAPOR("sharp", 0.5), {"discount": 0.9}, GATED, True),
    "PSRL_replan_every": (kl.PSRL(), {"replan_every": 3}, FOUR, True),
    "VBOS": (kl.VBOS(), {"prior": COINS}, FOUR, False),
    "OnlineKLearning": (kl.OnlineKLearning(), {}, FOUR, True),
    "OnlineKLearning_layered": (kl.OnlineKLearning("forward", 3), {"prior": LAYERED}, GATED, False),
    "VAPOR_calibrated": (kl.VAPOR(optimism=kl.Calibration(2, 30, thompson_fraction=0.3)), {}, FOUR, True),
    "InformationDirected": (kl.InformationDirected(), {}, FOUR, True),
    "KLearning_calibrated": (kl.KLearning(optimism=kl.Calibration(2, thompson_fraction=0.3)), {}, FOUR, True),
}


class Clockwork:
    """A simulator without randomness, of which nothing but the step counts: what it does never changes."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space, self.clock, self.state = space, 0, 0

    def observation(self) -> Any:
        if self.space != NESTED:
            return self.state
        return {"room": 1 + self.state // 2, "keys": np.array([self.state % 2], np.int8)}

    def mask(self) -> list[int] | None:
        """What is allowed, where something is not."""
        return [1, int(self.state != 3)] if self.space == GATED else None

    def step(self, action: int) -> tuple[float, bool]:
        """The reward, and whether the episode is over."""
        self.clock += 1
        self.state = (self.state + action + self.clock // 3) % 4
        return float(self.state == 2 and action == 1), (self.clock * 7) % 11 == 0


def follow(learner: kl.Learner, simulator: Clockwork, steps: int) -> list[int]:
    """Continue for N steps, whole episodes or not; the actions."""
    actions = []
    for _ in range(steps):
        if learner.over:
            learner.end_episode()
        actions.append(learner.act(simulator.observation(), simulator.mask()))
        reward, over = simulator.step(actions[-1])
        learner.observe(reward, simulator.observation(), over)
    return actions


def begun(name: str) -> tuple[kl.Learner, Clockwork]:
    agent, more, space, midway = CASES[name]
    horizon = agent.longest_horizon or HORIZON
    learner, simulator = kl.Learner(agent, space, spaces.Discrete(ACTIONS), horizon, **more), Clockwork(space)
    follow(learner, simulator, BEFORE)
    while midway != (learner.step > 0 and not learner.over):
        follow(learner, simulator, 1)
    if not midway:
        learner.end_episode()
    return learner, simulator


def main(folder: Path = CORPUS) -> None:
    folder.mkdir(exist_ok=True)
    page = folder / "expected.json"
    expected = json.loads(page.read_text()) if page.exists() else {}
    for name in CASES:
        path = folder / f"learner_{name}.npz"
        if path.exists():
            continue
        learner, simulator = begun(name)
        learner.save(path)
        start = {"clock": simulator.clock, "state": simulator.state}
        expected[path.name] = {**start, "actions": follow(learner, simulator, AFTER), "returns": learner.returns}
    page.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
