"""Large stores and learners: `python -m bench.scale [RUNS] [STATES]`. Writes docs/evidence/data/reliability.scale.json.

A store of RUNS small runs (10,000) is listed, first without an index, then with one. A Q-learner meets STATES states
(100,000), in five equal parts: the last part should take as long as the first.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from gymnasium.spaces import Discrete

import klearning as kl
from bench.record import record
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import INDEX, Store

HORIZON = 100
PARTS = 5


def main(runs: int = 10_000, states: int = 100_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(Store(folder), runs)
        (Path(folder) / INDEX).unlink(missing_ok=True)
        words = {"no index": ("store", "ls"), "with an index": ("store", "ls"), "verify": ("store", "verify")}
        for name, command in words.items():
            label = f"`klearning {' '.join(command)}`, {runs:,} runs" + (f", {name}" if name != "verify" else "")
            keep(label, seconds([str(Path(sys.executable).with_name("klearning")), *command, "--store", folder]))
    times = new_states(states)
    for i, taken in enumerate(times):
        keep(f"QLearning, new states {states // PARTS * i:,} to {states // PARTS * (i + 1):,}", taken)


def keep(name: str, taken: tuple[float, float]) -> None:
    row = [name, *(f"{x:.1f}" for x in taken)]
    record("reliability.scale", "python -m bench.scale", ("what", "seconds", "CPU s"), [row], keep=True)
    print(name, taken, flush=True)


def fill(store: Store, runs: int) -> None:
    """Runs that were never run, and that no disk waits for."""
    agents: list[dict[str, Any]] = [{"name": "KLearning"}, {"name": "PSRL"}, {"name": "RLSVI"}, {"name": "UCBVI"}]
    specs = [make_spec({"name": "deep_sea", "depth": d}, agent, episodes=5) for d in (5, 10) for agent in agents]
    rng = np.random.default_rng(0)
    with patch.object(os, "fsync", lambda handle: None):
        for i in range(runs):
            arrays = {"optimal_value": np.asarray(0.99), "values": rng.random(5), "returns": rng.random(5)}
            store.put(
                replace(specs[i % len(specs)], seed=i // len(specs)),
                {**arrays, "hits": rng.random(5) < 0.3, "visits": np.ones((2, 25))},
            )


def seconds(command: list[str]) -> tuple[float, float]:
    """By the clock, and of a core."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, cpu


def new_states(states: int) -> list[tuple[float, float]]:
    learner = kl.Learner(kl.QLearning(), Discrete(10**7), Discrete(2), HORIZON)
    times: list[tuple[float, float]] = []
    met = 0
    began = time.perf_counter(), time.process_time()
    for _ in range(PARTS):
        while learner.observations.count < states * (len(times) + 1) // PARTS:
            for step in range(HORIZON):
                action = learner.act(met)
                met += 1
                learner.observe(0.1 * action, met, truncated=step == HORIZON - 1)
            learner.end_episode()
        now = time.perf_counter(), time.process_time()
        times.append((now[0] - began[0], now[1] - began[1]))
        began = now
    return times


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
