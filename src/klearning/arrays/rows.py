"""Sparse transition rows that can grow inside a kernel.

The successors of (a, s) are ``succ[start : start + length]`` with their ``weight``. A row begins
with room for one; a full row moves to the end of the pool with twice the room, so that memory and
time are O(S·A + distinct transitions), rows stay contiguous, and where the world is deterministic
the pool is read in order.

Arrays inside the kernels have their axes as (action, state): the loops over the states of a layer
are the long ones, and this order lets them run eight at a time.


One stationary model, laid out once for every step: rows are built for one layer and repeated.

Nothing here is dense: memory and time are O(horizon · transitions), which for Taxi (500 states, 6
actions, 200 steps) is 600,000 entries where dense blocks would be 300 million.
"""

from typing import Any, NamedTuple

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.trees import layer_and_state, marked
from klearning.arrays.types import Floats, Ints


@marked(grows=("succ", "weight"))
class Rows(NamedTuple):
    start: Ints
    length: Ints
    room: Ints
    succ: Ints
    weight: Floats
    used: int

    def widen(self, fresh: "Rows", before: int, after: int) -> "Rows":
        """These rows with layers of ``after`` states for ``before``: they keep their places, new ones come behind."""
        start = fresh.start + self.used
        length, room = np.zeros_like(fresh.length), fresh.room.copy()
        for target, source in ((start, self.start), (length, self.length), (room, self.room)):
            layer_and_state(target, after)[..., :before] = layer_and_state(source, before)
        renumbered = (self.succ // before) * after + self.succ % before
        succ = np.concatenate([renumbered[: self.used], fresh.succ[: fresh.used]])
        weight = np.concatenate([self.weight[: self.used], fresh.weight[: fresh.used]])
        return Rows(start, length, room, succ, weight, self.used + fresh.used)


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


class Entries(NamedTuple):
    """Transitions of one layer, sorted by (action, state, successor), each triple at most once."""

    action: Ints
    state: Ints
    successor: Ints
    weight: Floats


def dense_entries(transitions: Floats) -> Entries:
    """The entries of an (S, A, S) array that are not zero."""
    a, s, y = np.nonzero(np.moveaxis(transitions, 1, 0))
    return Entries(a, s, y, transitions[s, a, y])


def merged_entries(action: Ints, state: Ints, successor: Ints, weight: Floats) -> Entries:
    """Sort, and add up what is listed more than once; what has no weight is left out."""
    held = weight > 0.0
    keys, which = np.unique(np.stack([action, state, successor])[:, held], axis=1, return_inverse=True)
    total = np.zeros(keys.shape[1])
    np.add.at(total, which.ravel(), weight[held])
    return Entries(keys[0], keys[1], keys[2], total)


def tiled_rows(entries: Entries, states: int, actions: int, horizon: int) -> Rows:
    """Rows over ``horizon`` layers of ``states`` each; the last layer leads nowhere.

    The order in the pool is that of `rows_from_layers`: by action, then layer, then state.
    """
    length = np.zeros((actions, states), np.int64)
    np.add.at(length, (entries.action, entries.state), 1)
    ends = np.zeros((actions, states), np.int64)
    lengths = np.concatenate([np.tile(length, horizon - 1), ends], axis=1)
    rows = rows_with_room(np.maximum(lengths, 1))
    rows.length[:] = lengths
    below = states * np.arange(1, horizon)[:, None]  # where the next layer begins
    for a in range(actions):
        mine = entries.action == a
        first, count = int(rows.start[a, 0]), int(mine.sum()) * (horizon - 1)
        rows.succ[first : first + count] = (entries.successor[mine] + below).ravel()
        rows.weight[first : first + count] = np.tile(entries.weight[mine], horizon - 1)
    return rows


def transition_rows(field: str, blocks: Any, layers: Ints, actions: int) -> Rows:
    """Rows of checked transition probabilities (S_l, A, S_{l+1}), l < L."""
    widths = [int(n) for n in np.diff(layers)]
    blocks = checks.layered(field, blocks, len(widths) - 1) if len(widths) > 1 else []
    checked = [
        checks.distributions(f"{field}[{l}]", p, (widths[l], actions, widths[l + 1])) for l, p in enumerate(blocks)
    ]
    return rows_from_layers(layers, actions, checked)
