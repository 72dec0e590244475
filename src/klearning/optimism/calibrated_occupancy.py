"""The least optimism that is enough, of VAPOR: the share κ of the variances s² at which its value is a given number.

    g(κ) = max_λ J(λ) + √κ Ω(λ),   J = Σ λ m,   Ω = Σ λ s √(−2 ln λ)        dg / d√κ = Ω(λ*)   (the envelope)

is a maximum of straight lines in √κ, as K-learning's is (`calibration.py`), so Newton's steps in √κ are as good here.
Each is a solve that begins where the last one ended.
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.models.sweeps import Model
from klearning.optimism.calibration import LEAST, MOST_STEPS, PRECISION
from klearning.optimism.occupancy import Flows
from klearning.optimism.occupancy_newton import Occupied, occupy


class CalibratedOccupancy(NamedTuple):
    """κ, and the solution with it; ``steps`` and ``sweeps`` are those of the whole search."""

    optimism: float
    occupied: Occupied
    steps: int
    sweeps: int


@kernel
def calibrate_occupancy(
    model: Model, discount: float, s: Floats, target: float, optimism: float, tolerance: float,
    W: Flows, V: Floats, policy: Floats,
) -> CalibratedOccupancy:  # fmt: skip
    """The least κ in [`LEAST`, 1] with g(κ) ≥ ``target``, and 1 where none is; begins at ``optimism``, V and a policy.

    V and the policy at κ are written.
    """
    root, steps, sweeps = np.sqrt(min(max(optimism, LEAST), 1.0)), 0, 0
    for round_ in range(MOST_STEPS):
        for a in range(s.shape[0]):
            for i in range(s.shape[1]):
                W.stated[a, i] = root * s[a, i]
        best = occupy(model, discount, tolerance, W, V, policy)
        steps, sweeps = steps + best.steps, sweeps + best.sweeps
        pull, short = best.optimism, target - best.bound  # pull: dg / d log √κ
        if abs(short) <= PRECISION * pull or pull == 0.0:  # or nothing is uncertain
            break
        better = min(max(root * (1.0 + short / pull), np.sqrt(LEAST)), 1.0)
        if better == root:
            break
        if round_ + 1 < MOST_STEPS:
            root = better
    return CalibratedOccupancy(root * root, best, steps, sweeps)
