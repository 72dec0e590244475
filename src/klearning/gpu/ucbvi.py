"""UCBVI with Hoeffding's bonus on a device: `agents/ucbvi.py` with one thread per seed.

    Q_l(s,a) ← min( Q_l(s,a), r̂(s,a) + scale·7 L Lg/√n + Σ_s' P̂(s'|s,a) V_{l+1}(s') ),      Lg = ln(5 S A T / δ)

Q is kept from episode to episode, and is L − l + 1 before a visit.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from klearning.gpu.layout import F, Shape
from klearning.gpu.value_iteration import expectation_for

ZERO, ONE = F(0.0), F(1.0)


class Numbers(NamedTuple):
    """What the kernel reads of the agent; all float32."""

    Q: Any  # (S·A, seeds)
    bonus: Any  # scale·7 L
    logarithm: Any  # ln(5 S A L / δ)
    episodes: Any  # N, or 0 for as many as have come


@cache
def action_value_for(shape: Shape) -> Callable[..., Any]:
    """Q of pair k, the least so far."""
    expectation = expectation_for(shape, learns=True)

    @cuda.jit(device=True, fastmath=True)
    def action_value(world: Any, counts: Any, x: Any, draws: Any, i: Any, k: Any, z: Any, below: Any) -> Any:
        n, Q = counts.visits[k, i], x.Q[k, i]
        if n > ZERO:
            total = counts.sums[k, i]
            if below.width > 0:
                total += expectation(world, counts, i, k, below.V, below.shift)
            episodes = x.episodes if x.episodes > ZERO else F(draws.t + 1)
            Lg = x.logarithm + F(math.log(episodes))
            Q = min(Q, total / n + x.bonus * Lg / F(math.sqrt(n)))
            x.Q[k, i] = Q
        return Q

    return action_value
