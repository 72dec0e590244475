"""EXP3 (Auer, Cesa-Bianchi, Freund and Schapire, 2002), with rates that need no horizon.

    x_t = (1 − γ_t) softmax(γ_t G / (n · unit)) + γ_t / n,      γ_t = min(1, √(n log n / t))

G_j is the sum of payoffs over probabilities of the rounds in which j was played, an unbiased estimate of what j alone
would have been paid. It looks at its own moves only, and not at the matrix.
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.player import Player
from klearning.games.side import Side
from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats


@field_roles(fixed=("unit",))
class EXP3Memory(NamedTuple):
    side: Side
    unit: float


@kernel
def choose(other: Floats, t: int, draws: np.random.Generator, memory: EXP3Memory) -> None:
    """Write the policy of round t of a matrix game."""
    x, G = memory.side.policy[0], memory.side.weighted_sums[0]
    n = x.size
    share = min(1.0, sqrt(n * log(n) / t))
    rate = share / (n * memory.unit)
    top, Z = G[0], 0.0
    for j in range(n):
        top = max(top, G[j])
    for j in range(n):
        x[j] = exp(rate * (G[j] - top))
        Z += x[j]
    for j in range(n):
        x[j] = (1.0 - share) * x[j] / Z + share / n


@dataclass(frozen=True)
class EXP3(Player):
    """Exponential weights over own moves; ``unit`` is the size of payoffs (1: most are between −1 and 1)."""

    unit: float = 1.0
    paper: ClassVar[str] = "Auer, Cesa-Bianchi, Freund and Schapire 2002"

    def __post_init__(self) -> None:
        checks.moderate("unit", self.unit, 0.0, above=True)

    def begin(self, side: Side) -> EXP3Memory:
        return EXP3Memory(side, float(self.unit))
