"""Inputs of confidence bounds: the failure probability, and the number of steps."""

from typing import NamedTuple

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel


class Confidence(NamedTuple):
    """A failure probability δ and the total of episodes; 0 episodes for as many as have come (anytime)."""

    delta: float
    episodes: float


def confidence(delta: float, episodes: int | None) -> Confidence:
    checks.number("delta", delta, 0.0, 1.0, above=True)
    return Confidence(float(delta), 0.0 if episodes is None else float(checks.whole("episodes", episodes)))


@kernel
def total_steps(settings: Confidence, horizon: int, t: int) -> float:
    """T = N·L, or t·L by the end of episode t = 1, 2, … (here counted from 0) if N is not given."""
    return (settings.episodes if settings.episodes > 0.0 else t + 1.0) * horizon
