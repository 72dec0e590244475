"""The least optimism that is enough: the share κ of a bonus at which the bound is a given number.

With a bonus κ c/τ let g(κ) = min_τ f_κ(τ), H̄ and C̄ the entropy and the c that its policy collects. By duality

    g = max_λ J(λ) + 2 √κ √(H̄(λ) C̄(λ))      dg / d√κ = 2 √κ C̄/τ*   (the envelope)

is a maximum of straight lines in √κ, so convex and increasing: Newton's steps in √κ meet a target from above after at
most one step from below, and need no bracket (docs/evidence/calibrated.md).
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.models.soft import Soft
from klearning.models.sweeps import Model, at_start
from klearning.optimism.temperature import Temperature, at_optimum

LEAST = 1e-3  # κ: below it a policy is all but greedy
PRECISION = 1e-3  # of the target, relative to the optimism f − J
MOST_STEPS = 30


class Calibrated(NamedTuple):
    """κ, and the temperature that is best with it; ``sweeps`` are those of the whole search."""

    optimism: float
    temperature: Temperature
    sweeps: int


@kernel
def calibrate(
    model: Model, c: Floats, target: float, optimism: float, warm: float, tolerance: float,
    policy: Floats, W: Soft, scaled: Floats,
) -> Calibrated:  # fmt: skip
    """The least κ in [`LEAST`, 1] with min_τ f_κ(τ) ≥ ``target``, and 1 where none is; begins at ``optimism``.

    ``scaled`` is room for κ c. The policy at κ and τ* is written.
    """
    root, sweeps = np.sqrt(min(max(optimism, LEAST), 1.0)), 0
    for step in range(MOST_STEPS):
        for a in range(c.shape[0]):
            for s in range(c.shape[1]):
                scaled[a, s] = root * root * c[a, s]
        best = at_optimum(model, scaled, warm, tolerance, policy, W)
        sweeps += best.sweeps
        if best.tau == 0.0 or np.isinf(best.tau):  # nothing is uncertain, or nothing to choose
            break
        pull, short = 2.0 * at_start(model, W.C) / best.tau, target - best.bound  # pull: df / d log √κ
        if abs(short) <= PRECISION * pull:
            break
        better = min(max(root * (1.0 + short / pull), np.sqrt(LEAST)), 1.0)
        if better == root:
            break
        if step + 1 < MOST_STEPS:
            root, warm = better, best.warm * better / root
    return Calibrated(root * root, best, sweeps)
