"""Random words by the block: Threefry-2x64 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011).

A generator of NumPy's is a call per number. Here a pair of words is a function of a key and of the pair's place, made
of additions, rotations and exclusive ors: the compiler does several at a time, and nothing is kept between blocks.
"""

import numpy as np

from klearning.numerics.compiled import kernel
from klearning.numerics.draws import uniform
from klearning.numerics.lanes import from_bits

WORD = 64
PARITY = np.uint64(0x1BD11BDAA9FC1A22)
EXPONENT_OF_ONE = np.uint64(0x3FF0000000000000)
EXPONENT_BITS = np.uint64(12)  # and the sign
KEYS = 2.0**53  # so many different ones of each half


@kernel(inline=True)
def turned(word: np.uint64, places: int) -> np.uint64:
    """The word's bits, so many places on, round and round."""
    return (word << np.uint64(places)) | (word >> np.uint64(WORD - places))


@kernel(inline=True)
def odd_rounds(x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Rounds 1 to 4, 9 to 12 and 17 to 20."""
    x = x + y
    y = turned(y, 16) ^ x
    x = x + y
    y = turned(y, 42) ^ x
    x = x + y
    y = turned(y, 12) ^ x
    x = x + y
    return x, turned(y, 31) ^ x


@kernel(inline=True)
def even_rounds(x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Rounds 5 to 8 and 13 to 16."""
    x = x + y
    y = turned(y, 16) ^ x
    x = x + y
    y = turned(y, 32) ^ x
    x = x + y
    y = turned(y, 24) ^ x
    x = x + y
    return x, turned(y, 21) ^ x


@kernel(inline=True)
def threefry(low: np.uint64, high: np.uint64, x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The two words at place (x, y) under the key (low, high)."""
    both = PARITY ^ low ^ high
    x, y = odd_rounds(x + low, y + high)
    x, y = even_rounds(x + high, y + both + np.uint64(1))
    x, y = odd_rounds(x + both, y + low + np.uint64(2))
    x, y = even_rounds(x + low, y + high + np.uint64(3))
    x, y = odd_rounds(x + high, y + both + np.uint64(4))
    return x + both, y + low + np.uint64(5)


@kernel(inline=True)
def one_to_two(word: np.uint64) -> float:
    """A uniform of [1, 2) from the upper 52 bits of a word."""
    return from_bits(np.int64((word >> EXPONENT_BITS) | EXPONENT_OF_ONE))


@kernel(inline=True)
def half_key(rng: np.random.Generator) -> int:
    """A half of a key, from a generator of NumPy's."""
    return int(KEYS * uniform(rng))
