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
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.agents.confidence import Confidence, confidence, total_steps
from klearning.tabular.agents.replay import (
    ORDERS,
    Order,
    Replay,
    check_replay,
    check_stored,
    empty_replay,
    fading,
    keep,
    pick,
)
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.models.sweeps import greedy, greedy_at
from klearning.tabular.trials.agent import Agent, forbid_values, settings_text
from klearning.tabular.trials.task import Task, play


class Settings(NamedTuple):
    bernstein: bool
    scale: float
    confidence: Confidence
    backward: bool = False
    replay: int = 0


@field_roles(
    offsets=("layers",),
    fixed=("layers", "end", "discount"),
    finite=("Q", "V", "mean", "squares"),
    counts=("visits", "beta"),
    probabilities=("policy",),
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
    replay: Replay

    def check(self, fresh: "Memory", name: str) -> None:
        check_stored(self.replay, self.layers, len(self.policy), f"{name}.replay")


@kernel(inline=True)
def bonus(memory: Memory, settings: Settings, L: int, a: int, s: int, next_value: float, iota: float) -> float:
    """b of this visit, which met the next value ``met``; the visit is counted already."""
    k = memory.visits[a, s]
    hoeffding = np.sqrt(L**3 * iota / k)
    if not settings.bernstein:
        return hoeffding
    off = next_value - memory.mean[a, s]
    memory.mean[a, s] += off / k
    memory.squares[a, s] += off * (next_value - memory.mean[a, s])
    W = memory.squares[a, s] / k
    beta = min(np.sqrt(L * (W + L) * iota / k) + np.sqrt(float(L) ** 7 * memory.visits.size) * iota / k, hoeffding)
    alpha, before = (L + 1.0) / (L + k), memory.beta[a, s]
    memory.beta[a, s] = beta
    return (beta - (1.0 - alpha) * before) / (2.0 * alpha)


@kernel(inline=True)
def learn(memory: Memory, l: int, s: int, a: int, alpha: float, target: float) -> None:
    """Let Q of (s,a) come nearer to the target, and bring value and policy of the state up to date."""
    Q = memory.Q
    Q[a, s] += alpha * (target - Q[a, s])
    best = Q[0, s]
    for other in range(1, Q.shape[0]):
        best = max(best, Q[other, s])
    memory.V[s] = min(float(memory.layers.size - 1 - l), best)
    greedy_at(Q, s, memory.policy)


@kernel(inline=True)
def visit(memory: Memory, settings: Settings, episode: Episode, l: int, iota: float) -> None:
    """Learn from step l."""
    s, a, L = episode.states[l], episode.actions[l], memory.layers.size - 1
    memory.visits[a, s] += 1.0
    next_value = memory.discount * memory.V[episode.states[l + 1]] if l + 1 < min(L, episode.states.size) else 0.0
    alpha = (L + 1.0) / (L + memory.visits[a, s])
    b = settings.scale * bonus(memory, settings, L, a, s, next_value, iota)
    learn(memory, l, s, a, alpha, episode.rewards[l] + next_value + b)


@kernel
def update(memory: Memory, settings: Settings, episode: Episode, iota: float) -> None:
    """Learn from one episode, and bring values and policy up to date where it passed."""
    steps = episode.actions.size
    for i in range(steps):
        l = steps - 1 - i if settings.backward else i
        if episode.states[l] - memory.layers[l] != memory.end:
            visit(memory, settings, episode, l, iota)


@kernel
def relearn(memory: Memory, settings: Settings, episode: Episode, iota: float) -> Replay:
    """Keep this episode, and learn again from some that are kept, with the bonus that is due now."""
    L, layers, steps = memory.layers.size - 1, memory.layers, 0
    while steps < episode.actions.size and episode.states[steps] - layers[steps] != memory.end:
        steps += 1
    replay = keep(memory.replay, layers, episode, steps)
    for i in range(settings.replay):
        e = pick(replay, i)
        for l in range(replay.steps[e] - 1, -1, -1):
            s, a, inside = (
                layers[l] + replay.local_states[e, l],
                replay.actions[e, l],
                l + 1 < min(L, replay.state_counts[e]),
            )
            next_value = memory.discount * memory.V[layers[l + 1] + replay.local_states[e, l + 1]] if inside else 0.0
            k = max(1.0, memory.visits[a, s])
            target = replay.rewards[e, l] + next_value + settings.scale * np.sqrt(L**3 * iota / k)
            learn(memory, l, s, a, (L + 1.0) / (L + k), target)
    return replay


@kernel
def logarithm(memory: Memory, settings: Settings, t: int) -> float:
    """ι in episode t = 0, 1, …"""
    T = total_steps(settings.confidence, memory.layers.size - 1, t)
    return np.log(memory.visits.size * T / settings.confidence.delta)


@kernel
def episodes(memory: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        play(task, memory.policy, t)
        iota = logarithm(memory, settings, t)
        update(memory, settings, task.episode, iota)
        if settings.replay > 0:
            replay = relearn(memory, settings, task.episode, iota)
            memory = Memory(
                memory.layers, memory.end, memory.Q, memory.V, memory.visits, memory.policy, memory.mean,
                memory.squares, memory.beta, memory.discount, replay,
            )  # fmt: skip
    return memory


@dataclass(frozen=True)
class OptimisticQLearning(Agent[Memory]):
    """Q-learning with an upper confidence bonus, "hoeffding" or "bernstein"; ``scale`` multiplies it.

    ``delta`` is the failure probability, ``episodes`` the total number, by default as many as have come. The paper's
    ``order`` of the steps of an episode is "forward"; "backward" begins with the last. After each episode ``replay`` of
    those before are learned from again, which needs the bonus "hoeffding".
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    scale: float = 1.0
    delta: float = 0.1
    episodes: int | None = None
    order: Order = "forward"
    replay: int = 0

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"bonus": ("hoeffding", "bernstein"), "order": ORDERS}
    since: ClassVar[tuple[str, ...]] = ("order", "replay")
    paper: ClassVar[str] = "Jin, Allen-Zhu, Bubeck and Jordan (2018), Is Q-learning provably efficient?"

    def __post_init__(self) -> None:
        checks.choice("bonus", self.bonus, self.choices["bonus"])
        checks.number("scale", self.scale, 0.0)
        confidence(self.delta, self.episodes)
        check_replay(self.order, self.replay)
        if self.replay > 0 and self.bonus != "hoeffding":
            raise ValueError(f"replay={self.replay} with bonus={self.bonus!r}, which counts visits: use 'hoeffding'")

    def __repr__(self) -> str:
        """Without what came later and is at its default."""
        return settings_text(self)

    def settings(self) -> Settings:
        sure = confidence(self.delta, self.episodes)
        return Settings(self.bonus == "bernstein", float(self.scale), sure, self.order == "backward", int(self.replay))

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
        replay = empty_replay(belief.horizon, self.replay)
        return Memory(belief.layers, belief.end, Q, V, visits, policy, mean, squares, beta, gamma, replay)

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
        return memory._replace(replay=fading(memory.replay, factor))

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        settings = self.settings()
        iota = logarithm(memory, settings, t)
        update(memory, settings, episode, iota)
        return memory._replace(replay=relearn(memory, settings, episode, iota)) if self.replay else memory
