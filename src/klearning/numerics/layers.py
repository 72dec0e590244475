"""Conversion between one array for all layers and one array per layer."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints, Layers


def offsets(widths: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def check_offsets(field: str, value: Any) -> None:
    """That these are offsets of layers, each of at least one state."""
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.ndim != 1 or len(value) < 2:
        raise ValueError(f"{field}={value!r} is not an array of offsets: give 0 and, for every layer, where it ends")
    if value[0] != 0 or (np.diff(value) < 1).any():
        raise ValueError(f"{field}={value.tolist()} does not rise from 0: every layer needs a state")


def check_end(end: int, layers: Ints) -> None:
    """That a state where episodes are over is in every layer; -1 if there is none."""
    if not -1 <= end < (narrowest := int(np.diff(layers).min())):
        raise ValueError(f"end={end} is not a state of every layer: give a number below {narrowest}")


def by_layer(table: Floats, layers: Ints) -> Layers:
    """A kernel's array, (A, S) or (S,), as one (S_l, A) or (S_l,) view per layer."""
    turned = table.T
    return [turned[low:high] for low, high in pairwise(layers.tolist())]


def size_text(table: Layers) -> str:
    """The size of a table of (S_l, A) blocks as text."""
    return f"horizon={len(table)}, states={sum(map(len, table))}, actions={table[0].shape[1]}"


def from_layers(field: str, blocks: Any, layers: Ints, actions: int, check: Any = checks.array) -> Floats:
    """The inverse of `by_layer`: an (A, S) array from (S_l, A) blocks or one (S, A) table."""
    if isinstance(blocks, np.ndarray) and blocks.ndim == 2:
        return np.ascontiguousarray(check(field, blocks, (int(layers[-1]), actions)).T)
    blocks = checks.layered(field, blocks, len(layers) - 1)
    widths = np.diff(layers).tolist()
    parts = [check(f"{field}[{l}]", block, (widths[l], actions)) for l, block in enumerate(blocks)]
    return np.ascontiguousarray(np.concatenate(parts).T)
