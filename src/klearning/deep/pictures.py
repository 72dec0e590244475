"""A network for pictures: filters of 3 × 3 pixels, then layers, as in the paper of MinAtar (Young and Tian, 2019)."""

from functools import cache
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from klearning.deep import network
from klearning.deep.network import Pair
from klearning.numerics import checks

SIDE = 3


@cache
def convolutions(
    shape: tuple[int, int, int], actions: int, filters: int = 16, hidden: tuple[int, ...] = (128,), stride: int = 1
) -> Pair:
    """``network=convolutions(env.observation_space.shape, env.action_space.n)``: of (rows, columns, channels).

    A ``stride`` of 2 or more skips pixels, for large pictures.
    """
    if len(shape) != 3 or min(shape[:2]) < SIDE:
        raise ValueError(f"shape={shape!r} is not a picture: give (rows, columns, channels), at least {SIDE} × {SIDE}")
    rows, columns, channels = (checks.whole("shape", n) for n in shape)
    steps = checks.whole("stride", stride)
    seen = (-(-(rows - SIDE + 1) // steps), -(-(columns - SIDE + 1) // steps), checks.whole("filters", filters))

    def init(key: Array, x: Array) -> dict[str, Any]:
        for_filters, for_layers = jax.random.split(key)
        inputs = SIDE * SIDE * channels
        filter_ = jax.random.truncated_normal(for_filters, -2.0, 2.0, (SIDE, SIDE, channels, filters)) / inputs**0.5
        return {
            "filters": filter_,
            "bias": jnp.zeros(filters),
            "layers": network.initial(for_layers, (prod(seen), *hidden, actions)),
        }

    def apply(params: dict[str, Any], x: Array) -> Array:
        pictures = x.reshape(-1, rows, columns, channels)
        form = ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(pictures, params["filters"], (steps, steps), "VALID", dimension_numbers=form)
        return network.values(params["layers"], jax.nn.relu(h + params["bias"]).reshape(len(pictures), -1), True)

    return init, apply
