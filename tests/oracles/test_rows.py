"""Growable rows against a dictionary, and dense blocks there and back."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from klearning.arrays.rows import add_weight, copy_rows, empty_rows, enlarge, rows_from_layers, rows_to_layers
from tests.support.cases import modest, thorough

LAYERS = np.array([0, 3, 6, 9])
ACTIONS = 2

additions = st.lists(
    st.tuples(
        st.integers(0, ACTIONS - 1),
        st.integers(0, 5),  # a state of the first two layers
        st.integers(0, 2),  # which state of the next layer
        st.floats(0.25, 4.0),
    ),
    max_size=60,
)


def add(rows, a, s, y, w):
    if not add_weight(rows, a, s, y, w):
        rows = enlarge(rows, a, s)
        assert add_weight(rows, a, s, y, w)
    return rows


def add_all(rows, seen):
    for a, s, y, w in seen:
        rows = add(rows, a, s, 3 * (s // 3 + 1) + y, w)
    return rows


def contents(rows):
    """Every row as a dictionary; fails where a successor is listed twice."""
    found = {}
    for (a, s), first in np.ndenumerate(rows.start):
        entries = range(first, first + rows.length[a, s])
        found[a, s] = {int(rows.succ[e]): float(rows.weight[e]) for e in entries}
        assert len(found[a, s]) == len(entries)
    return found


@thorough
@given(additions)
def test_rows_do_what_a_dictionary_does(seen):
    rows = add_all(empty_rows(ACTIONS, int(LAYERS[-1])), seen)
    expected = {(a, s): {} for a in range(ACTIONS) for s in range(9)}
    for a, s, y, w in seen:
        row, successor = expected[a, s], 3 * (s // 3 + 1) + y
        row[successor] = row.get(successor, 0.0) + w
    assert contents(rows) == expected


@thorough
@given(additions)
def test_rows_never_overlap_and_take_room_in_proportion(seen):
    rows = add_all(empty_rows(ACTIONS, int(LAYERS[-1])), seen)
    assert (rows.length <= rows.room).all()
    order = np.argsort(rows.start, axis=None)
    start, room = rows.start.ravel()[order], rows.room.ravel()[order]
    assert (start[:-1] + room[:-1] <= start[1:]).all()
    assert start[-1] + room[-1] <= rows.used <= len(rows.succ) == len(rows.weight)
    distinct = len({(a, s, y) for a, s, y, _ in seen})
    assert rows.used <= rows.start.size + 4 * distinct


def test_a_row_may_grow_to_a_whole_wide_layer():
    layers = np.array([0, 1, 500])
    rows = empty_rows(1, int(layers[-1]))
    for y in np.random.default_rng(0).permutation(499):
        rows = add(rows, 0, 0, 1 + y, 1.0 + y)
    np.testing.assert_array_equal(rows_to_layers(rows, layers)[0][0, 0], 1.0 + np.arange(499))


@modest
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_dense_blocks_there_and_back(widths, actions, seed):
    rng = np.random.default_rng(seed)
    layers = np.concatenate([[0], np.cumsum(widths)])
    blocks = [rng.random((x, actions, y)) * (rng.random((x, actions, y)) < 0.5) for x, y in pairwise(widths)]
    rows = rows_from_layers(layers, actions, blocks)
    assert rows.length.sum() == sum(np.count_nonzero(b) for b in blocks)
    for back, block in zip(rows_to_layers(rows, layers), blocks, strict=True):
        np.testing.assert_array_equal(back, block)


@modest
@given(additions, additions)
def test_a_copy_is_its_own(first, second):
    rows = add_all(empty_rows(ACTIONS, int(LAYERS[-1])), first)
    before = contents(rows)
    add_all(copy_rows(rows), second)
    assert contents(rows) == before
