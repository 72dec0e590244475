"""What was seen, step by step, in a ring: the newest overwrites the oldest."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Steps(NamedTuple):
    """Steps of episodes, along the first axis."""

    x: Array  # features of what was seen
    action: Array
    reward: Array
    after: Array  # features of what came after it
    terminal: Array  # 1 where nothing can come after that
    allowed: Array  # (actions,): 1 where an action may be taken after it


def empty(capacity: int, like: Array, actions: int) -> Steps:
    """Room for so many, with features of the kind given."""
    x = jnp.zeros((capacity, *like.shape), like.dtype)
    return Steps(
        x, jnp.zeros(capacity, jnp.int32), jnp.zeros(capacity), jnp.zeros_like(x), jnp.zeros(capacity),
        jnp.ones((capacity, actions)),
    )  # fmt: skip


def written(ring: Steps, block: Steps, first: Array, count: Array) -> Steps:
    """With the first ``count`` steps of a block in the places from ``first`` on."""
    size, length = ring.reward.shape[0], block.reward.shape[0]
    number = jnp.arange(length)
    at = jnp.where(number < count, (first + number) % size, size)  # what is beyond the end is dropped
    return Steps(*(old.at[at].set(new, mode="drop") for old, new in zip(ring, block, strict=True)))


def sampled(ring: Steps, seen: Array, key: Array, shape: tuple[int, ...]) -> Steps:
    """Steps drawn evenly, with replacement, from all that are still there."""
    u = jax.random.uniform(key, shape)
    at = (u * jnp.minimum(seen, ring.reward.shape[0])).astype(jnp.int32)
    return Steps(*(part[at] for part in ring))
