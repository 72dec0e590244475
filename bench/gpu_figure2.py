"""Figure 2, learning times in DeepSea, with 100,000 seeds for the agents that a GPU can play.

    python -m bench.gpu_figure2 --out out/figure2_gpu.png
    NUMBA_ENABLE_CUDASIM=1 python -m bench.gpu_figure2 --depths 3 --seeds 12 --cap 20    # whether it runs at all

Settings are those of `klearning reproduce figure2` (fitted); no run stops early, and a seed that has not solved it by
the cap counts as longer than that. Means come with their 95% intervals.
"""

import argparse
from pathlib import Path

import numpy as np

import klearning as kl
from klearning.arrays.types import Floats
from klearning.figures.canvas import save
from klearning.gpu.seeds import FORMS
from klearning.papers.odonoghue2021.figure2 import draw
from klearning.papers.odonoghue2021.learning_times import Times
from klearning.papers.odonoghue2021.protocols import TEXT
from klearning.statistics import mean_interval
from klearning.trials.agent import Agent


def players() -> dict[str, Agent]:
    """Those of the figure that have a form on the device."""
    able = {}
    for label, agent in TEXT.contestants().items():
        try:
            FORMS[type(agent)](agent, TEXT.prior, TEXT.world(4))
        except (KeyError, ValueError):
            continue
        able[label] = agent
    return able


def solved(agent: Agent, depth: int, seeds: int, cap: int) -> Floats:
    runs = kl.run(agent, TEXT.world(depth), prior=TEXT.prior, episodes=cap, seeds=seeds, device="gpu")
    times: Floats = runs.solved
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", type=int, nargs="+", default=[4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 50])
    parser.add_argument("--seeds", type=int, default=100_000)
    parser.add_argument("--cap", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=Path("out/figure2_gpu.png"))
    options = parser.parse_args()
    times: Times = {}
    print("| agent | depth | solved | mean time | 95% interval | median |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label, agent in players().items():
        for depth in options.depths:
            x = times.setdefault(label, {})[depth] = solved(agent, depth, options.seeds, options.cap)
            there = x[np.isfinite(x)]
            mean, low, high = mean_interval(there) if there.size else (np.nan, np.nan, np.nan)
            median = np.median(np.where(np.isfinite(x), x, np.inf))
            share = there.size / x.size
            print(
                f"| {label} | {depth} | {share:.3%} | {mean:.2f} | {low:.2f} to {high:.2f} | {median:g} |", flush=True
            )
    save(draw(times, TEXT, options.cap, "python -m bench.gpu_figure2"), options.out)


if __name__ == "__main__":
    main()
