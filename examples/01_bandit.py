"""A bandit: find out which of four web pages sells best, and lose as few sales as possible meanwhile.

An episode is one visitor. The action is the page to show, and the reward is 1 if the visitor buys.
"""

import klearning as kl

RATES = [0.03, 0.05, 0.04, 0.09]  # the truth, hidden from the agents
VISITORS = 3000
SEEDS = 20

world = kl.bandit(RATES, noise="bernoulli")

# Before the first visitor we know that such pages sell to about one visitor in twenty. Beta(1, 19) has that mean and
# the weight of twenty visitors, so a few days of real visitors outweigh it.
prior = kl.Prior(reward=kl.Beta(a=1.0, b=19.0))

agents = {
    "K-learning": kl.KLearning(),
    "Thompson sampling": kl.PSRL(),  # in a bandit the two are the same
    "even split": kl.Random(),  # an A/B test that never ends
}

print(f"{VISITORS} visitors, mean of {SEEDS} seeds")
print(f"{'':18} {'lost sales':>10}   visitors who saw page 1, 2, 3, 4")
for name, agent in agents.items():
    runs = kl.run(agent, world, prior=prior, episodes=VISITORS, seeds=SEEDS)
    # Regret is exact: it compares each visitor's policy with always showing page 4, and ignores luck.
    lost = runs.regret[:, -1].mean()
    shown = runs.visits.mean(axis=0)[0]  # (seeds, states, actions); a bandit has one state
    print(f"{name:18} {lost:10.1f}   " + " ".join(f"{visitors:6.0f}" for visitors in shown))

# What does K-learning think before it has seen anyone? All pages are alike, so it tries all alike, and its values
# are above the mean of 0.05 by what finding out is worth.
belief = kl.Belief.before(prior, world)
plan = kl.solve(belief)
policy, k_values = (table[0][0].round(3).tolist() for table in (plan.policy, plan.k_values))  # layer 0, state 0
print(f"\nbefore the first visitor: policy {policy}, K-values {k_values}")
