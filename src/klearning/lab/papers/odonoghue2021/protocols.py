"""The two settings of the paper's experiments, and who takes part. The text leaves noise, priors and constants open.

`printed` takes the bonus as printed and unit constants; with it K-learning cannot solve the depths that
the paper's figures show. `text` was **fitted**: settings were tried until the paper's own sentences on
its figures came true at depth 50. Neither is known to be the author's.
"""

from dataclasses import dataclass
from typing import Any, Literal

from klearning.lab.papers.figure import Protocol
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.bolt import BOLT
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.optimistic_q_learning import OptimisticQLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.q_learning import QLearning
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.soft_q_learning import SoftQLearning
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.agents.ucfh import UCFH
from klearning.tabular.agents.ucrl2 import UCRL2
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.models.mdp import MDP
from klearning.tabular.optimism.bonuses import BonusName
from klearning.tabular.trials.agent import Agent
from klearning.tabular.worlds.deep_sea import deep_sea


@dataclass(frozen=True, eq=False)
class DeepSeaProtocol(Protocol):
    """Reward noise and prior, and the bonus that K-learning uses."""

    noise: float
    prior: Prior
    bonus: BonusName

    @property
    def heading(self) -> str:
        return f"{self.word} ({self.name})"

    def world_data(self, depth: int) -> dict[str, Any]:
        return {"name": "deep_sea", "depth": depth, "noise": self.noise, "cost": 0.01}

    def world(self, depth: int) -> MDP:
        return deep_sea(depth, noise=self.noise, cost=0.01)

    def k_learning(self, temperature: Literal["optimal", "schedule"] = "optimal") -> KLearning:
        return KLearning(temperature=temperature, bonus=self.bonus)

    def contestants(self, left_out: bool = True) -> dict[str, Agent]:
        """The algorithms of the learning-time figure by their labels; × is the scale of a bonus.

        ``left_out``: also the three that the paper ran but did not show.
        """
        return {
            K_OPTIMAL: self.k_learning("optimal"),
            K_SCHEDULE: self.k_learning("schedule"),
            THOMPSON: PSRL(),
            "RLSVI": RLSVI(),
            "UCBVI, Bernstein × 0.01": UCBVI("bernstein", scale=0.01),
            "OQL, Bernstein × 0.01": OptimisticQLearning("bernstein", scale=0.01),
            "BEB × 0.01": BEB(scale=0.01),
            GREEDY: QLearning(epsilon=0.1),
            SOFT: SoftQLearning(temperature=0.05, form="model"),
            **(self.left_out() if left_out else {}),
        }

    def left_out(self) -> dict[str, Agent]:
        """Those that the paper ran but did not show."""
        return {"BOLT": BOLT(), "UCFH": UCFH(least_visits=1), "UCRL2 × 0.1": UCRL2(scale=0.1)}


K_OPTIMAL, K_SCHEDULE, THOMPSON = "K-learning, optimal τ", "K-learning, schedule", "Thompson sampling"
GREEDY, SOFT = "Q-learning, ε = 0.1", "Soft Q-learning, τ = 0.05"

TEXT = DeepSeaProtocol(
    name="text",
    word="fitted settings",
    note="fitted: `reward` bonus, prior N(0, 1), noise 0.05, Dirichlet mass 0.3, cost 0.01/L",
    noise=0.05,
    prior=Prior(Gaussian(mean=0.0, sd=1.0, noise=0.05), Dirichlet(mass=0.3)),
    bonus="reward",
)
PRINTED = DeepSeaProtocol(
    name="printed",
    word="settings as printed",
    note="as printed: `paper` bonus, prior N(0, 1), noise 1, Dirichlet mass 1, cost 0.01/L",
    noise=1.0,
    prior=Prior(Gaussian(mean=0.0, sd=1.0, noise=1.0), Dirichlet(mass=1.0)),
    bonus="paper",
)
PROTOCOLS = {p.name: p for p in (TEXT, PRINTED)}
