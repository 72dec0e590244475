"""One episode of a policy on the device.

A policy is its shares, [(state, action − 1), seed]: the probability of action a ≥ 1 among the actions 0..a, as the soft
sweep folds them one by one. A policy that takes one action for certain has shares of 0 and 1.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from klearning.gpu.layout import Shape
from klearning.gpu.random import ONE, WALK, ZERO, F, normals, philox, unit


@cache
def play_for(shape: Shape) -> Callable[..., Any]:
    """One episode of the policy, which updates the counts; the return, and whether the goal was reached."""
    horizon, actions, single, own = shape.horizon, shape.actions, shape.single, shape.own
    bernoulli, end = shape.bernoulli, shape.end
    goal_state, goal_place, goal_action = shape.goal_state, shape.goal_place, shape.goal_action

    @cuda.jit(device=True, fastmath=True)
    def play(world: Any, share: Any, counts: Any, key: Any, seed: Any, i: Any, t: Any) -> tuple[F, bool]:
        who, total, hit = i if own else 0, ZERO, False
        words = philox(key, horizon, t, seed, WALK)
        u, s = unit(words[0]) - world.initial[0], 0
        while u >= ZERO and s + 1 < world.initial.size:
            s += 1
            u -= world.initial[s]
        for l in range(horizon):
            words = philox(key, l, t, seed, WALK)
            u, a = unit(words[0]), 0
            for b in range(actions - 1, 0, -1):  # the last action with its share, else one of those before it
                p = share[s * (actions - 1) + b - 1, i]
                if u < p:
                    a = b
                    break
                u = (u - p) / (ONE - p)
            k = s * actions + a
            place = s - world.layers[l]
            r = world.reward[k, who]
            if bernoulli:
                r = ONE if unit(words[1]) < r else ZERO
            else:
                r += world.noise[k, 0] * normals(words[1], words[2])[0]
            if place == end:
                r = ZERO
            total += r
            hit = hit or (a == goal_action and (s == goal_state or place == goal_place))
            counts.visits[k, i] += ONE
            counts.sums[k, i] += r
            if l + 1 < horizon:
                e = k
                if not single:
                    e, last = world.start[k], world.start[k + 1] - 1
                    u = unit(words[3]) - world.weight[e, who]
                    while u >= ZERO and e < last:
                        e += 1
                        u -= world.weight[e, who]
                    counts.moves[e, i] += ONE
                s = world.succ[e]
        return total, hit

    return play
