"""Comparing agents properly: worlds drawn from the prior, the same for all; pairs; intervals; one honest sentence.

Four things go wrong in comparisons of learning agents, and each line below is there against one of them: one world
that happens to suit somebody, too few seeds, intervals that pretend to know, and the best of many looks.
"""

import numpy as np

import klearning as kl
from klearning.statistics import holm, mean_interval, paired_difference

WORLDS = 30
EPISODES = 300

prior = kl.Prior(kl.Gaussian(mean=0.0, sd=1.0, noise=1.0), kl.Dirichlet(mass=1.0))
agents = {
    "K-learning": kl.KLearning(),
    "PSRL": kl.PSRL(),
    "RLSVI": kl.RLSVI(),
    "UCBVI, scale 0.1": kl.UCBVI(scale=0.1),
}

# World i is the same for every agent, so that a hard one is hard for all and its hardness cancels in pairs.
worlds = [kl.random_mdp(states=5, actions=3, horizon=5, prior=prior, seed=i) for i in range(WORLDS)]
regret = {
    name: np.array(
        [
            kl.run(agent, world, prior=prior, episodes=EPISODES, seeds=[i]).regret[0, -1]
            for i, world in enumerate(worlds)
        ]
    )
    for name, agent in agents.items()
}

print(f"Bayes regret after {EPISODES} episodes in {WORLDS} worlds drawn from the prior, with 95% intervals")
for name, x in regret.items():
    mean, low, high = mean_interval(x)
    print(f"  {name:18} {mean:7.1f}   [{low:6.1f}, {high:6.1f}]")

# Below ten seeds there is no interval: at five, what calls itself 95% covers some 75%.
few = mean_interval(regret["K-learning"][:5])
print(f"  of the first five worlds alone: {few.estimate:.1f}, interval {'none' if np.isnan(few.low) else few}")

print("\nK-learning minus the other, world by world (below zero: K-learning lost less)")
others = [name for name in agents if name != "K-learning"]
pairs = [paired_difference(regret["K-learning"], regret[name]) for name in others]
adjusted = holm(np.array([pair.p_value for pair in pairs]))  # three looks, one chance of a false claim
for name, pair, p in zip(others, pairs, adjusted, strict=True):
    d = pair.difference
    print(f"  {name:18} {d.estimate:7.1f}   [{d.low:6.1f}, {d.high:6.1f}]   p = {p:.3f}")

told = [
    f"{'less' if pair.difference.estimate < 0 else 'more'} than {name}"
    for name, pair, p in zip(others, pairs, adjusted, strict=True)
    if p < 0.05
]
untold = [name for name, p in zip(others, adjusted, strict=True) if p >= 0.05]
print(
    "\nConclusion: at this size, prior and length, K-learning loses "
    + (" and ".join(told) or "no more or less")
    + (f"; against {' and '.join(untold)} these worlds do not tell." if untold else ".")
)
