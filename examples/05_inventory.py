"""Inventory: learn how much to order without knowing the demand, and check the answer against theory.

Theory says that the best rule has two numbers per day, (s, S): with fewer than s in stock, order up to S. The agent
does not know this. It sees only stock, orders and profit.
"""

import numpy as np

import klearning as kl

DAYS = 10
SEASONS = 400

world = kl.inventory(capacity=6, horizon=DAYS, demand=2.0)  # Poisson demand, lost sales, a fixed cost of delivery

# A day earns or loses a few tenths. The stock left at night varies, so one night must not settle it: mass 1, not 0.01.
prior = kl.Prior(kl.Gaussian(mean=0.0, sd=0.3, noise=0.05), kl.Dirichlet(mass=1.0), stationary=True)

# Exact regret over many seeds: `run` evaluates each season's policy in the model, which the agent never sees.
best = kl.optimal(world)
print(f"profit of a season at best: {best.value:.3f}")
print(f"{'':12} {'season 1':>9} {'10':>7} {'100':>7} {'400':>7}   profit of the policy, mean of 10 seeds")
for agent in (kl.KLearning(), kl.PSRL(), kl.QLearning(epsilon=0.1)):
    runs = kl.run(agent, world, prior=prior, episodes=SEASONS, seeds=10)
    values = runs.values.mean(axis=0)
    print(f"{type(agent).__name__:12} {values[0]:9.3f} {values[9]:7.3f} {values[99]:7.3f} {values[399]:7.3f}")

# One learner in our own loop, to inspect the result. A world is a Gymnasium environment too.
env = kl.WorldEnv(world)
learner = kl.Learner(kl.KLearning(), env.observation_space, env.action_space, DAYS, prior=prior)
for season in range(SEASONS):
    stock, _ = env.reset(seed=season)
    while not learner.over:
        stock, profit, over, _, _ = env.step(learner.act(stock))
        # The season ends because of the calendar, which the stock does not show. `terminated` would tell a stationary
        # learner that this stock and this order sometimes end the business.
        learner.observe(profit, stock, truncated=over)
    learner.end_episode()

orders = np.array([[learner.predict(stock, step=day) for stock in range(7)] for day in range(DAYS)])
worth = kl.evaluate(world, [np.eye(7)[row] for row in orders]).value  # a policy is a (stock, order) table per day
print(f"\nthe rule learned after {SEASONS} seasons is worth {worth:.3f}, {worth / best.value:.1%} of the optimum")

# What does not fit is neither delivered nor paid, so orders are shown as far as the shelf has room. Full shelves are
# rare once orders are sensible, and are not learned well because that would not pay.
print("order by stock:        0  1  2  3  4  5  6")
for day in (4, DAYS - 1):
    rules = {"learned": orders[day], "optimal": np.argmax(best.policy[day], axis=1)}
    for name, rule in rules.items():
        delivered = np.minimum(rule, 6 - np.arange(7))
        print(f"  day {day + 1:2}, {name:10} " + "".join(f"{order:3}" for order in delivered))
