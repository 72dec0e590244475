"""BEB on a device: `tabular/agents/beb.py` with one thread per seed.

Q_l(s,a) = m(s,a) + β / (1 + Σα + n(s,a)) + Σ_s' P̄(s'|s,a) max_a' Q_{l+1}(s',a')
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from klearning.gpu.layout import Shape
from klearning.gpu.random import ONE, F
from klearning.gpu.value_iteration import ValueIterationProgram, expectation_for
from klearning.tabular.agents.beb import BEB
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP


class Numbers(NamedTuple):
    """Settings and prior, as the kernel reads them; all float32."""

    strength: Any  # n0
    weight: Any  # n0 μ0
    total: Any  # Σα of a row
    mass: Any  # the part of it that is spread over whole layers
    bonus: Any  # β


@cache
def action_value_for(shape: Shape, learns: bool) -> Callable[..., Any]:
    """Q of pair k on the posterior mean, with its bonus; ``even`` is the mean of V over the next layer."""
    expectation = expectation_for(shape, learns)

    @cuda.jit(device=True, fastmath=True)
    def action_value(world: Any, counts: Any, x: Any, draws: Any, i: Any, k: Any, z: Any, below: Any) -> F:
        n = counts.visits[k, i]
        Q = (x.weight + counts.sums[k, i]) / (x.strength + n) + x.bonus / (ONE + x.total + n)
        if below.width == 0:
            return Q
        total = expectation(world, counts, i, k, below.V, below.shift)
        return Q + ((x.mass * below.mean + total) / (x.total + n) if learns else total)

    return action_value


class BEBProgram(ValueIterationProgram):
    """`BEB` as the device plays it."""

    def __init__(self, agent: BEB, prior: Prior, mdp: MDP) -> None:
        belief = Belief.before(prior, mdp)
        reward, transitions, beta = prior.reward.numbers(), belief.transitions, agent.beta(agent.begin(belief))
        numbers = reward.strength, reward.strength * reward.mean, transitions.total, transitions.even_mass, beta
        super().__init__(mdp, Numbers(*(F(x) for x in numbers)))
        self.learns = transitions.learns

    def action_value(self, shape: Shape) -> Callable[..., Any]:
        return action_value_for(shape, self.learns)
