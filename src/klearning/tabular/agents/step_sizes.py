"""Step sizes of the agents that learn values directly.

By default α_n = (L + 1) / (L + n) at the n-th visit, Jin et al.'s: with it the value of a state at the start of an
episode is learnt no slower than one at its end. A number is a constant step size.
"""

from klearning.numerics import checks
from klearning.numerics.compiled import kernel

STEPS = ("falling",)  # what a step size may be besides a number
FALLING = 0.0  # how "falling" is passed to the kernels


def step_number(step: str | float) -> float:
    if isinstance(step, str):
        checks.choice("step", step, STEPS)
        return FALLING
    return checks.number("step", step, 0.0, 1.0, above=True)


@kernel
def step_size(step: float, horizon: int, visit: float) -> float:
    """α of the visit-th visit, counted from 1."""
    return (horizon + 1.0) / (horizon + visit) if step == FALLING else step
