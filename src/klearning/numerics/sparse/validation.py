"""Validation of rows from files and users: kernels check no index."""

import numpy as np

from klearning.numerics.checks import TOLERANCE
from klearning.numerics.sparse.rows import Rows, places, row_sums
from klearning.numerics.types import Flags, Floats, Ints


def check_rows(field: str, rows: Rows, shape: tuple[int, int], low: Ints, high: Ints) -> None:
    """Check that every row lies within the pool, and its successors within [low, high) of its state."""
    for name in ("start", "length", "room"):
        array = getattr(rows, name)
        if not _is_array(array, np.int64, 2) or array.shape != shape:
            raise ValueError(f"{field}.{name} is not an integer array of shape {shape}: give one, (actions, states)")
    if not _is_array(rows.succ, np.int64, 1) or not _is_array(rows.weight, np.float64, 1):
        raise ValueError(f"{field} has no pool of successors and weights: give an integer and a float array")
    if rows.succ.size != rows.weight.size:
        raise ValueError(
            f"{field} has {rows.succ.size} successors and {rows.weight.size} weights: give as many of each"
        )
    if not 0 <= rows.used <= rows.succ.size:
        raise ValueError(f"{field}.used={rows.used} is not within its pool of {rows.succ.size}")
    within = (rows.start >= 0) & (rows.room >= 1) & (rows.room <= rows.used - rows.start)
    _refuse(field, "is not within the pool", ~within)
    _refuse(field, "has more entries than room", (rows.length < 0) | (rows.length > rows.room))
    entry, row = places(rows)
    state = row % shape[1]
    successor, weight = rows.succ[entry], rows.weight[entry]
    outside = (successor < low[state]) | (successor >= high[state])
    if outside.any():
        e = int(np.flatnonzero(outside)[0])
        allowed = f"{low[state[e]]} to {high[state[e]] - 1}" if high[state[e]] > low[state[e]] else "none"
        raise ValueError(
            f"{field} of state {state[e]}, action {row[e] // shape[1]} lead to {successor[e]}, not to {allowed}"
        )
    if not (np.isfinite(weight) & (weight >= 0.0)).all():
        raise ValueError(f"{field} have weights that are negative or not finite: give numbers of zero or more")


def check_pool(field: str, rows: Rows, height: int) -> None:
    """Check rows that will grow: they do not overlap, and the pool between them is valid, too."""
    if ((rows.succ < 0) | (rows.succ >= height)).any():
        raise ValueError(f"{field} have successors in their pool that are not below {height}")
    if not (np.isfinite(rows.weight) & (rows.weight >= 0.0)).all():
        raise ValueError(f"{field} have weights in their pool that are negative or not finite")
    order = np.argsort(rows.start, axis=None)
    start, room = rows.start.ravel()[order], rows.room.ravel()[order]
    _refuse(field, "overlaps another", _unsorted(start[:-1] + room[:-1] > start[1:], order, rows.start))


def check_probabilities(field: str, rows: Rows, least: Floats) -> None:
    """Check that the weights of every row sum to one; if ``least`` of its state is zero, a row may be empty."""
    total = row_sums(rows)
    wrong = (np.abs(total - 1.0) > TOLERANCE) & ((least > 0.0) | (total > 0.0))
    if wrong.any():
        a, s = np.argwhere(wrong)[0]
        raise ValueError(f"{field} of state {s}, action {a} sum to {total[a, s]:.10g}: probabilities must sum to one")


def same_entries(x: Rows, y: Rows) -> bool:
    """Whether two sets of rows have the same entries, wherever they lie in their pools."""
    (key, weight), (other_key, other_weight) = _in_order(x), _in_order(y)
    return bool(np.array_equal(key, other_key) and np.allclose(weight, other_weight, rtol=TOLERANCE, atol=0.0))


def _in_order(rows: Rows) -> tuple[Ints, Floats]:
    """All entries of positive weight, sorted by row and successor."""
    entry, row = places(rows)
    entry, row = entry[rows.weight[entry] > 0.0], row[rows.weight[entry] > 0.0]
    order = np.lexsort((rows.succ[entry], row))
    return np.stack([row[order], rows.succ[entry[order]]]), rows.weight[entry[order]]


def _unsorted(bad: Flags, order: Ints, like: Ints) -> Flags:
    flags = np.zeros(like.shape, np.bool_)
    flags.ravel()[order[:-1][bad]] = True
    return flags


def _is_array(x: object, kind: type, dimensions: int) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == kind and x.ndim == dimensions


def _refuse(field: str, fault: str, bad: Flags) -> None:
    if bad.any():
        a, s = np.argwhere(bad)[0]
        raise ValueError(f"{field}: the row of state {s}, action {a} {fault}")
