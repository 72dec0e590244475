"""klearning: Bayesian reinforcement learning that explores on purpose.

The whole public surface, in the order in which data flow: worlds make an MDP; a Prior and what was seen
make a Belief; `solve` turns a Belief into a Plan; `run` lets an agent learn in a world.

Games, networks, the GPU, comparisons and the theory are imported when one of their names is first asked for.
"""

from klearning.numerics import cli_signals  # noqa: F401  # first: Ctrl-C while the command imports the rest

# isort: split
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from klearning import deep, gpu
from klearning.simulators import callbacks
from klearning.simulators.adapters.binned import Binned
from klearning.simulators.adapters.world_env import WorldEnv, register, register_environments
from klearning.simulators.learn import LearnSettings, learn
from klearning.simulators.learner import Learner
from klearning.simulators.saving import KINDS, load
from klearning.simulators.suggest_prior import suggest_prior
from klearning.tabular.agents.baselines import OptimalAgent, Random
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.bolt import BOLT
from klearning.tabular.agents.calibrated import Calibration
from klearning.tabular.agents.information_directed import InformationDirected
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.online_k_learning import OnlineKLearning
from klearning.tabular.agents.optimistic_q_learning import OptimisticQLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.q_learning import QLearning
from klearning.tabular.agents.registry import AGENTS, register_agent
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.soft_q_learning import SoftQLearning
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.agents.ucfh import UCFH
from klearning.tabular.agents.ucrl2 import UCRL2
from klearning.tabular.agents.vapor import VAPOR
from klearning.tabular.agents.vbos import VBOS
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import Beta, Gaussian, UnknownNoise
from klearning.tabular.beliefs.transitions import Dirichlet, Known
from klearning.tabular.models.mdp import MDP, evaluate, optimal
from klearning.tabular.optimism.bandits.vbos import solve_vbos
from klearning.tabular.optimism.certificate import certify
from klearning.tabular.optimism.cone import solve_cone
from klearning.tabular.optimism.plan import Plan, solve
from klearning.tabular.optimism.temperature import schedule
from klearning.tabular.optimism.vapor.plan import solve_vapor
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.contract import check_agent
from klearning.tabular.trials.run import DEVICES, run
from klearning.tabular.trials.runs import Runs
from klearning.tabular.worlds.admission_queue import admission_queue
from klearning.tabular.worlds.bandit import bandit
from klearning.tabular.worlds.deep_sea import deep_sea
from klearning.tabular.worlds.dose_finding import dose_finding
from klearning.tabular.worlds.inventory import inventory
from klearning.tabular.worlds.random_mdp import random_mdp
from klearning.tabular.worlds.registry import register_world
from klearning.tabular.worlds.river_swim import river_swim
from klearning.version import __version__

if TYPE_CHECKING:
    from klearning import games as games
    from klearning.deep import DeepKLearning
    from klearning.lab.comparison.compare import compare

register_environments()
register("klearning/BsuiteDeepSea-v0", "klearning.lab.benchmarks.bsuite.environments:DeepSeaEnv")
register("klearning/BsuiteBandit-v0", "klearning.lab.benchmarks.bsuite.environments:bandit_env")
AGENTS.elsewhere |= dict.fromkeys(deep.AGENTS, deep)
KINDS[deep.KIND] = deep.build_learner
DEVICES["gpu"] = gpu.run

LATER = {
    "DeepKLearning": "klearning.deep",
    "compare": "klearning.lab.comparison.compare",
}  # names by the module that has them


def __getattr__(name: str) -> Any:
    if name in ("extension", "games"):
        return import_module(f"klearning.{name}")
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(import_module(LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, "deep", "extension", "games"})


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
    "Calibration",
    "DeepKLearning",
    "Dirichlet",
    "Gaussian",
    "InformationDirected",
    "KLearning",
    "Known",
    "LearnSettings",
    "Learner",
    "OnlineKLearning",
    "OptimalAgent",
    "OptimisticQLearning",
    "Plan",
    "Prior",
    "QLearning",
    "Random",
    "Runs",
    "SoftQLearning",
    "UnknownNoise",
    "WorldEnv",
    "__version__",
    "admission_queue",
    "bandit",
    "callbacks",
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
    "random_mdp",
    "register_agent",
    "register_world",
    "river_swim",
    "run",
    "schedule",
    "solve",
    "solve_cone",
    "solve_vapor",
    "solve_vbos",
    "suggest_prior",
]
