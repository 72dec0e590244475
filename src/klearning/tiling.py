"""One stationary model, laid out once for every step: rows are built for one layer and repeated.

Nothing here is dense: memory and time are O(horizon · transitions), which for Taxi (500 states, 6
actions, 200 steps) is 600,000 entries where dense blocks would be 300 million.
"""

from typing import NamedTuple

import numpy as np

from klearning.compiled import Floats, Ints
from klearning.rows import Rows, rows_with_room


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
