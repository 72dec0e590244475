"""Bandits: two agents to compare with, and the least regret that is possible.

runs = kl.run(BayesUCB(), kl.bandit([0.4, 0.6]), prior=COINS, episodes=200, seeds=10)
least_bandit_regret(200)                    # of two coins with uniform means, by dynamic programming
"""

from klearning.lab.benchmarks.bandits.agents import BayesUCB, InformationDirectedBandit
from klearning.lab.benchmarks.bandits.bayes_optimal import COINS, least_bandit_regret, least_regret_of_two_layers

__all__ = ["COINS", "BayesUCB", "InformationDirectedBandit", "least_bandit_regret", "least_regret_of_two_layers"]
