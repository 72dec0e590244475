"""UCBVI (Azar, Osband and Munos, 2017), with either of its bonuses.

For episode t = 1, 2, …, with empirical r̂, P̂ and n = n(s,a), backwards from the last layer:

    Q_l(s,a) ← min( Q_l(s,a), r̂(s,a) + b(s,a) + Σ_s' P̂(s'|s,a) V_{l+1}(s') ),     Q_l = L − l + 1 before a visit
    V_l(s) = max_a Q_l(s,a), and follow argmax_a Q_l(s,a)

    hoeffding (CH):  b = 7 L Lg / √n                                            Lg = ln(5 S A T / δ)
    bernstein (BF):  b = √(8 Lg Var_P̂(V)/n) + 14 L Lg/(3n) + √(8 Σ_y P̂(y) min(10⁴ L³S²A Lg²/n'(y), L²) / n)

with n'(y) the visits of state y. Rewards are taken to lie in [0, 1].
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.confidence import Confidence, confidence, total_steps
from klearning.tabular.agents.value_iteration import Planning, ValueIteration, planning, steps_to_go, update
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.sweeps import expectation, greedy, maximum
from klearning.tabular.trials.task import Streams, Task, play


class Settings(NamedTuple):
    bernstein: bool
    scale: float
    confidence: Confidence


@kernel(inline=True)
def bernstein_bonus(p: Posterior, l: int, a: int, s: index, V: Floats, mean: float, Lg: float) -> float:
    """The bonus BF of row (a, s) of the tables in layer l; ``mean`` is Σ_y P̂(y) V(y)."""
    A, S = p.visits.shape[0], p.model.layers[-1]
    L, n, rows = p.model.layers.size - 1.0, p.visits[a, s], p.model.rows
    below = index(p.model.layers[l + 1] - p.model.table[l + 1])
    variance = correction = 0.0
    last = l + 2 == p.model.layers.size  # nothing follows
    first = index(rows.start[a, s])
    for e in range(first, first + index(0 if last else rows.length[a, s])):
        y, share = index(rows.succ[e]), rows.weight[e] / p.moves[a, s]
        visits, over = 0.0, True
        for b in range(index(A)):
            if not np.isinf(p.visits[b, y]):  # else it is not allowed there
                visits, over = visits + p.visits[b, y], False
        visits = np.inf if over else visits
        variance += share * (V[y + below] - mean) ** 2
        correction += share * min(1e4 * L**3 * S**2 * A * Lg**2 / visits, L**2)
    return np.sqrt(8.0 * Lg * variance / n) + 14.0 * L * Lg / (3.0 * n) + np.sqrt(8.0 * correction / n)


@kernel
def plan(memory: Planning, settings: Settings, t: int) -> None:
    p, Q, V, mean = memory.posterior, memory.Q, memory.V, memory.scratch
    layers, table = p.model.layers, p.model.table
    L, (A, S) = layers.size - 1, Q.shape
    Lg = np.log(5.0 * S * A * total_steps(settings.confidence, L, t) / settings.confidence.delta)
    for l in range(L - 1, -1, -1):
        low, first, width = index(layers[l]), index(table[l]), index(layers[l + 1] - layers[l])
        for a in range(index(A)):
            expectation(p.model, l, a, V, mean)
            for i in range(width):
                s, row = low + i, first + i
                n = p.visits[a, row]
                if n > 0.0 and (p.moves[a, row] > 0.0 or l == L - 1):
                    bonus = 7.0 * L * Lg / np.sqrt(n)
                    if settings.bernstein:
                        bonus = bernstein_bonus(p, l, a, row, V, mean[i], Lg)
                    Q[a, s] = min(Q[a, s], p.model.reward[a, row] + settings.scale * bonus + mean[i])
        maximum(p.model, l, Q, V)
    greedy(Q, memory.policy)


@kernel
def episodes(memory: Planning, settings: Settings, task: Task, first: int, count: int) -> Planning:
    for t in range(first, first + count):
        plan(memory, settings, t)
        play(task, memory.policy, t)
        memory = update(memory, task.episode)
    return memory


@dataclass(frozen=True)
class UCBVI(ValueIteration):
    """Value iteration with an upper confidence bonus, "hoeffding" or "bernstein"; ``scale`` multiplies it.

    ``delta`` is the failure probability, ``episodes`` the total number, by default as many as have come.
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    scale: float = 1.0
    delta: float = 0.1
    episodes: int | None = None

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"bonus": ("hoeffding", "bernstein")}
    paper: ClassVar[str] = "Azar, Osband and Munos (2017), Minimax regret bounds for reinforcement learning"

    def __post_init__(self) -> None:
        checks.choice("bonus", self.bonus, self.choices["bonus"])
        checks.number("scale", self.scale, 0.0)
        confidence(self.delta, self.episodes)

    def settings(self) -> Settings:
        return Settings(self.bonus == "bernstein", float(self.scale), confidence(self.delta, self.episodes))

    def begin(self, belief: Belief) -> Planning:
        nothing_seen = belief.frequencies()
        return planning(nothing_seen, Q=steps_to_go(nothing_seen))

    def refreshed(self, memory: Planning) -> Planning:
        memory.Q[:] = steps_to_go(memory.posterior)  # the least of bounds that no longer hold is none
        return memory

    def advance(self, memory: Planning, task: Task, first: int, count: int) -> Planning:
        return episodes(memory, self.settings(), task, first, count)

    def plan(self, memory: Planning, streams: Streams, t: int, diagnostics: Floats) -> Planning:
        plan(memory, self.settings(), t)
        return memory
