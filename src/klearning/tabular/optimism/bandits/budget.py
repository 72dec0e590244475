"""The best mixture of arms within a budget: a price λ on cost, at which it is kept.

    maximise over π   Σ_a π_a h_a(−log π_a)   where   Σ_a π_a (cost_a − budget) ≤ 0
    minimise over λ ≥ 0   the value of the mixture if arm a has the price λ (cost_a − budget)

The mixture's cost falls in λ, so that the dual is one more root. It is an upper bound on the expected reward of the
best mixture within the budget: that mixture's mean is within the budget too.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.loops import copy_numbers, largest
from klearning.numerics.types import Floats
from klearning.tabular.optimism.bandits.arms import Arms, Workspace
from klearning.tabular.optimism.bandits.mixture import MOST_STEPS, ROUNDING, best_mixture, weighted


class Priced(NamedTuple):
    """The best mixture at a price λ: its value and gap there, and by how much its cost exceeds the budget."""

    multiplier: float
    value: float
    gap: float
    excess: float


@kernel
def at_price(arms: Arms, over: Floats, multiplier: float, policy: Floats, work: Workspace) -> Priced:
    """``over`` is cost − budget."""
    optimum = best_mixture(arms, multiplier * over, policy, work)
    return Priced(multiplier, optimum.value, optimum.gap, weighted(policy, over))


@kernel
def within_budget(arms: Arms, over: Floats, step: float, policy: Floats, work: Workspace) -> Priced:
    """The best mixture with Σπ·over ≤ 0, if one has less; ``step`` is a price to begin with.

    If arms are certain, E(λ) may jump over zero: then, and if the root is found, the two mixtures around it are
    mixed. By concavity the primal value of the mix is no less than the mix of theirs.
    """
    low = at_price(arms, over, 0.0, policy, work)
    if low.excess <= 0.0:
        return low
    cheap, dear = policy.copy(), policy.copy()
    high = at_price(arms, over, step, cheap, work)
    while high.excess > 0.0:
        low, step = high, 2.0 * step
        copy_numbers(cheap, dear)
        high = at_price(arms, over, low.multiplier + step, cheap, work)
    low_weight, high_weight = 1.0, 1.0  # the Illinois rule: halved if one end stays
    value, gap = np.inf, np.inf
    for _ in range(MOST_STEPS):
        share = -high.excess / (low.excess - high.excess)  # of the dear one, for a cost of just the budget
        lower = share * (low.value - low.gap) + (1.0 - share) * (high.value - high.gap)
        lower += (high.multiplier - low.multiplier) * (1.0 - share) * high.excess
        value = min(low.value, high.value)
        gap = max(value - lower, 0.0)
        width = high.multiplier - low.multiplier
        if gap <= ROUNDING * (abs(value) + largest(arms.sds)) or width <= 4.0 * ROUNDING * high.multiplier:
            break
        e_low, e_high = low_weight * low.excess, high_weight * high.excess
        middle = low.multiplier + width * min(max(e_low / (e_low - e_high), 1e-3), 1.0 - 1e-3)
        if low_weight < 0.1 or high_weight < 0.1:
            middle, low_weight, high_weight = low.multiplier + 0.5 * width, 1.0, 1.0
        between = at_price(arms, over, middle, policy, work)
        if between.excess > 0.0:
            low, low_weight, high_weight = between, 1.0, 0.5 * high_weight
            copy_numbers(policy, dear)
        else:
            high, high_weight, low_weight = between, 1.0, 0.5 * low_weight
            copy_numbers(policy, cheap)
    share = -high.excess / (low.excess - high.excess)
    for i in range(policy.size):
        policy[i] = share * dear[i] + (1.0 - share) * cheap[i]
    return Priced(low.multiplier if low.value < high.value else high.multiplier, value, gap, 0.0)
