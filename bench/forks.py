"""Forks: a safe road, and a road whose quality is a matter of unknown transitions alone.

    start ── action 0 ──▶ safe, pays 0.51
          ── action 1 ──▶ good, pays 1, with probability p;  bad, pays 0, else         p ~ Beta(½, ½)

The mean of p is ½: on average the safe road is better, but E V* = E max(p, 0.51) is 0.154 more than 0.51. An agent that
ignores uncertainty about transitions never tries the other road once it knows the rewards, and loses 0.154 per episode
for ever. Rewards are known from the beginning, or coins to be learnt.
"""

import numpy as np

from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import Beta, Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.trial import Trial

SAFE, GOOD, BAD = 0.51, 1.0, 0.0
SUPPORT = [np.array([[[1, 0, 0], [0, 1, 1]]])]  # what is known of the roads: where each may lead
KNOWN = Prior(Gaussian(0.0, 1e-4, 1e-6), Dirichlet(1.0, support=SUPPORT))  # rewards are known to be zero until seen
UNKNOWN = Prior(Beta(1.0, 1.0), Dirichlet(1.0, support=SUPPORT))
SEEN = 1e8  # visits after which a reward is known


def fork(chance: float, known: bool) -> MDP:
    """A fork whose second road is good with this probability."""
    rewards = [[[0.0, 0.0]], [[SAFE, SAFE], [GOOD, GOOD], [BAD, BAD]]]
    roads = [[[[1.0, 0.0, 0.0], [0.0, chance, 1.0 - chance]]]]
    return MDP.from_layers(rewards, roads, [1.0], 1e-6 if known else "bernoulli", name="fork")


def chances(count: int = 40) -> Floats:
    """Values of p: the quantiles of Beta(½, ½) in the middle of ``count`` equal shares."""
    return np.asarray(np.sin(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 2)


def belief(known: bool) -> Belief:
    """Before the first episode."""
    if not known:
        return Belief.empty(UNKNOWN, [1, 3], 2, [1.0])
    visits = [np.zeros((1, 2)), np.full((3, 2), SEEN)]
    sums = [np.zeros((1, 2)), SEEN * np.array([[SAFE, SAFE], [GOOD, GOOD], [BAD, BAD]])]
    return Belief.from_counts(KNOWN, visits, sums, [np.zeros((1, 2, 3))], [1.0])


def fork_regret(agent: Agent, chance: float, known: bool, episodes: int, seed: int = 0) -> Floats:
    """Cumulative regret after every episode."""
    world = fork(chance, known)
    trial = Trial(agent, world, KNOWN if known else UNKNOWN, seed, episodes)
    trial.memory = agent.begin(belief(known))
    trial.advance(episodes)
    return np.cumsum(optimal_value(world) - trial.log.values)
