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


def sides(shape: tuple[int, int, int]) -> tuple[int, int]:
    """Rows and columns: the first number, or the last, is of channels, whichever is less."""
    return shape[1:] if shape[0] < shape[2] else shape[:2]


def picture_of(space: spaces.Space[Any]) -> tuple[int, int, int] | None:
    """The shape of a space of pictures; None for all others."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 3:
        return None
    rows, columns, channels = space.shape
    return (rows, columns, channels) if min(sides((rows, columns, channels))) >= SIDE else None


def filtered(h: Array, weight: Array, stride: int) -> Array:
    """Filters (3, 3, channels, filters) at every pixel with neighbours, or at every second one with zeros around.

    A matrix product with the 9 pixels of each place is faster than XLA's convolutions on a CPU, and far faster on a
    GPU if several networks learn at once.
    """
    if stride > 1:
        around = [max(-(-n // stride) * stride - stride + SIDE - n, 0) for n in h.shape[1:3]]
        h = jnp.pad(h, ((0, 0), *((n // 2, n - n // 2) for n in around), (0, 0)))
    rows, columns = (n - SIDE + 1 for n in h.shape[1:3])
    places = [h[:, i : i + rows : stride, j : j + columns : stride] for i in range(SIDE) for j in range(SIDE)]
    return jnp.concatenate(places, axis=-1) @ weight.reshape(-1, weight.shape[-1])


@cache
def convolutions(
    shape: tuple[int, int, int], actions: int, filters: int = 16, hidden: tuple[int, ...] = (128,)
) -> Pair:
    """``network=convolutions(env.observation_space.shape, env.action_space.n)``: what pictures get by themselves.

    Shapes are (rows, columns, channels), or (channels, rows, columns) if the first number is the least.
    """
    if len(shape) != 3 or min(sides(shape)) < SIDE:
        raise ValueError(f"shape={shape!r} is not a picture: give (rows, columns, channels), at least {SIDE} × {SIDE}")
    for n in shape:
        checks.whole("shape", n)
    first, seen = shape[0] < shape[2], list(sides(shape))
    many, inputs = checks.whole("filters", filters), [min(shape[0], shape[2])]
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
        h = x.reshape(-1, *shape)
        h = jnp.moveaxis(h, 1, -1) if first else h
        for layer, stride in zip(params["filters"], strides, strict=True):
            h = jax.nn.relu(filtered(h, layer["weight"], stride) + layer["bias"])
        return network.values(params["layers"], h.reshape(len(h), -1), True)

    return init, apply
