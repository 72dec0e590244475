"""Random words on a device, Philox-4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, 2011), uniforms and normals.

Four words are a function of a key and of a place: (step, episode, seed, use). Nothing is kept between two calls, and a
result depends on neither the order of threads nor the number of other seeds.
"""

import math
from typing import Any

import numpy as np
from numba import cuda

from klearning.tabular.trials.streams import sequence

WORD = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # from one round's key to the next
FIRST_MULTIPLIER, SECOND_MULTIPLIER = MULTIPLIERS
FIRST_STEP, SECOND_STEP = STEPS
DROPPED = np.uint64(8)  # bits of a word that do not fit into a float32
F = np.float32
UNIT, ZERO, HALF, ONE, MINUS_TWO, TWO_PI = F(2.0**-24), F(0.0), F(0.5), F(1.0), F(-2.0), F(2.0 * math.pi)

# uses of words
WALK, REWARDS, ROWS = 0, 1, 2


@cuda.jit(device=True, fastmath=True)
def philox(key: Any, x: Any, y: Any, z: Any, w: Any) -> tuple[Any, Any, Any, Any]:
    """The four words at place (x, y, z, w) under a key of two; all are below 2³²."""
    low, high = np.uint64(key[0]), np.uint64(key[1])
    x, y, z, w = np.uint64(x), np.uint64(y), np.uint64(z), np.uint64(w)
    for _ in range(10):
        p, q = FIRST_MULTIPLIER * x, SECOND_MULTIPLIER * z
        x, z = (q >> WORD) ^ y ^ low, (p >> WORD) ^ w ^ high
        y, w = q & LOW, p & LOW
        low, high = (low + FIRST_STEP) & LOW, (high + SECOND_STEP) & LOW
    return x, y, z, w


@cuda.jit(device=True, fastmath=True)
def unit(word: Any) -> F:
    """A uniform of [0, 1)."""
    return F(word >> DROPPED) * UNIT


@cuda.jit(device=True, fastmath=True)
def log_unit(word: Any) -> F:
    """log U, U of (0, 1]; next to 1 a fast logarithm may round to above 0."""
    return min(F(math.log(ONE - unit(word))), ZERO)


@cuda.jit(device=True, fastmath=True)
def normals(word: Any, other: Any) -> tuple[F, F]:
    """Two standard normals of two words (Box and Muller, 1958); at most 5.8 in size."""
    radius, angle = F(math.sqrt(MINUS_TWO * log_unit(word))), TWO_PI * (unit(other) - HALF)
    return radius * F(math.cos(angle)), radius * F(math.sin(angle))


def run_key(world: str, agent: str) -> tuple[np.uint32, np.uint32]:
    """The key of an agent in a world; seeds differ by their place."""
    low, high = sequence(0, "gpu", world, agent, number=0).generate_state(2)
    return np.uint32(low), np.uint32(high)
