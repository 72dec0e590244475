"""The recipe of all random streams: a seed, names of what it is for, and a number for each use.

No stream is used twice: what differs in a name or in the number is independent.
"""

import zlib

import numpy as np


def sequence(seed: int, *names: str, number: int) -> np.random.SeedSequence:
    """The root of one stream."""
    return np.random.SeedSequence(seed, spawn_key=(*(zlib.crc32(name.encode()) for name in names), number))


def streams(seed: int, *names: str, uses: int) -> list[np.random.Generator]:
    """One stream per use: 0, 1, …"""
    return [np.random.default_rng(sequence(seed, *names, number=use)) for use in range(uses)]


def whole_number(seed: int, *names: str, number: int) -> int:
    """A seed for somebody else's generator, below 2³¹."""
    return int(sequence(seed, *names, number=number).generate_state(1)[0] >> 1)
