"""bsuite's deep_sea, deep_sea_stochastic and bandit (Osband et al., 2020) as MDPs, exactly as in bsuite 0.3.

They differ from `klearning.deep_sea` and `klearning.bandit` in conventions only (docs/reference/environments.md).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from klearning.numerics import checks
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.mdp import MDP
from klearning.tabular.worlds.bandit import bandit as plain_bandit
from klearning.tabular.worlds.deep_sea import LEFT, RIGHT
from klearning.tabular.worlds.deep_sea import deep_sea as plain_deep_sea

EPISODES = 10_000  # of every experiment here
DEEP_SEA_SWEEP = tuple({"size": size, "mapping_seed": 42} for size in range(10, 51, 2))
DEEP_SEA_STOCHASTIC_SWEEP = DEEP_SEA_SWEEP
BANDIT_SWEEP = tuple({"mapping_seed": seed} for seed in range(20))
_LOGGED_TENTHS = (10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90)
LOGGED_EPISODES = tuple(  # episodes at which bsuite logs: these tenths of every power of ten
    tenths * power // 10
    for power in (1, 10, 100, 1000, 10_000)
    for tenths in _LOGGED_TENTHS
    if tenths * power % 10 == 0 and tenths * power // 10 <= EPISODES
)


def deep_sea(
    size: int,
    mapping_seed: int = 42,
    deterministic: bool = True,
    cost: float = 0.01,
    randomize_actions: bool = True,
) -> MDP:
    """bsuite's DeepSea of N = ``size`` rows, with reachable cells only.

    Moving right costs cost/N everywhere, so the treasure pays 1 − cost/N. Unless ``deterministic``, right goes
    straight down with probability 1/N, and rewards have the noise of `deep_sea_noise`.
    """
    N = checks.whole("size", size)
    sea = plain_deep_sea(N, noise=0.0, cost=cost, slip=0.0 if deterministic else 1.0 / N)
    sea.reward[RIGHT, -1] = 1.0 - cost / N
    swapped = action_mapping(N, mapping_seed, randomize_actions)[_cells(N)] == LEFT
    sea.reward[:, swapped] = sea.reward[::-1, swapped]
    for field in (sea.rows.start, sea.rows.length, sea.rows.room):
        field[:, swapped] = field[::-1, swapped]
    kind = "deep_sea" if deterministic else "deep_sea_stochastic"
    goal = (sea.states - 1, LEFT if swapped[-1] else RIGHT)
    noise = 0.0 if deterministic else deep_sea_noise(N)
    return replace(sea, noise=noise, goal=goal, name=f"bsuite {kind}({N})")


def deep_sea_noise(size: int) -> Floats:
    """(A, S) standard deviations of the stochastic version's rewards: 1 in the first and last cell of the last row."""
    N = checks.whole("size", size)
    noise = np.zeros((2, N * (N + 1) // 2))
    noise[:, [-N, -1]] = 1.0
    return noise


def action_mapping(size: int, mapping_seed: int, randomize_actions: bool = True) -> Ints:
    """(N, N): which action goes right in every cell, drawn as bsuite draws it."""
    if not randomize_actions:
        return np.ones((size, size), np.int64)
    return _generator(mapping_seed).binomial(1, 0.5, [size, size]).astype(np.int64)


def bandit(mapping_seed: int = 0, actions: int = 11) -> MDP:
    """bsuite's bandit: arms that pay 0, 0.1, …, 1 without noise, in an order drawn as bsuite draws it."""
    n = checks.whole("actions", actions)
    order = _generator(mapping_seed).choice(range(n), size=n, replace=False)
    return replace(plain_bandit(np.linspace(0, 1, n)[order].tolist(), noise=0.0), name="bsuite bandit")


class DeepSeaTally:
    """bsuite's counts in DeepSea: episodes that left the diagonal, and treasures found."""

    def __init__(self, size: int, mapping_seed: int, randomize_actions: bool = True) -> None:
        self.total_bad_episodes, self.denoised_return = 0, 0.0
        mapping = action_mapping(size, mapping_seed, randomize_actions)
        self._right = mapping.diagonal().tolist()  # the action that goes right, down the diagonal
        self._bad = False

    def begin(self) -> None:
        """Begin an episode; an unfinished one is not counted."""
        self._bad = False

    def see(self, row: int, column: int, action: int) -> None:
        """Count one step: the cell, and the action taken there."""
        last = row == len(self._right) - 1
        if row == column:
            right = action == self._right[row]
            self._bad = self._bad or not right
            self.denoised_return += right and last
        self.total_bad_episodes += self._bad and last

    def info(self) -> dict[str, Any]:
        """With bsuite's names."""
        return {"total_bad_episodes": self.total_bad_episodes, "denoised_return": self.denoised_return}


def _generator(mapping_seed: int) -> np.random.RandomState:
    """bsuite's generator. bsuite allows None as a seed; here it is required, so that a name determines the world."""
    return np.random.RandomState(checks.whole("mapping_seed", mapping_seed, 0))


def _cells(size: int) -> tuple[Ints, Ints]:
    """Row and column of every state: row l has l + 1 cells."""
    rows = np.repeat(np.arange(size), np.arange(1, size + 1))
    return rows, np.arange(rows.size) - rows * (rows + 1) // 2
