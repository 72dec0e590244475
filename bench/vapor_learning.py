"""How fast VAPOR learns: `python -m bench.vapor_learning deep_sea` or `bayes_regret`, with --seeds, --processes, --out.

deep_sea: mean episodes to the first hit and until solved, protocol `text`, beside K-learning and PSRL.
bayes_regret: mean regret after 100 and 1000 episodes on MDPs drawn from the prior (5 layers of 5 states, 2 actions,
Beta(1,1) rewards, Dirichlet rows of mass 1), every agent on the same ones.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from klearning.lab.papers.odonoghue2021.protocols import TEXT
from klearning.tabular.trials.agent import Agent

AGENTS: dict[str, Agent[Any]] = {
    "VAPOR": kl.VAPOR(),
    "VAPOR, κ = 1/2": kl.VAPOR(optimism=0.5),
    "VAPOR, κ = 1/4": kl.VAPOR(optimism=0.25),
    "VAPOR, κ = 1/10": kl.VAPOR(optimism=0.1),
    "VAPOR, sharp": kl.VAPOR("sharp"),
    "VAPOR, published": kl.VAPOR("published"),
    "K-learning": kl.KLearning(),
    "K-learning, calibrated": kl.KLearning(optimism="calibrated"),
    "PSRL": kl.PSRL(),
}
DEPTHS, MOST = (10, 20, 30, 40, 50), 3000
COINS, WIDTHS, EPISODES, MOMENTS = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(1.0)), [5] * 5, 1000, (100, 1000)

Job = tuple[str, int, int]


def dive(job: Job) -> tuple[float, float]:
    """Episodes to the first hit and until solved, or as many as there were."""
    name, depth, seed = job
    if name in ("VAPOR, sharp", "VAPOR, published") and depth > 10:
        return np.nan, np.nan
    runs = kl.run(AGENTS[name], TEXT.world(depth), prior=TEXT.prior, episodes=MOST, seeds=[seed])
    first, solved = (float(np.nan_to_num(x[0], nan=MOST)) for x in (runs.first_hit, runs.solved))
    return first, solved


def regret(job: Job) -> tuple[float, float]:
    """Cumulative, after the moments."""
    name, _, seed = job
    world = kl.random_mdp(WIDTHS, actions=2, prior=COINS, seed=seed)
    runs = kl.run(AGENTS[name], world, prior=COINS, episodes=EPISODES, seeds=[seed])
    return float(runs.regret[0, MOMENTS[0] - 1]), float(runs.regret[0, MOMENTS[1] - 1])


def tell(title: str, jobs: list[Job], rows: Any) -> dict[str, Any]:
    """Means and standard errors per agent and depth."""
    table: dict[str, Any] = {}
    for name in dict.fromkeys(job[0] for job in jobs):
        for size in dict.fromkeys(job[1] for job in jobs):
            x = np.array([row for job, row in zip(jobs, rows, strict=True) if job[:2] == (name, size)])
            error = x.std(axis=0, ddof=1) / sqrt(len(x)) if len(x) > 1 else np.full(2, np.nan)
            table.setdefault(name, {})[size] = {"mean": x.mean(axis=0).tolist(), "error": error.tolist()}
    print(f"\n{title}")
    for name, sizes in table.items():
        cells = (f"{x['mean'][0]:.1f} / {x['mean'][1]:.1f} ± {x['error'][1]:.1f}" for x in sizes.values())
        print("| " + " | ".join((name, *cells)) + " |", flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("deep_sea", "bayes_regret"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--depths", type=int, nargs="*", default=DEPTHS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    deep = asked.study == "deep_sea"
    sizes = asked.depths if deep else [0]
    jobs = [(name, size, seed) for name in AGENTS for size in sizes for seed in range(asked.seeds)]
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        rows = list(pool.map(dive if deep else regret, jobs, chunksize=4))
    title = "| agent | " + " | ".join(f"L={size}" if deep else "100 / 1000 episodes" for size in sizes) + " |"
    table = tell(title, jobs, rows)
    if asked.out is not None:
        asked.out.write_text(json.dumps(table, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
