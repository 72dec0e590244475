"""A multilayer perceptron as a plain pytree: one {"weight", "bias"} per layer, rectified except for the last."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

Parameters = list[dict[str, Array]]


def initial(key: Array, sizes: tuple[int, ...]) -> Parameters:
    """Weights of variance 1/(inputs of the layer), cut off at two standard deviations; no biases."""
    layers = zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True)
    return [
        {"weight": jax.random.truncated_normal(k, -2.0, 2.0, (rows, columns)) / rows**0.5, "bias": jnp.zeros(columns)}
        for k, rows, columns in layers
    ]


def values(params: Parameters, x: Array) -> Array:
    """W(x, ·), (…, actions). Whole numbers stand for unit vectors of unit mean square: they choose rows of weights."""
    first, *rest = params
    inputs = first["weight"].shape[0]
    h = first["weight"][x] * inputs**0.5 if jnp.issubdtype(x.dtype, jnp.integer) else x @ first["weight"]
    h = h + first["bias"]
    for layer in rest:
        h = jax.nn.relu(h) @ layer["weight"] + layer["bias"]
    return h


def moved(target: Any, params: Any, share: float) -> Any:
    """Polyak's average: the target, a share of the way to the parameters."""
    return jax.tree.map(lambda old, new: old + share * (new - old), target, params)
