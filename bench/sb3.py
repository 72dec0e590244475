"""DQN of Stable-Baselines3 on the control tasks of `bench.deep`: rows of the same file, for the same table.

    python -m bench.sb3 [TASK ...] [--seeds 400-409] [--processes 2] [--seconds 600] [--out FILE]

Two agents: one with the library's defaults, one with the settings that RL Baselines3 Zoo has tuned for each task. Needs
the packages stable-baselines3 and torch, and Box2D for LunarLander.
"""

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

FILE, DEPLOYMENTS = Path("deep.jsonl"), 20
STEPS = {"MountainCar": 25_000, "CartPole": 20_000, "Acrobot": 10_000, "LunarLander": 200_000}
NAMES = {"MountainCar": "MountainCar-v0", "CartPole": "CartPole-v1", "Acrobot": "Acrobot-v1"}
NAMES |= {"LunarLander": "LunarLander-v3"}
WIDE = {"policy_kwargs": {"net_arch": [256, 256]}}
LANDER: dict[str, Any] = {
    "learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "gamma": 0.99,
    "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1, **WIDE,
}  # fmt: skip
AGENTS: dict[str, dict[str, dict[str, Any]]] = {
    "SB3 DQN": {name: {} for name in STEPS},
    "SB3 DQN, by task": {
        "MountainCar": {
            "learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1000, "gamma": 0.98,
            "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8, "exploration_fraction": 0.2,
            "exploration_final_eps": 0.07, **WIDE,
        },
        "CartPole": {
            "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000, "gamma": 0.99,
            "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04, **WIDE,
        },
        "Acrobot": LANDER,
        "LunarLander": LANDER,
    },
}  # fmt: skip


def play(task: str, agent: str, seed: int) -> dict[str, Any]:
    """The row of a run."""
    import gymnasium
    import torch
    from stable_baselines3 import DQN  # type: ignore[import-not-found, unused-ignore]

    torch.set_num_threads(1)
    began, env = time.perf_counter(), gymnasium.make(NAMES[task])
    learner = DQN("MlpPolicy", env, seed=seed, device="cpu", **AGENTS[agent][task]).learn(STEPS[task])
    returns = []
    for i in range(DEPLOYMENTS):
        seen, _ = env.reset(seed=1_000_000 + DEPLOYMENTS * seed + i)
        total, over = 0.0, False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(int(learner.predict(seen, deterministic=True)[0]))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    about = {"task": task, "agent": agent, "seed": seed, "settings": []}
    return {**about, "greedy": float(np.mean(returns)), "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(STEPS)} (default: all)")
    parser.add_argument("--seeds", default="400-409", metavar="FIRST-LAST")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no run after this many")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    unknown = [name for name in given.tasks if name not in STEPS]
    if unknown:
        parser.error(f"task {unknown[0]!r} is unknown: give some of {', '.join(STEPS)}")
    first, _, last = given.seeds.partition("-")
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(row["task"], row["agent"], row["seed"]) for row in map(json.loads, lines)}
    wanted = (
        (task, agent, seed)
        for task in sorted(given.tasks or STEPS, key=lambda name: -STEPS[name])
        for seed in range(int(first), int(last or first) + 1)
        for agent in AGENTS
    )
    os.environ["OMP_NUM_THREADS"] = "1"
    began = time.perf_counter()
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(play, *run) for run in wanted if run not in done}
        for future in as_completed(waiting):
            row = future.result()
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{time.perf_counter() - began:6.0f} s  {json.dumps(row)}", flush=True)
            if time.perf_counter() - began > given.seconds:
                for other in waiting:
                    other.cancel()
                break


if __name__ == "__main__":
    main()
