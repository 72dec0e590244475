"""klearning: Bayesian reinforcement learning that explores on purpose.

The whole public surface, in the order in which data flow: worlds make an MDP; a Prior and what was seen
make a Belief; `solve` turns a Belief into a Plan; `run` lets an agent learn in a world.
"""

from klearning.agents import (
    BEB,
    BOLT,
    PSRL,
    RLSVI,
    UCBVI,
    UCFH,
    UCRL2,
    KLearning,
    Optimal,
    OptimisticQLearning,
    QLearning,
    Random,
    SoftQLearning,
)
from klearning.beliefs import Belief, Beta, Dirichlet, Episode, Gaussian, Known, Prior
from klearning.cone import solve_cone
from klearning.contract import BrokenContract, check_agent
from klearning.mdp import MDP, Solution, evaluate, optimal
from klearning.simulate import Agent, Runs, run
from klearning.temperature import Plan, Schedule, schedule, solve
from klearning.theory import regret_bound
from klearning.version import __version__
from klearning.worlds import bandit, deep_sea, random_mdp, river_swim

__all__ = [
    "BEB",
    "BOLT",
    "MDP",
    "PSRL",
    "RLSVI",
    "UCBVI",
    "UCFH",
    "UCRL2",
    "Agent",
    "Belief",
    "Beta",
    "BrokenContract",
    "Dirichlet",
    "Episode",
    "Gaussian",
    "KLearning",
    "Known",
    "Optimal",
    "OptimisticQLearning",
    "Plan",
    "Prior",
    "QLearning",
    "Random",
    "Runs",
    "Schedule",
    "SoftQLearning",
    "Solution",
    "__version__",
    "bandit",
    "check_agent",
    "deep_sea",
    "evaluate",
    "optimal",
    "random_mdp",
    "regret_bound",
    "river_swim",
    "run",
    "schedule",
    "solve",
    "solve_cone",
]
