"""A warehouse of 936 states (`warehouse.py`): a prior from random play or by hand, learning, comparing the deployed
policy with a rule of thumb, and resuming from a file."""

import tempfile
from pathlib import Path

from warehouse import DAYS, Warehouse, base_stock

import klearning as kl

env = Warehouse()

# A prior from random play, with reasons. It is a start; your own knowledge is better.
print("suggested:", kl.suggest_prior(env, horizon=DAYS))

# By hand: a day pays −60 (a large order, nothing to sell) to 80, so an untried order pays 10, give or take 70. The
# number of customers varies by two, at 15 each. No two days are alike, so the transitions are random.
prior = kl.Prior(kl.Gaussian(mean=10.0, sd=70.0, noise=30.0), kl.Dirichlet(mass=1.0), stationary=True)
learner = kl.learn(kl.KLearning(), env, horizon=DAYS, prior=prior, episodes=500, seed=0)


def profit(rule, months=200):
    """Mean profit of a rule (observation, day) -> order, in fresh months, the same for all rules."""
    total = 0.0
    for month in range(months):
        observation, _ = env.reset(seed=10_000 + month)
        for day in range(DAYS):
            observation, reward, *_ = env.step(rule(observation, day))
            total += reward
    return total / months


print("\nprofit of a month")
print(f"  K-learning after 500 months      {profit(learner.predict):4.0f}")

with tempfile.TemporaryDirectory() as folder:  # the file holds everything: the belief and the random streams
    learner.save(Path(folder) / "warehouse.npz")
    learner = kl.load(Path(folder) / "warehouse.npz")
learner = kl.learn(learner, env, episodes=1000)
print(f"  K-learning after 1,000 more      {profit(learner.predict):4.0f}")
for level in (12, 14, 16):  # in practice nobody knows which level is best
    rule = base_stock(low=10, level=level, busy_level=level + 4)
    print(f"  order up to {level}, or {level + 4} when busy  {profit(rule):4.0f}")

# Its orders half-way through the month, and how often such a morning occurred: rare ones are not learned well.
print("\nunder way: 2 crates for tomorrow; the market is busy")
for stock in range(0, 13, 3):
    morning = {"stock": stock, "today": 0, "tomorrow": 2, "busy": 1}
    order, info = learner.predict(morning, step=DAYS // 2, info=True)
    worth, came = info["value"], info["visits"]
    print(f"  {stock:2} in stock: order {order}, worth {worth:4.0f} to the end, {came:4.0f} such mornings")
