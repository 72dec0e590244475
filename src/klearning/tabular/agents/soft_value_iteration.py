"""Soft value iteration on the posterior mean: one of the two forms of `SoftQLearning`.

Before each episode, with V_l(s) = τ log Σ_a exp(Q_l(s,a)/τ):

    Q_l(s,a) = m(s,a) + Σ_s' P̄(s'|s,a) V_{l+1}(s')
    follow π_l(a|s) ∝ exp(Q_l(s,a)/τ)

This is K-learning's sweep with c = 0 and τ held fixed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior, learn
from klearning.tabular.models.soft import Soft, boltzmann, soft_arrays, soft_sweep, soft_values
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(fixed=("nothing",), probabilities=("policy",))
class Memory(NamedTuple):
    posterior: Posterior
    nothing: Floats  # c = 0
    policy: Floats
    work: Soft


@kernel
def plan(memory: Memory, tau: float) -> None:
    soft_sweep(memory.posterior.model, memory.nothing, tau, memory.work)
    boltzmann(memory.posterior.model.layers, memory.work, memory.policy)


@kernel
def episodes(memory: Memory, tau: float, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        plan(memory, tau)
        play(task, memory.policy, t)
        memory = Memory(learn(memory.posterior, task.episode), memory.nothing, memory.policy, memory.work)
    return memory


@dataclass(frozen=True)
class SoftValueIteration(Agent[Memory]):
    """Soft value iteration at a fixed ``temperature``."""

    temperature: float

    def begin(self, belief: Belief) -> Memory:
        shape = (belief.actions, belief.states)
        return Memory(belief.posterior(), np.zeros(shape), np.zeros(shape), soft_arrays(belief.layers, belief.actions))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, float(self.temperature), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        plan(memory, float(self.temperature))
        return memory

    def values(self, memory: Memory) -> Floats:
        return soft_values(memory.posterior.model.layers, memory.work)
