"""Memories as trees: by name, with the marks of their records, whatever their arrays are."""

from typing import NamedTuple

import numpy as np
import pytest
from gymnasium import spaces

import klearning as kl
from klearning.numerics.records.fields import field_roles, leaves, unflatten, widen
from klearning.numerics.sparse.rows import add_weight, dense_block, empty_rows, enlarge
from klearning.numerics.types import Floats, Ints

LAYERS, ACTIONS = 3, 2


@field_roles(scratch=True)
class Room(NamedTuple):
    borrowed: Floats
    own: Floats


@field_roles(offsets=("layers",))
class Memory(NamedTuple):
    layers: Ints
    policy: Floats
    counts: Ints  # whole numbers per state
    per_layer: Ints  # and per layer
    few: Floats  # of a size that has nothing to do with either
    again: Floats  # the policy's own array
    room: Room
    t: int


def memory(width: int) -> Memory:
    policy = np.zeros((ACTIONS, LAYERS * width))
    counts, per_layer = np.zeros(LAYERS * width, np.int64), np.zeros(LAYERS, np.int64)
    room = Room(policy, np.zeros(width))
    return Memory(np.arange(LAYERS + 1) * width, policy, counts, per_layer, np.zeros(7), policy, room, 0)


def used(width: int) -> Memory:
    m = memory(width)
    m.policy[:] = 1.0 + np.arange(m.policy.size).reshape(m.policy.shape)
    m.counts[:], m.per_layer[:], m.few[:] = 1 + np.arange(m.counts.size), [4, 5, 6], 9.0
    return m._replace(t=12)


def test_a_memory_of_ones_own_is_widened():
    wide = widen(used(2), memory(3), 2, 3)
    np.testing.assert_array_equal(wide.layers, [0, 3, 6, 9])
    np.testing.assert_array_equal(wide.counts, [1, 2, 0, 3, 4, 0, 5, 6, 0])
    np.testing.assert_array_equal(wide.policy[0], [1, 2, 0, 3, 4, 0, 5, 6, 0])
    np.testing.assert_array_equal(wide.per_layer, [4, 5, 6])
    np.testing.assert_array_equal(wide.few, 9.0)
    assert wide.again is wide.policy
    assert wide.room.borrowed is wide.policy
    assert wide.t == 12


def test_and_put_together_by_name():
    old = used(2)
    assert [name.removeprefix("memory.") for name in leaves(old)] == [f for f in Memory._fields if f != "room"]
    again = unflatten(memory(2), leaves(old))
    assert again.again is again.policy is again.room.borrowed
    for name, leaf in leaves(again).items():
        np.testing.assert_array_equal(leaf, leaves(old)[name], strict=True)


def test_a_missing_field_is_an_error():
    kept = leaves(used(2))
    del kept["memory.t"]
    with pytest.raises(KeyError, match=r"memory\.t"):
        unflatten(memory(2), kept)


WRONG = {
    "another": ({"memory.more": np.zeros(1)}, "memory.more is not a part"),
    "dtype": ({"memory.counts": np.zeros(6)}, "memory.counts is"),
    "axes": ({"memory.counts": np.zeros((6, 1), np.int64)}, "memory.counts is"),
    "shape": ({"memory.few": np.zeros(8)}, "memory.few has shape"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        unflatten(memory(2), {**leaves(used(2)), **change})


def test_states_are_the_last_axis():
    with pytest.raises(ValueError, match=r"memory\[?.*few grows from .* make states its last axis"):
        widen(used(2)._replace(few=np.zeros((6, 2))), memory(3)._replace(few=np.zeros((9, 2))), 2, 3)


def test_a_memory_holds_arrays_and_numbers_alone():
    belief = kl.Belief.empty(kl.Prior(), [1, 2], 2, np.ones(1))
    for part, kind in ((belief, "Belief"), (None, "NoneType"), ("text", "str"), ([1, "a"], "list")):
        with pytest.raises(ValueError, match=rf"memory\.few is a {kind}"):
            leaves(used(2)._replace(few=part))


def test_rows_widen_themselves():
    def rows(width):
        return empty_rows(ACTIONS, 2 * width)

    old = rows(2)
    assert add_weight(old, 1, 0, 3, 0.25)  # from the first state to the second of the next layer
    old = enlarge(old, 1, 3)  # a pool that has grown
    wide = widen(old, rows(4), 2, 4)
    np.testing.assert_array_equal(dense_block(wide, 0, 1, 4, 8), [[[0, 0, 0, 0], [0, 0.25, 0, 0]]])
    assert wide.used == old.used + 2 * ACTIONS * (4 - 2)  # of two layers, the new states alone


class Plays(NamedTuple):
    policy: Floats
    counts: Ints
    lengths: Ints


def test_an_agent_that_counts_in_whole_numbers_learns_where_states_are_discovered():
    class Counting(kl.Random):
        def begin(self, belief):
            policy = np.full((belief.actions, belief.states), 1.0 / belief.actions)
            return Plays(policy, np.zeros(belief.states, np.int64), np.zeros(belief.horizon, np.int64))

        def update(self, memory, episode, t):
            np.add.at(memory.counts, episode.states, 1)
            memory.lengths[: len(episode.actions)] += 1
            return memory

    learner = kl.Learner(Counting(), spaces.Discrete(50), spaces.Discrete(2), 2)
    for k in range(10):
        learner.act(k)
        learner.observe(0.0, k + 1)
        learner.end_episode()
    by_layer = learner.memory.counts.reshape(2, -1)
    assert by_layer[0, 1:].tolist() == [1] * 10 + [0] * 2
    assert learner.memory.lengths.tolist() == [10, 0]
