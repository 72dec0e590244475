"""RLSVI on a device: `tabular/agents/rlsvi.py` with one thread per seed.

Q_l(s,a) ~ N( (Σr + Σ_s' n(s') max_a' Q_{l+1}(s',a')) / (n0 + n),  (scale·σ)² / (n0 + n) ),      n0 = σ²/σp²
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from klearning.gpu.layout import Shape
from klearning.gpu.random import F
from klearning.gpu.value_iteration import ValueIterationProgram, expectation_for
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP


class Numbers(NamedTuple):
    """Settings, as the kernel reads them; all float32."""

    strength: Any  # n0
    variance: Any  # (scale·σ)²


@cache
def action_value_for(shape: Shape) -> Callable[..., Any]:
    """Q of pair k, perturbed as much as its regression is uncertain; ``z`` is a standard normal."""
    expectation = expectation_for(shape, learns=True)

    @cuda.jit(device=True, fastmath=True)
    def action_value(world: Any, counts: Any, x: Any, draws: Any, i: Any, k: Any, z: Any, below: Any) -> F:
        weight, total = x.strength + counts.visits[k, i], counts.sums[k, i]
        if below.width > 0:
            total += expectation(world, counts, i, k, below.V, below.shift)
        return total / weight + F(math.sqrt(x.variance / weight)) * z

    return action_value


class RLSVIProgram(ValueIterationProgram):
    """`RLSVI` as the device plays it."""

    noisy = True

    def __init__(self, agent: RLSVI, prior: Prior, mdp: MDP) -> None:
        numbers = agent.begin(Belief.before(prior, mdp)).posterior.prior
        super().__init__(mdp, Numbers(F(numbers.strength), F(agent.scale**2 * numbers.noise_variance)))

    def action_value(self, shape: Shape) -> Callable[..., Any]:
        return action_value_for(shape)
