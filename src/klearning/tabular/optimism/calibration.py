"""The least optimism that is enough: the share κ of a bonus at which the bound is a given number.

With a bonus κ c/τ let g(κ) = min_τ f_κ(τ), H̄ and C̄ the entropy and the c that its policy collects. By duality

    g = max_λ J(λ) + 2 √κ √(H̄(λ) C̄(λ))      dg / d√κ = 2 √κ C̄/τ*   (the envelope)

is a maximum of straight lines in √κ, so convex and increasing: Newton's steps in √κ meet a target from above after at
most one step from below, and need no bracket (docs/evidence/calibrated.md).

If even κ = 1 is too little, the price of unknown transitions is added, as far as needed: the least share ν of it
(blended_sweep.py). With κ = ν = 1 the bound is that of `split`. It grows with ν, since a price is never negative.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import by_record, kernel
from klearning.numerics.types import Floats
from klearning.tabular.models.soft import Soft
from klearning.tabular.models.sweeps import Model, at_start
from klearning.tabular.optimism.split.blended_sweep import Blended, blended_at_optimum
from klearning.tabular.optimism.temperature import MOST_SWEEPS, Temperature, at_optimum

LEAST = 1e-3  # κ: below it a policy is all but greedy
PRECISION = 1e-3  # of the target, relative to the optimism f − J
MOST_STEPS = 30


class Calibrated(NamedTuple):
    """κ and ν, and the temperature that is best with them; ``sweeps`` are those of the whole search."""

    optimism: float
    price: float
    temperature: Temperature
    sweeps: int


@kernel
def calibrate(
    model: Model, c: Floats, target: float, optimism: float, warm: float, tolerance: float,
    policy: Floats, scaled: Floats, W: Soft,
) -> Calibrated:  # fmt: skip
    """The least κ in [`LEAST`, 1] with min_τ f_κ(τ) ≥ ``target``, and 1 if none is; begins at ``optimism``.

    ``scaled`` is a workspace for κ c. The policy at κ and τ* is written.
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
    return Calibrated(root * root, 0.0, best, sweeps)


@kernel
def calibrate_with_price(
    model: Model, c: Floats, target: float, optimism: float, warm: float, tolerance: float,
    policy: Floats, scaled: Floats, work: Blended,
) -> Calibrated:  # fmt: skip
    """As `calibrate`; and where κ = 1 is too little, the least ν with min_τ f ≥ ``target``, and 1 if none is."""
    plain = calibrate(model, c, target, optimism, warm, tolerance, policy, scaled, work.soft)
    best, sweeps = plain.temperature, plain.sweeps
    certain = best.tau == 0.0  # of rewards: κ is of no use
    if np.isinf(best.tau) or best.bound >= target or not (certain or plain.optimism == 1.0):
        return plain
    low, under, nu, side = 0.0, best.bound - target, 1.0, 0
    high, best = 1.0, blended_at_optimum(model, c, 1.0, 0.0 if certain else best.warm, tolerance, policy, work)
    sweeps, over = sweeps + best.sweeps, best.bound - target
    enough = PRECISION * (over - under)
    while over > enough and sweeps < MOST_SWEEPS:
        nu = high - (high - low) * over / (over - under)
        best = blended_at_optimum(model, c, nu, best.warm, tolerance, policy, work)
        sweeps, rest = sweeps + best.sweeps, best.bound - target
        if abs(rest) <= enough:
            break
        # Illinois: an end that stays twice counts half, so that it does not stay for long
        if rest > 0.0:
            high, over, under, side = nu, rest, 0.5 * under if side > 0 else under, 1
        else:
            low, under, over, side = nu, rest, 0.5 * over if side < 0 else over, -1
    return Calibrated(1.0, nu, best, sweeps)


# the workspace says whether there is a price to add
calibrated: Callable[..., Calibrated] = by_record({Soft: calibrate, Blended: calibrate_with_price})
