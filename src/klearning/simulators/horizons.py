"""How far ahead to plan: by a time limit, or, where the future is discounted, as far as it matters.

With rewards of size at most R and a discount γ, all that comes after step H is worth no more than

    tail = γ^H R / (1 − γ)

so that a plan over H steps is wrong by at most the tail, which is γ^H times the largest value there is. One who acts
at every step by the first layer of such a plan loses at most tail / (1 − γ) against the optimal policy, with R the
range of rewards: if none is negative (else shift them), values of H − 1 steps lie from 0 to tail / γ below the true
ones, and acting greedily on values that are off by a span of d costs at most γ d / (1 − γ).
"""

import warnings
from math import ceil, log
from typing import Any

from klearning.simulators.adapters.masks import TaskWarning
from klearning.tabular.models.tabular import time_limit

LEFT_OUT = 0.01  # the share of the largest value that a default horizon may leave out


def effective_horizon(discount: float) -> int:
    """The steps after which no more than 1% is left of the largest value: γ^H ≤ 0.01."""
    return ceil(log(LEFT_OUT) / log(discount))


def tail(discount: float, horizon: int) -> float:
    """γ^H / (1 − γ): what plans leave out at most, in units of the largest reward."""
    return discount**horizon / (1.0 - discount)


def compare_with_limit(env: Any, horizon: int, discounts: bool, continuing: bool) -> None:
    """Say where plans reckon with steps that an environment's time limit never lets come."""
    limit = time_limit(env)
    if limit is not None and limit < horizon and not discounts and not continuing:
        warnings.warn(
            f"horizon={horizon}, but the environment's time limit is {limit}: plans reckon with steps that never come; "
            f"give horizon={limit}, or leave it out",
            TaskWarning,
            stacklevel=3,
        )
