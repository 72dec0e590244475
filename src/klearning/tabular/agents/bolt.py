"""BOLT, Bayesian optimistic local transitions (Araya-López, Thomas and Buffet, 2012).

For episode t = 1, 2, …, as if each (s,a) had been tried η more times, always ending in the best next state:

    w = η / (Σα + n(s,a) + η),     η = L
    Q_l(s,a) = m(s,a) + (1 − w) γ Σ_s' P̄(s'|s,a) V_{l+1}(s') + w γ max_s' V_{l+1}(s'),     V = max_a Q
    follow argmax_a Q_l(s,a)

The paper knows the rewards. If they are unknown, ``imagined_reward`` is what each imagined visit pays; None leaves
them at their posterior mean.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import largest
from klearning.numerics.types import Floats
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, update
from klearning.tabular.models.sweeps import action_values, greedy, maximum, row_of
from klearning.tabular.trials.task import Streams, Task, play


@kernel
def plan(memory: Planning, eta: float, imagined_reward: float) -> None:
    """Rewards are taken at their posterior mean if ``imagined_reward`` is nan."""
    p, reward, Q, V = memory.posterior, memory.reward, memory.Q, memory.V
    layers = p.model.layers
    for l in range(layers.size - 2, -1, -1):
        best = largest(V[layers[l + 1] : layers[l + 2]]) if l + 2 < layers.size else 0.0
        action_values(p.model, p.model.reward, l, V, Q)
        for a in range(Q.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                row = row_of(p.model, l, s)
                m = p.model.reward[a, row]
                w = eta / (p.total + p.moves[a, row] + eta) if p.learns else 0.0
                reward[a, row] = m
                if not np.isnan(imagined_reward) and p.variance[a, row] > 0.0:
                    weight = p.prior.strength + p.visits[a, row]
                    reward[a, row] = (weight * m + eta * imagined_reward) / (weight + eta)
                Q[a, s] = reward[a, row] + (1.0 - w) * (Q[a, s] - m) + w * (p.discount * best)
        maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


@kernel
def episodes(memory: Planning, eta: float, imagined_reward: float, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, eta, imagined_reward)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class BOLT(ValueIteration):
    """Plans as if every action had been tried η more times and had always ended best; ``scale`` multiplies η = L."""

    scale: float = 1.0
    imagined_reward: float | None = None

    paper: ClassVar[str] = "Araya-López, Thomas and Buffet (2012), Near-optimal BRL using optimistic local transitions"

    def __post_init__(self) -> None:
        checks.number("scale", self.scale, 0.0, above=True)
        if self.imagined_reward is not None:
            checks.number("imagined_reward", self.imagined_reward, -np.inf)

    def settings(self, memory: Planning) -> tuple[float, float]:
        """η and the imagined reward."""
        horizon = len(memory.posterior.model.layers) - 1
        return horizon * float(self.scale), np.nan if self.imagined_reward is None else float(self.imagined_reward)

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, *self.settings(memory), task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, *self.settings(memory))
        return memory
