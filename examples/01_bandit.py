"""A bandit: which of four web pages sells best, found while losing as few sales as possible.

An episode is one visitor, an action the page to show, the reward 1 where something is bought.
"""

import klearning as kl

RATES = [0.03, 0.05, 0.04, 0.09]  # the truth, which the agents do not see
VISITORS = 3000
SEEDS = 20

world = kl.bandit(RATES, noise="bernoulli")

# What we know before the first visitor: pages like these sell to about one in twenty. A Beta(1, 19) has that mean
# and the weight of twenty visitors, so that a few days of real ones outweigh it.
prior = kl.Prior(reward=kl.Beta(a=1.0, b=19.0))

agents = {
    "K-learning": kl.KLearning(),
    "Thompson sampling": kl.PSRL(),  # which is what PSRL is in a bandit
    "even split": kl.Random(),  # the A/B test that never ends
}

print(f"{VISITORS} visitors, mean of {SEEDS} seeds")
print(f"{'':18} {'lost sales':>10}   visitors who saw page 1, 2, 3, 4")
for name, agent in agents.items():
    runs = kl.run(agent, world, prior=prior, episodes=VISITORS, seeds=SEEDS)
    # Regret is exact: how far each visitor's policy was from showing page 4, not how lucky its visitor was.
    lost = runs.regret[:, -1].mean()
    shown = runs.visits.mean(axis=0)[0]  # (seeds, states, actions); a bandit has one state
    print(f"{name:18} {lost:10.1f}   " + " ".join(f"{visitors:6.0f}" for visitors in shown))

# What does K-learning think before it has seen anyone? All pages are alike, so it tries all alike, and its values
# are above the mean of 0.05 by what finding out is worth.
belief = kl.Belief.before(prior, world)
plan = kl.solve(belief)
policy, k_values = (table[0][0].round(3).tolist() for table in (plan.policy, plan.k_values))  # layer 0, state 0
print(f"\nbefore the first visitor: policy {policy}, K-values {k_values}")
