"""K-learning in matrix games (O'Donoghue, Lattimore and Osband, 2021, "Matrix games with bandit feedback").

    x_t ∝ exp(K / τ)   from   minimise over y, τ:  τ log Σ_j exp(K_j / τ)      (`klearning.games.program`)

The opponent's mixture enters the cumulant, so this is not the equilibrium of an inflated matrix. Every round begins
from the solution of the round before.
"""

from dataclasses import dataclass
from typing import ClassVar

from klearning.games.player import Player

TOLERANCE = 1e-9  # of its gap, relative to the span of the means or the largest sd


@dataclass(frozen=True)
class KLearning(Player):
    """K-learning: the policy of the joint program in the opponent's mixture and the temperature. No settings."""

    paper: ClassVar[str] = "O'Donoghue, Lattimore and Osband 2021"
    kind: ClassVar[int] = 0
