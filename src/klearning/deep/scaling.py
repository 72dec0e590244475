"""Features in the units in which networks see them: normalised by what was observed.

    z = (x − mean) / sd       of a feature that takes many values; its mean and sd as if it had been seen PRIOR times
                              before, with mean 0 and sd 1
    z = x / √(mean x²)        of features that were only ever 0 or one other value, such as bits and one-hot
                              vectors; the mean is over all of them together

Centring a one-hot vector would add nearly the same vector everywhere, in which the one that differs is lost. Scaling
its parts one by one would blow up those that are rarely seen.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from klearning.deep.network import whole

PRIOR = 100.0  # steps


class Scaling(NamedTuple):
    """Per feature, of the steps so far; integers have none."""

    mean: Array
    variance: Array
    other: Array  # the first value that is not 0
    binary: Array  # 1 if no third value was seen
    centre: Array
    gain: Array  # z = (x − centre) · gain


def new_scaling(like: Array) -> Scaling:
    zero, one = jnp.zeros(like.shape), jnp.ones(like.shape)
    return Scaling(zero, one, zero, one, zero, one)


def scaled(scaling: Scaling, x: Any) -> Any:
    """z; integers as they are."""
    return x if whole(x) else (x - scaling.centre) * scaling.gain


def updated(scaling: Scaling, x: Array, weight: Array, seen: Array) -> Scaling:
    """With the rows of x that have weight 1, after ``seen`` others."""
    if whole(x):
        return scaling
    w, n, before = weight[:, None], weight.sum(), PRIOR + seen
    total = before + n
    here = (w * x).sum(axis=0) / jnp.maximum(n, 1.0)
    spread = (w * (x - here) ** 2).sum(axis=0)
    away = here - scaling.mean
    mean = scaling.mean + away * n / total
    variance = (before * scaling.variance + spread + away**2 * before * n / total) / total
    largest = (w * x)[jnp.abs(w * x).argmax(axis=0), jnp.arange(x.shape[1])]
    other = jnp.where(scaling.other == 0.0, largest, scaling.other)
    binary = scaling.binary * jnp.all((w == 0.0) | (x == 0.0) | (x == other), axis=0)
    squares = binary * other * mean * total / jnp.maximum(seen + n, 1.0)  # x² is other · x
    square = squares.sum() / jnp.maximum(binary.sum(), 1.0)
    common = jnp.where(square > 0.0, square, 1.0) ** -0.5
    gain = jnp.where(binary > 0.0, common, variance**-0.5)
    return Scaling(mean, variance, other, binary, jnp.where(binary > 0.0, 0.0, mean), gain)
