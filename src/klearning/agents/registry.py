"""The agents by name: ours, in the order in which they are listed everywhere, and those that were registered."""

from typing import TypeVar

from klearning.agents.baselines import Optimal, Random
from klearning.agents.beb import BEB
from klearning.agents.bolt import BOLT
from klearning.agents.k_learning import KLearning
from klearning.agents.optimistic_q_learning import OptimisticQLearning
from klearning.agents.psrl import PSRL
from klearning.agents.q_learning import QLearning
from klearning.agents.rlsvi import RLSVI
from klearning.agents.soft_q_learning import SoftQLearning
from klearning.agents.ucbvi import UCBVI
from klearning.agents.ucfh import UCFH
from klearning.agents.ucrl2 import UCRL2
from klearning.registry import Registry

AGENTS = Registry("agent", (
    KLearning, PSRL, RLSVI, UCBVI, UCRL2, UCFH, BEB, BOLT, QLearning, SoftQLearning, OptimisticQLearning,
    Random, Optimal,
))  # fmt: skip

Class = TypeVar("Class", bound=type)


def register_agent(agent: Class) -> Class:
    """Make an agent's class known by its name: to sweeps, saved learners, the report and the command line.

    A call, or a decorator above ``@dataclass(frozen=True)``. Its parameters must be plain data (numbers, text, lists of
    them), and the hash of its source file is part of its runs' names. `check_agent` says whether it keeps the contract.
    """
    if not isinstance(agent, type):
        raise ValueError(f"agent={agent!r} is no class: register the class of an agent")
    if not callable(getattr(agent, "begin", None)):
        raise ValueError(f"agent={agent.__name__!r} has no method 'begin': it is no agent, see klearning.Agent")
    AGENTS.register(agent)
    return agent
