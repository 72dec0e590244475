"""The recipe of all random streams: a seed, names of what it is for, and a number for each use.

No stream is used twice: what differs in a name or in the number is independent.
"""

import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sequence(seed: int, *names: str, number: int) -> np.random.SeedSequence:
    """The root of one stream."""
    return np.random.SeedSequence(seed, spawn_key=(*(zlib.crc32(name.encode()) for name in names), number))


def streams(seed: int, *names: str, uses: int) -> list[np.random.Generator]:
    """One stream per use: 0, 1, …"""
    return [np.random.default_rng(sequence(seed, *names, number=use)) for use in range(uses)]


def set_state(stream: np.random.Generator, state: Any) -> None:
    """Continue from the state of a stream of the same kind; ValueError if it cannot be one."""
    try:
        inner = state["state"]
        numbers = (inner["state"], 128), (inner["inc"], 128), (state["has_uint32"], 1), (state["uinteger"], 32)
        sound = state.keys() == stream.bit_generator.state.keys() and inner["inc"] % 2 == 1
        if not sound or not all(type(x) is int and 0 <= x < 2**bits for x, bits in numbers):
            raise ValueError("its numbers are out of range")
        stream.bit_generator.state = state
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"this is not the state of a random stream: {error}") from None


def states_of(sources: Iterable[np.random.Generator]) -> NDArray[np.uint8]:
    """The states of some streams, as an array for a file."""
    return np.frombuffer(json.dumps([source.bit_generator.state for source in sources]).encode(), np.uint8)


def set_states(sources: Iterable[np.random.Generator], states: NDArray[np.generic]) -> None:
    """The inverse of `states_of`, for the same number of streams; ValueError if these cannot be states of streams."""
    for source, state in zip(sources, json.loads(states.tobytes()), strict=True):
        set_state(source, state)


def whole_number(seed: int, *names: str, number: int) -> int:
    """A seed for somebody else's generator, below 2³¹."""
    return int(sequence(seed, *names, number=number).generate_state(1)[0] >> 1)
