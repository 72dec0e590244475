"""Visit counts for any observation: hashed tiles in several scales, and the uncertainty that follows from the counts.

A tiling takes PROJECTIONS random projections of the features z (`scaling.py`), cuts each into intervals, and hashes
their numbers to one of a few thousand tiles: random projections keep near points near and far ones apart (Datar et al.,
2004). There are several tilings, in each of several scales:

    tile(z) = hash(⌊w · z + shift⌋),   w = per_unit · N(0, 1/features),   per_unit = 1, ½, ¼, 0

In the finest scale each one-hot vector has tiles of its own, so that its counts are exact; in the coarsest all
observations share one. **In use is the finest scale in which at least 70% of the recent steps are to tiles seen
before.** If observations repeat, as in a table, that is the finest; if they never do, as pictures of a game, it is a
coarser one, which becomes finer as more is seen. Tiles that are known by chance, because most are taken, do not count
as seen. A single integer is counted by itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from klearning.deep.network import module_of, whole

BITS = 32
SCALES = (1.0, 0.5, 0.25, 0.0)  # intervals per unit; at 1 two one-hot vectors share a tile once in 40,000 times
PER_UNIT = np.asarray(SCALES, np.float32)
PROJECTIONS = 8
RECENT = 1000.0  # steps
ENOUGH = 0.7  # share of repeats

Value = Callable[[Array, Array, Array], Array]  # of visits, sums and squares


class Tilings(NamedTuple):
    """Empty for an integer."""

    direction: Array  # (features, tilings · PROJECTIONS)
    shift: Array  # (tilings, PROJECTIONS), in intervals
    factor: Array  # (tilings, PROJECTIONS), odd whole numbers of 32 bits: the hash is their sum times the numbers
    repeats: Array  # (scales,): the share of recent steps that were to tiles seen before
    scale: Array  # the number of the one in use


class Counts(NamedTuple):
    """Per tile and action, for the tiles of all tilings."""

    visits: Array
    sums: Array  # of rewards
    squares: Array
    c: Array  # half the posterior variance of a mean reward


def new_tilings(key: Array, features: int, tilings: int) -> Tilings:
    for_direction, for_shift, for_factor = jax.random.split(key, 3)
    shape, scales = (tilings, PROJECTIONS), len(SCALES)
    direction = jax.random.normal(for_direction, (features, tilings * PROJECTIONS)) / max(features, 1) ** 0.5
    factor = jax.random.bits(for_factor, shape, jnp.uint32) | jnp.uint32(1)
    coarsest = jnp.full((), scales - 1, jnp.int32)
    return Tilings(direction, jax.random.uniform(for_shift, shape), factor, jnp.zeros(scales), coarsest)


def new_counts(tiles: int, actions: int, sd: float) -> Counts:
    zero = jnp.zeros((tiles, actions))
    return Counts(zero, zero, zero, jnp.full_like(zero, 0.5 * sd**2))


def tiles_of(tilings: Tilings, counts: Counts, z: Any, scale: Any = None) -> Any:
    """(…, tilings) tiles of features, or of integers; in the scale in use, or in another one."""
    if whole(z):
        return z[..., None]
    numpy, scale = module_of(z), tilings.scale if scale is None else scale
    count = tilings.shift.shape[0]
    each = counts.c.shape[0] // (len(SCALES) * count)  # a power of two
    per_unit = PER_UNIT[scale] if isinstance(z, np.ndarray) else jnp.asarray(PER_UNIT)[scale]
    along = (z @ tilings.direction).reshape(*z.shape[:-1], *tilings.shift.shape)
    numbers = numpy.floor(along * per_unit + tilings.shift).astype(jnp.int32).astype(jnp.uint32)
    hashed = numpy.add.reduce(numbers * tilings.factor, axis=-1, dtype=jnp.uint32)
    first = each * (numpy.arange(count) + count * scale)
    return (hashed >> (BITS - each.bit_length() + 1)).astype(jnp.int32) + first


def tiles_in_all_scales(tilings: Tilings, counts: Counts, z: Array) -> Array:
    """(…, scales · tilings)."""
    if whole(z):
        return z[..., None]
    return jnp.concatenate([tiles_of(tilings, counts, z, i) for i in range(len(SCALES))], axis=-1)


def with_scale(tilings: Tilings, counts: Counts, at: Array, weight: Array, steps: Array) -> Tilings:
    """The scale in use after new steps to the tiles (…, scales · tilings), not yet counted; ``steps`` with them."""
    scales, seen = len(SCALES), counts.visits.sum(axis=-1) > 0
    by_chance = seen.reshape(scales, -1).mean(axis=-1).at[-1].set(0.0)  # the coarsest has one tile
    known = seen[at].reshape(len(at), scales, -1).mean(axis=-1)
    share = jnp.clip((known - by_chance) / jnp.maximum(1.0 - by_chance, 1e-6), 0.0, 1.0)
    change = (weight[:, None] * (share - tilings.repeats)).sum(axis=0)
    repeats = tilings.repeats + change / jnp.clip(steps, 1.0, RECENT)
    enough = (repeats >= ENOUGH).at[-1].set(True)
    return tilings._replace(repeats=repeats, scale=enough.argmax().astype(jnp.int32))


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
