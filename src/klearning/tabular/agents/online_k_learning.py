"""Online K-learning: K-values by temporal differences, without a model. A heuristic, exact in its limits.

R̂ and c are the posterior mean of a mean reward and half its variance, n how often the next state was seen, α0 the
prior mass of a transition row. With V_l(s) = τ log Σ_a exp(K_l(s,a)/τ), V̄_{l+1} its mean over a layer, and
α_n = (L + 1)/(L + n):

    K_l(s,a) = R̂ + (κ α0 γ V̄_{l+1} + n Y_l(s,a)) / (κ α0 + n) + κ c/τ         the bonus is outside what is learned
    Y_l(s,a) ← Y_l(s,a) + α_n (γ V_{l+1}(s') − Y_l(s,a))
    follow π_l(a|s) ∝ exp(β K_l(s,a)/τ)                                         β = 1 is K-learning's policy
    log τ ← log τ − η (τH − κC/τ)/(τH + κC/τ)                                   τH = κC/τ at the exact solver's τ*

H is the entropy of exp(K/τ) and C its mean c, summed over the states that the episode met. "forward" learns from the
steps in their order, which is after each step, because a layer is met once; "backward" from the last step to the first.
Then episodes that were kept are learned from again. With a stationary prior R̂, c and n are of all steps together, and
what follows a step is learned from in every layer.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import differs, refuse
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.agents.replay import (
    NEWEST,
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
from klearning.tabular.beliefs.posterior import NEGLIGIBLE, Episode
from klearning.tabular.beliefs.rewards import RewardPrior, reward_posterior
from klearning.tabular.models.sweeps import FORBIDDEN, greedy
from klearning.tabular.optimism.temperature import fixed
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task, play

LEARNT = "learnt"
FAR = 1e9  # τ goes no further from where it began: with one action, or nothing left to learn, it would go on forever
GREEDY = 1e-50  # τ if nothing is uncertain from the beginning


class Settings(NamedTuple):
    backward: bool
    replay: int
    optimism: float  # κ
    rate: float  # η; 0 if τ is held
    sharpness: float  # β


@field_roles(
    offsets=("layers", "table"),
    fixed=("layers", "table", "end", "discount", "prior", "mass", "start"),
    counts=("visits", "moves", "tau"),
    finite=("reward_sums", "reward_squares", "Y", "ahead", "V"),
    probabilities=("policy",),
)
class Memory(NamedTuple):
    layers: Ints
    table: Ints  # where the rows of each layer begin: see `Model`
    end: int  # the state of every layer where an episode is over, or -1
    discount: float
    prior: RewardPrior
    mass: float  # κ α0
    start: float  # the first τ
    visits: Floats  # a column per row of the tables; infinitely many if there is nothing to learn
    moves: Floats  # n: those of which the next state is known
    reward_sums: Floats
    reward_squares: Floats
    R: Floats
    c: Floats
    Y: Floats  # a column per state
    ahead: Floats  # γ V̄_{l+1} when the last policy was made
    tau: float
    V: Floats
    policy: Floats
    replay: Replay

    @property
    def Q(self) -> Floats:
        """K without the bonus of the pair itself."""
        rows = np.concatenate([np.arange(b - a) + t for a, b, t in zip(self.layers, self.layers[1:], self.table)])
        n, ahead = self.moves[:, rows], np.repeat(self.ahead, np.diff(self.layers))
        with np.errstate(invalid="ignore"):
            untold = np.where(n > 0.0, self.mass / (self.mass + n), 1.0)
        return np.asarray(self.R[:, rows] + self.Y + untold * (ahead - self.Y))

    def check(self, fresh: "Memory", name: str) -> None:
        R, c = np.zeros_like(self.R), np.zeros_like(self.c)
        derive_all(self._replace(R=R, c=c))
        for field, x, y in (("R", self.R, R), ("c", self.c, c)):
            refuse(f"{name}.{field}", "does not follow from visits and rewards", differs(x, y), x)
        refuse(f"{name}.moves", "is more than the visits", self.moves > self.visits, self.moves)
        if not self.start / FAR <= self.tau <= self.start * FAR:
            raise ValueError(f"{name}.tau={self.tau} is too far from where it began, {self.start}")
        check_stored(self.replay, self.layers, len(self.policy), f"{name}.replay")


@kernel(inline=True)
def derive(m: Memory, a: int, i: int) -> None:
    """R̂ and c of action a in row i."""
    squares = m.reward_squares[a, i] if m.reward_squares.size > 0 else 0.0
    mean, variance = reward_posterior(m.prior, m.visits[a, i], m.reward_sums[a, i], squares)
    m.R[a, i], m.c[a, i] = mean, 0.5 * variance


@kernel
def derive_all(m: Memory) -> None:
    for a in range(m.visits.shape[0]):
        for i in range(m.visits.shape[1]):
            derive(m, a, i)


@kernel(inline=True)
def k_value(m: Memory, optimism: float, l: int, a: int, s: int) -> float:
    i = s - m.layers[l] + m.table[l]
    n, K = m.moves[a, i], m.R[a, i] + m.Y[a, s] + optimism * m.c[a, i] / m.tau
    return K + (m.mass / (m.mass + n) if n > 0.0 else 1.0) * (m.ahead[l] - m.Y[a, s])


@kernel(inline=True)
def soft_value(m: Memory, optimism: float, l: int, s: int) -> float:
    """V of a state, by what is known now."""
    if s - m.layers[l] == m.end:
        return 0.0
    best, total = k_value(m, optimism, l, 0, s), 1.0
    for a in range(1, m.Y.shape[0]):
        K = k_value(m, optimism, l, a, s)
        if best < K:
            best, total = K, 1.0 + total * exp_negative((best - K) / m.tau)
        else:
            total += exp_negative((K - best) / m.tau)
    return best + m.tau * np.log(total)


@kernel(inline=True)
def back_up(m: Memory, optimism: float, e: int, l: int) -> None:
    """Learn from where step l of an episode that is kept led: in its layer, or in all that share their rows."""
    L, a, i, j = m.layers.size - 1, m.replay.actions[e, l], m.replay.local_states[e, l], m.replay.local_states[e, l + 1]
    alpha = (L + 1.0) / (L + max(1.0, m.moves[a, m.table[l] + i]))
    first, last = (0, L - 2) if m.table[L] == 0 else (l, min(l, L - 2))
    for h in range(last, first - 1, -1):
        s = m.layers[h] + i
        m.Y[a, s] += alpha * (m.discount * soft_value(m, optimism, h + 1, m.layers[h + 1] + j) - m.Y[a, s])


@kernel
def back_up_all(m: Memory, optimism: float, e: int) -> None:
    """The steps of an episode that is kept, the last one first."""
    for l in range(min(m.replay.steps[e], m.replay.state_counts[e] - 1) - 1, -1, -1):
        back_up(m, optimism, e, l)


@kernel(inline=True)
def count(m: Memory, episode: Episode, l: int) -> None:
    a, i = episode.actions[l], episode.states[l] - m.layers[l] + m.table[l]
    m.visits[a, i] += 1.0
    m.moves[a, i] += 1.0 if l + 1 < episode.states.size else 0.0
    m.reward_sums[a, i] += episode.rewards[l]
    if m.reward_squares.size > 0:
        m.reward_squares[a, i] += episode.rewards[l] ** 2
    derive(m, a, i)


@kernel
def temperature(tau: float, entropy: float, uncertainty: float, rate: float) -> float:
    """The next τ after an episode with this H and κC. It stays as it is if τH = κC/τ."""
    cost, gain = tau * entropy, uncertainty / tau
    return tau * np.exp(-rate * (cost - gain) / (cost + gain)) if cost + gain > 0.0 else tau


@kernel
def next_temperature(m: Memory, settings: Settings, episode: Episode, steps: int) -> float:
    """By the policy of K at τ in the states that were met, and by what was known when they were."""
    H, C, weight, actions = 0.0, 0.0, 1.0, m.Y.shape[0]
    for l in range(steps):
        s = episode.states[l]
        V = soft_value(m, settings.optimism, l, s)
        for a in range(actions):
            gap = min(0.0, k_value(m, settings.optimism, l, a, s) - V) / m.tau
            p = exp_negative(gap)
            H -= weight * p * gap
            C += weight * p * m.c[a, s - m.layers[l] + m.table[l]]
        weight *= m.discount
    tau = temperature(m.tau, H, settings.optimism * C, settings.rate)
    return min(max(tau, m.start / FAR), m.start * FAR)


@kernel
def update(m: Memory, settings: Settings, episode: Episode) -> Memory:
    """Learn from one episode, and again from some of those that are kept."""
    steps = 0
    while steps < episode.actions.size and episode.states[steps] - m.layers[steps] != m.end:
        steps += 1
    tau = next_temperature(m, settings, episode, steps)
    m = moved_on(m, m.tau, keep(m.replay, m.layers, episode, steps))
    newest = pick(m.replay, NEWEST)
    for l in range(steps):
        count(m, episode, l)
        if not settings.backward and l + 1 < episode.states.size:
            back_up(m, settings.optimism, newest, l)
    if settings.backward:
        back_up_all(m, settings.optimism, newest)
    m = moved_on(m, tau, m.replay)
    for i in range(settings.replay):
        back_up_all(m, settings.optimism, pick(m.replay, i))
    return m


@kernel(inline=True)
def moved_on(m: Memory, tau: float, replay: Replay) -> Memory:
    return Memory(
        m.layers, m.table, m.end, m.discount, m.prior, m.mass, m.start, m.visits, m.moves, m.reward_sums,
        m.reward_squares, m.R, m.c, m.Y, m.ahead, tau, m.V, m.policy, replay,
    )  # fmt: skip


@kernel
def plan(m: Memory, settings: Settings) -> None:
    """V and the policy of every state at today's τ, the last layer first."""
    L, actions, beta = m.layers.size - 1, m.Y.shape[0], settings.sharpness
    for l in range(L - 1, -1, -1):
        m.ahead[l] = m.discount * m.V[m.layers[l + 1] : m.layers[l + 2]].mean() if l + 1 < L else 0.0
        for s in range(m.layers[l], m.layers[l + 1]):
            best, soft, sharp = -np.inf, 0.0, 0.0
            for a in range(actions):
                m.policy[a, s] = k_value(m, settings.optimism, l, a, s)
                best = max(best, m.policy[a, s])
            for a in range(actions):
                gap = (m.policy[a, s] - best) / m.tau
                m.policy[a, s] = exp_negative(beta * gap)
                soft += exp_negative(gap)
                sharp += m.policy[a, s]
            for a in range(actions):
                m.policy[a, s] /= sharp
            m.V[s] = best + m.tau * np.log(soft) if s - m.layers[l] != m.end else 0.0


@kernel
def episodes(m: Memory, settings: Settings, task: Task, first: int, count: int) -> Memory:
    for t in range(first, first + count):
        plan(m, settings)
        task.log.diagnostics[0, t] = m.tau
        play(task, m.policy, t)
        m = update(m, settings, task.episode)
    return m


@dataclass(frozen=True)
class OnlineKLearning(Agent[Memory]):
    """Model-free K-learning, with the steps of an episode in the ``order`` "backward" or "forward".

    ``replay`` kept episodes are learned from again after each. ``optimism`` is κ in (0, 1]. The ``temperature``
    is "learnt" with the step ``rate`` η per episode, or a number that is held. With a ``sharpness`` β of 1 the policy
    is K-learning's, with more it is closer to the best action by K. The defaults are fitted to DeepSea.
    """

    order: Order = "backward"
    replay: int = 20
    optimism: float = 0.25
    temperature: Literal["learnt"] | float = "learnt"
    rate: float = 0.2
    sharpness: float = 3.0

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"order": ORDERS, "temperature": (LEARNT,)}
    diagnostics: ClassVar[tuple[str, ...]] = ("temperature",)
    paper: ClassVar[str] = "after O'Donoghue (2021), Variational Bayesian reinforcement learning with regret bounds"

    def __post_init__(self) -> None:
        check_replay(self.order, self.replay)
        checks.number("optimism", self.optimism, 0.0, 1.0, above=True)
        if isinstance(self.temperature, str):
            checks.choice("temperature", self.temperature, self.choices["temperature"])
        else:
            fixed(self.temperature)
        checks.number("rate", self.rate, 0.0, 1.0, above=True)
        checks.number("sharpness", self.sharpness, 1.0, 1e6)

    def settings(self) -> Settings:
        rate = float(self.rate) if isinstance(self.temperature, str) else 0.0
        return Settings(self.order == "backward", int(self.replay), float(self.optimism), rate, float(self.sharpness))

    def begin(self, belief: Belief) -> Memory:
        L, shape, prior = belief.horizon, (belief.actions, belief.states), belief.prior.reward.numbers()
        visits, t = belief.visits.copy(), belief.transitions
        start = self._start(prior, belief.actions)
        m = Memory(
            belief.layers, belief.table, belief.end, float(belief.discount), prior,
            float(self.optimism * t.total if t.learns else 0.0), start, visits, np.where(np.isinf(visits), np.inf, 0.0),
            belief.reward_sums.copy(), belief.reward_squares.copy(), np.zeros_like(visits), np.zeros_like(visits),
            np.zeros(shape), np.zeros(L), start, np.zeros(shape[1]), np.zeros(shape), empty_replay(L, self.replay),
        )  # fmt: skip
        derive_all(m)
        return m

    def _start(self, prior: RewardPrior, actions: int) -> float:
        """τ* before anything was seen: every action is taken alike, with H = L log A and C = L s0²/2."""
        if not isinstance(self.temperature, str):
            return float(self.temperature)
        return max(float(np.sqrt(self.optimism * prior.variance / (2.0 * np.log(max(2, actions))))), GREEDY)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.settings(), task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        plan(memory, self.settings())
        diagnostics[0] = memory.tau
        return memory

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return update(memory, self.settings(), episode)

    def forbid(self, memory: Memory, states: Ints, forbidden: Flags) -> Memory:
        for first in sorted(set(memory.table[:-1].tolist())):
            columns = first + states
            back = ~forbidden & (memory.reward_sums[:, columns] <= FORBIDDEN)
            for x, sure in ((memory.visits, np.inf), (memory.moves, np.inf), (memory.reward_sums, FORBIDDEN)):
                x[:, columns] = np.where(forbidden, sure, np.where(back, 0.0, x[:, columns]))
            if memory.reward_squares.size:
                memory.reward_squares[:, columns] *= ~(forbidden | back)
        derive_all(memory)
        return memory

    def forget(self, memory: Memory, factor: float) -> Memory:
        counted = np.isfinite(memory.visits)
        for x in (memory.reward_sums, memory.reward_squares, memory.moves, memory.visits):
            if x.size:
                x[counted] *= np.where(factor * memory.visits[counted] < NEGLIGIBLE, 0.0, factor)
        derive_all(memory)
        return memory._replace(replay=fading(memory.replay, factor))

    def exploit(self, memory: Memory) -> Floats:
        """Greedy by what is expected, without the bonus of the action itself."""
        policy = np.zeros_like(memory.policy)
        greedy(memory.Q, policy)
        return policy
