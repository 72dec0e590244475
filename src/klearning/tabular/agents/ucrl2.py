"""UCRL2 (Jaksch, Ortner and Auer, 2010) for a finite horizon.

In the first episode, and when some (s,a) has been visited in this epoch as often as before it, plan again at step t:

    Q_l(s,a) = min(1, r̂(s,a) + √(7 ln(2SAt/δ) / 2n)) + max_p Σ_s' p(s') V_{l+1}(s')
        over distributions p with ‖p − P̂(·|s,a)‖₁ ≤ √(14 S ln(2At/δ) / n)
    V = max_a Q, and follow argmax_a Q_l(s,a) for the whole epoch

The inner maximum moves half the radius onto the best next state, taking it from the worst that have any. Never visited:
reward 1 and the best next state. Rewards are taken to lie in [0, 1].
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import refuse
from klearning.numerics.types import Floats, Ints
from klearning.tabular.agents.value_iteration import Planning, planning, update
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.models.sweeps import greedy, maximum, row_of
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


@field_roles(counts=("since",), probabilities=("policy",))
class Memory(NamedTuple):
    """Value iteration's memory, and the epoch: visits within it, and whether it has ended."""

    planning: Planning
    since: Floats
    ended: bool
    policy: Floats

    @property
    def posterior(self) -> Posterior:
        return self.planning.posterior

    @property
    def V(self) -> Floats:
        return self.planning.V

    def check(self, fresh: "Memory", name: str) -> None:
        refuse(f"{name}.since", "is more than all visits", self.since > self.planning.posterior.visits, self.since)


@kernel(inline=True)
def best_in_ball(p: Posterior, l: int, a: int, s: int, radius: float, best: int, V: Floats) -> float:
    """max Σ p V over distributions p within ``radius`` of the frequencies of row (a, s) in L1, for layer l.

    Mass moves onto ``best``, half the radius of it, and leaves the seen states in ascending order of V. The row is
    read, never written.
    """
    rows, n = p.model.rows, p.moves[a, s]
    below = p.model.layers[l + 1] - p.model.table[l + 1]
    first, length = rows.start[a, s], rows.length[a, s]
    value = already = 0.0
    for e in range(first, first + length):
        share = rows.weight[e] / n
        value += share * V[rows.succ[e] + below]
        if rows.succ[e] + below == best:
            already = share
    moving = min(radius / 2.0, 1.0 - already)
    value += moving * V[best]
    taken_to, last = -np.inf, -1  # states are passed in order of (V, entry)
    while moving > 0.0:
        worst = -1
        for e in range(first, first + length):
            v = V[rows.succ[e] + below]
            unseen = v > taken_to or (v == taken_to and e > last)
            if unseen and rows.succ[e] + below != best and (worst < 0 or v < V[rows.succ[worst] + below]):
                worst = e
        if worst < 0:
            break
        taken = min(moving, rows.weight[worst] / n)
        value -= taken * V[rows.succ[worst] + below]
        moving -= taken
        taken_to, last = V[rows.succ[worst] + below], worst
    return value


@kernel
def best_state(layers: Ints, l: int, V: Floats) -> int:
    """A state of layer l with the largest value."""
    best = layers[l]
    for s in range(layers[l] + 1, layers[l + 1]):
        if V[s] > V[best]:
            best = s
    return best


@kernel
def plan(memory: Planning, scale: float, delta: float, step: float) -> None:
    """Extended value iteration; ``step`` is the number of the next step, from 1."""
    p, Q, V = memory.posterior, memory.Q, memory.V
    layers, (A, S) = p.model.layers, Q.shape
    reward_log = 7.0 * np.log(2.0 * S * A * step / delta) / 2.0
    row_log = 14.0 * S * np.log(2.0 * A * step / delta)
    for l in range(layers.size - 2, -1, -1):
        inside = l + 2 < layers.size
        best = best_state(layers, l + 1, V) if inside else 0
        for a in range(A):
            for s in range(layers[l], layers[l + 1]):
                row = row_of(p.model, l, s)
                n, moves = p.visits[a, row], p.moves[a, row]
                Q[a, s] = 1.0
                if n > 0.0:
                    Q[a, s] = min(1.0, p.model.reward[a, row] + scale * np.sqrt(reward_log / n))
                if inside and moves == 0.0:
                    Q[a, s] += p.discount * V[best]
                elif inside:
                    radius = scale * np.sqrt(row_log / moves)
                    Q[a, s] += p.discount * best_in_ball(p, l, a, row, radius, best, V)
        maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


@kernel(inline=True)
def begin_epoch(memory: Memory, scale: float, delta: float, t: int) -> None:
    """Plan again before episode t = 0, 1, …, if the epoch has ended."""
    if memory.ended:
        horizon = memory.planning.posterior.model.layers.size - 1
        plan(memory.planning, scale, delta, t * horizon + 1.0)
        memory.since[:] = 0.0


@kernel
def remember(memory: Memory, episode: Episode) -> Memory:
    """Learn, and end the epoch if a visit count has doubled."""
    inner, since, ended = update(memory.planning, episode), memory.since, False
    model = inner.posterior.model
    for l in range(episode.actions.size):
        a, s = episode.actions[l], row_of(model, l, episode.states[l])
        since[a, s] += 1.0
        before = inner.posterior.visits[a, s] - since[a, s]
        ended = ended or since[a, s] >= max(1.0, before)
    return Memory(inner, since, ended, memory.policy)


@kernel
def episodes(memory: Memory, scale: float, delta: float, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        begin_epoch(memory, scale, delta, t)
        play(task, memory.policy, t)
        memory = remember(memory, task.episode)
    return memory


@dataclass(frozen=True)
class UCRL2(Agent[Memory]):
    """Optimism over all models within a confidence ball; ``scale`` multiplies its radii, ``delta`` may fail."""

    scale: float = 1.0
    delta: float = 0.1

    paper: ClassVar[str] = "Jaksch, Ortner and Auer (2010), Near-optimal regret bounds for reinforcement learning"

    def __post_init__(self) -> None:
        checks.number("scale", self.scale, 0.0)
        checks.number("delta", self.delta, 0.0, 1.0, above=True)

    def begin(self, belief: Belief) -> Memory:
        inner = planning(belief.frequencies())
        return Memory(inner, np.zeros_like(inner.reward), True, inner.policy)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, float(self.scale), float(self.delta), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        begin_epoch(memory, float(self.scale), float(self.delta), t)
        return memory

    def refreshed(self, memory: Memory) -> Memory:
        memory.since[:] = 0.0
        return memory._replace(ended=True)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return remember(memory, episode)
