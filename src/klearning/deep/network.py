"""A multilayer perceptron as a plain pytree: one {"weight", "bias"} per layer, rectified except for the last.

Before they are rectified, the units of a layer may be normalised, to mean 0 and variance 1 over the layer: however far
weights wander, what the next layer sees stays of one size.

Batches are computed by JAX. A single step that acts is computed by NumPy, on a copy of the parameters: it takes a few
microseconds there, and each call of a compiled program takes dozens. The lines are the same for both.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Parameters = list[dict[str, Array]]

LEAST = 1e-5  # added to the variance of a layer's units


def initial(key: Array, sizes: tuple[int, ...]) -> Parameters:
    """Weights of variance 1/(inputs of the layer), cut off at two standard deviations; no biases."""
    layers = zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True)
    return [
        {"weight": jax.random.truncated_normal(k, -2.0, 2.0, (rows, columns)) / rows**0.5, "bias": jnp.zeros(columns)}
        for k, rows, columns in layers
    ]


def module_of(x: Any) -> Any:
    """NumPy where that is an array of NumPy's, else JAX's."""
    return np if isinstance(x, np.ndarray) else jnp


def whole(x: Any) -> bool:
    """Whether these are whole numbers that stand for themselves, and not features."""
    return bool(x.dtype.kind == "i")


def values(params: Parameters, x: Array, normal: bool) -> Array:
    """W(x, ·), (…, actions). Whole numbers stand for unit vectors of unit mean square: they choose rows of weights.

    Parameters of several networks at once, along a first axis, have values along it; for a single x of NumPy's.
    """
    first, *rest = params
    inputs = first["weight"].shape[-2]
    h = first["weight"][..., x, :] * inputs**0.5 if whole(x) else x @ first["weight"]
    h = h + first["bias"]
    for layer in rest:
        h = product(rectified(normalised(h) if normal else h), layer["weight"]) + layer["bias"]
    return h


def normalised(h: Any) -> Any:
    """With mean 0 and variance 1 along the last axis."""
    total, units = partial(module_of(h).add.reduce, axis=-1, keepdims=True), h.shape[-1]  # methods take twice as long
    h = h - total(h) / units
    return h * (total(h * h) / units + LEAST) ** -0.5


def rectified(h: Any) -> Any:
    return np.maximum(h, 0.0) if isinstance(h, np.ndarray) else jax.nn.relu(h)


def product(h: Any, weight: Any) -> Any:
    """h @ weight, or of each of several networks its own."""
    return h @ weight if weight.ndim == 2 else (h[..., None, :] @ weight)[..., 0, :]
