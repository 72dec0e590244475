"""Ensembles of Q-networks with random priors (Osband, Aslanides and Cassirer, 2018), acting in two ways.

Q_k(s,a) = F_k(s,a) + β G_k(s,a), G_k fixed and random, F_k learned:  Q_k(s,a) → r + γ max_a' Q_k⁻(s',a')

    BootstrappedDQN: one k per episode, argmax_a Q_k(s,a)
    EnsembleKLearning: with mean m and variance v over k, a ∼ exp((m + v/2τ)/τ), τ as in deep K-learning
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from numpy.typing import NDArray

from klearning.deep import network, replay
from klearning.deep.agent import DeepAgent, next_log_temperature
from klearning.deep.replay import Steps
from klearning.deep.scaling import Scaling, new_scaling

SHARP = 1e6  # factor of values whose softmax is then their argmax among allowed actions


class Memory(NamedTuple):
    """The agent's memory, a pytree of arrays; networks have an axis for the ensemble."""

    params: Any
    target: Any
    average: Any  # of the last updates, which is deployed
    optimiser: Any
    loss: Array
    prior: Any
    member: Array  # that acts
    log_tau: Array
    largest: Array  # |reward| so far, or 1
    scaling: Scaling
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True, repr=False)
class BootstrappedDQN(DeepAgent[Memory]):
    """An ensemble with random priors; one member acts through an episode."""

    members: int = 20
    prior_scale: float = 1.0  # β, fitted, and the learning rate: docs/evidence/deep.md
    temperature: float = 0.3  # initial
    temperature_rate: float = 0.1

    own_parts: ClassVar[tuple[str, ...]] = ("member",)

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        keys = jax.random.split(key, 2 * self.members)
        params, prior = (jax.vmap(lambda k: self.initial(k, points, actions))(half) for half in jnp.split(keys, 2))
        ring = replay.empty(self.capacity, like, actions)
        optimiser = optax.adam(self.learning_rate).init(params)
        target, average = (jax.tree.map(jnp.copy, params) for _ in range(2))
        zero, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
        return Memory(
            params, target, average, optimiser, zero, prior, none, jnp.log(jnp.full((), self.temperature)),
            jnp.ones(()), new_scaling(like), ring, none,
        )  # fmt: skip

    def values(self, params: Any, prior: Any, z: Array) -> Array:
        """(members, …, actions)."""
        each = self.outputs if isinstance(z, np.ndarray) else jax.vmap(self.outputs, (0, None))
        return each(params, z) + self.prior_scale * each(prior, z)

    def start(self, m: Memory, key: Array) -> Memory:
        return m._replace(member=jax.random.randint(key, (), 0, self.members))

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        params, prior = jax.tree.map(lambda part: part[m.member], (m.params, m.prior))
        z = self.inputs(m, x)
        Q = self.outputs(params, z) + self.prior_scale * self.outputs(prior, z)
        return SHARP * Q, 0.0 * Q

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.values(m.average, m.prior, self.inputs(m, x)).mean(axis=0)

    def deployed(self, memory: Memory) -> tuple[Any, NDArray[Any]]:
        both = jax.tree.map(lambda *parts: jnp.concatenate(parts), memory.average, memory.prior)
        return both, np.repeat([1.0, self.prior_scale], self.members) / self.members

    def targets(self, m: Memory, steps: Steps) -> tuple[Array, Array]:
        """y, (…, members), and the priors' part of the values that are compared with it."""
        Q = jnp.moveaxis(self.values(m.target, m.prior, self.inputs(m, steps.after)), 0, -2)
        V = jnp.max(jnp.where(steps.allowed[..., None, :] > 0, Q, -jnp.inf), axis=-1)
        y = steps.reward[..., None] / m.largest + self.discount * (1.0 - steps.terminal[..., None]) * V
        fixed = jnp.moveaxis(jax.vmap(self.outputs, (0, None))(m.prior, self.inputs(m, steps.x)), 0, -2)
        return y, self.prior_scale * network.of_action(fixed, steps.action[..., None])

    def loss(self, params: Any, z: Array, action: Array, targets: tuple[Array, Array]) -> Array:
        y, fixed = (jnp.moveaxis(part, -1, 0) for part in targets)
        F = jax.vmap(self.outputs, (0, None))(params, z)
        return jax.vmap(network.squared_error, (0, None, 0))(F, action, y - fixed).sum()

    def on_steps(self, m: Memory, block: Steps, weight: Array) -> Memory:
        return m._replace(largest=jnp.maximum(m.largest, jnp.max(weight * jnp.abs(block.reward))))


@dataclass(frozen=True, repr=False)
class EnsembleKLearning(BootstrappedDQN):
    """The same ensemble, acting on the disagreement of its members."""

    prior_scale: float = 3.0  # fitted as well
    temperature_rate: float = 0.3

    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "c", "loss")

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        Q, tau = self.values(m.params, m.prior, self.inputs(m, x)), network.module_of(x).exp(m.log_tau)
        c = 0.5 * Q.var(axis=0)
        return (Q.mean(axis=0) + c / tau) / tau, c

    def on_episode_end(self, m: Memory, numbers: Array, episodes: Array | int = 1) -> Memory:
        return m._replace(log_tau=next_log_temperature(m.log_tau, numbers, episodes * self.temperature_rate))
