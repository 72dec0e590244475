"""Visits where observations have no number: counts of hashed tiles, and what they say of what is not yet known.

Each of several tilings cuts the space of features into cubes, shifted against those of the others, and hashes a cube
to one of a few thousand places. Features of a Discrete space, or of anything that is 0 or 1, have cubes of their own,
and so exact counts up to collisions; a single whole number is counted by itself.
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
    """How features are cut; empty for a whole number."""

    per_unit: Array  # cubes per unit of a feature
    shift: Array  # (tilings, features), in cubes
    factor: Array  # (tilings, features), odd whole numbers of 32 bits: the hash is their sum times the cube's, shifted


class Counts(NamedTuple):
    """Per place and action; places of all tilings one after the other."""

    visits: Array
    sums: Array  # of rewards
    squares: Array
    c: Array  # half the variance of a mean reward, by these


def new_tiles(key: Array, features: int, tilings: int, per_unit: float) -> Tiles:
    """Tilings that are shifted at random."""
    for_shift, for_factor = jax.random.split(key)
    shift = jax.random.uniform(for_shift, (tilings, features))
    factor = jax.random.bits(for_factor, (tilings, features), jnp.uint32) | jnp.uint32(1)
    return Tiles(jnp.full((), per_unit), shift, factor)


def new_counts(places: int, actions: int, sd: float) -> Counts:
    zero = jnp.zeros((places, actions))
    return Counts(zero, zero, zero, jnp.full_like(zero, 0.5 * sd**2))


def places(tiles: Tiles, counts: Counts, x: Array) -> Array:
    """(…, tilings) places of features, or of whole numbers."""
    if whole(x):
        return x[..., None]
    numpy = module_of(x)
    tilings = tiles.shift.shape[0]
    each = counts.c.shape[0] // tilings  # a power of two
    cubes = numpy.floor(x[..., None, :] * tiles.per_unit + tiles.shift).astype(jnp.int32).astype(jnp.uint32)
    hashed = numpy.add.reduce(cubes * tiles.factor, axis=-1, dtype=jnp.uint32)
    kept = each.bit_length() - 1
    return (hashed >> (BITS - kept)).astype(jnp.int32) + each * numpy.arange(tilings)


def mean_at(table: Array, at: Array) -> Array:
    """Of a table of places, the mean over the tilings of places (…, tilings)."""
    tilings = at.shape[-1]
    if isinstance(at, np.ndarray):
        return np.add.reduce(table[at], axis=-2) / tilings
    # XLA looks up one after the other, three times as fast as all at once
    return sum((table[at[..., k]] for k in range(1, tilings)), start=table[at[..., 0]]) / tilings


def counted(counts: Counts, at: Array, action: Array, reward: Array, weight: Array) -> Counts:
    """With visits of these places (steps, tilings) added, each as often as its weight says, 0 or 1; c as before."""
    a, w, r = action[:, None], weight[:, None], (weight * reward)[:, None]
    visits, sums = counts.visits.at[at, a].add(w), counts.sums.at[at, a].add(r)
    return counts._replace(visits=visits, sums=sums, squares=counts.squares.at[at, a].add(r * reward[:, None]))


def valued(counts: Counts, at: Array, action: Array, c: Value, everywhere: Array) -> Counts:
    """With c of these places by the counts of now; of all places where ``everywhere`` says so."""
    a, n, sums, squares = action[:, None], *counts[:3]
    here = counts.c.at[at, a].set(c(n[at, a], sums[at, a], squares[at, a]))
    return counts._replace(c=jax.lax.cond(everywhere, lambda: c(n, sums, squares), lambda: here))


def half_variance(n: Array, sums: Array, squares: Array, sd: float, noise: float, strength: float) -> Array:
    """c = ½σ²/(n + σ²/sd²), half the variance of a mean reward after n visits.

    σ² is a place's own: the noise that is assumed, as if seen ``strength`` times, and the spread of rewards there. One
    reward has no spread: until there are two, σ is sd, or a place that pays well now and then would be given up after
    one bad reward.
    """
    spread = jnp.maximum(squares - sums**2 / jnp.maximum(n, 1.0), 0.0)
    variance = jnp.where(n < 2.0, sd**2, (strength * noise**2 + spread) / (strength + n - 1.0))
    return 0.5 * variance / (n + variance / sd**2)
