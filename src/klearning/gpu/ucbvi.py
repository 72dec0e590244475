"""UCBVI with Hoeffding's bonus on a device: `tabular/agents/ucbvi.py` with one thread per seed.

    Q_l(s,a) ← min( Q_l(s,a), r̂(s,a) + scale·7 L Lg/√n + Σ_s' P̂(s'|s,a) V_{l+1}(s') ),      Lg = ln(5 S A T / δ)

Q is kept from episode to episode, and is L − l + 1 before a visit.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from klearning.gpu.batch import Batch, refuse
from klearning.gpu.layout import Shape
from klearning.gpu.random import ZERO, F
from klearning.gpu.value_iteration import ValueIterationProgram, expectation_for
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.mdp import MDP


class Numbers(NamedTuple):
    """Settings, as the kernel reads them; all float32."""

    Q: Any  # (S·A, seeds)
    bonus: Any  # scale·7 L
    logarithm: Any  # ln(5 S A L / δ)
    episodes: Any  # N, or 0 for as many as have come


@cache
def action_value_for(shape: Shape) -> Callable[..., Any]:
    """Q of pair k, the least so far."""
    expectation = expectation_for(shape, learns=True)

    @cuda.jit(device=True, fastmath=True)
    def action_value(world: Any, counts: Any, x: Any, draws: Any, i: Any, k: Any, z: Any, below: Any) -> F:
        n, Q = counts.visits[k, i], x.Q[k, i]
        if n > ZERO:
            total = counts.sums[k, i]
            if below.width > 0:
                total += expectation(world, counts, i, k, below.V, below.shift)
            episodes = x.episodes if x.episodes > ZERO else F(draws.t + 1)
            Lg = x.logarithm + F(math.log(episodes))
            Q = min(Q, total / n + x.bonus * Lg / F(math.sqrt(n)))
            x.Q[k, i] = Q
        return Q

    return action_value


class UCBVIProgram(ValueIterationProgram):
    """`UCBVI` with Hoeffding's bonus as the device plays it."""

    def __init__(self, agent: UCBVI, prior: Prior, mdp: MDP) -> None:
        if agent.bonus != "hoeffding":
            refuse(f"agent={agent!r}", "UCBVI with bonus='hoeffding'")
        settings, L = agent.settings(), mdp.horizon
        self.before = agent.begin(Belief.before(prior, mdp)).Q.T.ravel().astype(F)  # any visit
        pairs_and_steps = math.log(5.0 * mdp.states * mdp.actions * L / settings.confidence.delta)
        numbers = 7.0 * L * settings.scale, pairs_and_steps, settings.confidence.episodes
        super().__init__(mdp, Numbers(None, *(F(x) for x in numbers)))

    def begin(self, batch: Batch) -> Numbers:
        Q = np.repeat(self.before[:, None], len(batch.seeds), axis=1)
        return self.numbers._replace(Q=cuda.to_device(Q))

    def action_value(self, shape: Shape) -> Callable[..., Any]:
        return action_value_for(shape)
