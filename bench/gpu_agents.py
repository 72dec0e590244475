"""Agents on a GPU: how fast, against one core of the same machine, and whether they learn the same.

    python -m bench.gpu_agents --json gpu_agents.json     # on a GPU: about five minutes
    python -m bench.gpu_agents --small                    # in the simulator: NUMBA_ENABLE_CUDASIM=1

Speed is of the whole loop: plan, exact value of the policy, one episode, update. That of one core is the same agent's
`run` on one thread, after as many episodes, by CPU time. Learning is DeepSea's: first hits and total regret of both,
with 95% intervals of their means; and Bayes regret of random MDPs, a world for every seed.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

import klearning as kl
from bench.gpu import gpu_machine
from bench.record import record
from klearning.gpu.batch import new_batch
from klearning.gpu.layout import new_log
from klearning.gpu.seeds import PROGRAMS
from klearning.numerics.statistics import mean_interval

AGENTS = (kl.KLearning(tolerance=1e-4), kl.PSRL(), kl.RLSVI(), kl.BEB(), kl.UCBVI())
LEARNERS = (*AGENTS, kl.UCBVI(scale=0.001))  # with all of its bonus UCBVI flips coins for as long as this takes
LAUNCH = 20  # episodes
SPEED_HEADINGS = ("agent", *(f"{part}{depth}" for depth in (20, 50) for part in ("depth ", "one core, ", "ratio, ")))
MEASURES = [f"{what}: {device}" for what in ("first hit", "total regret") for device in ("GPU", "CPU")]
LEARNING_HEADINGS = ("agent", "depth, episodes", *MEASURES)


def gpu_speed(agent: Any, depth: int, seeds: int, episodes: int) -> dict[str, float]:
    """Episodes a second over the first ``episodes`` of every seed, and how long the first call took to compile."""
    world = kl.deep_sea(depth)
    form = PROGRAMS[type(agent)](agent, kl.Prior(), world)
    batch = new_batch(world, type(agent).__name__, np.arange(seeds, dtype=np.uint32))
    state, log = form.begin(batch), new_log(len(form.diagnostics), LAUNCH, seeds)

    def play(first: int, count: int) -> float:
        cuda.synchronize()
        began = time.perf_counter()
        form.advance(batch, state, log, first, count)
        cuda.synchronize()
        return time.perf_counter() - began

    compilation = play(0, 0)
    rates = [seeds * LAUNCH / play(first, LAUNCH) for first in range(0, episodes, LAUNCH)]
    total = len(rates) / sum(1.0 / rate for rate in rates)
    return {"per_second": total, "first": rates[0], "last": rates[-1], "compilation_seconds": compilation}


def core_speed(agent: Any, depth: int, episodes: int, rounds: int) -> float:
    """Episodes a second of one seed on one core: the best of some rounds, by CPU time."""
    world, best = kl.deep_sea(depth), 0.0
    kl.run(agent, world, episodes=1, seeds=1, threads=1)
    for seed in range(rounds):
        began = time.process_time()
        kl.run(agent, world, episodes=episodes, seeds=[seed], threads=1)
        best = max(best, episodes / (time.process_time() - began))
    return best


def interval(x: Any) -> list[float]:
    return [float(v) for v in mean_interval(x[np.isfinite(x)])[:3]]


def learning(agent: Any, depth: int, episodes: int, seeds: int, core_seeds: int) -> dict[str, Any]:
    """On both: how many seeds came to the treasure, when, and what they lost."""
    world, result = kl.deep_sea(depth), {}
    for device, count in (("gpu", seeds), ("cpu", core_seeds)):
        runs = kl.run(agent, world, episodes=episodes, seeds=count, device=device, keep="points")
        reached = np.isfinite(runs.first_hit)
        result[device] = {"reached": float(reached.mean()), "regret": interval(runs.regret[:, -1])}
        if reached.sum() > 1:
            result[device]["first_hit"] = interval(runs.first_hit)
    return result


def bayes_regret(agent: Any, worlds: int, core_worlds: int, episodes: int) -> dict[str, list[float]]:
    """Of random MDPs with five layers of five states and two actions."""
    many = kl.gpu.random_worlds(worlds, states=5, actions=2, horizon=5)
    there = kl.run(agent, many, episodes=episodes, seeds=worlds, device="gpu", keep="points").regret[:, -1]
    here = [
        kl.run(agent, kl.random_mdp(5, 2, 5, seed=i), episodes=episodes, seeds=[i]).regret[0, -1]
        for i in range(core_worlds)
    ]
    return {"gpu": interval(there), "cpu": interval(np.array(here))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["speed", "learning", "bayes"], help="a part of it")
    parser.add_argument("--json", type=Path, help="write the numbers there too, as they come")
    parser.add_argument("--small", action="store_true", help="sizes for the simulator")
    options = parser.parse_args()
    small, numbers = options.small, {}

    def keep(name: str, row: Any) -> None:
        numbers[name] = row
        print(name, json.dumps(row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(numbers, indent=1) + "\n")

    for agent in AGENTS:
        name = type(agent).__name__
        if options.only in (None, "speed"):
            for depth, seeds in ((3, 8),) if small else ((20, 131_072), (50, 65_536)):
                episodes = LAUNCH if small else 200
                core = core_speed(agent, depth, 20 if small else 2000, 1 if small else 3)
                row = gpu_speed(agent, depth, seeds, episodes)
                keep(f"speed_{name}_{depth}", {**row, "one_core": core, "times": row["per_second"] / core})
        if options.only in (None, "bayes"):
            keep(f"bayes_{name}", bayes_regret(agent, *((8, 8, 5) if small else (100_000, 1000, 100))))
    for agent in LEARNERS if options.only in (None, "learning") else ():
        for sizes in ((3, 15, 16, 16),) if small else ((10, 300, 20_000, 4000), (20, 1000, 20_000, 1000)):
            keep(f"learning_{agent}_{sizes[0]}", learning(agent, *sizes))
    if not small:
        record_tables(numbers)


def record_tables(numbers: dict[str, Any]) -> None:
    """Speeds beside one core, and learning at depth 20, if they were measured."""
    speeds, learned = [], []
    for agent in AGENTS:
        name = type(agent).__name__
        at = [numbers[key] for depth in (20, 50) if (key := f"speed_{name}_{depth}") in numbers]
        if len(at) == 2:
            cells = ((f"{x['per_second']:.2e}", f"{x['one_core']:,.0f}", f"{x['times']:,.0f}") for x in at)
            speeds.append([f"`{name}`", *(cell for triple in cells for cell in triple)])
        if found := numbers.get(f"learning_{agent}_20"):
            both = [found[place].get(key) for key in ("first_hit", "regret") for place in ("gpu", "cpu")]
            learned.append([f"`{name}`", "20, 1,000", *map(interval_text, both)])
    if speeds:
        record("gpu.agents", "python -m bench.gpu_agents", SPEED_HEADINGS, speeds, device=gpu_machine())
    if learned:
        record("gpu.learning", "python -m bench.gpu_agents", LEARNING_HEADINGS, learned, device=gpu_machine())


def interval_text(x: list[float] | None) -> str:
    return f"{x[0]:.2f} [{x[1]:.2f}, {x[2]:.2f}]" if x else "–"


if __name__ == "__main__":
    main()
