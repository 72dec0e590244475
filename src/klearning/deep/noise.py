"""Posterior variance by regression on noise: how much is still unknown, for observations that never repeat.

A network with several heads per action learns nothing but noise. Head k is a fixed random function p_k with mean square
1 over the heads, plus a learned one f_k that begins at 0. Every remembered step i has coins e_ik = ±1 of its own:

    minimise  mean_k (p_k(s,a) + f_k(s,a) − (σ/sd) e_ik)²  over remembered steps
    u(s,a) = min(1, mean_k (p_k(s,a) + f_k(s,a))²)

For a table, u is σ²/(n sd²) in expectation, or 1 if n = 0: the posterior variance of a mean reward after n visits, in
units of the prior's, up to a factor of 1 + σ²/(n sd²) (Osband, Aslanides and Cassirer, 2018: a regression with random
priors and noisy targets draws from the posterior; here the data are 0, and f is not regularised). Elsewhere it is the
posterior variance under the network's own kernel: it falls near what was seen and stays near 1 far away. For that, both
functions see cosines of random projections of z (Rahimi and Recht, 2007): layers of normalised units alone forget how
far away a point is. With σ = 0 it is
random network distillation (Burda et al., 2018), with σ = sd and p = 0 it is coin-flip counting (Lobel et al., 2023).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from klearning.deep import network
from klearning.deep.network import Parameters, module_of

HEADS = 16  # per action: the mean of their squares has a relative standard error of √(2/16)
WAVES = 128  # cosines
WIDTH = 64  # of the hidden layer
FREQUENCY = 2.0  # points that differ by √2 standard deviations in every feature have correlation exp(−FREQUENCY²)


class Noise(NamedTuple):
    """The network; both parts may be `stacked` along a first axis, for single observations."""

    waves: Any  # one layer
    prior: Any
    learned: Any


def new_noise(key: Array, features: int, actions: int) -> Noise:
    keys = jax.random.split(key, 4)
    weight = jax.random.normal(keys[0], (features, WAVES)) * FREQUENCY / features**0.5
    waves = {"weight": weight, "bias": jax.random.uniform(keys[1], (WAVES,), maxval=2.0 * jnp.pi)}
    prior, learned = (network.initial(k, (WAVES, WIDTH, actions * HEADS)) for k in keys[2:])
    learned[-1]["weight"] = jnp.zeros_like(learned[-1]["weight"])
    return Noise(waves, prior, learned)


def wave_features(waves: Any, z: Any) -> Any:
    """What both parts see: √2 cos of random projections."""
    return 2.0**0.5 * module_of(z).cos(z @ waves["weight"] + waves["bias"])


def heads(params: Parameters, h: Any) -> Any:
    """(…, actions, heads)."""
    flat = network.values(params, h, True)
    return flat.reshape(*flat.shape[:-1], -1, HEADS)


def stacked(noise: Noise) -> Noise:
    return noise._replace(prior=jax.tree.map(lambda *parts: jnp.stack(parts), noise.prior, noise.learned), learned=None)


def normalised(p: Any) -> Any:
    """With mean square 1 over the heads."""
    return p * (module_of(p).add.reduce(p * p, axis=-1, keepdims=True) / HEADS + 1e-12) ** -0.5


def remaining(noise: Noise, z: Any) -> Any:
    """u(z, ·), (…, actions)."""
    numpy, h = module_of(z), wave_features(noise.waves, z)
    p, f = heads(noise.prior, h) if noise.learned is None else (heads(noise.prior, h), heads(noise.learned, h))
    both = normalised(p) + f
    return numpy.minimum(numpy.add.reduce(both * both, axis=-1) / HEADS, 1.0)


def coins(at: Array) -> Array:
    """±1 for each head of the steps in these places of the replay buffer, (…, heads): always the same."""
    h = (at[..., None] * HEADS + jnp.arange(HEADS)).astype(jnp.uint32)
    for factor in (0x85EBCA6B, 0xC2B2AE35):  # MurmurHash3's last steps
        h = (h ^ (h >> 16)) * jnp.uint32(factor)
    return 1.0 - 2.0 * ((h ^ (h >> 16)) & 1).astype(jnp.float32)


def targets(noise: Noise, z: Array, action: Array, at: Array, scale: Any) -> tuple[Array, Array]:
    """What f sees, and what it is to be for the actions taken: (σ/sd) e − p, (…, heads)."""
    h = wave_features(noise.waves, z)
    return h, scale * coins(at) - taken(normalised(heads(noise.prior, h)), action)


def loss(learned: Parameters, action: Array, targets: tuple[Array, Array]) -> Array:
    h, residual = targets
    return 0.5 * jnp.mean((taken(heads(learned, h), action) - residual) ** 2)


def taken(values: Array, action: Array) -> Array:
    """Of (…, actions, heads) those of the actions."""
    return jnp.take_along_axis(values, action[..., None, None], axis=-2)[..., 0, :]
