"""Q-learning with ε-greedy exploration (Watkins, 1989): dithering, for comparison.

After each step, Q_{L+1} = 0 and all Q = 0 to begin with:

    Q_l(s,a) ← Q_l(s,a) + α_n (r + max_a' Q_{l+1}(s',a') − Q_l(s,a))
    follow argmax_a Q_l(s,a), but with probability ε any action

A layer is met once an episode, so updating after the episode, in the order of the steps, is updating after each step.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from klearning import checks
from klearning.agents.steps import step_number, step_size
from klearning.beliefs import Belief, Episode
from klearning.bellman import greedy_at
from klearning.compiled import Floats, kernel
from klearning.simulate import Task, play


class Settings(NamedTuple):
    epsilon: float
    step: float


class Memory(NamedTuple):
    Q: Floats
    visits: Floats
    policy: Floats


@kernel
def update(memory: Memory, settings: Settings, episode: Episode) -> None:
    """Learn from one episode, and bring the policy up to date where it passed."""
    Q, policy, L = memory.Q, memory.policy, episode.states.size
    actions = Q.shape[0]
    for l in range(L):
        s, a = episode.states[l], episode.actions[l]
        memory.visits[a, s] += 1.0
        target = episode.rewards[l]
        if l + 1 < L:
            target += Q[:, episode.states[l + 1]].max()
        Q[a, s] += step_size(settings.step, L, memory.visits[a, s]) * (target - Q[a, s])
        greedy_at(Q, s, policy)
        for b in range(actions):
            policy[b, s] = (1.0 - settings.epsilon) * policy[b, s] + settings.epsilon / actions


@kernel
def episodes(memory: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        update(memory, settings, task.episode)
    return memory


@dataclass(frozen=True)
class QLearning:
    """Q-learning, ε-greedy; ``step`` is "falling" or a constant step size."""

    epsilon: float = 0.1
    step: str | float = "falling"

    diagnostics: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[str] = "Watkins (1989), Learning from delayed rewards"

    def __post_init__(self) -> None:
        checks.number("epsilon", self.epsilon, 0.0, 1.0)
        step_number(self.step)

    def begin(self, belief: Belief) -> Memory:
        shape = belief.visits.shape
        return Memory(np.zeros(shape), np.zeros(shape), np.full(shape, 1.0 / shape[0]))

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        return episodes(memory, Settings(float(self.epsilon), step_number(self.step)), task, first, count)

    def values(self, memory: Any) -> Floats:
        best: Floats = memory.Q.max(axis=0)
        return best
