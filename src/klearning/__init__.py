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
from klearning.binning import Binned
from klearning.cone import solve_cone
from klearning.contract import BrokenContract, check_agent
from klearning.environments import WorldEnv, register_environments
from klearning.learner import Learner, PriorWarning, load
from klearning.mdp import MDP, Solution, evaluate, optimal
from klearning.simulate import Agent, Runs, run
from klearning.temperature import Plan, Schedule, schedule, solve
from klearning.theory import regret_bound
from klearning.training import Report, learn
from klearning.version import __version__
from klearning.watching import CSVWriter, LiveView, TensorBoardWriter
from klearning.worlds import admission_queue, bandit, deep_sea, dose_finding, inventory, random_mdp, river_swim

register_environments()

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
    "Binned",
    "BrokenContract",
    "CSVWriter",
    "Dirichlet",
    "Episode",
    "Gaussian",
    "KLearning",
    "Known",
    "Learner",
    "LiveView",
    "Optimal",
    "OptimisticQLearning",
    "Plan",
    "Prior",
    "PriorWarning",
    "QLearning",
    "Random",
    "Report",
    "Runs",
    "Schedule",
    "SoftQLearning",
    "Solution",
    "TensorBoardWriter",
    "WorldEnv",
    "__version__",
    "admission_queue",
    "bandit",
    "check_agent",
    "deep_sea",
    "dose_finding",
    "evaluate",
    "inventory",
    "learn",
    "load",
    "optimal",
    "random_mdp",
    "regret_bound",
    "river_swim",
    "run",
    "schedule",
    "solve",
    "solve_cone",
]
