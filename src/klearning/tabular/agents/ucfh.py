"""UCFH (Dann and Brunskill, 2015): upper confidence for a fixed horizon.

Plan, then follow the policy until some (s,a) has v(s,a) ≥ max(m·w_min, n(s,a)) new visits; move those of that (s,a)
into the model, n ← n + v, and plan again. The model's rows may be anything within an interval for every entry:

    |p'(y) − P̂(y)| ≤ min{ √(ln1/(2n)),  √(2 P̂(y)(1−P̂(y)) ln1/n) + 7 ln1/(3(n−1)) },     ln1 = ln(6/δ1)
    Q_l(s,a) = min(1, r̂(s,a) + √(ln1/(2n))) + max { Σ_y p'(y) V_{l+1}(y) : p' in its intervals, Σp' = 1 }

    δ1 = δ / (2 S²A L log2(4S²L²/ε)),   w_min = ε/(4LS),   m = 512 (log2 log2 L)² C L²/ε² · log2²(8L²S²/ε) · ln1

C is the widest layer. Never visited: reward 1 and the best next state. Rewards are taken to lie in [0, 1].
"""

from dataclasses import dataclass
from math import log, log2
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.sparse.rows import add_weight, enlarge
from klearning.numerics.types import Floats, Ints
from klearning.tabular.agents.value_iteration import Planning, planning
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior, derive, forget, learn, with_rows
from klearning.tabular.models.sweeps import greedy, maximum, row_of
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play


class Settings(NamedTuple):
    ln1: float
    scale: float
    least: float  # m·w_min
    most: float  # S·m·L


@field_roles(probabilities=("policy",))
class Memory(NamedTuple):
    """Value iteration's memory, what was seen but is not yet in its model, and whether to plan."""

    planning: Planning
    pending: Posterior
    stale: bool
    policy: Floats

    @property
    def posterior(self) -> Posterior:
        return self.planning.posterior

    @property
    def V(self) -> Floats:
        return self.planning.V

    @property
    def visits(self) -> Floats:
        return self.planning.posterior.visits + self.pending.visits


@kernel
def half_width(p_hat: float, n: float, settings: Settings) -> float:
    """The interval around one entry of a row."""
    ln1 = settings.ln1
    width = np.sqrt(ln1 / (2.0 * n))
    if n > 1.0:
        bernstein = np.sqrt(2.0 * p_hat * (1.0 - p_hat) * ln1 / n) + 7.0 * ln1 / (3.0 * (n - 1.0))
        width = min(width, bernstein)
    return settings.scale * width


@kernel
def by_falling_value(V: Floats, low: int, high: int) -> Ints:
    """The states low .. high−1, counted from low, best first: insertion, for layers are small."""
    order = np.empty(high - low, np.int64)
    for i in range(high - low):
        j = i
        while j > 0 and V[low + order[j - 1]] < V[low + i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@kernel(inline=True)
def best_in_box(p: Posterior, l: int, a: int, s: int, order: Ints, V: Floats, row: Floats, settings: Settings) -> float:
    """max Σ p' V over the box and the simplex: everyone's lower end first, then up to the upper ends, best first.

    Row (a, s) of the tables in layer l; ``order`` lists the next layer by falling value; ``row`` is a buffer.
    """
    n, rows = p.moves[a, s], p.model.rows
    low, first = p.model.layers[l + 1], p.model.table[l + 1]
    for y in range(order.size):
        row[y] = 0.0
    for e in range(rows.start[a, s], rows.start[a, s] + rows.length[a, s]):
        row[rows.succ[e] - first] = rows.weight[e] / n
    rest, value = 1.0, 0.0
    for e in range(rows.start[a, s], rows.start[a, s] + rows.length[a, s]):
        y = rows.succ[e] - first
        floor = max(0.0, row[y] - half_width(row[y], n, settings))
        rest -= floor
        value += floor * V[low + y]
    unseen = min(1.0, half_width(0.0, n, settings))
    for y in order:
        if rest <= 0.0:
            break
        share = row[y]
        most = unseen
        if share > 0.0:
            width = half_width(share, n, settings)
            most = min(1.0, share + width) - max(0.0, share - width)
        share_taken = min(rest, most)
        rest -= share_taken
        value += share_taken * V[low + y]
    return value


@kernel
def plan(memory: Planning, settings: Settings) -> None:
    """Fixed-horizon extended value iteration."""
    p, Q, V, row = memory.posterior, memory.Q, memory.V, memory.scratch
    layers = p.model.layers
    for l in range(layers.size - 2, -1, -1):
        inside = l + 2 < layers.size
        low = layers[l + 1]
        order = by_falling_value(V, low, layers[l + 2]) if inside else np.zeros(0, np.int64)
        for a in range(Q.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                at = row_of(p.model, l, s)
                n = p.visits[a, at]
                Q[a, s] = 1.0
                if n > 0.0:
                    Q[a, s] = min(1.0, p.model.reward[a, at] + settings.scale * np.sqrt(settings.ln1 / (2.0 * n)))
                if inside and p.moves[a, at] == 0.0:
                    Q[a, s] += p.discount * V[low + order[0]]
                elif inside:
                    Q[a, s] += p.discount * best_in_box(p, l, a, at, order, V, row, settings)
        maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


@kernel(inline=True)
def replan(memory: Memory, settings: Settings) -> None:
    """Plan again if the model has changed."""
    if memory.stale:
        plan(memory.planning, settings)


@kernel
def absorb(model_counts: Posterior, pending: Posterior, a: int, s: int) -> Posterior:
    """Move what is pending at (a, s) into the model."""
    rows, new = model_counts.model.rows, pending.model.rows
    for e in range(new.start[a, s], new.start[a, s] + new.length[a, s]):
        if not add_weight(rows, a, s, new.succ[e], new.weight[e]):
            rows = enlarge(rows, a, s)
            add_weight(rows, a, s, new.succ[e], new.weight[e])
    model_counts.visits[a, s] += pending.visits[a, s]
    model_counts.moves[a, s] += pending.moves[a, s]
    model_counts.reward_sums[a, s] += pending.reward_sums[a, s]
    if model_counts.reward_squares.size > 0:
        model_counts.reward_squares[a, s] += pending.reward_squares[a, s]
        pending.reward_squares[a, s] = 0.0
    derive(model_counts, a, s)
    new.length[a, s] = 0
    pending.visits[a, s] = pending.moves[a, s] = pending.reward_sums[a, s] = 0.0
    derive(pending, a, s)
    return with_rows(model_counts, rows)


@kernel
def remember(memory: Memory, settings: Settings, episode: Episode) -> Memory:
    """Set aside one episode, and absorb one (s,a) that has enough that is new, if there is any."""
    pending, inner = learn(memory.pending, episode), memory.planning
    n = inner.posterior.visits
    for a in range(n.shape[0]):
        for s in range(n.shape[1]):
            if pending.visits[a, s] >= max(settings.least, n[a, s]) and n[a, s] < settings.most:
                p = absorb(inner.posterior, pending, a, s)
                inner = Planning(p, inner.reward, inner.Q, inner.V, inner.policy, inner.scratch)
                return Memory(inner, pending, True, memory.policy)
    return Memory(inner, pending, False, memory.policy)


@kernel
def episodes(memory: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        replan(memory, settings)
        play(task, memory.policy, t)
        memory = remember(memory, settings, task.episode)
    return memory


@dataclass(frozen=True)
class UCFH(Agent[Memory]):
    """Optimism within an interval for every transition probability; ``scale`` multiplies the intervals.

    ``accuracy`` is ε and ``delta`` δ of the PAC guarantee. ``least_visits`` replaces m·w_min, beyond any budget.
    """

    scale: float = 1.0
    accuracy: float = 1.0
    delta: float = 0.1
    least_visits: float | None = None

    paper: ClassVar[str] = (
        "Dann and Brunskill (2015), Sample complexity of episodic fixed-horizon reinforcement learning"
    )

    def __post_init__(self) -> None:
        checks.number("scale", self.scale, 0.0)
        checks.number("accuracy", self.accuracy, 0.0, 1.0, above=True)
        checks.number("delta", self.delta, 0.0, 1.0, above=True)
        if self.least_visits is not None:
            checks.number("least_visits", self.least_visits, 1.0)

    def settings(self, actions: int, layers: Ints) -> Settings:
        S, L, C, eps = int(layers[-1]), len(layers) - 1, int(np.diff(layers).max()), self.accuracy
        delta1 = self.delta / (2.0 * S**2 * actions * L * log2(4.0 * S**2 * L**2 / eps))
        ln1 = log(6.0 / delta1)
        loglog = max(1.0, log2(max(2.0, log2(max(2.0, L)))))
        m = 512.0 * loglog**2 * C * L**2 / eps**2 * log2(8.0 * L**2 * S**2 / eps) ** 2 * ln1
        least = m * eps / (4.0 * L * S) if self.least_visits is None else self.least_visits
        return Settings(ln1, float(self.scale), float(least), S * m * L)

    def _settings(self, memory: Memory) -> Settings:
        return self.settings(memory.policy.shape[0], memory.pending.model.layers)

    def begin(self, belief: Belief) -> Memory:
        inner = planning(belief.frequencies())
        return Memory(inner, belief.frequencies(), True, inner.policy)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self._settings(memory), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        replan(memory, self._settings(memory))
        return memory

    def forget(self, memory: Memory, factor: float) -> Memory:
        forget(memory.pending, factor)
        return Agent.forget(self, memory, factor)

    def refreshed(self, memory: Memory) -> Memory:
        return memory._replace(stale=True)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return remember(memory, self._settings(memory), episode)
