"""EXP3 (Auer, Cesa-Bianchi, Freund and Schapire, 2002), with rates that need no horizon.

    x_t = (1 − γ_t) softmax(γ_t G / (n · unit)) + γ_t / n,      γ_t = min(1, √(n log n / t))

G_j is the sum of payoffs over probabilities of the rounds in which j was played, which estimates without bias what j
alone would have brought. It looks at its own moves only: there may be a game or not.
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import ClassVar

from klearning.games.player import Player, Side
from klearning.numerics import checks
from klearning.numerics.compiled import kernel


@dataclass(frozen=True)
class EXP3(Player):
    """Exponential weights over own moves; ``unit`` is the size of payoffs (1: they are mostly between −1 and 1)."""

    unit: float = 1.0
    paper: ClassVar[str] = "Auer, Cesa-Bianchi, Freund and Schapire 2002"
    kind: ClassVar[int] = 3

    def __post_init__(self) -> None:
        checks.moderate("unit", self.unit, 0.0, above=True)

    @property
    def setting(self) -> float:
        return float(self.unit)


@kernel
def exp3(side: Side, t: int) -> None:
    x, n = side.mixture, side.mixture.size
    share = min(1.0, sqrt(n * log(n) / t))
    rate = share / (n * side.setting)
    top, Z = side.gains[0], 0.0
    for j in range(n):
        top = max(top, side.gains[j])
    for j in range(n):
        x[j] = exp(rate * (side.gains[j] - top))
        Z += x[j]
    for j in range(n):
        x[j] = (1.0 - share) * x[j] / Z + share / n
