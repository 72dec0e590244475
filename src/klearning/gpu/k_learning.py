"""K-learning on a device: `tabular/agents/fixed_optimism.py` with one thread per seed.

The sweep is that of models/soft.py without V″. The curvature of f in log τ is carried from episode to episode, as a
share of f − J, and corrected by two sweeps of one plan. It takes no more sweeps than Newton's method, and one number
less for every state. The same sweep computes the exact value of the policy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.batch import Batch, refuse
from klearning.gpu.layout import Log, Shape, at_most
from klearning.gpu.random import ONE, ZERO, F
from klearning.gpu.walk import play_for
from klearning.tabular.agents.calibrated import Calibration
from klearning.tabular.agents.fixed_optimism import FIXED, OPTIMAL, SCHEDULE, FixedOptimism
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP
from klearning.tabular.optimism import temperature
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.program import program, solve_best

MOST_SWEEPS = 60
LONGEST_STEP = F(temperature.LONGEST_STEP)
ROUNDING = F(1.2e-7)
QUARTER, TWO = F(0.25), F(2.0)
FARTHEST = F(3e38)


@dataclass(frozen=True)
class Kind:
    """The settings of agent and prior that are compiled into a kernel."""

    rule: int  # OPTIMAL, SCHEDULE or FIXED
    paper: bool  # the bonus as printed
    spread: bool  # whether c has a part for unknown transitions besides
    shift: float  # 1 for Beta rewards
    learns: bool  # whether transitions are learned


class Numbers(NamedTuple):
    """Settings and prior, as the kernel reads them; all float32. ``half`` and ``spread`` include κ."""

    strength: Any  # n0
    weight: Any  # n0 μ0
    half: Any  # κσ²/2
    total: Any  # Σα of a row
    mass: Any  # the part of it that is spread over whole layers
    tolerance: Any
    spread: Any  # (L + 1,): κ/2 · the squared span of the next layer's values, and κL²/2


class Search(NamedTuple):
    """Carried from plan to plan, (seeds,)."""

    tau: Any  # the first τ of the next search
    curvature: Any  # d² f / (d log τ)², as a share of f − J


@cache
def half_variance_for(kind: Kind) -> Callable[..., Any]:
    """κ c(s,a) of bonuses.py, from the visits; ``share`` is 1 / (n0 + n)."""
    paper, spread, shift = kind.paper, kind.spread, F(kind.shift)

    @cuda.jit(device=True, fastmath=True)
    def half_variance(x: Any, n: Any, share: Any, l: Any) -> F:
        if paper:
            return (x.half + x.spread[l]) / max(n, ONE)
        c = x.half / (x.strength + n + shift) if shift > ZERO else x.half * share
        if spread:
            c += QUARTER * x.spread[l] / (x.total + n + ONE)
        return c

    return half_variance


class Swept(NamedTuple):
    """The result of a sweep in a state, or in every slot: V, H, C, and the true value U of the policy."""

    V: Any
    H: Any
    C: Any
    U: Any


@cache
def successors_for(shape: Shape, kind: Kind) -> Callable[..., Any]:
    """Sums over the successors of pair k, by how often each came, on top of the even share; U by the true world."""
    horizon, single, own, learns = shape.horizon, shape.single, shape.own, kind.learns

    @cuda.jit(device=True, fastmath=True)
    def successors(world: Any, counts: Any, i: Any, l: Any, k: Any, n: Any, even: Any, at: Any) -> Swept:
        who = i if own else 0
        V, H, C, U = even.V, even.H, even.C, world.reward[k, who]
        if single:
            if l + 1 < horizon:
                y = world.place[k]
                w = n if learns else ONE
                V += w * at.V[y]
                H += w * at.H[y]
                C += w * at.C[y]
                U += at.U[y]
        else:
            for e in range(world.start[k], world.start[k + 1]):
                y = world.place[e]
                w = counts.moves[e, i] if learns else world.weight[e, who]
                V += w * at.V[y]
                H += w * at.H[y]
                C += w * at.C[y]
                U += world.weight[e, who] * at.U[y]
        return Swept(V, H, C, U)

    return successors


@cuda.jit(device=True, fastmath=True)
def fold(best: Any, one: Any, tau: Any, once: Any) -> tuple[Swept, F]:
    """One more action in the soft maximum; and its probability among the actions so far."""
    d = one.V - best.V
    gap = abs(d) * once
    z = F(math.exp(-gap))
    major = ONE / (ONE + z)
    minor = z * major
    p = major if d > ZERO else minor
    log_term = F(math.log(ONE + z))
    V = max(one.V, best.V) + tau * log_term
    H = best.H + (p * (one.H - best.H) + log_term + gap * minor)
    return Swept(V, H, best.C + p * (one.C - best.C), best.U + p * (one.U - best.U)), p


@cache
def state_for(shape: Shape, kind: Kind, shown: bool) -> Callable[..., Any]:
    """K of every action of a state, folded into its V; writes the policy's shares and, if ``shown``, K."""
    actions, learns = shape.actions, kind.learns
    successors, half_variance = successors_for(shape, kind), half_variance_for(kind)

    @cuda.jit(device=True, fastmath=True)
    def sweep_state(
        world: Any, counts: Any, x: Any, tau: Any, i: Any, l: Any, s: Any, seen: Any, even: Any, at: Any, share: Any,
        K: Any,
    ) -> Swept:  # fmt: skip
        once, best = ONE / tau, Swept(ZERO, ZERO, ZERO, ZERO)
        for a in range(actions):
            k, n = s * actions + a, seen.visits[a]
            after = successors(world, counts, i, l, k, n, even, at)
            q = ONE / (x.total + n) if learns else ONE
            per_visit = ONE / (x.strength + n)
            c = half_variance(x, n, per_visit, l)
            K_a = (x.weight + seen.sums[a]) * per_visit + c * once + q * after.V
            one = Swept(K_a, q * after.H, c + q * after.C, after.U)
            if shown:
                K[k, i] = K_a
            if a == 0:
                best = one
            else:
                best, p = fold(best, one, tau, once)
                share[s * (actions - 1) + a - 1, i] = p
        return best

    return sweep_state


class Seen(NamedTuple):
    """The statistics of a state's actions and of the state that is swept next: registers, all indices are known."""

    visits: Any
    sums: Any
    visits_ahead: Any
    sums_ahead: Any


@cache
def read_for(shape: Shape) -> Callable[..., Any]:
    """Read one state ahead, so that memory need not be waited for."""
    actions = shape.actions

    @cuda.jit(device=True, fastmath=True)
    def read(counts: Any, i: Any, s: Any, seen: Any) -> None:
        for a in range(actions):
            k = s * actions + a
            seen.visits[a], seen.visits_ahead[a] = seen.visits_ahead[a], counts.visits[k, i]
            seen.sums[a], seen.sums_ahead[a] = seen.sums_ahead[a], counts.sums[k, i]

    return read


@cache
def soft_sweep_for(shape: Shape, kind: Kind, shown: bool = False) -> Callable[..., Any]:
    """The optimistic Bellman equation (e-bellmanop) at one τ > 0. Returns f, H̄ and C̄, and J^π in the world."""
    horizon, states, actions, end = shape.horizon, shape.states, shape.actions, shape.end
    read, sweep_state = read_for(shape), state_for(shape, kind, shown)

    @cuda.jit(device=True, fastmath=True)
    def soft_sweep(world: Any, counts: Any, x: Any, tau: Any, i: Any, at: Any, share: Any, K: Any) -> tuple[F, F, F, F]:
        f, H_start, C_start, J = ZERO, ZERO, ZERO, ZERO
        even = Swept(ZERO, ZERO, ZERO, ZERO)
        visits, sums = cuda.local.array(actions, F), cuda.local.array(actions, F)
        visits_ahead, sums_ahead = cuda.local.array(actions, F), cuda.local.array(actions, F)
        seen = Seen(visits, sums, visits_ahead, sums_ahead)
        read(counts, i, states - 1, seen)
        for l in range(horizon - 1, -1, -1):
            low, high = world.layers[l], world.layers[l + 1]
            sum_V, sum_H, sum_C = ZERO, ZERO, ZERO
            for s in range(high - 1, low - 1, -1):
                read(counts, i, max(s - 1, 0), seen)
                V, H, C, U = sweep_state(world, counts, x, tau, i, l, s, seen, even, at, share, K)
                if s - low == end:
                    V, H, C = ZERO, ZERO, ZERO
                y = world.slot[s]
                at.V[y], at.H[y], at.C[y], at.U[y] = V, H, C, U
                sum_V += V
                sum_H += H
                sum_C += C
                if l == 0:
                    f += world.initial[s] * V
                    H_start += world.initial[s] * H
                    C_start += world.initial[s] * C
                    J += world.initial[s] * U
            q = x.mass / F(high - low)
            even = Swept(q * sum_V, q * sum_H, q * sum_C, ZERO)
        return f, H_start, C_start, J

    return soft_sweep


@cuda.jit(device=True, fastmath=True)
def duality_gap(tau: Any, H: Any, C: Any) -> F:
    """How far f(τ) is above its minimum at most."""
    apart = F(math.sqrt(tau * max(H, ZERO))) - F(math.sqrt(C / tau))
    return apart * apart


class State(NamedTuple):
    """Where a thread's search for τ stands."""

    tau: Any
    curvature: Any  # d² f / (d log τ)², as a share of f − J
    sweeps: Any  # of this plan
    low: Any  # the bracket
    high: Any
    before: Any  # log τ of the sweep before, and the slope there
    slope_before: Any


@cuda.jit(device=True, fastmath=True)
def fresh(tau: Any, curvature: Any) -> State:
    """Before the first sweep of a plan."""
    return State(tau, curvature, 0, ZERO, FARTHEST, ZERO, ZERO)


@cuda.jit(device=True, fastmath=True)
def improved(state: Any, H: Any, C: Any) -> State:
    """One step in log τ by the curvature that is known, kept inside the bracket: `newton` of temperature.py."""
    tau, curvature, low, high = state.tau, state.curvature, state.low, state.high
    now, slope, optimism = F(math.log(tau)), tau * H - C / tau, tau * H + C / tau
    if state.sweeps > 0 and now != state.before:
        seen = (slope - state.slope_before) / ((now - state.before) * optimism)
        if seen > ZERO:
            curvature = seen
    if slope > ZERO:
        high = tau
    else:
        low = tau
    better = tau * F(math.exp(min(max(-slope / (curvature * optimism), -LONGEST_STEP), LONGEST_STEP)))
    if better < low or better > high:
        better = F(math.sqrt(low)) * F(math.sqrt(high))
    return State(better, curvature, state.sweeps + 1, low, high, now, slope)


@cuda.jit(device=True, fastmath=True)
def close(x: Any, f: Any, optimism: Any, gap: Any, sweeps: Any) -> bool:
    """Whether the gap is small enough: `allowed` of temperature.py."""
    size = abs(f)
    return gap <= max(x.tolerance * min(optimism, size), ROUNDING * max(optimism, size)) or sweeps >= MOST_SWEEPS


@cache
def scheduled_for(shape: Shape, kind: Kind) -> Callable[..., Any]:
    """e-betat: τ of episode t = 0, 1, …"""
    horizon, actions, paper, half_variance = shape.horizon, shape.actions, kind.paper, half_variance_for(kind)
    per_episode = F(shape.states * actions / (4.0 * horizon * math.log(actions)))

    @cuda.jit(device=True, fastmath=True)
    def scheduled(world: Any, counts: Any, x: Any, i: Any, t: Any) -> F:
        B = ZERO
        if paper:
            B = TWO * (x.half + x.spread[horizon])
        else:
            for l in range(horizon):
                for k in range(world.layers[l] * actions, world.layers[l + 1] * actions):
                    n = counts.visits[k, i]
                    B = max(B, TWO * half_variance(x, n, ONE / (x.strength + n), l) * max(n, ONE))
        now = F(t + 1)
        return F(math.sqrt(B * per_episode * (ONE + F(math.log(now))) / now))

    return scheduled


@cache
def episodes_for(shape: Shape, kind: Kind, registers: int | None = None) -> Any:
    """The kernel: ``count`` episodes of every seed from episode ``first`` on.

    A turn of the loop is one sweep. Threads go side by side: one whose plan is done plays its episode and sweeps for
    the next, while its neighbours still search for their τ.
    """
    soft_sweep, play, scheduled = soft_sweep_for(shape, kind), play_for(shape), scheduled_for(shape, kind)
    slots, rule = shape.slots, kind.rule

    @cuda.jit(fastmath=True, **at_most(registers))
    def episodes(
        world: Any, counts: Any, x: Any, search: Any, share: Any, log: Any, key: Any, seeds: Any, first: Any, count: Any
    ) -> None:
        i = cuda.grid(1)
        if i >= seeds.size:
            return
        V, H, C = cuda.local.array(slots, F), cuda.local.array(slots, F), cuda.local.array(slots, F)
        at, talk, j = Swept(V, H, C, cuda.local.array(slots, F)), log.diagnostics, 0
        state = fresh(search.tau[i], search.curvature[i])
        if rule == SCHEDULE:
            state = fresh(scheduled(world, counts, x, i, first), ONE)
        while j < count:
            tau = state.tau
            f, H_start, C_start, J = soft_sweep(world, counts, x, tau, i, at, share, share)
            gap = duality_gap(tau, H_start, C_start)
            if rule == OPTIMAL:
                state = improved(state, H_start, C_start)
            sweeps = state.sweeps if rule == OPTIMAL else 1
            if rule != OPTIMAL or close(x, f, tau * H_start + C_start / tau, gap, sweeps):
                log.values[j, i] = J
                log.returns[j, i], log.hits[j, i] = play(world, share, counts, key, seeds[i], i, first + j)
                talk[j, 0, i], talk[j, 1, i], talk[j, 2, i], talk[j, 3, i] = tau, f, gap, sweeps
                j += 1
                if rule == OPTIMAL:
                    state = fresh(state.tau, state.curvature)
                if rule == SCHEDULE:
                    state = fresh(scheduled(world, counts, x, i, first + j), ONE)
        search.tau[i], search.curvature[i] = state.tau, state.curvature

    return episodes


class KLearningProgram:
    """`KLearning` with a bonus c/τ and a share κ of it, as the device plays it."""

    diagnostics = FixedOptimism.diagnostics

    def __init__(self, agent: KLearning, prior: Prior, mdp: MDP) -> None:
        bonus = BONUSES[agent.bonus]
        if isinstance(agent.optimism, str | Calibration) or bonus.prices or not bonus.compiled:
            able = [name for name, row in BONUSES.items() if not row.prices and row.compiled]
            refuse(f"agent={agent!r}", f"bonuses {', '.join(able)} and a number for optimism")
        ready = program(Belief.before(prior, mdp), agent.bonus)
        numbers, transitions, kappa = prior.reward.numbers(), ready.belief.transitions, float(agent.optimism)
        rule = FixedOptimism(agent.temperature, agent.bonus, agent.tolerance, kappa).rule()
        spread = np.append(ready.numbers.spread, float(mdp.horizon) ** 2)  # the last is the schedule's
        self.kind = Kind(
            rule.kind, agent.bonus == "paper", bool(ready.numbers.spread.any()), numbers.shift, transitions.learns
        )
        self.numbers = Numbers(
            strength=F(numbers.strength),
            weight=F(numbers.strength * numbers.mean),
            half=F(0.5 * kappa * numbers.noise_variance),
            total=F(transitions.total),
            mass=F(transitions.even_mass),
            tolerance=F(agent.tolerance),
            spread=cuda.to_device((0.5 * kappa * spread).astype(F)),
        )
        c, policy = kappa * ready.c, np.zeros_like(ready.c)
        best = solve_best(ready.model, c, 0.0, agent.tolerance, policy, ready.work).tau
        self.first = rule.tau if rule.kind == FIXED else best

    def begin(self, batch: Batch) -> Search:
        """All seeds believe the same at first, and begin with the τ of that, or with the one given."""
        seeds = len(batch.seeds)
        return Search(cuda.to_device(np.full(seeds, self.first, F)), cuda.to_device(np.ones(seeds, F)))

    def advance(self, batch: Batch, search: Search, log: Log, first: int, count: int) -> None:
        kernel = episodes_for(batch.shape, self.kind, batch.registers)
        kernel[batch.grid](
            batch.world, batch.counts, self.numbers, search, batch.share, log, batch.key, batch.seeds, first, count
        )
