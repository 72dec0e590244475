"""Growable rows against a dictionary, and dense blocks there and back."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from klearning.numerics.sparse.rows import (
    add_weight,
    copy_rows,
    empty_rows,
    enlarge,
    row_sums,
    rows_from_layers,
    rows_to_layers,
    rows_with_room,
)
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


def test_row_sums_are_those_of_numpy_row_by_row():
    """To the last bit, short rows and long ones: what follows from them must not change with how they are added."""
    rng = np.random.default_rng(0)
    rows = rows_with_room(rng.integers(1, 40, size=(3, 50)))
    rows.length[:] = rng.integers(0, rows.room + 1)
    rows.weight[:] = rng.random(rows.used)
    for (a, s), total in np.ndenumerate(row_sums(rows)):
        assert total == rows.weight[rows.start[a, s] :][: rows.length[a, s]].sum()


def grown(sizes, layers, rng):
    """Rows that were widened to each of these sizes, and what a dictionary says of them, by layer and state."""
    rows, seen, before = empty_rows(ACTIONS, layers * sizes[0]), {}, sizes[0]
    for after in sizes:
        if after > before:
            rows = rows.widen(empty_rows(ACTIONS, layers * after), before, after)
        for _ in range(5):
            a, l, s, y = rng.integers([ACTIONS, layers, after, after])
            below = (l + 1) % layers  # any layer will do
            rows = add(rows, a, l * after + s, below * after + y, 1.0)
            seen[a, l, s, y] = seen.get((a, l, s, y), 0.0) + 1.0
        before = after
    return rows, seen


@modest
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.sampled_from([1, 3]), st.integers(0, 99))
def test_rows_that_grow_state_by_state_keep_what_they_hold(steps, layers, seed):
    sizes = (1 + np.cumsum(steps)).tolist()
    rows, seen = grown(sizes, layers, np.random.default_rng(seed))
    width = sizes[-1]
    expected = {(a, s): {} for a in range(ACTIONS) for s in range(layers * width)}
    for (a, l, s, y), w in seen.items():
        expected[a, l * width + s][(l + 1) % layers * width + y] = w
    assert contents(rows) == expected
    order = np.argsort(rows.start, axis=None)
    ends = (rows.start + rows.room).ravel()[order]
    assert (ends[:-1] <= rows.start.ravel()[order][1:]).all()  # no two share a place
    assert ends[-1] <= rows.used <= rows.succ.size == rows.weight.size


def test_a_pool_is_no_larger_than_its_rows_and_what_they_hold():
    """However many times it grew: a place per row, at most four per entry, and half of it spare."""
    rows, seen = grown(list(range(1, 400)), 1, np.random.default_rng(0))
    assert rows.used <= rows.start.size + 4 * len(seen)
    assert rows.succ.size <= 2 * rows.used + 1
