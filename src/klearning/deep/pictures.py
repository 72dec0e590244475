"""A network for pictures: filters of 3 × 3 pixels, then layers, as in the paper of MinAtar (Young and Tian, 2019).

A picture of more than 12 rows or columns is halved by filters of stride 2 until it is that small.
"""

from functools import cache
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from gymnasium import spaces
from jax import Array

from klearning.deep import network
from klearning.deep.network import Pair
from klearning.numerics import checks

SIDE = 3  # pixels of a filter
SMALL = 12  # rows and columns that need not be halved
FORM = ("NHWC", "HWIO", "NHWC")


def picture_of(space: spaces.Space[Any]) -> tuple[int, int, int] | None:
    """The shape of a space of pictures; None for all others."""
    if isinstance(space, spaces.Box) and len(space.shape) == 3 and sorted(space.shape)[1] >= SIDE:
        rows, columns, channels = space.shape
        return rows, columns, channels
    return None


@cache
def convolutions(
    shape: tuple[int, int, int], actions: int, filters: int = 16, hidden: tuple[int, ...] = (128,)
) -> Pair:
    """``network=convolutions(env.observation_space.shape, env.action_space.n)``: what pictures get by themselves.

    Shapes are (rows, columns, channels), or (channels, rows, columns) if the first number is the least.
    """
    if len(shape) != 3 or sorted(shape)[1] < SIDE:
        raise ValueError(f"shape={shape!r} is not a picture: give (rows, columns, channels), at least {SIDE} × {SIDE}")
    sizes = tuple(checks.whole("shape", n) for n in shape)
    first = sizes[0] < sizes[2]
    *seen, channels = (*sizes[1:], sizes[0]) if first else sizes
    many, inputs = checks.whole("filters", filters), [channels]
    strides: list[int] = []
    while max(seen) > SMALL:
        seen, strides, inputs = [-(-n // 2) for n in seen], [*strides, 2], [*inputs, many]
    seen, strides = [n - SIDE + 1 for n in seen], [*strides, 1]

    def init(key: Array, x: Array) -> dict[str, Any]:
        for_layers, *keys = jax.random.split(key, 1 + len(inputs))
        shapes = [(SIDE, SIDE, n, many) for n in inputs]
        return {
            "filters": [
                {"weight": jax.random.truncated_normal(k, -2.0, 2.0, shape) / prod(shape[:3]) ** 0.5,
                 "bias": jnp.zeros(many)}
                for k, shape in zip(keys, shapes, strict=True)
            ],
            "layers": network.initial(for_layers, (many * prod(seen), *hidden, actions)),
        }  # fmt: skip

    def apply(params: dict[str, Any], x: Array) -> Array:
        h = x.reshape(-1, *sizes)
        h = jnp.moveaxis(h, 1, -1) if first else h
        for layer, stride in zip(params["filters"], strides, strict=True):
            edges = "SAME" if stride > 1 else "VALID"
            h = jax.lax.conv_general_dilated(h, layer["weight"], (stride, stride), edges, dimension_numbers=FORM)
            h = jax.nn.relu(h + layer["bias"])
        return network.values(params["layers"], h.reshape(len(h), -1), True)

    return init, apply
