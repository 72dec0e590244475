"""Sparse transition rows, which can grow inside a kernel, and their conversion from and to dense blocks.

The successors of (a, s) are ``succ[start : start + length]``, with their ``weight``. A row starts with room for one
successor; a full row moves to the end of the pool with twice the room. So memory and time are O(S·A + distinct
transitions), rows stay contiguous, and the pool of a deterministic world is read in order.

Arrays inside kernels have the axes (action, state): the loops over the states of a layer are the long ones, and this
order lets them use SIMD.

A stationary model is a list of `Entries`, which `tiled_rows` repeats layer by layer without dense blocks. Taxi (500
states, 6 actions, 200 steps) has 600,000 entries instead of 300 million.
"""

from typing import Any, NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.records.fields import field_roles, layer_and_state
from klearning.numerics.simd.operations import LANES, all_true, choose, gather, is_contiguous, load
from klearning.numerics.types import Floats, Ints

EIGHT = index(LANES)
BY_ONE = 8  # NumPy adds shorter arrays one number after the other, longer ones in several partial sums


@field_roles(grows=("succ", "weight"))
class Rows(NamedTuple):
    start: Ints
    length: Ints
    room: Ints
    succ: Ints
    weight: Floats
    used: int

    def widen(self, fresh: "Rows", before: int, after: int) -> "Rows":
        """These rows with ``after`` states per layer: they keep their places in the pool, new rows follow.

        The pool gains room for the new rows only, and doubles if it is full, so that adding states one by one takes
        amortised constant time.
        """
        start, length, room = fresh.start.copy(), np.zeros_like(fresh.length), fresh.room.copy()
        for target, source in ((start, self.start), (length, self.length), (room, self.room)):
            layer_and_state(target, after)[..., :before] = layer_and_state(source, before)
        new = layer_and_state(room, after)[..., before:]
        layer_and_state(start, after)[..., before:] = self.used + np.cumsum(new).reshape(new.shape) - new
        used, succ, weight = self.used + int(new.sum()), self.succ, self.weight
        if start.shape[-1] > after:  # else all layers share one table, and states keep their numbers
            succ = (succ // before) * after + succ % before
        if used > succ.size:
            more = max(used, 2 * succ.size) - succ.size
            succ = np.concatenate([succ, np.zeros(more, np.int64)])
            weight = np.concatenate([weight, np.zeros(more)])
        return Rows(start, length, room, succ, weight, used)


def rows_with_room(room: Ints) -> Rows:
    """Empty rows with this much room, (A, S)."""
    start = (np.cumsum(room.ravel()) - room.ravel()).reshape(room.shape)
    used = int(room.sum())
    return Rows(start, np.zeros_like(room), room, np.zeros(used, np.int64), np.zeros(used), used)


def empty_rows(actions: int, states: int) -> Rows:
    """Rows without successors, and room for one each."""
    return rows_with_room(np.ones((actions, states), np.int64))


class Step(NamedTuple):
    """The rows and successors of a dense block: rows low .. high-1, successors first .. last-1."""

    low: int
    high: int
    first: int
    last: int


def steps_between(layers: Ints) -> list[Step]:
    """From each layer except the last to the next."""
    cuts = layers.tolist()
    return [Step(*cuts[l : l + 2], *cuts[l + 1 : l + 3]) for l in range(len(cuts) - 2)]


class Entries(NamedTuple):
    """Transitions; those of a row come in the order in which it holds them, each at most once."""

    action: Ints
    state: Ints
    successor: Ints
    weight: Floats


def dense_entries(transitions: Floats) -> Entries:
    """The entries of an (S, A, S) array that are not zero."""
    a, s, y = np.nonzero(np.moveaxis(transitions, 1, 0))
    return Entries(a, s, y, transitions[s, a, y])


def merged_entries(action: Ints, state: Ints, successor: Ints, weight: Floats) -> Entries:
    """Sort, add up repeated entries, and drop entries of weight zero."""
    held = weight > 0.0
    keys, which = np.unique(np.stack([action, state, successor])[:, held], axis=1, return_inverse=True)
    total = np.zeros(keys.shape[1])
    np.add.at(total, which.ravel(), weight[held])
    return Entries(keys[0], keys[1], keys[2], total)


def rows_from_entries(entries: Entries, actions: int, states: int) -> Rows:
    """Rows with room for these entries, and for one at least."""
    row = entries.action * states + entries.state
    length = np.bincount(row, minlength=actions * states)
    rows = rows_with_room(np.maximum(length, 1).reshape(actions, states))
    rows.length[:] = length.reshape(actions, states)
    order = np.argsort(row, kind="stable")
    rank = np.arange(row.size) - np.repeat(np.cumsum(length) - length, length)  # within its row
    where = rows.start.ravel()[row[order]] + rank
    rows.succ[where], rows.weight[where] = entries.successor[order], entries.weight[order]
    return rows


def rows_from_blocks(actions: int, states: int, steps: list[Step], blocks: list[Floats]) -> Rows:
    """Rows of dense blocks (rows, A, successors), one per step; zeros are not stored."""
    if not blocks:
        return empty_rows(actions, states)
    parts = [dense_entries(block) for block in blocks]
    moved = [Entries(a, s + step.low, y + step.first, w) for step, (a, s, y, w) in zip(steps, parts, strict=True)]
    return rows_from_entries(Entries(*map(np.concatenate, zip(*moved, strict=True))), actions, states)


def dense_block(rows: Rows, low: int, high: int, first: int, last: int) -> Floats:
    """The weights of one `Step`, dense: (rows, A, successors)."""
    actions = rows.start.shape[0]
    block = np.zeros((high - low, actions, last - first))
    for a in range(actions):
        for s in range(low, high):
            row = slice(rows.start[a, s], rows.start[a, s] + rows.length[a, s])
            np.add.at(block[s - low, a], rows.succ[row] - first, rows.weight[row])
    return block


def rows_from_layers(layers: Ints, actions: int, blocks: list[Floats]) -> Rows:
    """Rows of the dense blocks (S_l, A, S_{l+1}), l < L."""
    return rows_from_blocks(actions, int(layers[-1]), steps_between(layers), blocks)


def rows_to_layers(rows: Rows, layers: Ints) -> list[Floats]:
    """The dense blocks (S_l, A, S_{l+1}) of weights, l < L."""
    return [dense_block(rows, *step) for step in steps_between(layers)]


def checked_blocks(field: str, blocks: Any, steps: list[Step], actions: int, check: Any) -> list[Floats]:
    """One array per step as the user gives them, each checked for its shape."""
    shapes = [(step.high - step.low, actions, step.last - step.first) for step in steps]
    given = checks.layered(field, blocks, len(steps)) if steps else []
    return [check(f"{field}[{l}]", block, shape) for l, (block, shape) in enumerate(zip(given, shapes, strict=True))]


def row_sums(rows: Rows) -> Floats:
    """The total weight of every row, (A, S), bit for bit NumPy's sum of that row."""
    entry, row = places(rows)
    total: Floats = np.bincount(row, rows.weight[entry], rows.start.size).astype(np.float64)
    start, length = rows.start.ravel(), rows.length.ravel()
    for k in np.flatnonzero(length >= BY_ONE):
        total[k] = rows.weight[start[k] : start[k] + length[k]].sum()
    return total.reshape(rows.start.shape)


def places(rows: Rows) -> tuple[Ints, Ints]:
    """For every entry its index in the pool, and the flat index of its row."""
    length = rows.length.ravel()
    first = np.cumsum(length) - length
    entry = np.repeat(rows.start.ravel() - first, length) + np.arange(int(length.sum()))
    return entry, np.repeat(np.arange(length.size), length)


def copy_rows(rows: Rows) -> Rows:
    return Rows(
        rows.start.copy(), rows.length.copy(), rows.room.copy(), rows.succ.copy(), rows.weight.copy(), rows.used
    )


@kernel(inline=True)
def first_of_eight(i: int, width: index) -> index:
    """The first of eight rows to process at i, of ``width`` ≥ 8 rows: i, or the last eight if fewer remain."""
    return min(index(i), width - EIGHT)


@kernel(inline=True)
def are_lone(length: Ints, s: index, width: index) -> bool:
    """Whether there are at least eight rows from s on, each with at most one successor."""
    if width < EIGHT:
        return False
    most = load(length, s)
    for i in range(EIGHT, width, EIGHT):  # without a branch, which would be mispredicted
        lengths = load(length, s + first_of_eight(i, width))
        most = choose(lengths > most, lengths, most)
    return bool(all_true(most < 2))


@kernel(inline=True)
def lone_successors(rows: Rows, a: int, s: index, length: Any, below: index, nowhere: index) -> tuple[Any, Any]:
    """The successors of the rows (a, s) to (a, s+7), at most one each, and their weights, in lanes.

    ``below`` is added to a successor's number. An empty row gets ``nowhere`` with weight zero. Rows are contiguous in
    the pool until one is full, and then nothing has to be gathered. Empty rows start within the pool, too.
    """
    some, first = length > 0, load(rows.start[a], s)
    if is_contiguous(first):
        e = index(rows.start[a, s])
        y, w = load(rows.succ, e), load(rows.weight, e)
    else:
        y, w = gather(rows.succ, first), gather(rows.weight, first)
    return choose(some, y + below, nowhere), choose(some, w, 0.0)


@kernel(inline=True)
def add_weight(rows: Rows, a: int, s: int, successor: int, amount: float) -> bool:
    """Add to one entry of row (a, s); returns False, without a change, if the row needs more room first."""
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


@kernel(lazy=True)
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


def tiled_rows(entries: Entries, states: int, actions: int, horizon: int) -> Rows:
    """Rows over ``horizon`` layers of ``states`` each, all with the same entries; those of the last layer are empty."""
    a, s, y, weight = entries
    first = states * np.arange(horizon - 1)[:, None]
    whole = Entries(
        np.tile(a, horizon - 1), (s + first).ravel(), (y + first + states).ravel(), np.tile(weight, horizon - 1)
    )
    return rows_from_entries(whole, actions, states * horizon)
