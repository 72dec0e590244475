"""Random and Optimal: the floor and the ceiling of any comparison."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode
from klearning.models.sweeps import greedy, hard_sweep
from klearning.trials.task import Streams, Task, play


class Memory(NamedTuple):
    policy: Floats


@kernel
def episodes(memory: Memory, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
    return memory


@dataclass(frozen=True)
class Random:
    """Every action with equal probability, and nothing learnt."""

    diagnostics: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = "a baseline"

    def begin(self, belief: Belief) -> Memory:
        return Memory(np.full((belief.actions, belief.states), 1.0 / belief.actions))

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        return episodes(memory, task, first, count)

    def plan(self, memory: Any, streams: Streams, t: int, said: Floats) -> Any:
        return memory

    def update(self, memory: Any, episode: Episode, t: int) -> Any:
        return memory

    def exploit(self, memory: Any) -> Floats:
        return np.array(memory.policy)

    def values(self, memory: Any) -> Floats:
        return np.zeros(memory.policy.shape[1])


@dataclass(frozen=True)
class Optimal:
    """An optimal policy of the true MDP: the one agent that looks at the world, for its regret is zero."""

    diagnostics: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = "a baseline"

    def begin(self, belief: Belief) -> Memory:
        return Memory(np.full((belief.actions, belief.states), 1.0 / belief.actions))

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        model = task.world.model
        Q = np.zeros_like(memory.policy)
        hard_sweep(model, model.reward, Q, np.zeros(Q.shape[1]))
        greedy(Q, memory.policy)
        return episodes(memory, task, first, count)

    def values(self, memory: Any) -> Floats:
        return np.zeros(memory.policy.shape[1])
