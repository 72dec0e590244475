"""Discrete spaces as numbers: every point has one, and comes back; what is outside is refused by name."""

import json
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from klearning.simulators.codec import build_space, space_data
from klearning.simulators.space_index import SpaceIndex
from tests.support.cases import thorough

small, start = st.integers(1, 4), st.integers(-3, 3)
shapes = st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple)


@st.composite
def multi_discrete(draw):
    shape = draw(shapes)
    n = int(np.prod(shape))
    nvec, begin = (np.array(draw(st.lists(x, min_size=n, max_size=n)), np.int64).reshape(shape) for x in (small, start))
    return spaces.MultiDiscrete(nvec, start=begin, dtype=draw(st.sampled_from([np.int64, np.int32, np.int8])))


@st.composite
def integer_box(draw):
    shape = draw(st.one_of(st.just(()), shapes))
    low = np.array(draw(st.lists(start, min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))), np.int64)
    low = low.reshape(shape)
    high = low + np.array(draw(st.lists(st.integers(0, 2), min_size=low.size, max_size=low.size))).reshape(shape)
    return spaces.Box(low, high, shape, draw(st.sampled_from([np.int64, np.int32, np.int8])))


leaves = st.one_of(
    integer_box(),
    st.builds(lambda n, s: spaces.Discrete(n, start=s), small, start),
    multi_discrete(),
    st.one_of(st.integers(1, 4), shapes).map(spaces.MultiBinary),
)
names = st.sampled_from(["b", "a", "c", "A", "zz"])
any_space = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(spaces.Tuple),
        st.lists(st.tuples(names, parts), min_size=1, max_size=3, unique_by=lambda p: p[0]).map(
            lambda pairs: spaces.Dict([*pairs])  # in this order, which need not be the alphabet's
        ),
    ),
    max_leaves=3,
)


def same_point(x, y):
    """Equal, and written alike; but whole numbers may be Python's or NumPy's."""
    if isinstance(x, dict):
        return list(x) == list(y) and all(same_point(x[name], y[name]) for name in x)
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same_point, x, y))
    return np.array_equal(x, y) and (not isinstance(x, np.ndarray) or x.dtype == y.dtype)


@thorough
@given(space=any_space, seed=st.integers(0, 1000))
def test_numbers_and_points_are_one_to_one(space, seed):
    numbering = SpaceIndex("observation", space, grows=False)
    for k in {0, numbering.count - 1, numbering.count // 2, seed % numbering.count}:
        point = numbering.point(k)
        assert point in space
        assert numbering.number(point) == k
    space.seed(seed)
    for _ in range(5):
        point = space.sample()
        k = numbering.number(point)
        assert 0 <= k < numbering.count
        assert same_point(numbering.point(k), point)
        assert numbering.knows(point)


@thorough
@given(space=any_space, seed=st.integers(0, 1000))
def test_discovered_points_are_numbered_as_they_come(space, seed):
    numbering = SpaceIndex("observation", space, grows=True)
    space.seed(seed)
    points = [space.sample() for _ in range(10)]
    numbers = [numbering.number(point) for point in points]
    assert list(dict.fromkeys(numbers)) == list(range(numbering.count))
    again = SpaceIndex("observation", space, grows=True)
    again.restore([list(key) for key in numbering.known])
    for k, point in zip(numbers, points, strict=True):
        assert numbering.number(numbering.point(k)) == k == again.number(point)
    numbering.truncate(1)
    assert numbering.count == 1
    assert numbering.number(points[0]) == 0


@thorough
@given(space=any_space)
def test_spaces_survive_json(space):
    """Equal as Gymnasium sees it, of the same types, and with the same number for every point."""
    back = build_space(json.loads(json.dumps(space_data(space))))
    assert back == space
    ours, theirs = (SpaceIndex("observation", s, grows=False) for s in (back, space))
    for k in range(min(ours.count, 20)):
        assert same_point(ours.point(k), theirs.point(k))
    assert repr(back) == repr(space)


def test_a_dict_may_have_names_that_are_no_strings():
    space = spaces.Dict([(2, spaces.Discrete(2)), (1, spaces.Discrete(3))])
    back = build_space(json.loads(json.dumps(space_data(space))))
    assert back == space
    assert list(back.spaces) == [2, 1]


DISCRETE = spaces.Discrete(4, start=2)
VECTOR = spaces.MultiDiscrete([2, 3], start=[0, 1])
PAIR = spaces.Tuple([DISCRETE, VECTOR])
NAMED = spaces.Dict({"at": DISCRETE, "has": spaces.MultiBinary(2)})
OUTSIDE: list[tuple[Any, Any]] = [
    *((DISCRETE, x) for x in (1, 6, -1, 2.5, 3.0, np.float64(3), None, "3", [3], np.array([3]), float("nan"), 10**30)),
    *((DISCRETE, x) for x in (np.bool_(True), (2, 2), 3j)),
    *((VECTOR, x) for x in ([0, 0], [2, 1], [0, 4], [0], [0, 1, 2], [0.0, 1.0], 3, None, "01", [[0, 1]], ["0", "1"])),
    *((VECTOR, x) for x in ([None, 1], np.array([2**63, 1], np.uint64))),
    *((PAIR, x) for x in (3, (3,), (3, [0, 1], 0), ([0, 1], 3), (7, [0, 1]), None)),
    *((NAMED, x) for x in ({"at": 3}, {"at": 3, "has": [0, 2]}, {"at": 3, "had": [0, 1]}, [3, [0, 1]], None)),
    (NAMED, {"at": 3, "has": [0, 1], "more": 1}),
]


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize(("space", "point"), OUTSIDE, ids=str)
def test_what_is_outside_is_refused_by_name(space, point, grows):
    numbering = SpaceIndex("observation", space, grows)
    with pytest.raises(ValueError, match="is outside") as caught:
        numbering.number(point)
    assert f"observation={point!r}" in str(caught.value)
    assert numbering.count == (0 if grows else numbering.count)


INSIDE = [
    *((DISCRETE, x, 1) for x in (3, np.int8(3), np.uint64(3), np.array(3))),
    (spaces.Discrete(2), True, 1),  # as Gymnasium has it
    *((VECTOR, x, 5) for x in ([1, 3], (1, 3), np.array([1, 3], np.uint8))),
    (spaces.MultiBinary(2), np.array([True, False]), 2),
    (PAIR, [np.int64(3), (1, 3)], 11),
    (NAMED, {"has": [1, 0], "at": 5}, 14),
]


@pytest.mark.parametrize(("space", "point", "number"), INSIDE, ids=str)
def test_what_is_inside_may_be_written_in_many_ways(space, point, number):
    assert SpaceIndex("observation", space, grows=False).number(point) == number


BOX = spaces.Box(np.array([-1, 0]), np.array([1, 255]), dtype=np.int16)
ENDLESS = spaces.Box(-np.inf, np.inf, (2,), np.int64)


def test_boxes_of_whole_numbers():
    box = SpaceIndex("observation", BOX, grows=False)
    assert (box.points, box.sizes) == (3 * 256, [3, 256])
    assert box.number(np.array([-1, 0])) == 0
    assert box.number([1, 255]) == 3 * 256 - 1
    point = box.point(257)
    assert (point.tolist(), point.dtype) == ([0, 1], np.int16)
    for outside in ([2, 0], [0, 256], [0.0, 1.0], [0], 3):
        with pytest.raises(ValueError, match="is outside"):
            box.number(outside)
    coins = SpaceIndex("observation", spaces.Box(0, 1, (3,), np.bool_), grows=False)
    assert coins.number(np.array([True, False, True])) == 5


def test_boxes_without_ends_are_numbered_as_they_come():
    with pytest.raises(ValueError, match=r"more than 10\^18 points.*leave grow_states=True"):
        SpaceIndex("observation", ENDLESS, grows=False)
    numbering = SpaceIndex("observation", ENDLESS, grows=True)
    points = [[0, 0], [-(10**18), 10**18], [0, 1], [0, 0]]
    assert [numbering.number(np.array(point)) for point in points] == [0, 1, 2, 0]
    assert numbering.point(1).tolist() == points[1]
    for beyond in (np.iinfo(np.int64).max, np.iinfo(np.int64).min):
        with pytest.raises(ValueError, match="is outside"):
            numbering.number(np.array([0, beyond]))
    keys = np.array(list(numbering.known), np.int64)  # as a file holds them
    again = SpaceIndex("observation", build_space(json.loads(json.dumps(space_data(ENDLESS)))), grows=True)
    again.restore(keys.tolist())
    assert [again.number(np.array(point)) for point in points] == [0, 1, 2, 0]
    picture = SpaceIndex("observation", spaces.Box(0, 255, (20, 20, 3), np.uint8), grows=True)
    assert picture.number(np.full((20, 20, 3), 255, np.uint8)) == 0
    huge = SpaceIndex("observation", spaces.Box(0, 2**64 - 1, (1,), np.uint64), grows=True)
    assert huge.number(np.array([7], np.uint64)) == 0


@pytest.mark.parametrize(
    "data",
    [
        {"low": 0, "high": 1, "shape": [10**7], "dtype": "int64"},
        {"low": 0, "high": 1, "shape": [-1], "dtype": "int64"},
        {"low": 2, "high": 1, "shape": [1], "dtype": "int64"},
        {"low": 0.0, "high": 1.0, "shape": [1], "dtype": "complex128"},
        {"low": "nan", "high": 1.0, "shape": [1], "dtype": "float64"},
        {"low": [0, 0], "high": 1, "shape": [3], "dtype": "int8"},
    ],
    ids=str,
)
def test_boxes_that_no_file_should_hold(data):
    with pytest.raises((ValueError, OverflowError)):
        build_space({"kind": "Box", **data})


def test_the_advice_depends_on_what_is_not_discrete():
    bounded, free = spaces.Box(0.0, 1.0), spaces.Box(-np.inf, 1.0)
    for space, advice in [
        (bounded, r"kl\.Binned\(env, bins=10\); on the command line: --bins 10$"),
        (free, r"kl\.Binned\.from_quantiles\(env, bins=10\)"),
        (spaces.Dict({"a": bounded, "b": spaces.Tuple([free])}), r"\['a'\] space .*from_quantiles"),
        (spaces.Text(3), "wrap the environment"),
    ]:
        with pytest.raises(ValueError, match=advice):
            SpaceIndex("observation", space, grows=True)
    with pytest.raises(ValueError, match=r"action space .*TransformAction\(env, table\.__getitem__"):
        SpaceIndex("action", bounded, grows=False)
    with pytest.raises(ValueError, match=r"action space .* points.*merge some"):
        SpaceIndex("action", ENDLESS, grows=False)


@pytest.mark.parametrize("space", [spaces.Box(0, 1), spaces.Text(3), spaces.Sequence(DISCRETE)], ids=str)
def test_what_is_not_discrete_is_refused_by_its_place(space):
    with pytest.raises(ValueError, match="is not discrete"):
        SpaceIndex("observation", space, grows=True)
    nested = spaces.Dict({"a": spaces.Tuple([DISCRETE, space])})
    with pytest.raises(ValueError, match=r"observation\['a'\]\[1\] space .* is not discrete"):
        SpaceIndex("observation", nested, grows=True)


def test_spaces_beyond_counting_must_be_discovered():
    with pytest.raises(ValueError, match="at most 1,000,000 can be counted through"):
        SpaceIndex("observation", spaces.MultiDiscrete([1000, 1001]), grows=False)
    vast = SpaceIndex("observation", spaces.MultiBinary(500), grows=True)
    assert vast.number(np.ones(500, np.int8)) == 0
    assert not vast.knows(np.zeros(500, np.int8))
