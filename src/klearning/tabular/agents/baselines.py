"""Random and OptimalAgent: the floor and the ceiling of any comparison."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.sweeps import greedy, hard_sweep
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Task, play


@field_roles(probabilities=("policy",), roomy=True)
class Memory(NamedTuple):
    policy: Floats


@kernel
def episodes(memory: Memory, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
    return memory


@dataclass(frozen=True)
class Random(Agent[Memory]):
    """Every action with equal probability, and nothing learned."""

    paper: ClassVar[str] = "a baseline"

    def begin(self, belief: Belief) -> Memory:
        return Memory(np.full((belief.actions, belief.states), 1.0 / belief.actions))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, task, first, count)


@dataclass(frozen=True)
class OptimalAgent(Random):
    """An optimal policy of the true MDP: the one agent that looks at the world, because its regret is zero."""

    plan = None  # type: ignore[assignment]  # no simulator shows it a model

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        model = task.world.model
        Q = np.zeros_like(memory.policy)
        hard_sweep(model, model.reward, Q, np.zeros(Q.shape[1]))
        greedy(Q, memory.policy)
        return episodes(memory, task, first, count)
