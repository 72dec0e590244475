"""Agents that plan by value iteration, on a device: `agents/value_iteration.py` with one thread per seed.

An agent is its Q_l(s,a), given V of the next layer; the rest is the same for all of them. The exact value of the policy
is a second array that rides along. V has room for two layers, because a draw may lead to any state of the next one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.draws import normals
from klearning.gpu.layout import F, Shape
from klearning.gpu.random import REWARDS, philox
from klearning.gpu.walk import play_for

ZERO, ONE = F(0.0), F(1.0)


class Place(NamedTuple):
    """Whose draws these are: under which key, of which seed, in which episode."""

    key: Any
    seed: Any
    t: Any


class Log(NamedTuple):
    """What is kept of every episode, (episodes, seeds)."""

    values: Any
    returns: Any
    hits: Any


@cache
def expectation_for(shape: Shape, learns: bool) -> Callable[..., Any]:
    """Σ_s' w(s') V(s') over what was seen of pair k, w its counts; or its probabilities where they are known.

    ``V`` begins with the next layer at ``after``, whose first state is ``below``.
    """
    single, own = shape.single, shape.own

    @cuda.jit(device=True)
    def expectation(world: Any, counts: Any, i: Any, k: Any, V: Any, after: Any) -> Any:
        if single:
            return (counts.visits[k, i] if learns else ONE) * V[after + world.succ[k]]
        who, total = i if own else 0, ZERO
        for e in range(world.start[k], world.start[k + 1]):
            total += (counts.moves[e, i] if learns else world.weight[e, who]) * V[after + world.succ[e]]
        return total

    return expectation


@cache
def plan_for(shape: Shape, width: int, noisy: bool, action_value: Callable[..., Any]) -> Callable[..., Any]:
    """Q by layers, the last first; writes the greedy policy's shares and returns its exact value, E_ρ V_1^π.

    A policy is uniform over the maximisers of Q, as on the CPU.
    """
    horizon, actions, own, end = shape.horizon, shape.actions, shape.own, shape.end
    true_value = expectation_for(shape, False)

    @cuda.jit(device=True)
    def plan(world: Any, counts: Any, x: Any, place: Any, i: Any, V: Any, J: Any, share: Any) -> Any:
        who, start, even = i if own else 0, ZERO, ZERO
        now, after = 0, width
        for l in range(horizon - 1, -1, -1):
            low, high = world.layers[l], world.layers[l + 1]
            wide = 0 if l + 1 == horizon else world.layers[l + 2] - high
            total = ZERO
            for s in range(low, high):
                best, ties, j, z, spare = ZERO, 1, ZERO, ZERO, ZERO
                for a in range(actions):
                    k = s * actions + a
                    if noisy:
                        if a % 2 == 0:
                            words = philox(place.key, k, place.t, place.seed, REWARDS)
                            z, spare = normals(words[0], words[1])
                        else:
                            z = spare
                    Q = action_value(world, counts, x, place, i, k, z, V, after - high, after, wide, even)
                    Q_true = world.reward[k, who]
                    if l + 1 < horizon:
                        Q_true += true_value(world, counts, i, k, J, after - high)
                    if a == 0:
                        best, j = Q, Q_true
                    else:
                        p = ZERO
                        if Q > best:
                            best, ties, p = Q, 1, ONE
                        elif Q == best:
                            ties += 1
                            p = ONE / F(ties)
                        j += p * (Q_true - j)
                        share[s * (actions - 1) + a - 1, i] = p
                if s - low == end:
                    best = ZERO
                V[now + s - low], J[now + s - low] = best, j
                total += best
                if l == 0:
                    start += world.initial[s] * j
            even = total / F(high - low)
            now, after = after, now
        return start

    return plan


@cache
def episodes_for(shape: Shape, width: int, noisy: bool, action_value: Callable[..., Any]) -> Any:
    """The kernel: ``count`` episodes of every seed from episode ``first`` on."""
    plan, play, room = plan_for(shape, width, noisy, action_value), play_for(shape), 2 * width

    @cuda.jit
    def episodes(
        world: Any, counts: Any, x: Any, share: Any, log: Any, key: Any, seeds: Any, first: Any, count: Any
    ) -> None:
        i = cuda.grid(1)
        if i >= seeds.size:
            return
        V, J = cuda.local.array(room, F), cuda.local.array(room, F)
        seed = seeds[i]
        for n in range(count):
            t = first + n
            log.values[n, i] = plan(world, counts, x, Place(key, seed, t), i, V, J, share)
            log.returns[n, i], log.hits[n, i] = play(world, share, counts, key, seed, i, t)

    return episodes
