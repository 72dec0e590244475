"""DeepSea (Osband et al., 2017), the world of the paper's experiments: a needle in a haystack."""

import numpy as np

from klearning.numerics import checks
from klearning.numerics.layers import offsets
from klearning.numerics.sparse.rows import Rows, rows_with_room
from klearning.numerics.types import Ints
from klearning.tabular.models.mdp import MDP

LEFT, RIGHT = 0, 1
STATE_BYTES = 150  # at least, while the world is made


def deep_sea(
    depth: int = 10, noise: float = 0.05, cost: float = 0.01, slip: float = 0.0, mapping_seed: int | None = None
) -> MDP:
    """A diver sinks one row per step and moves left or right; only going right every time finds the treasure.

    Left pays a mean of 0, right -cost/depth, and right in the last cell of the diagonal 1; every reward has
    Gaussian ``noise``. Row l has the l+1 cells that can be reached. ``slip`` is the chance that right moves
    straight down instead (bsuite's stochastic variant has 1/depth). With a ``mapping_seed`` the two actions
    are swapped in a random half of the cells.
    """
    depth = checks.whole("depth", depth)
    slip = checks.number("slip", slip, 0.0, 1.0)
    cost = checks.number("cost", cost, 0.0)
    checks.fits("depth", depth, STATE_BYTES * depth * (depth + 1) // 2)
    layers = offsets(range(1, depth + 1))
    row = np.repeat(np.arange(depth), np.arange(1, depth + 1))
    column = np.arange(layers[-1]) - layers[row]
    reward = np.zeros((2, layers[-1]))
    reward[RIGHT] = -cost / depth
    reward[RIGHT, -1] = 1.0
    rows = _moves(layers, row, column, slip)
    goal = RIGHT
    if mapping_seed is not None:
        swapped = np.random.default_rng(checks.whole("mapping_seed", mapping_seed, 0)).random(layers[-1]) < 0.5
        reward[:, swapped] = reward[::-1, swapped]
        for field in (rows.start, rows.length, rows.room):
            field[:, swapped] = field[::-1, swapped]
        goal = LEFT if swapped[-1] else RIGHT
    return MDP(
        layers, reward, rows, np.ones(1), checks.number("noise", noise, 0.0), (int(layers[-1]) - 1, goal),
        f"deep_sea({depth})",
    )  # fmt: skip


def _moves(layers: Ints, row: Ints, column: Ints, slip: float) -> Rows:
    """Sparse rows built directly, so that a depth of 1000 needs no dense array."""
    last = row == len(layers) - 2
    below = layers[row + 1]
    room = np.ones((2, len(row)), np.int64)
    room[RIGHT, ~last] += 0.0 < slip < 1.0
    rows = rows_with_room(room)
    moves = [(LEFT, np.maximum(column - 1, 0), 1.0), (RIGHT, column + 1, 1.0 - slip), (RIGHT, column, slip)]
    for action, to, probability in moves:
        if probability > 0.0:
            where = rows.start[action, ~last] + rows.length[action, ~last]
            rows.succ[where] = (below + to)[~last]
            rows.weight[where] = probability
            rows.length[action, ~last] += 1
    return rows
