"""What kernels trust is checked where it enters: they read and write without looking."""

from dataclasses import replace

import numpy as np
import pytest

import klearning as kl

WORLD = kl.deep_sea(5)
ROWS = WORLD.rows
FIELDS = {
    "a start of another width": ({"initial": np.ones(3) / 3}, "initial"),
    "a start that sums to two": ({"initial": np.array([2.0])}, "initial"),
    "layers of other states": ({"layers": np.array([0, 2, 3])}, "reward"),
    "layers that fall": ({"layers": np.array([0, 3, 1, 15])}, "layers"),
    "layers as a list": ({"layers": [0, 15]}, "layers"),
    "rewards that are no numbers": ({"reward": np.full((2, 15), np.nan)}, "reward"),
    "an end that no layer has": ({"end": 1}, "end"),
    "a goal beyond the last state": ({"goal": (99, 0)}, "goal"),
    "noise below zero": ({"noise": -1.0}, "noise"),
}
POOLS = {
    "successors of no layer": {"succ": ROWS.succ + 100},
    "successors of the wrong layer": {"succ": ROWS.succ + 1},
    "starts before the pool": {"start": ROWS.start - 5},
    "starts far behind the pool": {"start": ROWS.start + 10**13},
    "more entries than room": {"length": ROWS.length + 7},
    "entries fewer than none": {"length": ROWS.length - 2},
    "more used than there is": {"used": 10**9},
    "fewer weights than successors": {"weight": ROWS.weight[:3]},
    "no room": {"room": np.zeros_like(ROWS.room)},
    "endless room": {"room": ROWS.room + 10**12},
    "weights below zero": {"weight": -ROWS.weight},
    "weights that are no numbers": {"weight": ROWS.weight * np.nan},
    "weights that sum to two": {"weight": 2.0 * ROWS.weight},
    "whole weights": {"weight": ROWS.weight.astype(np.int64)},
}


@pytest.mark.parametrize(("fields", "named"), FIELDS.values(), ids=FIELDS.keys())
def test_an_mdp_checks_its_fields(fields, named):
    with pytest.raises(ValueError, match=named):
        replace(WORLD, **fields)


@pytest.mark.parametrize("fields", POOLS.values(), ids=POOLS.keys())
def test_an_mdp_checks_its_rows(fields):
    with pytest.raises(ValueError, match="rows"):
        replace(WORLD, rows=ROWS._replace(**fields))
