"""Optimistic Q-learning (Jin, Allen-Zhu, Bubeck and Jordan, 2018), with either of its bonuses.

All Q_l = L − l + 1 to begin with. At the k-th visit of (s,a), with α_k = (L + 1)/(L + k) and ι = ln(S A T / δ):

    Q_l(s,a) ← (1 − α_k) Q_l(s,a) + α_k (r + γ V_{l+1}(s') + b_k),     V_l(s) ← min(L − l + 1, max_a Q_l(s,a))
    follow argmax_a Q_l(s,a)

    hoeffding (UCB-H):  b_k = √(L³ ι / k)
    bernstein (UCB-B):  b_k = (β_k − (1 − α_k) β_{k−1}) / (2 α_k)
                        β_k = min{ √(L (W_k + L) ι / k) + √(L⁷ S A)·ι / k,  √(L³ ι / k) }

W_k is the empirical variance of the next values V_{l+1}(s') that (s,a) has met. The paper's absolute constants are 1
here; ``scale`` multiplies b. Rewards are taken to lie in [0, 1].
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from klearning.agents.confidence import Confidence, confidence, total_steps
from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.trees import marked
from klearning.arrays.types import Flags, Floats, Ints
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode
from klearning.models.sweeps import greedy, greedy_at
from klearning.trials.agent import Agent, forbid_values
from klearning.trials.task import Task, play


class Settings(NamedTuple):
    bernstein: bool
    scale: float
    confidence: Confidence


@marked(
    offsets=("layers",),
    fixed=("layers", "end", "discount"),
    finite=("Q", "V", "mean", "squares"),
    counts=("visits", "beta"),
    chances=("policy",),
    since=("discount",),
)
class Memory(NamedTuple):
    layers: Ints
    end: int  # the state of every layer where an episode is over, or -1
    Q: Floats
    V: Floats
    visits: Floats
    policy: Floats
    mean: Floats  # of the next values met, and the sum of squares about it
    squares: Floats
    beta: Floats  # β of the last visit
    discount: float


@kernel(inline=True)
def bonus(memory: Memory, settings: Settings, L: int, a: int, s: int, met: float, iota: float) -> float:
    """b of this visit, which met the next value ``met``; the visit is counted already."""
    k = memory.visits[a, s]
    hoeffding = np.sqrt(L**3 * iota / k)
    if not settings.bernstein:
        return hoeffding
    off = met - memory.mean[a, s]
    memory.mean[a, s] += off / k
    memory.squares[a, s] += off * (met - memory.mean[a, s])
    W = memory.squares[a, s] / k
    beta = min(np.sqrt(L * (W + L) * iota / k) + np.sqrt(float(L) ** 7 * memory.visits.size) * iota / k, hoeffding)
    alpha, before = (L + 1.0) / (L + k), memory.beta[a, s]
    memory.beta[a, s] = beta
    return (beta - (1.0 - alpha) * before) / (2.0 * alpha)


@kernel
def update(memory: Memory, settings: Settings, episode: Episode, iota: float) -> None:
    """Learn from one episode, and bring values and policy up to date where it passed."""
    Q, V, L = memory.Q, memory.V, memory.layers.size - 1
    for l in range(episode.actions.size):
        s, a = episode.states[l], episode.actions[l]
        if s - memory.layers[l] == memory.end:
            break
        memory.visits[a, s] += 1.0
        met = memory.discount * V[episode.states[l + 1]] if l + 1 < min(L, episode.states.size) else 0.0
        alpha = (L + 1.0) / (L + memory.visits[a, s])
        b = settings.scale * bonus(memory, settings, L, a, s, met, iota)
        Q[a, s] += alpha * (episode.rewards[l] + met + b - Q[a, s])
        best = Q[0, s]
        for other in range(1, Q.shape[0]):
            best = max(best, Q[other, s])
        V[s] = min(float(L - l), best)
        greedy_at(Q, s, memory.policy)


@kernel
def logarithm(memory: Memory, settings: Settings, t: int) -> float:
    """ι in episode t = 0, 1, …"""
    T = total_steps(settings.confidence, memory.layers.size - 1, t)
    return np.log(memory.visits.size * T / settings.confidence.delta)


@kernel
def episodes(memory: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        update(memory, settings, task.episode, logarithm(memory, settings, t))
    return memory


@dataclass(frozen=True)
class OptimisticQLearning(Agent[Memory]):
    """Q-learning with an upper confidence bonus, "hoeffding" or "bernstein"; ``scale`` multiplies it.

    ``delta`` is the failure probability, ``episodes`` the total number, by default as many as have come.
    """

    bonus: str = "hoeffding"
    scale: float = 1.0
    delta: float = 0.1
    episodes: int | None = None

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"bonus": ("hoeffding", "bernstein")}
    paper: ClassVar[str] = "Jin, Allen-Zhu, Bubeck and Jordan (2018), Is Q-learning provably efficient?"

    def __post_init__(self) -> None:
        checks.choice("bonus", self.bonus, self.choices["bonus"])
        checks.number("scale", self.scale, 0.0)
        confidence(self.delta, self.episodes)

    def settings(self) -> Settings:
        return Settings(self.bonus == "bernstein", float(self.scale), confidence(self.delta, self.episodes))

    def begin(self, belief: Belief) -> Memory:
        shape = (belief.actions, belief.states)
        V = np.repeat(np.arange(belief.horizon, 0, -1.0), np.diff(belief.layers))
        Q, policy = np.array(np.broadcast_to(V, shape), order="C"), np.zeros(shape)
        if belief.end >= 0:  # worth nothing
            over = belief.layers[:-1] + belief.end
            Q[:, over] = V[over] = 0.0
        greedy(Q, policy)
        visits, mean, squares, beta = (np.zeros(shape) for _ in range(4))
        gamma = float(belief.discount)
        return Memory(belief.layers, belief.end, Q, V, visits, policy, mean, squares, beta, gamma)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.settings(), task, first, count)

    def forbid(self, memory: Memory, states: Ints, forbidden: Flags) -> Memory:
        L = len(memory.layers) - 1
        for l, first in enumerate(memory.layers[:-1]):
            forbid_values(memory.Q, first + states, forbidden, float(L - l))
        return memory

    def forget(self, memory: Memory, factor: float) -> Memory:
        memory.visits[:] *= factor
        memory.squares[:] *= factor
        return memory

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        settings = self.settings()
        update(memory, settings, episode, logarithm(memory, settings, t))
        return memory
