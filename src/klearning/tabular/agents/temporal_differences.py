"""What the agents that learn Q step by step have in common: step sizes, and the table of Q.

By default α_n = (L + 1) / (L + n) at the n-th visit, Jin et al.'s: with it the value of a state at the start of an
episode is learned no slower than one at its end. A number is a constant step size.
"""

from typing import Literal, Protocol, TypeVar

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.sweeps import greedy
from klearning.tabular.trials.agent import Agent, Memory

STEPS = ("falling",)
Step = Literal["falling"] | float
FALLING = 0.0  # how "falling" is passed to the kernels


def step_number(step: Step) -> float:
    if isinstance(step, str):
        checks.choice("step", step, STEPS)
        return FALLING
    return checks.number("step", step, 0.0, 1.0, above=True)


@kernel
def step_size(step: float, horizon: int, visit: float) -> float:
    """α of the visit-th visit, counted from 1."""
    return (horizon + 1.0) / (horizon + visit) if step == FALLING else step


class TableOfQ(Memory, Protocol):
    """Q and visits, for every state, or for those of one layer that all share."""

    @property
    def layers(self) -> Ints: ...
    @property
    def Q(self) -> Floats: ...
    @property
    def visits(self) -> Floats: ...


T = TypeVar("T", bound=TableOfQ)


class TemporalDifferences(Agent[T]):
    """An agent that learns Q step by step, and exploits by the best action."""

    def forget(self, memory: T, factor: float) -> T:
        memory.visits[:] *= factor  # steps that fall with the visits grow again
        return memory

    def exploit(self, memory: T) -> Floats:
        policy = np.zeros_like(memory.policy)
        greedy(in_all_layers(memory), policy)
        return policy


def in_all_layers(memory: TableOfQ) -> Floats:
    """Q of every state."""
    Q = memory.Q
    return Q if Q.shape == memory.policy.shape else np.tile(Q, (1, len(memory.layers) - 1))
