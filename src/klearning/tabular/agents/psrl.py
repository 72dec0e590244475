"""PSRL, Thompson sampling (Strens, 2000; Osband, Russo and Van Roy, 2013).

For episode t = 1, 2, …:

    draw R and P from the posterior, independently
    Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) max_a' Q_{l+1}(s',a')
    follow argmax_a Q_l(s,a)

The first two lines are `beliefs/sampling.py:draw_optimal`, at a cost by what was seen, not by the width of a layer.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, update
from klearning.tabular.beliefs.sampling import draw_optimal
from klearning.tabular.models.sweeps import greedy
from klearning.tabular.trials.task import Streams, Task, play


@kernel
def plan(memory: Planning, rewards: np.random.Generator, rows: np.random.Generator) -> None:
    """One draw of the MDP, solved."""
    draw_optimal(memory.posterior, rewards, rows, memory.Q, memory.V)
    greedy(memory.Q, memory.policy)


@kernel
def episodes(memory: Planning, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, task.reward_stream, task.row_stream)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class PSRL(ValueIteration):
    """Posterior sampling: act optimally in an MDP drawn from the posterior, anew each episode."""

    paper: ClassVar[str] = "Osband, Russo and Van Roy (2013), (More) efficient RL via posterior sampling"

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, streams.reward, streams.row)
        return memory
