"""RiverSwim: the value of one more true fact.

A swimmer earns 0.005 per step downstream, and 1 at the source, against the current. The river is the same at all 20
steps of a day. An agent that knows this learns from all steps at once; one that does not learns each step separately.
"""

import klearning as kl

DAYS = 1000
SEEDS = 10

world = kl.river_swim(states=6, horizon=20)
reward = kl.Gaussian(mean=0.0, sd=0.5, noise=0.05)
current = kl.Dirichlet(mass=1.0)  # outcomes vary, so one transition does not settle anything

# A stationary prior has one table for all steps. Known currents are therefore one step of the river, from one layer to
# the next: a horizon of 2.
one_step = kl.Known(kl.river_swim(states=6, horizon=2))

priors = {
    "nothing more": kl.Prior(reward, current),
    "same river all day": kl.Prior(reward, current, stationary=True),
    "the currents, too": kl.Prior(reward, one_step, stationary=True),
}

best = kl.optimal(world).value
print(f"optimal return of a day {best:.3f}; K-learning, mean of {SEEDS} seeds over {DAYS} days")
print(f"{'what the agent is told':24} {'regret':>8}   value of the policy on day 1, 10, 100, 1000")
for name, prior in priors.items():
    runs = kl.run(kl.KLearning(), world, prior=prior, episodes=DAYS, seeds=SEEDS)
    values = runs.values.mean(axis=0)  # exact, of the policy of that day
    milestones = " ".join(f"{values[day - 1]:6.3f}" for day in (1, 10, 100, 1000))
    print(f"{name:24} {runs.regret[:, -1].mean():8.1f}   {milestones}")

# A caution that belongs to the second line: the paper's regret bound is proved for layers that are learned apart.
# With stationary=True the same planning runs on shared counts, which is what a simulator wants, but
# `plan.bound` is then a guide and no longer a theorem (docs/howto/own_simulator.md).
