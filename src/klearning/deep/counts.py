"""Visit counts for continuous observations: hashed tile coding, and the uncertainty that follows from the counts.

Each of several tilings cuts the space of features into cubes, shifted against those of the others, and hashes a cube to
one of a few thousand tiles. Features of a Discrete space, or of bits, have cubes of their own, and so exact counts up
to collisions; a single integer is counted by itself.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from klearning.deep.network import module_of, whole

BITS = 32

Value = Callable[[Array, Array, Array], Array]  # of visits, sums and squares


class Tiles(NamedTuple):
    """The tilings of features; empty for an integer."""

    per_unit: Array  # cubes per unit of a feature
    shift: Array  # (tilings, features), in cubes
    factor: Array  # (tilings, features), odd whole numbers of 32 bits: the hash is their sum times the cube's, shifted


class Counts(NamedTuple):
    """Per tile and action, for the tiles of all tilings."""

    visits: Array
    sums: Array  # of rewards
    squares: Array
    c: Array  # half the posterior variance of a mean reward


def new_tiles(key: Array, features: int, tilings: int, per_unit: float) -> Tiles:
    """Randomly shifted tilings."""
    for_shift, for_factor = jax.random.split(key)
    shift = jax.random.uniform(for_shift, (tilings, features))
    factor = jax.random.bits(for_factor, (tilings, features), jnp.uint32) | jnp.uint32(1)
    return Tiles(jnp.full((), per_unit), shift, factor)


def new_counts(places: int, actions: int, sd: float) -> Counts:
    zero = jnp.zeros((places, actions))
    return Counts(zero, zero, zero, jnp.full_like(zero, 0.5 * sd**2))


def places(tiles: Tiles, counts: Counts, x: Array, first: int | None = None) -> Array:
    """(…, tilings) tiles of features, or of integers; of the first tilings, or of all."""
    if whole(x):
        return x[..., None]
    numpy = module_of(x)
    tilings = tiles.shift.shape[0]
    each = counts.c.shape[0] // tilings  # a power of two
    cubes = numpy.floor(x[..., None, :] * tiles.per_unit + tiles.shift[:first]).astype(jnp.int32).astype(jnp.uint32)
    hashed = numpy.add.reduce(cubes * tiles.factor[:first], axis=-1, dtype=jnp.uint32)
    kept = each.bit_length() - 1
    return (hashed >> (BITS - kept)).astype(jnp.int32) + each * numpy.arange(hashed.shape[-1])


def mean_at(table: Array, at: Array) -> Array:
    """The mean of a table over the tiles (…, tilings)."""
    tilings = at.shape[-1]
    if isinstance(at, np.ndarray):
        return np.add.reduce(table[at], axis=-2) / tilings
    # XLA looks them up one after the other three times as fast as all at once
    return sum((table[at[..., k]] for k in range(1, tilings)), start=table[at[..., 0]]) / tilings


def counted(counts: Counts, at: Array, action: Array, reward: Array, weight: Array) -> Counts:
    """The counts with visits of these tiles (steps, tilings) of weight 0 or 1 added; c unchanged."""
    a, w, r = action[:, None], weight[:, None], (weight * reward)[:, None]
    visits, sums = counts.visits.at[at, a].add(w), counts.sums.at[at, a].add(r)
    return counts._replace(visits=visits, sums=sums, squares=counts.squares.at[at, a].add(r * reward[:, None]))


def valued(counts: Counts, at: Array, action: Array, c: Value, everywhere: Array) -> Counts:
    """The counts with c recomputed for these tiles, or for all tiles if ``everywhere``."""
    a, n, sums, squares = action[:, None], *counts[:3]
    here = counts.c.at[at, a].set(c(n[at, a], sums[at, a], squares[at, a]))
    return counts._replace(c=jax.lax.cond(everywhere, lambda: c(n, sums, squares), lambda: here))


def half_variance(n: Array, sums: Array, squares: Array, sd: float, noise: float, strength: float) -> Array:
    """c = ½σ²/(n + σ²/sd²), half the variance of a mean reward after n visits.

    σ² is estimated per tile, from the assumed noise, as if seen ``strength`` times, and the spread of rewards. One
    reward has no spread: until there are two, σ is sd. Otherwise a tile with rare rewards would be given up after one
    bad reward.
    """
    spread = jnp.maximum(squares - sums**2 / jnp.maximum(n, 1.0), 0.0)
    variance = jnp.where(n < 2.0, sd**2, (strength * noise**2 + spread) / (strength + n - 1.0))
    return 0.5 * variance / (n + variance / sd**2)
