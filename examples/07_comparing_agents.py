"""Comparing agents properly: the same worlds for all, drawn from the prior; pairs; intervals; one sentence.

Comparisons of learning agents fail in four ways. `kl.compare` guards against three: too few seeds, intervals that are
too narrow, and picking the best of many tests. The fourth, a single world that happens to suit one agent, is ours to
avoid.
"""

import klearning as kl

WORLDS = 30
EPISODES = 300

prior = kl.Prior(kl.Gaussian(mean=0.0, sd=1.0, noise=1.0), kl.Dirichlet(mass=1.0))
agents = {
    "K-learning": kl.KLearning(),
    "PSRL": kl.PSRL(),
    "RLSVI": kl.RLSVI(),
    "UCBVI × 0.1": kl.UCBVI(scale=0.1),
}

# World i is the same for every agent: a hard world is hard for all, and its difficulty cancels in pairs.
worlds = [kl.random_mdp(states=5, actions=3, horizon=5, prior=prior, seed=i) for i in range(WORLDS)]
runs = {
    name: [kl.run(agent, world, prior=prior, episodes=EPISODES, seeds=[i]) for i, world in enumerate(worlds)]
    for name, agent in agents.items()
}

# Bayes regret with 95% intervals. A place is an interval too: 2–3 is surely behind one agent and ahead of another.
# Differences are world by world, and p-values are adjusted for six tests: the chance of any false claim is 5%.
print(kl.compare(runs))

# Fewer looks, and so more power, where only one question is asked: is K-learning better than each of the others?
print("\nAgainst K-learning alone:")
print(kl.compare(runs, against="K-learning").sentence)

# Below ten worlds there is no interval: at five, what calls itself 95% covers some 75%.
print("\nThe first five worlds alone:")
print(kl.compare({name: own[:5] for name, own in runs.items()}).sentence)
