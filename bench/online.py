"""Model-free agents with the same order and replay: python -m bench.online [--seeds 20] [--processes N] [--speed].

Prints the tables of docs/reference/agents/online_k_learning.md, the one of speed alone with --speed.
Settings were chosen on seeds below 24; those here begin at 100. A run that is not solved within its episodes is stuck.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import klearning as kl

FIRST_SEED = 100
DEPTHS = {10: 1000, 20: 2000, 30: 3000}  # and the most episodes
SCALES = (1e-4, 3e-5, 1e-5, 1e-6)  # of optimistic Q-learning: its best depends on depth and slip, so all are shown


def optimistic(*scales: float, replay: int) -> dict[str, Any]:
    agents = [kl.OptimisticQLearning(scale=scale, order="backward", replay=replay) for scale in scales]
    return {f"OptimisticQLearning(scale={x.scale:g}, order='backward', replay={replay})": x for x in agents}


DEEP_SEA: dict[str, Any] = {
    "OnlineKLearning()": kl.OnlineKLearning(),
    **optimistic(*SCALES, replay=20),
    "OnlineKLearning(replay=5)": kl.OnlineKLearning(replay=5),
    **optimistic(*SCALES, replay=5),
    "OnlineKLearning(sharpness=1)": kl.OnlineKLearning(sharpness=1.0),
    "OnlineKLearning(replay=50)": kl.OnlineKLearning(replay=50),
    "OnlineKLearning('forward', replay=0)": kl.OnlineKLearning("forward", replay=0),
    "OptimisticQLearning(scale=0.001)": kl.OptimisticQLearning(scale=0.001),
    "KLearning()": kl.KLearning(),
}
COINS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0))
RANDOM: dict[str, Any] = {
    "OnlineKLearning()": kl.OnlineKLearning(),
    "OnlineKLearning(sharpness=1)": kl.OnlineKLearning(sharpness=1.0),
    **optimistic(1e-2, 1e-3, 1e-4, replay=20),
    "KLearning(optimism=0.25)": kl.KLearning(optimism=0.25),
    "PSRL()": kl.PSRL(),
}


def dive(name: str, depth: int, slips: bool, seeds: int) -> str:
    """Mean of first hit / solved, the slowest, and how many were stuck."""
    world = kl.deep_sea(depth, slip=1.0 / depth if slips else 0.0)
    which = range(FIRST_SEED, FIRST_SEED + seeds)
    runs = kl.run(DEEP_SEA[name], world, episodes=DEPTHS[depth], seeds=which, threads=1, evaluate_every=DEPTHS[depth])
    done = np.isfinite(runs.solved)
    if not done.any():
        return "–"
    stuck = "" if done.all() else f", {seeds - done.sum()} stuck"
    return f"{np.nanmean(runs.first_hit):.0f} / {runs.solved[done].mean():.0f} (≤ {runs.solved[done].max():.0f}{stuck})"


def wander(name: str, worlds: int) -> str:
    """Mean Bayes regret after 1000 and 5000 episodes in worlds from the prior, and the 90th percentile."""
    regret = np.array(
        [
            kl.run(
                RANDOM[name], kl.random_mdp([5] * 5, 2, prior=COINS, seed=FIRST_SEED + i), prior=COINS, episodes=5000,
                seeds=[i], threads=1,
            ).regret[0, [999, 4999]]
            for i in range(worlds)
        ]
    )  # fmt: skip
    error = regret.std(axis=0, ddof=1) / np.sqrt(worlds)
    parts = [f"{regret[:, j].mean():.0f} ± {error[j]:.0f} ({np.percentile(regret[:, j], 90):.0f})" for j in (0, 1)]
    return " | ".join(parts)


SPEED: dict[str, Any] = {
    "OptimisticQLearning(scale=0.0001)": kl.OptimisticQLearning(scale=1e-4),
    **optimistic(1e-4, replay=20),
    "OnlineKLearning('forward', replay=0)": kl.OnlineKLearning("forward", replay=0),
    "OnlineKLearning(replay=5)": kl.OnlineKLearning(replay=5),
    "OnlineKLearning()": kl.OnlineKLearning(),
    "KLearning()": kl.KLearning(),
}


def speed_table(depth: int = 50, episodes: int = 1000, rounds: int = 5) -> None:
    """Episodes per second of CPU time, the best of some rounds; the policy is evaluated every 100th episode."""
    print(f"| agent | episodes per second of CPU time, depth {depth} |\n|---|---|")
    world = kl.deep_sea(depth)
    for name, agent in SPEED.items():
        least = np.inf
        for seed in range(rounds + 1):  # the first may compile
            began = time.process_time()
            kl.run(agent, world, episodes=episodes, seeds=[seed], threads=1, evaluate_every=100)
            least = min(least, time.process_time() - began) if seed else np.inf
        print(f"| `{name}` | {episodes / least:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    if options.speed:
        speed_table()
        return
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = {
            name: [pool.submit(dive, name, depth, slips, options.seeds) for slips in (False, True) for depth in DEPTHS]
            for name in DEEP_SEA
        }
        late = {name: pool.submit(wander, name, options.worlds) for name in RANDOM}
        heads = [f"L={depth}{', slip' * slips}" for slips in (False, True) for depth in DEPTHS]
        print("| agent | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
        for name, cells in jobs.items():
            print(f"| `{name}` | " + " | ".join(cell.result() for cell in cells) + " |", flush=True)
        print("\n| agent | 1000 episodes (90th percentile) | 5000 episodes |\n|---|---|---|")
        for name, cell in late.items():
            print(f"| `{name}` | {cell.result()} |", flush=True)


if __name__ == "__main__":
    main()
