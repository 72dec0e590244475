"""Which scale of UCBVI's bonus is best on bandits from each prior: `python -m bench.bandit_scales`, half a minute.

On seeds that `klearning reproduce odonoghue_lattimore2021` does not use; its `Kind.scale` is the best of these.
"""

import numpy as np

import klearning as kl
from klearning.lab.papers.odonoghue_lattimore2021.bandits import ARMS, KINDS

SCALES, SEEDS, ROUNDS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001), range(10_000, 10_060), 1000

if __name__ == "__main__":
    for name, kind in KINDS.items():
        for scale in SCALES:
            worlds = [kl.random_mdp(1, ARMS, 1, prior=kind.prior, seed=seed) for seed in SEEDS]
            agent = kl.UCBVI("hoeffding", scale=scale)
            runs = [
                kl.run(agent, world, prior=kind.prior, episodes=ROUNDS, seeds=[seed])
                for seed, world in zip(SEEDS, worlds)
            ]
            print(f"{name}, scale {scale:g}: {np.mean([r.regret[0, -1] for r in runs]):.1f}")
