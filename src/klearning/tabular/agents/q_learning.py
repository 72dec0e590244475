"""Q-learning with ε-greedy exploration (Watkins, 1989): dithering, for comparison.

After each step, Q_{L+1} = 0 and all Q = 0 to begin with:

    Q_l(s,a) ← Q_l(s,a) + α_n (r + γ max_a' Q_{l+1}(s',a') − Q_l(s,a))
    follow argmax_a Q_l(s,a), but with probability ε any action that is allowed

A layer is met once an episode, so updating after the episode, in the order of the steps, is updating after each step.
With a stationary prior there is one Q(s,a) for all layers, as in textbooks; it is still updated after the episode.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.agents.temporal_differences import (
    STEPS,
    Step,
    TemporalDifferences,
    in_all_layers,
    step_number,
    step_size,
)
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.models.sweeps import FORBIDDEN
from klearning.tabular.trials.agent import forbid_values
from klearning.tabular.trials.task import Task, play


class Settings(NamedTuple):
    epsilon: float
    step: float
    discount: float


@field_roles(
    offsets=("layers", "table"),
    fixed=("layers", "table", "discount"),
    finite=("Q",),
    counts=("visits",),
    probabilities=("policy",),
    roomy=True,
)
class Memory(NamedTuple):
    layers: Ints
    table: Ints  # where the rows of each layer begin in Q: see `Model`
    Q: Floats
    visits: Floats
    policy: Floats
    discount: float  # the task's; the agent's own comes on top


@kernel
def update(memory: Memory, settings: Settings, episode: Episode) -> None:
    """Learn from one episode, and bring the policy up to date where it passed."""
    Q, layers, table = memory.Q, memory.layers, memory.table
    L = layers.size - 1
    tied = table[L] == 0
    for l in range(episode.actions.size):
        a, i, has_next = episode.actions[l], episode.states[l] - layers[l], l + 1 < episode.states.size
        if tied and not has_next:
            break  # cut short by the horizon: what comes next is neither seen nor nothing
        s = table[l] + i
        memory.visits[a, s] += 1.0
        target = episode.rewards[l]
        if has_next:
            after = episode.states[l + 1] - layers[l + 1] + table[l + 1]
            target += memory.discount * settings.discount * largest(Q, after)
        Q[a, s] += step_size(settings.step, L, memory.visits[a, s]) * (target - Q[a, s])
        for other in range(0 if tied else l, L if tied else l + 1):
            epsilon_greedy(Q, s, settings.epsilon, memory.policy, layers[other] + i)


@kernel(inline=True)
def largest(Q: Floats, row: int) -> float:
    """max_a Q(row, a)."""
    best = Q[0, row]
    for a in range(1, Q.shape[0]):
        best = max(best, Q[a, row])
    return best


@kernel(inline=True)
def epsilon_greedy(Q: Floats, row: int, epsilon: float, policy: Floats, s: int) -> None:
    """The policy of state s from the values in a row of Q, ties shared."""
    actions = Q.shape[0]
    best, ties, allowed = largest(Q, row), 0, 0
    for a in range(actions):
        ties += Q[a, row] == best
        allowed += Q[a, row] > FORBIDDEN
    for a in range(actions):
        policy[a, s] = epsilon / allowed if Q[a, row] > FORBIDDEN else 0.0
        if Q[a, row] == best:
            policy[a, s] += (1.0 - epsilon) / ties


@kernel
def episodes(memory: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        update(memory, settings, task.episode)
    return memory


@dataclass(frozen=True)
class QLearning(TemporalDifferences[Memory]):
    """Q-learning, ε-greedy; ``step`` is "falling" or a constant step size, ``discount`` is γ."""

    epsilon: float = 0.1
    step: Step = "falling"
    discount: float = 1.0

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"step": STEPS}
    paper: ClassVar[str] = "Watkins (1989), Learning from delayed rewards"

    def __post_init__(self) -> None:
        checks.number("epsilon", self.epsilon, 0.0, 1.0)
        step_number(self.step)
        checks.number("discount", self.discount, 0.0, 1.0)

    def settings(self) -> Settings:
        return Settings(float(self.epsilon), step_number(self.step), float(self.discount))

    def begin(self, belief: Belief) -> Memory:
        shape = (belief.actions, belief.states)
        Q = np.zeros_like(belief.visits)
        even = np.full(shape, 1.0 / shape[0])
        return Memory(belief.layers, belief.table, Q, np.zeros_like(Q), even, float(belief.discount))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.settings(), task, first, count)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        update(memory, self.settings(), episode)
        return memory

    def forbid(self, memory: Memory, states: Ints, forbidden: Flags) -> Memory:
        for first in set(memory.table[:-1].tolist()):
            forbid_values(memory.Q, first + states, forbidden, 0.0)
        return memory

    def values(self, memory: Memory) -> Floats:
        best: Floats = in_all_layers(memory).max(axis=0)
        return best
