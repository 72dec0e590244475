"""klearning: Bayesian reinforcement learning that explores on purpose.

The whole public surface, in the order in which data flow: worlds make an MDP; a Prior and what was seen
make a Belief; `solve` turns a Belief into a Plan; `run` lets an agent learn in a world.

Games, networks, the GPU, comparisons and the theory are imported when one of their names is first asked for.
"""

from klearning.arrays import command  # noqa: F401  # first: it hears Ctrl-C while all the rest is imported

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING, Any

from klearning import deep, gpu
from klearning.agents.baselines import Optimal, Random
from klearning.agents.beb import BEB
from klearning.agents.bolt import BOLT
from klearning.agents.k_learning import KLearning
from klearning.agents.online_k_learning import OnlineKLearning
from klearning.agents.optimistic_q_learning import OptimisticQLearning
from klearning.agents.psrl import PSRL
from klearning.agents.q_learning import QLearning
from klearning.agents.registry import AGENTS, register_agent
from klearning.agents.rlsvi import RLSVI
from klearning.agents.soft_q_learning import SoftQLearning
from klearning.agents.ucbvi import UCBVI
from klearning.agents.ucfh import UCFH
from klearning.agents.ucrl2 import UCRL2
from klearning.agents.vapor import VAPOR
from klearning.agents.vbos import VBOS
from klearning.beliefs.belief import Belief, Prior
from klearning.beliefs.posterior import Episode
from klearning.beliefs.rewards import Beta, Gaussian, UnknownNoise
from klearning.beliefs.transitions import Dirichlet, Known
from klearning.benchmarks import register_benchmarks
from klearning.environments.binned import Binned
from klearning.environments.callbacks import CSVWriter, EpisodeReport, LiveView, TensorBoardWriter
from klearning.environments.evaluation import Evaluation, play_returns
from klearning.environments.learn import learn
from klearning.environments.learner import Learner, PriorWarning
from klearning.environments.learner_state import KINDS, load
from klearning.environments.masks import TaskWarning
from klearning.environments.stopping import StopAtReturn, StopWhenSure
from klearning.environments.suggest_prior import suggest_prior
from klearning.environments.world_env import WorldEnv, register_environments
from klearning.models.mdp import MDP, Solution, evaluate, optimal
from klearning.optimism.certificate import Certificate, certify
from klearning.optimism.cone import solve_cone
from klearning.optimism.plan import Plan, solve
from klearning.optimism.temperature import Schedule, schedule
from klearning.optimism.vapor import vapor
from klearning.optimism.vapor_cone import vapor_cone
from klearning.optimism.vbos import Mixture, vbos
from klearning.trials.agent import Agent
from klearning.trials.contract import BrokenContract, check_agent
from klearning.trials.run import DEVICES, Runs, run
from klearning.version import __version__
from klearning.worlds.admission_queue import admission_queue
from klearning.worlds.bandit import bandit
from klearning.worlds.deep_sea import deep_sea
from klearning.worlds.dose_finding import dose_finding
from klearning.worlds.inventory import inventory
from klearning.worlds.random_mdp import random_mdp
from klearning.worlds.registry import register_world
from klearning.worlds.river_swim import river_swim

if TYPE_CHECKING:
    from klearning import games as games
    from klearning.comparison.compare import Comparison, compare
    from klearning.deep import DeepKLearning
    from klearning.theory import regret_bound

Report = EpisodeReport  # the name by which callbacks know it

register_environments()
register_benchmarks()
AGENTS.elsewhere |= dict.fromkeys(deep.AGENTS, deep)
KINDS[deep.KIND] = deep.build_learner
DEVICES["gpu"] = gpu.run

LATER = {
    "Comparison": "klearning.comparison.compare",
    "DeepKLearning": "klearning.deep",
    "compare": "klearning.comparison.compare",
    "regret_bound": "klearning.theory",
}  # names by the module that has them


def __getattr__(name: str) -> Any:
    if name == "games":
        return import_module("klearning.games")
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER, "games"})


__all__ = [
    "BEB",
    "BOLT",
    "MDP",
    "PSRL",
    "RLSVI",
    "UCBVI",
    "UCFH",
    "UCRL2",
    "VAPOR",
    "VBOS",
    "Agent",
    "Belief",
    "Beta",
    "Binned",
    "BrokenContract",
    "CSVWriter",
    "Certificate",
    "Comparison",
    "DeepKLearning",
    "Dirichlet",
    "Episode",
    "Evaluation",
    "Gaussian",
    "KLearning",
    "Known",
    "Learner",
    "LiveView",
    "Mixture",
    "OnlineKLearning",
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
    "StopAtReturn",
    "StopWhenSure",
    "TaskWarning",
    "TensorBoardWriter",
    "UnknownNoise",
    "WorldEnv",
    "__version__",
    "admission_queue",
    "bandit",
    "certify",
    "check_agent",
    "compare",
    "deep_sea",
    "dose_finding",
    "evaluate",
    "inventory",
    "learn",
    "load",
    "optimal",
    "play_returns",
    "random_mdp",
    "register_agent",
    "register_world",
    "regret_bound",
    "river_swim",
    "run",
    "schedule",
    "solve",
    "solve_cone",
    "suggest_prior",
    "vapor",
    "vapor_cone",
    "vbos",
]
