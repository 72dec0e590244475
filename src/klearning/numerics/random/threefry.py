"""Counter-based random numbers: Threefry-2x64 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011).

A NumPy generator takes a call per number. Here a pair of words is a function of a key and a counter, made of additions,
rotations and exclusive ors: the compiler vectorises it, and there is no state.
"""

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.generator import uniform
from klearning.numerics.simd.operations import from_bits

WORD = 64
PARITY = np.uint64(0x1BD11BDAA9FC1A22)
EXPONENT_OF_ONE = np.uint64(0x3FF0000000000000)
EXPONENT_BITS = np.uint64(12)  # and the sign
KEYS = 2.0**53  # number of different keys of each half


@kernel(inline=True)
def rotate_left(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> np.uint64(WORD - bits))


@kernel(inline=True)
def four_rounds(
    x: np.uint64, y: np.uint64, first: int, second: int, third: int, fourth: int
) -> tuple[np.uint64, np.uint64]:
    """Four rounds that rotate by these numbers of bits."""
    x = x + y
    y = rotate_left(y, first) ^ x
    x = x + y
    y = rotate_left(y, second) ^ x
    x = x + y
    y = rotate_left(y, third) ^ x
    x = x + y
    return x, rotate_left(y, fourth) ^ x


@kernel(inline=True)
def threefry(low: np.uint64, high: np.uint64, x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The two random words of counter (x, y) under the key (low, high)."""
    both = PARITY ^ low ^ high
    x, y = four_rounds(x + low, y + high, 16, 42, 12, 31)
    x, y = four_rounds(x + high, y + both + np.uint64(1), 16, 32, 24, 21)
    x, y = four_rounds(x + both, y + low + np.uint64(2), 16, 42, 12, 31)
    x, y = four_rounds(x + low, y + high + np.uint64(3), 16, 32, 24, 21)
    x, y = four_rounds(x + high, y + both + np.uint64(4), 16, 42, 12, 31)
    return x + both, y + low + np.uint64(5)


@kernel(inline=True)
def one_to_two(word: np.uint64) -> float:
    """A uniform of [1, 2) from the upper 52 bits of a word."""
    return from_bits(np.int64((word >> EXPONENT_BITS) | EXPONENT_OF_ONE))


@kernel(inline=True)
def half_key(rng: np.random.Generator) -> int:
    """Half of a key, from a NumPy generator."""
    return int(KEYS * uniform(rng))
