"""PSRL, Thompson sampling (Strens, 2000; Osband, Russo and Van Roy, 2013).

For episode t = 1, 2, …:

    draw R and P from the posterior, independently
    Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) max_a' Q_{l+1}(s',a')
    follow argmax_a Q_l(s,a)

The first two lines are `beliefs/sampling.py:draw_optimal`. Its cost grows with the transitions seen, not with the width
of a layer.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, update
from klearning.tabular.beliefs.sampling import draw_concentrated, draw_optimal
from klearning.tabular.models.sweeps import greedy
from klearning.tabular.trials.agent import settings_text
from klearning.tabular.trials.task import Streams, Task, play

CONCENTRATIONS = 1e-3, 1e3  # a draw takes a time in proportion to prior mass times concentration


@kernel
def plan(memory: Planning, concentration: float, rewards: np.random.Generator, rows: np.random.Generator) -> None:
    """One draw of the MDP, solved."""
    if concentration == 1.0:
        draw_optimal(memory.posterior, rewards, rows, memory.Q, memory.V)
    else:
        draw_concentrated(memory.posterior, concentration, rewards, rows, memory.Q, memory.V)
    greedy(memory.Q, memory.policy)


@kernel
def episodes(memory: Planning, concentration: float, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, concentration, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True, repr=False)
class PSRL(ValueIteration):
    """Posterior sampling: act optimally in an MDP drawn from the posterior, a new one each episode.

    ``concentration`` multiplies all counts of the posterior that is drawn from, those of the prior included: above 1
    draws are closer to the posterior mean, and it explores less.
    """

    concentration: float = 1.0

    since: ClassVar[tuple[str, ...]] = ("concentration",)
    paper: ClassVar[str] = "Osband, Russo and Van Roy (2013), (More) efficient RL via posterior sampling"

    def __post_init__(self) -> None:
        checks.number("concentration", self.concentration, *CONCENTRATIONS)

    def __repr__(self) -> str:
        return settings_text(self)

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, float(self.concentration), task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, float(self.concentration), streams.reward, streams.row)
        return memory
