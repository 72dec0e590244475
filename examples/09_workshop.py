"""A workshop of two presses (`workshop.py`) with action masks: learning, comparison with a rule of thumb, and a look at
the learned policy."""

from workshop import ACTIONS, DAYS, JOBS, Workshop, thresholds

import klearning as kl

env = Workshop()

# A day pays 0 (nothing runs) to 300. Output varies by 20, and a breakdown costs 150 now and then. Wear is random.
prior = kl.Prior(kl.Gaussian(mean=150.0, sd=150.0, noise=40.0), kl.Dirichlet(mass=1.0), stationary=True)


def earnings(rule, runs=200):
    """Mean over fresh runs of 50 days, with the same random numbers for all rules; a rule receives the action mask."""
    total = 0.0
    for run in range(runs):
        observation, info = env.reset(seed=10_000 + run)
        for day in range(DAYS):
            observation, reward, _, _, info = env.step(rule(observation, day, info["action_mask"]))
            total += reward
    return total / runs


# `learn` reads info["action_mask"]: it never replaces a press without a spare, and never plans to.
learner = kl.learn(kl.PSRL(), env, horizon=DAYS, prior=prior, episodes=200, seed=0)
deployed = earnings(lambda observation, day, mask: learner.predict(observation, day, action_mask=mask))
print("earned in 50 days")
print(f"  PSRL after 200 runs                      {deployed:6.0f}")
for wear in (2, 3, 4):
    print(f"  replace from wear {wear} on, keep two spares  {earnings(thresholds(4, wear, 2)):6.0f}")

print("\nthe fitter's job half-way, two spares in store, by wear of the first (down) and the second press (across)")
print("   " + "".join(f"{second:>12}" for second in range(6)))
for first in range(6):
    mornings = [{"first": first, "second": second, "spares": 2, "due": 0} for second in range(6)]
    jobs = [JOBS[ACTIONS[learner.predict(morning, DAYS // 2)][0]] for morning in mornings]
    print(f"  {first}" + "".join(f"{job:>12}" for job in jobs))

# How sure is it? The most frequent mornings, the value of 50 days from there, and its standard deviation.
try:
    table = learner.table()
except ImportError as missing:
    print(missing)
else:
    table = table.drop(columns="met").sort_values("visits", ascending=False)
    print("\n" + table.head(5).round(0).to_string(index=False))
