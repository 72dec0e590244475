"""A multilayer perceptron as a plain pytree: one {"weight", "bias"} per layer, rectified except for the last.

Before rectification the units of a layer may be normalised, to mean 0 and variance 1 over the layer: the inputs of the
next layer then keep their scale, however large weights become.

Batches are computed by JAX. Acting is computed by NumPy, on a copy of the parameters: it takes a few microseconds, and
a call of a compiled JAX program dozens. Both run the same code.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Parameters = list[dict[str, Array]]
Pair = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]  # init(key, x): parameters; apply(them, x): values

LEAST = 1e-5  # added to the variance of a layer's units


def initial(key: Array, sizes: tuple[int, ...]) -> Parameters:
    """Weights of variance 1/(inputs of the layer), truncated at two standard deviations; zero biases."""
    layers = zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True)
    return [
        {"weight": jax.random.truncated_normal(k, -2.0, 2.0, (rows, columns)) / rows**0.5, "bias": jnp.zeros(columns)}
        for k, rows, columns in layers
    ]


def module_of(x: Any) -> Any:
    """NumPy for a NumPy array, else jax.numpy."""
    return np if isinstance(x, np.ndarray) else jnp


def whole(x: Any) -> bool:
    """Whether x holds integers, not features."""
    return bool(x.dtype.kind == "i")


def values(params: Parameters, x: Array, normal: bool) -> Array:
    """W(x, ·), (…, actions). Integers stand for scaled unit vectors: they select rows of weights.

    Parameters with a first axis, for several networks, give values with that axis; only for a single NumPy x.
    """
    first, *rest = params
    inputs = first["weight"].shape[-2]
    h = first["weight"][..., x, :] * inputs**0.5 if whole(x) else x @ first["weight"]
    h = h + first["bias"]
    for layer in rest:
        h = product(rectified(normalised(h) if normal else h), layer["weight"]) + layer["bias"]
    return h


def normalised(h: Any) -> Any:
    """h with mean 0 and variance 1 along the last axis."""
    total = partial(module_of(h).add.reduce, axis=-1, keepdims=True)  # twice as fast as methods
    units = h.shape[-1]
    h = h - total(h) / units
    return h * (total(h * h) / units + LEAST) ** -0.5


def rectified(h: Any) -> Any:
    return np.maximum(h, 0.0) if isinstance(h, np.ndarray) else jax.nn.relu(h)


def product(h: Any, weight: Any) -> Any:
    """h @ weight, for one network or for several."""
    return h @ weight if weight.ndim == 2 else (h[..., None, :] @ weight)[..., 0, :]


def of_action(values: Array, action: Array) -> Array:
    """Of (…, actions) those of the actions."""
    return jnp.take_along_axis(values, action[..., None], axis=-1)[..., 0]


def squared_error(values: Array, action: Array, targets: Array) -> Array:
    """Half the mean square of the difference of the values of the actions from their targets."""
    return 0.5 * jnp.mean((of_action(values, action) - targets) ** 2)


def checked_pair(pair: Any) -> Pair | None:
    """None, or two functions: those of a Flax, Haiku or Equinox module."""
    if pair is None or (isinstance(pair, tuple | list) and len(pair) == 2 and all(map(callable, pair))):
        return None if pair is None else (pair[0], pair[1])
    raise ValueError(f"network={pair!r} is not a pair of functions: give (init, apply), such as those of a Flax module")


@partial(jax.jit, static_argnums=0)
def compiled(apply: Callable[[Any, Array], Array], params: Any, x: Array) -> Array:
    return apply(params, x)


def applied(apply: Callable[[Any, Array], Array], params: Any, x: Any) -> Any:
    """Of a network of one's own, which is given rows of features."""
    if isinstance(x, np.ndarray):
        return np.asarray(compiled(apply, params, x[None]))[0]
    flat = apply(params, x.reshape(-1, x.shape[-1]))
    return flat.reshape(*x.shape[:-1], -1)
