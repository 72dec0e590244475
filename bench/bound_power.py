"""Whether the theorem's bound would catch a policy that never learns: python -m bench.bound_power

Regret of the random and of the worst policy is exact in each MDP of the study. Writes
docs/evidence/data/bayes_regret.power.json.
"""

from dataclasses import replace

import numpy as np

import klearning as kl
from bench.record import record
from klearning.lab.papers.odonoghue2021.study import NOISE, PRIOR, Size
from klearning.lab.papers.odonoghue2021.study_figure import Study
from klearning.lab.theory import regret_bound
from klearning.numerics.types import Floats


def lost_per_episode(size: Size, worlds: int) -> Floats:
    """Mean regret of an episode of the random and of the worst policy."""
    lost = []
    for seed in range(worlds):
        world = kl.random_mdp(size.S, size.A, size.L, PRIOR, seed)
        even = np.full((world.states, size.A), 1 / size.A)
        worst = -kl.optimal(replace(world, reward=-world.reward, noise=0.0)).value
        lost.append(kl.optimal(world).value - np.array([kl.evaluate(world, even).value, worst]))
    mean: Floats = np.mean(lost, axis=0)
    return mean


def main() -> None:
    headings = ["L, S per layer, A", "bound", "N·L", "a random policy loses", "share of the bound", "the worst policy"]
    rows = []
    for size, (worlds, episodes) in Study().sizes().items():
        lost, t = lost_per_episode(size, worlds), np.arange(1, episodes + 1)
        bound = regret_bound(size.totals, t, NOISE)
        random, worst = (float((x * t / bound).max()) for x in lost)
        rows.append([f"{size.L}, {size.S}, {size.A}", f"{bound[-1]:.0f}", episodes * size.L,
                     f"{episodes * lost[0]:.1f}", f"{random:.0%}", f"{worst:.0%}"])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    record("bayes_regret.power", "python -m bench.bound_power", headings, rows)


if __name__ == "__main__":
    main()
