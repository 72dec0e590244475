"""The replay buffer: steps in a ring, the newest overwrites the oldest."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Steps(NamedTuple):
    """Steps of episodes, along the first axis."""

    x: Array  # features of the observation
    action: Array
    reward: Array
    after: Array  # features of the next observation
    terminal: Array  # 1 if that ended the episode for good
    allowed: Array  # (actions,): 1 if an action is allowed next


def empty(capacity: int, like: Array, actions: int) -> Steps:
    """An empty buffer for ``capacity`` steps with features like these."""
    x = jnp.zeros((capacity, *like.shape), like.dtype)
    return Steps(
        x, jnp.zeros(capacity, jnp.int32), jnp.zeros(capacity), jnp.zeros_like(x), jnp.zeros(capacity),
        jnp.ones((capacity, actions)),
    )  # fmt: skip


def written(ring: Steps, block: Steps, first: Array, count: Array) -> Steps:
    """The buffer with the first ``count`` steps of a block written from ``first`` on."""
    size, length = ring.reward.shape[0], block.reward.shape[0]
    number = jnp.arange(length)
    at = jnp.where(number < count, (first + number) % size, size)  # the rest is dropped
    return Steps(*(old.at[at].set(new, mode="drop") for old, new in zip(ring, block, strict=True)))


def drawn(ring: Steps, seen: Array, key: Array, shape: tuple[int, ...]) -> Array:
    """Places of the buffer, drawn uniformly with replacement from those that were written."""
    u = jax.random.uniform(key, shape)
    return (u * jnp.minimum(seen, ring.reward.shape[0])).astype(jnp.int32)


def taken(ring: Steps, at: Array) -> Steps:
    """The steps in these places."""
    return Steps(*(part[at] for part in ring))
