"""VAPOR with a fixed share κ of the variances s²: 1 is the paper's (Tarbouriech, Lattimore and O'Donoghue, 2023).

For episode t = 1, 2, …:

    λ  maximises Σ λ_l(s,a) (m(s,a) + s_l(s,a) √(−2 ln λ_l(s,a))) over the occupancies of the mean model P̄
    follow π_l(a|s) = λ_l(s,a) / Σ_a' λ_l(s,a')
    condition m, s, P̄ on what was seen

The program is solved by Newton's method on its dual (`optimism/vapor/occupancy.py`), from the last policy and values.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, learn
from klearning.tabular.optimism.vapor.newton import Occupied, occupy
from klearning.tabular.optimism.vapor.occupancy import Flows, flow_arrays
from klearning.tabular.optimism.vapor.variances import VarianceNumbers, fill_sds, variance_rule
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(finite=("V",), probabilities=("policy",))
class Memory(NamedTuple):
    """State of the agent from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    variance: VarianceNumbers
    V: Floats
    policy: Floats
    work: Flows


@kernel
def plan(memory: Memory, tolerance: float) -> Occupied:
    """Solve for λ and write the policy."""
    p = memory.posterior
    fill_sds(memory.variance, p, memory.work.stated)
    return occupy(p.model, p.discount, tolerance, memory.work, memory.V, memory.policy)


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    return Memory(learn(memory.posterior, episode), memory.variance, memory.V, memory.policy, memory.work)


@kernel
def episodes(memory: Memory, tolerance: float, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        answer = plan(memory, tolerance)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
        log = task.log.diagnostics
        log[0, t], log[1, t], log[2, t], log[3, t] = answer.bound, answer.gap, answer.steps, answer.sweeps
    return memory


@dataclass(frozen=True)
class FixedVAPOR(Agent[Memory]):
    """`VAPOR` whose ``optimism`` is a number, κ."""

    bonus: str
    optimism: float
    tolerance: float

    diagnostics: ClassVar[tuple[str, ...]] = ("bound", "gap", "steps", "sweeps")

    def begin(self, belief: Belief) -> Memory:
        numbers = variance_rule(self.bonus).numbers(belief, float(self.optimism))
        shape = (belief.actions, belief.states)
        policy = np.full(shape, 1.0 / belief.actions)
        return Memory(belief.posterior(), numbers, np.zeros(belief.states), policy, flow_arrays(*shape))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, float(self.tolerance), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        answer = plan(memory, float(self.tolerance))
        diagnostics[:] = answer.bound, answer.gap, answer.steps, answer.sweeps
        return memory
