"""Statistics of a batch of runs: pure functions of (seeds, episodes) arrays. Episodes count from 1."""

import numpy as np

from klearning.numerics.types import Flags, Floats


def cumulative_regret(optimal: float | Floats, values: Floats) -> Floats:
    """Σ_t E_ρ(V*_1 − V_1^{π_t}), from the exact values of the policies."""
    return np.cumsum(optimal - values, axis=-1)


def first_hit(hits: Flags) -> Floats:
    """The first episode that reached the goal, per seed; nan if none did."""
    return np.where(hits.any(axis=-1), hits.argmax(axis=-1) + 1.0, np.nan)


def time_to_solve(hits: Flags, fraction: float = 0.1, burn_in: int = 1) -> Floats:
    """The first episode by which at least ``fraction`` of the episodes so far reached the goal; nan if none.

    The paper's definition has a fraction of 10% and no burn-in, and is therefore met by one lucky hit in
    the first ten episodes; ``burn_in`` is the first episode that may count.
    """
    episodes = np.arange(1, hits.shape[-1] + 1)
    return first_hit((np.cumsum(hits, axis=-1) >= fraction * episodes) & (episodes >= burn_in))
