"""RLSVI in its tabular form (Osband, Van Roy and Wen, 2016; Osband et al., 2017).

For episode t = 1, 2, …, with v(s,a) = 1 / (1/σp² + n(s,a)/σ²), backwards from the last layer:

    Q_l(s,a) ~ N( v·(Σr + Σ_s' n(s') max_a' Q_{l+1}(s',a')) / σ²,  v )
    follow argmax_a Q_l(s,a)

Every value is perturbed as much as its regression is uncertain, with fresh noise each episode. v/σ² = 1/(n0 + n) with
n0 = σ²/σp², so the mean is a Bellman backup over frequencies shrunk by n0 visits, and the noise part of the reward.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.generator import normal
from klearning.numerics.types import Floats
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, planning, update
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.models.sweeps import greedy, hard_sweep
from klearning.tabular.trials.task import Streams, Task, play


@kernel
def plan(memory: Planning, scale: float, rng: np.random.Generator) -> None:
    p, reward = memory.posterior, memory.reward
    for a in range(reward.shape[0]):
        for s in range(reward.shape[1]):
            reward[a, s] = p.model.reward[a, s] + scale * np.sqrt(p.variance[a, s]) * normal(rng)
    hard_sweep(p.model, reward, memory.Q, memory.V)
    greedy(memory.Q, memory.policy)


@kernel
def episodes(memory: Planning, scale: float, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, scale, task.reward_stream)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class RLSVI(ValueIteration):
    """Randomised least-squares value iteration: values perturbed as much as they are uncertain.

    ``sd`` is σp, ``noise`` is σ (by default that of the prior's rewards), ``scale`` multiplies the perturbation.
    """

    sd: float = 1.0
    noise: float | None = None
    scale: float = 1.0

    paper: ClassVar[str] = "Osband, Russo, Wen and Van Roy (2017), Deep exploration via randomized value functions"

    def __post_init__(self) -> None:
        checks.moderate("sd", self.sd, 0.0, above=True)
        checks.number("scale", self.scale, 0.0)
        if self.noise is not None:
            checks.moderate("noise", self.noise, 0.0, above=True)

    def begin(self, belief: Belief) -> Planning:
        variance = self.noise**2 if self.noise is not None else belief.prior.reward.numbers().noise_variance
        if variance == 0.0:
            raise ValueError("noise of the prior's rewards is 0: RLSVI needs some, give RLSVI(noise=...) above 0")
        return planning(belief.frequencies(strength=variance / self.sd**2, noise=variance))

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, float(self.scale), task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, float(self.scale), streams.reward)
        return memory
