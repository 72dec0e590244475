"""Soft Q-learning by temporal differences: one of the two forms of `SoftQLearning`.

All Q = 0 to begin with. After each step, with V(s) = τ log Σ_a exp(Q(s,a)/τ):

    Q_l(s,a) ← Q_l(s,a) + α_n (r + γ V_{l+1}(s') − Q_l(s,a))
    follow π_l(a|s) ∝ exp(Q_l(s,a)/τ)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.agents.temporal_differences import Step, TemporalDifferences, step_number, step_size
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.trials.agent import forbid_values
from klearning.tabular.trials.task import Task, play


@field_roles(
    offsets=("layers",),
    fixed=("layers", "end", "discount"),
    finite=("Q", "V"),
    counts=("visits",),
    probabilities=("policy",),
    roomy=True,
)
class Memory(NamedTuple):
    layers: Ints
    end: int  # the state of every layer where an episode is over, or -1
    Q: Floats
    V: Floats
    visits: Floats
    policy: Floats
    discount: float


@kernel(inline=True)
def soft_maximum_at(Q: Floats, tau: float, s: int, V: Floats, policy: Floats) -> None:
    """V(s) and π(·|s) of one state."""
    actions = Q.shape[0]
    best, total = Q[0, s], 0.0
    for a in range(1, actions):
        best = max(best, Q[a, s])
    for a in range(actions):
        policy[a, s] = exp_negative((Q[a, s] - best) / tau)
        total += policy[a, s]
    for a in range(actions):
        policy[a, s] /= total
    V[s] = best + tau * np.log(total)


@kernel
def update(memory: Memory, tau: float, step: float, episode: Episode) -> None:
    """Learn from one episode, and bring values and policy up to date where it passed."""
    L = memory.layers.size - 1
    for l in range(episode.actions.size):
        s, a = episode.states[l], episode.actions[l]
        if s - memory.layers[l] == memory.end:
            break
        memory.visits[a, s] += 1.0
        inside = l + 1 < min(L, episode.states.size)
        target = episode.rewards[l] + (memory.discount * memory.V[episode.states[l + 1]] if inside else 0.0)
        memory.Q[a, s] += step_size(step, L, memory.visits[a, s]) * (target - memory.Q[a, s])
        soft_maximum_at(memory.Q, tau, s, memory.V, memory.policy)


@kernel
def episodes(memory: Memory, tau: float, step: float, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        update(memory, tau, step, task.episode)
    return memory


@dataclass(frozen=True)
class SoftTD(TemporalDifferences[Memory]):
    """Soft temporal differences; ``step`` is "falling" or a constant step size."""

    temperature: float
    step: Step

    def begin(self, belief: Belief) -> Memory:
        shape = (belief.actions, belief.states)
        V = np.full(shape[1], self.temperature * np.log(shape[0]))
        if belief.end >= 0:  # nothing is left to choose there
            V[belief.layers[:-1] + belief.end] = 0.0
        uniform = np.full(shape, 1.0 / shape[0])
        Q, visits = np.zeros(shape), np.zeros(shape)
        return Memory(belief.layers, belief.end, Q, V, visits, uniform, float(belief.discount))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, float(self.temperature), step_number(self.step), task, first, count)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        update(memory, float(self.temperature), step_number(self.step), episode)
        return memory

    def forbid(self, memory: Memory, states: Ints, forbidden: Flags) -> Memory:
        for first in memory.layers[:-1]:
            forbid_values(memory.Q, first + states, forbidden, 0.0)
            Q = memory.Q[:, first + states] / self.temperature
            memory.V[first + states] = self.temperature * np.logaddexp.reduce(Q)
        return memory
