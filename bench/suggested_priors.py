"""Episodes that K-learning needs with the prior chosen by hand and with the one that random play suggests.

    python -m bench.suggested_priors --seeds 10 [FrozenLake Taxi CliffWalking Blackjack] [--masks]

Prints the table of docs/evidence/benchmarks.md. The episodes of random play, 20 by default, are not counted.
"""

import argparse
from dataclasses import replace

import numpy as np

import klearning as kl
from klearning.lab.benchmarks.gymnasium.toy_text import AGENTS, PROBLEMS, Problem, episodes_needed


def needed(problem: Problem, seeds: int, suggest: bool, most: int | None, masks: bool) -> list[int | None]:
    """What every seed needed; None where it was not within ``most``."""
    episodes = []
    for seed in range(seeds):
        prior = kl.suggest_prior(problem.make(), seed=seed) if suggest else problem.prior
        outcome = episodes_needed(replace(problem, prior=prior), AGENTS["K-learning"](), seed, most, masks)
        episodes.append(outcome.episodes)
    return episodes


def shown(episodes: list[int | None], most: int) -> str:
    """Mean, least and most; those that were not there in time count as ``most``, and are counted."""
    late = sum(n is None for n in episodes)
    counted = [most if n is None else n for n in episodes]
    mean = f"{'>' if late else ''}{np.mean(counted):.4g} ({min(counted)}–{max(counted)})"
    return mean + (f", {late} of {len(episodes)} not in {most}" if late else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS), help="names, as in the benchmark")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, help="give up after so many episodes")
    parser.add_argument("--masks", action="store_true", help="take only actions that the environment allows (Taxi)")
    given = parser.parse_args()
    print("| problem | by hand | suggested | ratio of means |\n|---|---|---|---|")
    for name in given.problems:
        problem = PROBLEMS[name]
        most = given.most or problem.most
        hand, own = (needed(problem, given.seeds, suggest, given.most, given.masks) for suggest in (False, True))
        ratio = np.mean([n or most for n in own]) / np.mean([n or most for n in hand])
        print(f"| {name} | {shown(hand, most)} | {shown(own, most)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
