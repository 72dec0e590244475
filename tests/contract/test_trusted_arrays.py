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
    "rewards that are not numbers": ({"reward": np.full((2, 15), np.nan)}, "reward"),
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
    "weights that are not numbers": {"weight": ROWS.weight * np.nan},
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


BELIEFS = {
    "layered": kl.Belief.empty(kl.Prior(), [1, 2, 3], 2, [1.0]),
    "stationary": kl.Belief.empty(kl.Prior(stationary=True), [3, 3], 2, [1 / 3] * 3, end=0),
}
NO_BELIEF = {
    "visits below zero": ("layered", lambda b: {"visits": b.visits - 5.0}, "visits"),
    "visits that are not numbers": ("layered", lambda b: {"visits": b.visits * np.nan}, "visits"),
    "visits without end": ("layered", lambda b: {"visits": b.visits + np.inf}, "visits"),
    "visits that end where nothing is over": ("stationary", lambda b: {"visits": np.zeros((2, 3))}, "visits"),
    "visits of fewer states": ("layered", lambda b: {"visits": b.visits[:, :2]}, "visits"),
    "whole visits": ("layered", lambda b: {"visits": np.zeros((2, 6), np.int64)}, "visits"),
    "sums of fewer states": ("layered", lambda b: {"reward_sums": b.reward_sums[:, :2]}, "reward_sums"),
    "sums that are not numbers": ("layered", lambda b: {"reward_sums": b.reward_sums + np.nan}, "reward_sums"),
    "a start of another width": ("layered", lambda b: {"initial": np.ones(2) / 2}, "initial"),
    "an end that no layer has": ("layered", lambda b: {"end": 1}, "end"),
    "layers that fall": ("layered", lambda b: {"tables": b.tables._replace(layers=b.layers[::-1].copy())}, "layers"),
    "rows of no layer": ("layered", lambda b: {"tables": b.tables._replace(first=b.table + 1)}, "tables.first"),
    "one table for other widths": (
        "layered",
        lambda b: {"tables": b.tables._replace(first=b.table * 0)},
        "tables.first",
    ),
    "mass below zero": ("layered", lambda b: {"transitions": b.transitions._replace(even_mass=-1.0)}, "even_mass"),
    "mass that is not a number": ("layered", lambda b: {"transitions": b.transitions._replace(total=np.nan)}, "total"),
}


@pytest.mark.parametrize(("kind", "fields", "named"), NO_BELIEF.values(), ids=NO_BELIEF.keys())
def test_a_belief_checks_its_fields(kind, fields, named):
    belief = BELIEFS[kind]
    assert replace(belief).visits is belief.visits
    with pytest.raises(ValueError, match=named):
        replace(belief, **fields(belief))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: {"succ": r.succ - 1},
        lambda r: {"start": r.start + 10**13},
        lambda r: {"start": r.start * 0},
        lambda r: {"length": r.length + 7},
        lambda r: {"used": 10**9},
        lambda r: {"weight": r.weight[:3]},
        lambda r: {"weight": r.weight * np.nan},
        lambda r: {"room": r.room + 10**12},
    ],
)
@pytest.mark.parametrize("kind", BELIEFS)
def test_a_belief_checks_its_rows(kind, change):
    transitions = BELIEFS[kind].transitions
    with pytest.raises(ValueError, match="rows"):
        replace(
            BELIEFS[kind], transitions=transitions._replace(rows=transitions.rows._replace(**change(transitions.rows)))
        )


def test_what_grew_out_of_a_belief_passes_its_checks():
    """`update` does not check what its kernels made, so that it stays fast."""
    for belief in BELIEFS.values():
        states, after = belief.layers[1:] - 1, belief
        for _ in range(3):
            after = after.update(states, [1] * belief.horizon, [0.5] * belief.horizon)
        assert replace(after).visits is after.visits
        assert not np.array_equal(after.visits, belief.visits)
