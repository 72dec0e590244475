"""K-learning on a device: `tabular/agents/fixed_optimism.py` with one thread per seed.

The sweep is that of models/soft.py without V″. The curvature of f in log τ is carried from episode to episode, as a
share of f − J, and corrected by what two sweeps of one plan say of it: no more sweeps than Newton's method takes, and a
number less for every state. The exact value of the policy rides along instead.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.batch import Batch, refuse
from klearning.gpu.layout import F, Log, Shape, at_most
from klearning.gpu.walk import play_for
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP
from klearning.tabular.optimism.bonuses import BONUSES
from klearning.tabular.optimism.program import program, solve_best

OPTIMAL, SCHEDULE, FIXED = range(3)
MOST_SWEEPS = 60
LONGEST_STEP = F(3.0)  # in log τ
ROUNDING = F(1.2e-7)
ZERO, ONE, HALF, QUARTER, TWO = F(0.0), F(1.0), F(0.5), F(0.25), F(2.0)
FARTHEST = F(3e38)


@dataclass(frozen=True)
class Kind:
    """What of agent and prior is compiled into a kernel."""

    rule: int  # OPTIMAL, SCHEDULE or FIXED
    paper: bool  # the bonus as printed
    spread: bool  # whether c has a part for unknown transitions besides
    shift: float  # 1 for Beta rewards
    learns: bool  # whether transitions are learnt


class Numbers(NamedTuple):
    """What the kernel reads of agent and prior; all float32. κ is in ``half`` and ``spread`` already."""

    strength: Any  # n0
    weight: Any  # n0 μ0
    half: Any  # κσ²/2
    total: Any  # Σα of a row
    mass: Any  # what of it is spread over whole layers
    tolerance: Any
    spread: Any  # (L + 1,): κ/2 · the squared span of the next layer's values, and κL²/2


class Search(NamedTuple):
    """What is carried from plan to plan, (seeds,)."""

    tau: Any  # where to begin
    curvature: Any  # d² f / (d log τ)², as a share of f − J


@cache
def half_variance_for(kind: Kind) -> Callable[..., Any]:
    """κ c(s,a) of bonuses.py, from the visits; ``share`` is 1 / (n0 + n)."""
    paper, spread, shift = kind.paper, kind.spread, F(kind.shift)

    @cuda.jit(device=True, fastmath=True)
    def half_variance(x: Any, n: Any, share: Any, l: Any) -> Any:
        if paper:
            return (x.half + x.spread[l]) / max(n, ONE)
        c = x.half / (x.strength + n + shift) if shift > ZERO else x.half * share
        if spread:
            c += QUARTER * x.spread[l] / (x.total + n + ONE)
        return c

    return half_variance


@cache
def soft_sweep_for(shape: Shape, kind: Kind, shown: bool = False) -> Callable[..., Any]:
    """The optimistic Bellman equation (e-bellmanop) at one τ > 0. Returns f, H̄ and C̄, and J^π in the world.

    It writes the policy's shares and, if ``shown``, K.
    """
    horizon, states, actions, single, own = shape.horizon, shape.states, shape.actions, shape.single, shape.own
    end, learns, half_variance = shape.end, kind.learns, half_variance_for(kind)

    @cuda.jit(device=True, fastmath=True)
    def soft_sweep(
        world: Any, counts: Any, x: Any, tau: Any, i: Any, V: Any, H: Any, C: Any, U: Any, share: Any, K: Any
    ) -> Any:
        who, once = i if own else 0, ONE / tau
        f, H_start, C_start, J = ZERO, ZERO, ZERO, ZERO
        even_V, even_H, even_C = ZERO, ZERO, ZERO
        # registers: all their indices are known
        visits, sums = cuda.local.array(actions, F), cuda.local.array(actions, F)
        visits_ahead, sums_ahead = cuda.local.array(actions, F), cuda.local.array(actions, F)
        for a in range(actions):
            k = (states - 1) * actions + a
            visits_ahead[a], sums_ahead[a] = counts.visits[k, i], counts.sums[k, i]
        for l in range(horizon - 1, -1, -1):
            low, high = world.layers[l], world.layers[l + 1]
            sum_V, sum_H, sum_C = ZERO, ZERO, ZERO
            for s in range(high - 1, low - 1, -1):
                following = max(s - 1, 0)
                for a in range(actions):  # read one state ahead, so that memory need not be waited for
                    k = following * actions + a
                    visits[a], visits_ahead[a] = visits_ahead[a], counts.visits[k, i]
                    sums[a], sums_ahead[a] = sums_ahead[a], counts.sums[k, i]
                v, h, c, u = ZERO, ZERO, ZERO, ZERO
                for a in range(actions):
                    k, n = s * actions + a, visits[a]
                    V_next, H_next, C_next, Q = even_V, even_H, even_C, world.reward[k, who]
                    if single:
                        if l + 1 < horizon:
                            y = world.place[k]
                            w = n if learns else ONE
                            V_next += w * V[y]
                            H_next += w * H[y]
                            C_next += w * C[y]
                            Q += U[y]
                    else:
                        for e in range(world.start[k], world.start[k + 1]):
                            y = world.place[e]
                            w = counts.moves[e, i] if learns else world.weight[e, who]
                            V_next += w * V[y]
                            H_next += w * H[y]
                            C_next += w * C[y]
                            Q += world.weight[e, who] * U[y]
                    q = ONE / (x.total + n) if learns else ONE
                    per_visit = ONE / (x.strength + n)
                    c_s = half_variance(x, n, per_visit, l)
                    K_a = (x.weight + sums[a]) * per_visit + c_s * once + q * V_next
                    H_a = q * H_next
                    C_a = c_s + q * C_next
                    if shown:
                        K[k, i] = K_a
                    if a == 0:
                        v, h, c, u = K_a, H_a, C_a, Q
                    else:  # fold
                        d = K_a - v
                        gap = abs(d) * once
                        z = F(math.exp(-gap))
                        major = ONE / (ONE + z)
                        minor = z * major
                        p = major if d > ZERO else minor
                        log_term = F(math.log(ONE + z))
                        v = max(K_a, v) + tau * log_term
                        h += p * (H_a - h) + log_term + gap * minor
                        c += p * (C_a - c)
                        u += p * (Q - u)
                        share[s * (actions - 1) + a - 1, i] = p
                if s - low == end:
                    v, h, c = ZERO, ZERO, ZERO
                y = world.slot[s]
                V[y], H[y], C[y], U[y] = v, h, c, u
                sum_V += v
                sum_H += h
                sum_C += c
                if l == 0:
                    f += world.initial[s] * v
                    H_start += world.initial[s] * h
                    C_start += world.initial[s] * c
                    J += world.initial[s] * u
            q = x.mass / F(high - low)
            even_V, even_H, even_C = q * sum_V, q * sum_H, q * sum_C
        return f, H_start, C_start, J

    return soft_sweep


@cuda.jit(device=True, fastmath=True)
def duality_gap(tau: Any, H: Any, C: Any) -> Any:
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
def fresh(tau: Any, curvature: Any) -> Any:
    """Before the first sweep of a plan."""
    return State(tau, curvature, 0, ZERO, FARTHEST, ZERO, ZERO)


@cuda.jit(device=True, fastmath=True)
def improved(state: Any, H: Any, C: Any) -> Any:
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
def close(x: Any, f: Any, optimism: Any, gap: Any, sweeps: Any) -> Any:
    """Whether the gap is small enough: `allowed` of temperature.py."""
    size = abs(f)
    return gap <= max(x.tolerance * min(optimism, size), ROUNDING * max(optimism, size)) or sweeps >= MOST_SWEEPS


@cache
def scheduled_for(shape: Shape, kind: Kind) -> Callable[..., Any]:
    """e-betat: τ of episode t = 0, 1, …"""
    horizon, actions, paper, half_variance = shape.horizon, shape.actions, kind.paper, half_variance_for(kind)
    per_episode = F(shape.states * actions / (4.0 * horizon * math.log(actions)))

    @cuda.jit(device=True, fastmath=True)
    def scheduled(world: Any, counts: Any, x: Any, i: Any, t: Any) -> Any:
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
        U, talk, j = cuda.local.array(slots, F), log.diagnostics, 0
        state = fresh(search.tau[i], search.curvature[i])
        if rule == SCHEDULE:
            state = fresh(scheduled(world, counts, x, i, first), ONE)
        while j < count:
            tau = state.tau
            f, H_start, C_start, J = soft_sweep(world, counts, x, tau, i, V, H, C, U, share, share)
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


@cache
def plans_for(shape: Shape, kind: Kind) -> Any:
    """The kernel: one plan of every seed; writes K, and τ, f, gap and sweeps."""
    soft_sweep, slots = soft_sweep_for(shape, kind, shown=True), shape.slots

    @cuda.jit(fastmath=True)
    def plans(world: Any, counts: Any, x: Any, search: Any, share: Any, K: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i >= search.tau.size:
            return
        V, H, C = cuda.local.array(slots, F), cuda.local.array(slots, F), cuda.local.array(slots, F)
        U, state, done = cuda.local.array(slots, F), fresh(search.tau[i], search.curvature[i]), False
        while not done:
            tau = state.tau
            f, H_start, C_start, _ = soft_sweep(world, counts, x, tau, i, V, H, C, U, share, K)
            gap = duality_gap(tau, H_start, C_start)
            state = improved(state, H_start, C_start)
            done = close(x, f, tau * H_start + C_start / tau, gap, state.sweeps)
            out[0, i], out[1, i], out[2, i], out[3, i] = tau, f, gap, state.sweeps

    return plans


class KLearningForm:
    """`KLearning` with a bonus c/τ and a share κ of it, as the device plays it."""

    diagnostics = KLearning.diagnostics

    def __init__(self, agent: KLearning, prior: Prior, mdp: MDP) -> None:
        bonus = BONUSES[agent.bonus]
        if isinstance(agent.optimism, str) or bonus.prices or bonus.fill is not None:
            able = [name for name, row in BONUSES.items() if not row.prices and row.fill is None]
            refuse(f"agent={agent!r}", f"bonuses {', '.join(able)} and a number for optimism")
        ready = program(Belief.before(prior, mdp), agent.bonus)
        numbers, transitions, kappa = prior.reward.numbers(), ready.belief.transitions, float(agent.optimism)
        kinds = {"optimal": OPTIMAL, "schedule": SCHEDULE}
        rule = kinds[agent.temperature] if isinstance(agent.temperature, str) else FIXED
        spread = np.append(ready.numbers.spread, float(mdp.horizon) ** 2)  # the last is the schedule's
        self.kind = Kind(
            rule, agent.bonus == "paper", bool(ready.numbers.spread.any()), numbers.shift, transitions.learns
        )
        self.numbers = Numbers(
            strength=F(numbers.strength),
            weight=F(numbers.strength * numbers.mean),
            half=F(0.5 * kappa * numbers.noise),
            total=F(transitions.total),
            mass=F(transitions.even_mass),
            tolerance=F(agent.tolerance),
            spread=cuda.to_device((0.5 * kappa * spread).astype(F)),
        )
        c, policy = kappa * ready.c, np.zeros_like(ready.c)
        best = solve_best(ready.model, c, 0.0, agent.tolerance, policy, ready.work).tau
        self.first = float(agent.temperature) if rule == FIXED else best

    def begin(self, batch: Batch) -> Search:
        """All seeds believe the same at first, and begin with the τ of that, or with the one given."""
        seeds = len(batch.seeds)
        return Search(cuda.to_device(np.full(seeds, self.first, F)), cuda.to_device(np.ones(seeds, F)))

    def advance(self, batch: Batch, search: Search, log: Log, first: int, count: int) -> None:
        kernel = episodes_for(batch.shape, self.kind, batch.registers)
        kernel[batch.grid](
            batch.world, batch.counts, self.numbers, search, batch.share, log, batch.key, batch.seeds, first, count
        )
