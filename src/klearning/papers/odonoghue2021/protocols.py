"""The two settings of the paper's experiment. Its text leaves noise, priors and constants open.

`printed` takes the bonus as printed and unit constants; with it K-learning cannot solve the depths that
the paper's figures show. `text` was **fitted**: settings were tried until the paper's own sentences on
its figures came true at depth 50. Neither is known to be the author's.
"""

from dataclasses import dataclass
from typing import Literal

from klearning.agents import KLearning
from klearning.beliefs import Dirichlet, Gaussian, Prior
from klearning.mdp import MDP
from klearning.worlds import deep_sea


@dataclass(frozen=True, eq=False)
class Protocol:
    """Reward noise and prior, and the bonus that K-learning uses."""

    name: str
    noise: float
    prior: Prior
    bonus: str
    note: str

    def world(self, depth: int) -> MDP:
        return deep_sea(depth, noise=self.noise, cost=0.01)

    def k_learning(self, temperature: Literal["optimal", "schedule"] = "optimal") -> KLearning:
        return KLearning(temperature=temperature, bonus=self.bonus)


TEXT = Protocol(
    "text",
    0.05,
    Prior(Gaussian(mean=0.0, sd=1.0, noise=0.05), Dirichlet(mass=0.3)),
    "reward",
    "fitted: `reward` bonus, prior N(0, 1), noise 0.05, Dirichlet mass 0.3, cost 0.01/L",
)
PRINTED = Protocol(
    "printed",
    1.0,
    Prior(Gaussian(mean=0.0, sd=1.0, noise=1.0), Dirichlet(mass=1.0)),
    "paper",
    "as printed: `paper` bonus, prior N(0, 1), noise 1, Dirichlet mass 1, cost 0.01/L",
)
PROTOCOLS = {p.name: p for p in (TEXT, PRINTED)}
