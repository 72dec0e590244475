"""PSRL on a device: `tabular/agents/psrl.py` with one thread per seed.

    Q_l(s,a) = R(s,a) + Σ_s' P(s'|s,a) max_a' Q_{l+1}(s',a'),      R and P drawn from the posterior

A row that was seen n times is (1 − B)·(Dirichlet over the seen, with their counts) + B·G, B ~ Beta(α, n) and G a stick
(`gpu/draws.py`). If only one successor was seen, the first part needs no draw.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from klearning.gpu.batch import refuse
from klearning.gpu.draws import beta, log_gamma, spread
from klearning.gpu.layout import Shape
from klearning.gpu.random import ONE, ROWS, ZERO, F
from klearning.gpu.value_iteration import ValueIterationProgram, expectation_for
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.rewards import is_beta
from klearning.tabular.models.mdp import MDP

LOWEST = F(-3e38)
SHARE, BREAKS, SEEN, COIN = ROWS, ROWS + 2, ROWS + 3, ROWS + 4  # uses of words: two for a Beta
MASSES = 1e-25, 1e3  # a float32, and not too many breaks


@dataclass(frozen=True)
class Kind:
    """The properties of the prior that are compiled into a kernel."""

    beta: bool  # whether rewards are coin flips
    learns: bool  # whether transitions are learned


class Numbers(NamedTuple):
    """The prior, as the kernel reads it; all float32."""

    strength: Any  # n0
    weight: Any  # n0 μ0
    noise: Any  # σ²
    mass: Any  # α, spread over whole layers


@cache
def seen_value_for(shape: Shape) -> Callable[..., Any]:
    """Σ_s' D(s') V(s'), D ~ Dirichlet over the successors of pair k in n visits, with their counts."""
    single = shape.single

    @cuda.jit(device=True, fastmath=True)
    def seen_value(world: Any, counts: Any, draws: Any, i: Any, k: Any, n: Any, below: Any) -> F:
        if single:
            return below.V[below.shift + world.succ[k]]
        largest, total, value = LOWEST, ZERO, ZERO  # gammas are measured by the largest so far
        for e in range(world.start[k], world.start[k + 1]):
            count = counts.moves[e, i]
            if count == n:
                return below.V[below.shift + world.succ[e]]
            if count > ZERO:
                log_g = log_gamma(count, draws, e, SEEN)
                if log_g > largest:
                    shrunk = F(math.exp(largest - log_g))
                    largest, total, value = log_g, shrunk * total, shrunk * value
                g = F(math.exp(log_g - largest))
                total += g
                value += g * below.V[below.shift + world.succ[e]]
        return value / total

    return seen_value


@cache
def action_value_for(shape: Shape, kind: Kind) -> Callable[..., Any]:
    """Q of pair k by one draw of its reward and row."""
    seen_value, known_value = seen_value_for(shape), expectation_for(shape, learns=False)
    coins, learns = kind.beta, kind.learns

    @cuda.jit(device=True, fastmath=True)
    def action_value(world: Any, counts: Any, x: Any, draws: Any, i: Any, k: Any, z: Any, below: Any) -> F:
        n, total = counts.visits[k, i], counts.sums[k, i]
        if coins:
            heads, tails = x.weight + total, x.strength - x.weight + (n - total)
            Q = beta(heads, tails, draws, k, COIN)
        else:
            weight = x.strength + n
            Q = (x.weight + total) / weight + F(math.sqrt(x.noise / weight)) * z
        if below.width == 0:
            return Q
        if not learns:
            return Q + known_value(world, counts, i, k, below.V, below.shift)
        unseen = ONE
        if n > ZERO:
            unseen = beta(x.mass, n, draws, k, SHARE)
            Q += (ONE - unseen) * seen_value(world, counts, draws, i, k, n, below)
        return Q + spread(unseen, ONE / x.mass, below.V, below.shift + below.first, below.width, draws, k, BREAKS)

    return action_value


class PSRLProgram(ValueIterationProgram):
    """`PSRL` as the device plays it."""

    def __init__(self, agent: PSRL, prior: Prior, mdp: MDP) -> None:
        if agent.concentration != 1.0:
            refuse(f"agent={agent!r}", "PSRL with concentration=1")
        reward, transitions = prior.reward.numbers(), Belief.before(prior, mdp).transitions
        self.kind = Kind(beta=is_beta(reward), learns=transitions.learns)
        self.noisy = not self.kind.beta
        if self.kind.beta and not isinstance(mdp.noise, str):
            refuse(f"reward={prior.reward!r} in world={mdp!r}", "PSRL with a Beta only if rewards are coin flips")
        mass = transitions.even_mass
        if transitions.learns and not MASSES[0] <= mass <= MASSES[1]:
            refuse(f"transitions={prior.transitions!r}", f"masses from {MASSES[0]:g} to {MASSES[1]:g} with PSRL")
        numbers = reward.strength, reward.strength * reward.mean, reward.noise_variance, mass
        super().__init__(mdp, Numbers(*(F(x) for x in numbers)))

    def action_value(self, shape: Shape) -> Callable[..., Any]:
        return action_value_for(shape, self.kind)
