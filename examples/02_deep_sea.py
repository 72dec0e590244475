"""DeepSea: a treasure that random exploration does not find, and K-learning does.

A diver sinks one row per step and moves left or right. Right costs a little every time, and only going right every time
reaches the treasure: one path out of 2^depth.
"""

import numpy as np

import klearning as kl

DEPTH = 20
EPISODES = 1000
SEEDS = 5

world = kl.deep_sea(DEPTH)
# The prior says how large a reward may be, not where it is. An agent is built from a prior, never from the world.
prior = kl.Prior(reward=kl.Gaussian(mean=0.0, sd=1.0, noise=0.05), transitions=kl.Dirichlet(mass=0.3))

print(f"depth {DEPTH}, {EPISODES} episodes; a coin flipped at every step needs about {2**DEPTH:,} to get there once")
print(f"{'':12} first episode at the treasure        regret")
for agent in (kl.KLearning(), kl.PSRL(), kl.QLearning(epsilon=0.1)):
    runs = kl.run(agent, world, prior=prior, episodes=EPISODES, seeds=SEEDS)
    # NaN is not missing data: this seed never reached the treasure.
    hits = " ".join("never" if np.isnan(hit) else f"{hit:5.0f}" for hit in runs.first_hit)
    print(f"{type(agent).__name__:12} {hits}   {runs.regret[:, -1].mean():10.1f}")

# Why it works: uncertainty has value, and the value adds up along a path. The K-value of the first step includes
# everything that could still be found behind it. `gap` certifies the temperature: the bound f(tau) is within `gap` of
# its minimum over all temperatures.
belief = kl.Belief.before(prior, world)
plan = kl.solve(belief)
print()
print(
    f"temperature {plan.temperature:.4f}; value of the start {plan.values[0][0]:.3f}, against a true optimum of "
    f"{kl.optimal(world).value:.3f}"
)
print(f"certified: gap {'below' if plan.gap < 1e-5 * plan.bound else 'ABOVE'} 1e-5 of the bound")
