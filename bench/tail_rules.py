"""When, and how, a calibrated agent follows its draws: throw-away agents, for the tail of docs/evidence/calibrated.md.

`python -m bench.calibrated_study run tail --cases 4×2×2 --seeds 240` plays them on worlds that choose settings. Words:

    steady          E V* as the best mean return plus what its path misses by a draw (`steady_gap`), not a mean of V*
    twice           f − J⁰ is to be twice that
    local           a temperature for each state, the one at which its soft maximum is least
    with rows       the variance of what comes next is in c too
    informed        the information ratio chooses, as in `thompson="informed"`; or of what is told where they disagree
    account         a draw is followed if it costs no more than has been missed so far, by the estimates
    2 draws joined  greedy for the larger of two drawn action values, so that an action is tried about twice as often
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from klearning.numerics.compiled import kernel
from klearning.numerics.types import Floats
from klearning.tabular.agents.calibrated_optimism import (
    Answer,
    CalibratedOptimism,
    Memory,
    draw_value,
    mean_and_error,
    missed,
    note,
    update,
    with_answer,
)
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.sampling import draw_optimal
from klearning.tabular.models.sweeps import at_start, expectation, greedy, hard_sweep, occupancy_sweep, policy_sweep
from klearning.tabular.optimism.calibration import calibrate
from klearning.tabular.optimism.information import best_mixture, fill_gains
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Task, play

SHARE, RATIO, RELEVANT, ACCOUNT = range(4)


class Rule(NamedTuple):
    """Settings; at these values it is calibrated optimism as it is by default."""

    which: int = SHARE
    share: float = 0.05  # of episodes that follow draws, at first, or at least
    rise: float = 0.2  # of that, for every tenfold of episodes beyond a hundred
    half: float = 0.0  # t / (t + half) in its place
    many: int = 1  # draws whose action values are joined by their maximum
    start: float = 100.0
    local: int = 0  # a temperature for each state: 1; and the variance of what comes next in c: 2
    most: float = 1.0  # of κ, there
    steady: bool = False  # E V* as J of the best policy of the mean model plus what it misses by the draws
    times: float = 1.0  # that difference, as what is asked for
    times_rise: float = 0.0


AS_IT_IS = Rule()


@kernel(inline=True)
def best_inverse(b: Floats, c: Floats, x: float) -> float:
    """1/τ at which τ log Σ exp(b/τ + c/τ²) is least, b and c of the actions of a state: where entropy is Σπc/τ²."""
    low, high = 1e-3, 1e7
    for _ in range(40):
        top = -np.inf
        for a in range(b.size):
            top = max(top, x * (b[a] + x * c[a]))
        total = mean = C = 0.0
        for a in range(b.size):
            y = x * (b[a] + x * c[a])
            w = np.exp(y - top)
            total += w
            mean += w * y
            C += w * c[a]
        excess = x * x * C / total - (top + np.log(total) - mean / total)  # more than the entropy: x is too large
        if excess > 0.0:
            high = x
        else:
            low = x
        if high < 1.02 * low:
            break
        if high == 1e7:
            x = 2.0 * x
        elif low == 1e-3:
            x = 0.5 * x
        else:
            x = np.sqrt(low * high)
    return x


@kernel
def local_sweep(
    memory: Memory, kappa: float, rows: bool, inverse: Floats, pull: Floats, Q: Floats, V: Floats, room: Floats,
    square: Floats,
) -> float:  # fmt: skip
    """Soft values with a temperature for each state; the policy, and κ c/τ as ``pull``."""
    p = memory.posterior
    model, policy, c = p.model, memory.policy, memory.c
    A = policy.shape[0]
    b, share = np.empty(A), np.empty(A)
    variance = memory.room.c
    for l in range(model.layers.size - 2, -1, -1):
        low, high = model.layers[l], model.layers[l + 1]
        last = l + 2 == model.layers.size
        if not last:
            for s in range(model.layers[l + 1], model.layers[l + 2]):
                square[s] = V[s] * V[s]
        for a in range(A):
            expectation(model, l, a, V, Q[a][low:high])
            if rows and not last:
                expectation(model, l, a, square, room)
            for s in range(low, high):
                variance[a, s] = c[a, s]
                if rows and not last:
                    spread = max(room[s - low] - Q[a, s] ** 2, 0.0)
                    variance[a, s] += 0.5 * spread / (p.total + p.moves[a, s] + 1.0)
                Q[a, s] += model.reward[a, s]
        for s in range(low, high):
            for a in range(A):
                b[a], share[a] = Q[a, s], kappa * variance[a, s]
            x = best_inverse(b, share, inverse[s])
            inverse[s] = x
            top, total = -np.inf, 0.0
            for a in range(A):
                top = max(top, x * (b[a] + x * share[a]))
            for a in range(A):
                policy[a, s] = np.exp(x * (b[a] + x * share[a]) - top)
                total += policy[a, s]
                pull[a, s] = share[a] * x
            for a in range(A):
                policy[a, s] /= total
            V[s] = (top + np.log(total)) / x
    return at_start(model, V)


@kernel
def calibrate_local(
    memory: Memory, x: Rule, target: float, inverse: Floats, pull: Floats, Q: Floats, V: Floats, room: Floats,
    square: Floats, V2: Floats,
) -> tuple[float, float]:  # fmt: skip
    """κ with f = target, and f."""
    root = np.sqrt(memory.optimism)
    f = 0.0
    for _ in range(12):
        f = local_sweep(memory, root * root, x.local == 2, inverse, pull, Q, V, room, square)
        slope = 2.0 * policy_sweep(memory.posterior.model, pull, memory.policy, V2, room)  # df / d log √κ
        if slope <= 0.0 or abs(target - f) <= 2e-3 * slope:
            break
        better = min(max(root * (1.0 + max((target - f) / slope, -0.7)), np.sqrt(1e-3)), np.sqrt(x.most))
        if better == root:
            break
        root = better
    return root * root, f


@kernel
def steady_gap(memory: Memory, Q: Floats, policy: Floats, occupancy: Floats) -> float:
    """Σ λ(s) (max_a Q(s,a) − Q(s,π(s))), Q of the last draw, π best in the mean model and λ where it goes there.

    Its expectation is E V* − J(π) where layers are independent: by the performance-difference lemma it would be with λ
    of the draw, which depends on earlier layers alone, and Q on later ones.
    """
    greedy(Q, policy)
    occupancy_sweep(memory.posterior.model, policy, occupancy)
    return missed(memory.room.Q, occupancy)


@kernel
def join(memory: Memory, k: int, rewards: np.random.Generator, rows: np.random.Generator, Q: Floats, V: Floats) -> None:
    """The policy that is greedy for the maximum over k draws, the last one of `draw_value` among them."""
    best: Any = memory.room.Q
    for _ in range(k - 1):
        draw_optimal(memory.posterior, rewards, rows, Q, V)
        for a in range(Q.shape[0]):
            for s in range(Q.shape[1]):
                best[a, s] = max(best[a, s], Q[a, s])
    greedy(best, memory.room.policy)


@kernel
def chance(memory: Memory, x: Rule, estimate: float, I: Floats, V: Floats, room: Floats) -> float:
    t, p = memory.plans, memory.posterior
    low = t / (t + x.half) if x.half > 0.0 else x.share + x.rise * np.log10(1.0 + t / x.start)
    if x.which == SHARE:
        return low
    first, second = memory.policy, memory.room.policy
    fill_gains(p, I)
    if x.which == RELEVANT:  # only where the two disagree
        for s in range(first.shape[1]):
            other = 1.0 - second[np.argmax(first[:, s]), s]
            for a in range(first.shape[0]):
                I[a, s] *= other
    d = max(estimate - policy_sweep(p.model, p.model.reward, first, V, room), 1e-9)
    e = max(estimate - policy_sweep(p.model, p.model.reward, second, V, room), 1e-9)
    i, j = policy_sweep(p.model, I, first, V, room), policy_sweep(p.model, I, second, V, room)
    return max(low, best_mixture(d, i, e, j))


@kernel
def affords(memory: Memory, x: Rule, estimate: float, book: Floats, Q: Floats, V: Floats, room: Floats) -> bool:
    """Whether the draw's policy costs no more than the account has; what this episode adds to it is entered."""
    p, t = memory.posterior, memory.plans
    best = hard_sweep(p.model, p.model.reward, Q, V)
    book[0] += estimate - best
    budget = (x.share + x.rise * np.log10(1.0 + t / x.start)) * book[0] - book[1]
    cost = best - policy_sweep(p.model, p.model.reward, memory.room.policy, V, room)
    mine = best - policy_sweep(p.model, p.model.reward, memory.policy, V, room)
    follows = cost <= budget
    book[1] += cost if follows else mine
    return follows


@kernel
def plan(
    memory: Memory, x: Rule, rewards: np.random.Generator, rows: np.random.Generator,
    I: Floats, Q: Floats, V: Floats, room: Floats, inverse: Floats, pull: Floats, square: Floats, V2: Floats,
) -> Answer:  # fmt: skip
    drawn, values, book = memory.drawn, memory.values[:-2], memory.values[-2:]
    if x.steady:
        draw_value(memory, rewards, rows)
        best = hard_sweep(memory.posterior.model, memory.posterior.model.reward, Q, V)
        values[drawn % values.size] = steady_gap(memory, Q, pull, I)
        gap, error = mean_and_error(values[: min(drawn + 1, values.size)])
        estimate = best + gap
        target = best + (x.times + x.times_rise * np.log10(1.0 + memory.plans / x.start)) * gap
    else:
        values[drawn % values.size] = draw_value(memory, rewards, rows)
        estimate, error = mean_and_error(values[: min(drawn + 1, values.size)])
        target = estimate
    if x.local > 0:
        kappa, bound = calibrate_local(memory, x, target, inverse, pull, Q, V, room, square, V2)
        tau, gap, sweeps, warm = 1.0 / inverse[0], 0.0, 1, memory.warm
    else:
        work: Any = memory.work
        found = calibrate(
            memory.posterior.model, memory.c, target, memory.optimism, memory.warm, 1e-6, memory.policy,
            memory.room.c, work,
        )  # fmt: skip
        at = found.temperature
        kappa, tau, bound, gap, sweeps, warm = found.optimism, at.tau, at.bound, at.gap, found.sweeps, at.warm
    if x.which != SHARE:
        join(memory, x.many, rewards, rows, Q, V)
    if x.which == ACCOUNT:
        thompson = affords(memory, x, estimate, book, Q, V, room)
    else:
        thompson = rewards.random() < chance(memory, x, estimate, I, V, room)
    if thompson:
        if x.which == SHARE:
            join(memory, x.many, rewards, rows, Q, V)
        memory.policy[:] = memory.room.policy
    return Answer(tau, bound, gap, sweeps, warm, kappa, estimate, error, thompson, 0.0)


@kernel
def episodes(memory: Memory, x: Rule, task: Task, first: int, count: int) -> Memory:
    A, S = memory.policy.shape
    I, Q, V, room = np.zeros((A, S)), np.zeros((A, S)), np.zeros(S), np.zeros(S)
    inverse, pull, square, V2 = np.ones(S), np.zeros((A, S)), np.zeros(S), np.zeros(S)
    for t in range(first, first + count):
        answer = plan(memory, x, task.reward_stream, task.row_stream, I, Q, V, room, inverse, pull, square, V2)
        play(task, memory.policy, t)
        memory = update(with_answer(memory, answer, 1), task.episode)
        note(answer, task.log.diagnostics[:, t])
    return memory


@dataclass(frozen=True)
class Tail(CalibratedOptimism):
    """Calibrated optimism with another rule; in `kl.run` alone."""

    tail: Rule = AS_IT_IS

    def begin(self, belief: Belief) -> Memory:
        memory = super().begin(belief)
        return memory._replace(values=np.zeros(memory.values.size + 2))

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return episodes(memory, self.tail, task, first, count)


def tail(window: int = 10, **settings: Any) -> Agent:
    return Tail("reward", 1e-6, 1, window, 0.0, 0.0, AS_IT_IS._replace(**settings))


NEVER: dict[str, Any] = {"share": 0.0, "rise": 0.0}
TENTH: dict[str, Any] = {"share": 0.1, "rise": 0.0}
LATER: dict[str, Any] = {"share": 0.05, "rise": 0.45}
ROWS: dict[str, Any] = {"local": 2, "most": 4.0}
STEADY: dict[str, Any] = {"steady": True}
TAIL: dict[str, Agent] = {
    "steady": tail(**STEADY, **NEVER),
    "steady, one in ten": tail(**STEADY, **TENTH),
    "steady, rising": tail(**STEADY),
    "steady, share 0.05 + 0.45 log10": tail(**STEADY, **LATER),
    "steady, share t/(t + 1000)": tail(half=1000.0, **STEADY),
    "steady, window 30": tail(30, **STEADY, **NEVER),
    "steady, window 30, rising": tail(30, **STEADY),
    "steady, twice": tail(times=2.0, **STEADY, **NEVER),
    "steady, twice, one in ten": tail(times=2.0, **STEADY, **TENTH),
    "steady, twice, rising": tail(times=2.0, **STEADY),
    "steady, 1 + log10 times": tail(times_rise=1.0, **STEADY, **NEVER),
    "steady, 1 + log10 times, one in ten": tail(times_rise=1.0, **STEADY, **TENTH),
    "steady, 1 + log10 times, rising": tail(times_rise=1.0, **STEADY),
    "steady, informed": tail(which=RATIO, **STEADY, **NEVER),
    "steady, informed, one in ten at least": tail(which=RATIO, **STEADY, **TENTH),
    "steady, informed, rising at least": tail(which=RATIO, **STEADY),
    "steady, informed, one in five at least": tail(which=RATIO, share=0.2, rise=0.0, **STEADY),
    "steady, informed, window 30": tail(30, which=RATIO, **STEADY, **NEVER),
    "steady, informed, window 30, one in ten at least": tail(30, which=RATIO, **STEADY, **TENTH),
    "steady, informed, 2 draws joined": tail(which=RATIO, many=2, **STEADY, **NEVER),
    "steady, informed, 2 draws joined, rising at least": tail(which=RATIO, many=2, **STEADY),
    "steady, informed, twice": tail(which=RATIO, times=2.0, **STEADY, **NEVER),
    "steady, informed, 1 + log10 times, rising at least": tail(which=RATIO, times_rise=1.0, **STEADY),
    "steady, informed, local with rows, one in ten at least": tail(which=RATIO, **STEADY, **ROWS, **TENTH),
    "steady, informed where they disagree": tail(which=RELEVANT, **STEADY, **NEVER),
    "steady, informed where they disagree, rising at least": tail(which=RELEVANT, **STEADY),
    "steady, account 1": tail(which=ACCOUNT, share=1.0, rise=0.0, **STEADY),
    "steady, account rising": tail(which=ACCOUNT, share=0.25, rise=0.75, **STEADY),
    "steady, share 0.05 + 0.45 log10, 2 draws joined": tail(many=2, **STEADY, **LATER),
    "steady, local": tail(local=1, **STEADY, **NEVER),
    "steady, local, rising": tail(local=1, **STEADY),
    "steady, local with rows": tail(**STEADY, **ROWS, **NEVER),
    "steady, local with rows, one in ten": tail(**STEADY, **ROWS, **TENTH),
    "steady, local with rows, rising": tail(**STEADY, **ROWS),
    "steady, local with rows, twice, one in ten": tail(times=2.0, **STEADY, **ROWS, **TENTH),
    "steady, local with rows, 1 + log10 times, one in ten": tail(times_rise=1.0, **STEADY, **ROWS, **TENTH),
    "local with rows, rising": tail(**ROWS),
}
