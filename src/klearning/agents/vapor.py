"""VAPOR (Tarbouriech, Lattimore and O'Donoghue, 2023): take an action as often as it may be optimal.

For episode t = 1, 2, …:

    λ  maximises Σ λ_l(s,a) (m(s,a) + s_l(s,a) √(−2 ln λ_l(s,a))) over the occupancies of the mean model P̄
    follow π_l(a|s) = λ_l(s,a) / Σ_a' λ_l(s,a')
    condition m, s, P̄ on what was seen

The program is solved by Newton's method on its dual (`optimism/occupancy.py`), from the last policy and values.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.trees import marked
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode, Posterior, check_derived, learn
from klearning.optimism.doubts import DOUBTS, DoubtNumbers, doubt_named, fill_doubts
from klearning.optimism.occupancy import Flows, flow_arrays
from klearning.optimism.occupancy_newton import Occupied, occupy
from klearning.trials.agent import Agent
from klearning.trials.task import Streams, Task, play


@marked(finite=("V",), chances=("policy",))
class Memory(NamedTuple):
    """What the agent carries from one episode to the next; the arrays are changed in place."""

    posterior: Posterior
    doubt: DoubtNumbers
    V: Floats
    policy: Floats
    work: Flows

    def check(self, fresh: "Memory", name: str) -> None:
        check_derived(self.posterior, fresh.posterior, f"{name}.posterior")


@kernel
def plan(memory: Memory, tolerance: float) -> Occupied:
    """Solve for λ and write the policy."""
    p = memory.posterior
    fill_doubts(memory.doubt, p, memory.work.stated)
    return occupy(p.model, p.discount, tolerance, memory.work, memory.V, memory.policy)


@kernel
def update(memory: Memory, episode: Episode) -> Memory:
    """Condition on one episode."""
    return Memory(learn(memory.posterior, episode), memory.doubt, memory.V, memory.policy, memory.work)


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
class VAPOR(Agent[Memory]):
    """VAPOR with a bonus of `optimism/doubts.py`: "reward", "sharp", or "published" as in the paper.

    ``optimism``, κ in (0, 1], multiplies the variance s². ``tolerance`` is the duality gap, relative to the optimism
    Σ λ s √(−2 ln λ), at which the search for λ stops.
    """

    bonus: str = "reward"
    optimism: float = 1.0
    tolerance: float = 1e-6

    choices: ClassVar[dict[str, object]] = {"bonus": DOUBTS}
    diagnostics: ClassVar[tuple[str, ...]] = ("bound", "gap", "steps", "sweeps")
    paper: ClassVar[str] = "Tarbouriech, Lattimore and O'Donoghue (2023), Probabilistic inference in RL done right"

    def __post_init__(self) -> None:
        doubt_named(self.bonus)
        checks.number("optimism", self.optimism, 0.0, 1.0, above=True)
        checks.number("tolerance", self.tolerance, 0.0, 1.0, above=True)

    def begin(self, belief: Belief) -> Memory:
        numbers = doubt_named(self.bonus).numbers(belief, float(self.optimism))
        shape = (belief.actions, belief.states)
        policy = np.full(shape, 1.0 / belief.actions)
        return Memory(belief.posterior(), numbers, np.zeros(belief.states), policy, flow_arrays(*shape))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, float(self.tolerance), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        answer = plan(memory, float(self.tolerance))
        diagnostics[:] = answer.bound, answer.gap, answer.steps, answer.sweeps
        return memory

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return update(memory, episode)
