"""Ensembles of Q-networks with random priors (Osband, Aslanides and Cassirer, 2018), acting in two ways.

Q_k(s,a) = F_k(s,a) + β G_k(s,a), G_k fixed and random, F_k learnt:  Q_k(s,a) → r + γ max_a' Q_k⁻(s',a')

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

from klearning.deep import network, replay
from klearning.deep.agent import DeepAgent
from klearning.deep.replay import Steps

SHARP = 1e6  # a softmax of values so many times as large is their argmax, among what a mask allows


class Memory(NamedTuple):
    """All that is known, a pytree of arrays; networks have an axis for the ensemble."""

    params: Any
    target: Any
    optimiser: Any
    loss: Array
    prior: Any
    member: Array  # that acts
    log_tau: Array
    largest: Array  # |reward| so far, or 1
    ring: Steps
    seen: Array  # steps


@dataclass(frozen=True)
class BootstrappedDQN(DeepAgent[Memory]):
    """An ensemble with random priors; one member acts through an episode."""

    members: int = 20
    prior_scale: float = 1.0  # β, fitted, and the learning rate: docs/evidence/deep.md
    temperature: float = 0.3  # at first, where it is learnt
    temperature_rate: float = 0.1

    def begin(self, key: Array, like: Array, points: int, actions: int) -> Memory:
        sizes = (points, *self.hidden, actions)
        keys = jax.random.split(key, 2 * self.members)
        params, prior = (jax.vmap(lambda k: network.initial(k, sizes))(half) for half in jnp.split(keys, 2))
        ring = replay.empty(self.capacity, like, actions)
        optimiser = optax.adam(self.learning_rate).init(params)
        target = jax.tree.map(jnp.copy, params)
        zero, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
        return Memory(
            params, target, optimiser, zero, prior, none, jnp.log(jnp.full((), self.temperature)), jnp.ones(()), ring,
            none,
        )  # fmt: skip

    def values(self, params: Any, prior: Any, x: Array) -> Array:
        """(members, …, actions)."""
        each = self.outputs if isinstance(x, np.ndarray) else jax.vmap(self.outputs, (0, None))
        return each(params, x) + self.prior_scale * each(prior, x)

    def start(self, m: Memory, key: Array) -> Memory:
        return m._replace(member=jax.random.randint(key, (), 0, self.members))

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        params, prior = jax.tree.map(lambda part: part[m.member], (m.params, m.prior))
        Q = self.outputs(params, x) + self.prior_scale * self.outputs(prior, x)
        return SHARP * Q, 0.0 * Q

    def greedy(self, m: Memory, x: Array) -> Array:
        return self.values(m.target, m.prior, x).mean(axis=0)

    def loss(self, params: Any, m: Memory, steps: Steps, beside: Array) -> Array:
        V = jnp.max(self.values(m.target, m.prior, steps.after) + beside, axis=-1)
        y = steps.reward / m.largest + self.discount * (1.0 - steps.terminal) * V
        Q = jnp.take_along_axis(self.values(params, m.prior, steps.x), steps.action[None, :, None], axis=-1)[..., 0]
        return 0.5 * jnp.sum(jnp.mean((Q - jax.lax.stop_gradient(y)) ** 2, axis=-1))

    def noticed(self, m: Memory, block: Steps, weight: Array) -> Memory:
        return m._replace(largest=jnp.maximum(m.largest, jnp.max(weight * jnp.abs(block.reward))))


@dataclass(frozen=True)
class EnsembleKLearning(BootstrappedDQN):
    """The same ensemble, acting by what its members do not agree on."""

    prior_scale: float = 3.0  # fitted as well
    temperature_rate: float = 0.3

    diagnostics: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "c", "loss")

    def policy(self, m: Memory, x: Array) -> tuple[Array, Array]:
        Q, tau = self.values(m.params, m.prior, x), network.module_of(x).exp(m.log_tau)
        c = 0.5 * Q.var(axis=0)
        return (Q.mean(axis=0) + c / tau) / tau, c

    def concluded(self, m: Memory, numbers: Array) -> Memory:
        tau = jnp.exp(m.log_tau)
        entropy, bonus = tau * numbers[0], numbers[1] / tau
        return m._replace(log_tau=m.log_tau - self.temperature_rate * (entropy - bonus) / (entropy + bonus + 1e-30))
