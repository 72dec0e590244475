"""K-learning in games (O'Donoghue, Lattimore and Osband, 2021, "Matrix games with bandit feedback").

    x_t ∝ exp(K / τ)   from   minimise over y, τ:  τ log Σ_j exp(K_j / τ)      (`klearning.games.program`)

The opponent's policy enters the cumulant, so this is not the equilibrium of an inflated matrix. Every round begins
from the solution of the round before. A Markov game has such a program in every state, at one temperature for all of
them (`klearning.games.markov_program`).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.games.markov_program import FIRST_REACH, Draft, new_draft, search
from klearning.games.newton import Workspace, new_workspace
from klearning.games.player import Player
from klearning.games.program import solve_program
from klearning.games.side import Side
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats

TOLERANCE = 1e-9  # of its gap, relative to the span of the means or the largest sd
REACH = 0.2  # of log τ, from episode to episode


@field_roles(finite=("w",))
class KLearningMemory(NamedTuple):
    """In a matrix game."""

    side: Side
    w: Floats  # (rows,) y / τ of the round before, zero at first
    work: Workspace


@field_roles(finite=("temperature",))
class MarkovKLearningMemory(NamedTuple):
    side: Side
    temperature: Floats  # (1,) of the episode before, zero at first
    draft: Draft  # its policy is the side's


@kernel
def choose(other: Floats, t: int, draws: np.random.Generator, memory: KLearningMemory) -> None:
    """Write the policy of round t of a matrix game."""
    side = memory.side
    solve_program(side.belief.means[0], side.belief.sds[0], TOLERANCE, memory.w, side.policy[0], memory.work)


@kernel
def choose_layered(other: Floats, t: int, draws: np.random.Generator, memory: MarkovKLearningMemory) -> None:
    """Write the policy of episode t of a Markov game."""
    tau = memory.temperature[0]
    memory.temperature[0] = search(memory.side.belief, tau, REACH if tau > 0.0 else FIRST_REACH, memory.draft)


@dataclass(frozen=True)
class KLearning(Player):
    """K-learning: the policy of the joint program in the opponent's policy and the temperature. No settings."""

    paper: ClassVar[str] = "O'Donoghue, Lattimore and Osband 2021"

    def begin(self, side: Side) -> KLearningMemory | MarkovKLearningMemory:
        if side.layered:
            return MarkovKLearningMemory(side, np.zeros(1), new_draft(side.policy, side.visits.shape[1]))
        m, n = side.visits.shape[1:]
        return KLearningMemory(side, np.zeros(m), new_workspace(m, n))
