"""BEB, the Bayesian exploration bonus (Kolter and Ng, 2009).

For episode t = 1, 2, …, on the posterior mean:

    Q_l(s,a) = m(s,a) + β / (1 + Σα + n(s,a)) + Σ_s' P̄(s'|s,a) max_a' Q_{l+1}(s',a'),      β = 2L²
    follow argmax_a Q_l(s,a)
"""

from dataclasses import dataclass
from typing import ClassVar

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, update
from klearning.tabular.models.sweeps import greedy, hard_sweep
from klearning.tabular.trials.task import Streams, Task, play


@kernel
def plan(memory: Planning, beta: float) -> None:
    p, reward = memory.posterior, memory.reward
    for a in range(reward.shape[0]):
        for s in range(reward.shape[1]):
            reward[a, s] = p.model.reward[a, s] + beta / (1.0 + p.total + p.visits[a, s])
    hard_sweep(p.model, reward, memory.Q, memory.V)
    greedy(memory.Q, memory.policy)


@kernel
def episodes(memory: Planning, beta: float, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, beta)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class BEB(ValueIteration):
    """A bonus that falls as 1/n on the posterior mean; ``scale`` multiplies β = 2L²."""

    scale: float = 1.0

    paper: ClassVar[str] = "Kolter and Ng (2009), Near-Bayesian exploration in polynomial time"

    def __post_init__(self) -> None:
        checks.number("scale", self.scale, 0.0)

    def beta(self, memory: Planning) -> float:
        horizon = len(memory.posterior.model.layers) - 1
        return 2.0 * horizon**2 * self.scale

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, self.beta(memory), task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, self.beta(memory))
        return memory
