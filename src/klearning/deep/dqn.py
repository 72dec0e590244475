"""DQN (Mnih et al., 2015): Q-values by one network, exploration by ε.

act: argmax_a Q_θ(s,a), or with probability ε any action; ε falls from 1 to its last value over the first steps
Q_θ(s,a) → r + γ max_a' Q⁻(s',a')
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from klearning.deep import network, replay
from klearning.deep.agent import DeepAgent
from klearning.deep.replay import Steps
from klearning.deep.scaling import Scaling, new_scaling


class Memory(NamedTuple):
    """The agent's memory, a pytree of arrays."""

    params: Any
    target: Any
    average: Any  # of the last updates, which is deployed
    optimiser: Any
    loss: Array
    largest: Array  # |reward| so far, or 1
    scaling: Scaling
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True, repr=False)
class DQN(DeepAgent[Memory]):
    """Q-values by a network, ε-greedy."""

    learning_rate: float = 1e-3  # this and the next two fitted to control: docs/evidence/deep.md
    epsilon: float = 0.05  # final value
    exploration: int = 10_000  # steps until then

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        params = self.initial(key, points, actions)
        ring = replay.empty(self.capacity, like, actions)
        optimiser = optax.adam(self.learning_rate).init(params)
        target, average = (jax.tree.map(jnp.copy, params) for _ in range(2))
        return Memory(
            params, target, average, optimiser, jnp.zeros(()), jnp.ones(()), new_scaling(like), ring,
            jnp.zeros((), jnp.int32),
        )  # fmt: skip

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        Q = self.outputs(m.params, self.inputs(m, x))
        numpy, actions = network.module_of(x), Q.shape[-1]
        epsilon = numpy.maximum(1.0 - (1.0 - self.epsilon) * m.seen / self.exploration, self.epsilon)
        best = numpy.arange(actions) == Q.argmax()
        return numpy.log(epsilon / actions + (1.0 - epsilon) * best), 0.0 * Q

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.outputs(m.average, self.inputs(m, x))

    def targets(self, m: Memory, steps: Steps) -> Array:
        Q = self.outputs(m.target, self.inputs(m, steps.after))
        V = jnp.max(jnp.where(steps.allowed > 0, Q, -jnp.inf), axis=-1)
        return steps.reward / m.largest + self.discount * (1.0 - steps.terminal) * V

    def loss(self, params: Any, z: Array, action: Array, targets: Array) -> Array:
        return network.squared_error(self.outputs(params, z), action, targets)

    def on_steps(self, m: Memory, block: Steps, weight: Array) -> Memory:
        return m._replace(largest=jnp.maximum(m.largest, jnp.max(weight * jnp.abs(block.reward))))
