"""PSRL, Thompson sampling (Strens, 2000; Osband, Russo and Van Roy, 2013).

For episode t = 1, 2, …:

    draw R and P from the posterior, independently
    Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) max_a' Q_{l+1}(s',a')
    follow argmax_a Q_l(s,a)

Draws that cost what was seen, not the width of a layer, are those of `beliefs/sampling.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from klearning.agents.value_iteration import Planning, ValueIteration, update
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.sampling import draw_shared, sample_reward, sample_value
from klearning.models.sweeps import greedy, hard_sweep, maximum, shared
from klearning.trials.task import Streams, Task, play


@kernel
def plan(memory: Planning, rewards: np.random.Generator, rows: np.random.Generator) -> None:
    """One draw of the MDP, solved as it is drawn, the last layer first; or drawn, then solved, if layers share it."""
    p, Q, V = memory.posterior, memory.Q, memory.V
    layers = p.model.layers
    if shared(p.model):
        drawn = draw_shared(p, rewards, rows)
        hard_sweep(drawn, drawn.reward, Q, V)
    else:
        for l in range(layers.size - 2, -1, -1):
            for a in range(Q.shape[0]):
                for s in range(layers[l], layers[l + 1]):
                    Q[a, s] = sample_reward(p, a, s, rewards) + sample_value(p, l, a, s, V, rows)
            maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


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
