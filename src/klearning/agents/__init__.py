"""The agents, one algorithm a file: a frozen dataclass of hyper-parameters, and the kernels it runs."""

from typing import Any

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

AGENTS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        KLearning, PSRL, RLSVI, UCBVI, UCRL2, UCFH, BEB, BOLT, QLearning, SoftQLearning, OptimisticQLearning,
        Random, Optimal,
    )
}  # fmt: skip

__all__ = [
    "AGENTS",
    "BEB",
    "BOLT",
    "PSRL",
    "RLSVI",
    "UCBVI",
    "UCFH",
    "UCRL2",
    "KLearning",
    "Optimal",
    "OptimisticQLearning",
    "QLearning",
    "Random",
    "SoftQLearning",
]
