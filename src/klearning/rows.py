"""Sparse transition rows that can grow inside a kernel.

The successors of (a, s) are ``succ[start : start + length]`` with their ``weight``. A row begins
with room for one; a full row moves to the end of the pool with twice the room, so that memory and
time are O(S·A + distinct transitions), rows stay contiguous, and where the world is deterministic
the pool is read in order.

Arrays inside the kernels have their axes as (action, state): the loops over the states of a layer
are the long ones, and this order lets them run eight at a time.
"""

from typing import NamedTuple

import numpy as np

from klearning.compiled import Floats, Ints, kernel


class Rows(NamedTuple):
    start: Ints
    length: Ints
    room: Ints
    succ: Ints
    weight: Floats
    used: int


def rows_with_room(room: Ints) -> Rows:
    """Empty rows with this much room, (A, S)."""
    start = (np.cumsum(room.ravel()) - room.ravel()).reshape(room.shape)
    used = int(room.sum())
    return Rows(start, np.zeros_like(room), room, np.zeros(used, np.int64), np.zeros(used), used)


def empty_rows(layers: Ints, actions: int) -> Rows:
    """Rows without successors, and room for one each."""
    return rows_with_room(np.ones((actions, int(layers[-1])), np.int64))


def rows_from_layers(layers: Ints, actions: int, blocks: list[Floats]) -> Rows:
    """Rows of the dense blocks (S_l, A, S_{l+1}), l < L; zeros are not stored."""
    states = int(layers[-1])
    length = np.zeros((actions, states), np.int64)
    entries = [np.nonzero(np.moveaxis(block, 1, 0)) for block in blocks]
    for l, (a, s, _) in enumerate(entries):
        np.add.at(length, (a, s + layers[l]), 1)
    rows = rows_with_room(np.maximum(length, 1))
    rows.length[:] = length
    for l, (a, s, y) in enumerate(entries):
        # np.nonzero is sorted by (a, s, y), so a row's entries are consecutive
        key = a * blocks[l].shape[0] + s
        first = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1]) if key.size else np.zeros(0, np.int64)
        rank = np.arange(key.size) - np.repeat(first, np.diff(np.append(first, key.size)))
        where = rows.start[a, s + layers[l]] + rank
        rows.succ[where] = y + layers[l + 1]
        rows.weight[where] = blocks[l][s, a, y]
    return rows


def rows_to_layers(rows: Rows, layers: Ints) -> list[Floats]:
    """The dense blocks (S_l, A, S_{l+1}) of weights, l < L."""
    cuts = layers.tolist()
    return [dense_block(rows, *cuts[l : l + 2], *cuts[l + 1 : l + 3]) for l in range(len(cuts) - 2)]


def dense_block(rows: Rows, low: int, high: int, first: int, last: int) -> Floats:
    """The weights of rows low .. high-1 on successors first .. last-1, as (high - low, A, last - first)."""
    actions = rows.start.shape[0]
    block = np.zeros((high - low, actions, last - first))
    for a in range(actions):
        for s in range(low, high):
            row = slice(rows.start[a, s], rows.start[a, s] + rows.length[a, s])
            np.add.at(block[s - low, a], rows.succ[row] - first, rows.weight[row])
    return block


def row_sums(rows: Rows) -> Floats:
    """The total weight of every row, (A, S)."""
    sums = [rows.weight[i : i + n].sum() for i, n in zip(rows.start.ravel(), rows.length.ravel(), strict=True)]
    return np.array(sums, np.float64).reshape(rows.start.shape)


def copy_rows(rows: Rows) -> Rows:
    return Rows(
        rows.start.copy(), rows.length.copy(), rows.room.copy(), rows.succ.copy(), rows.weight.copy(), rows.used
    )


@kernel(inline=True)
def add_weight(rows: Rows, a: int, s: int, successor: int, amount: float) -> bool:
    """Add to one entry of row (a, s); False, and nothing done, where the row needs more room first."""
    first = rows.start[a, s]
    end = first + rows.length[a, s]
    for e in range(first, end):
        if rows.succ[e] == successor:
            rows.weight[e] += amount
            return True
    if end == first + rows.room[a, s]:
        return False
    rows.succ[end] = successor
    rows.weight[end] = amount
    rows.length[a, s] += 1
    return True


@kernel(inline=True)
def append(rows: Rows, a: int, s: int, successor: int, amount: float) -> Rows:
    """Add an entry to row (a, s), the last of the pool."""
    succ, weight = rows.succ, rows.weight
    if rows.used == succ.size:
        succ = np.concatenate((succ, np.zeros_like(succ)))
        weight = np.concatenate((weight, np.zeros_like(weight)))
    succ[rows.used], weight[rows.used] = successor, amount
    rows.length[a, s] += 1
    return Rows(rows.start, rows.length, rows.room, succ, weight, rows.used + 1)


@kernel
def enlarge(rows: Rows, a: int, s: int) -> Rows:
    """Move row (a, s) to the end of the pool with twice the room."""
    room = 2 * rows.room[a, s]
    succ, weight = rows.succ, rows.weight
    if rows.used + room > succ.size:
        succ = np.zeros(2 * rows.succ.size + room, np.int64)
        weight = np.zeros(succ.size)
        for e in range(rows.used):
            succ[e], weight[e] = rows.succ[e], rows.weight[e]
    first = rows.start[a, s]
    for i in range(rows.length[a, s]):
        succ[rows.used + i] = succ[first + i]
        weight[rows.used + i] = weight[first + i]
    rows.start[a, s] = rows.used
    rows.room[a, s] = room
    return Rows(rows.start, rows.length, rows.room, succ, weight, rows.used + room)
