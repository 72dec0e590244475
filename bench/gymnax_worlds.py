"""Environments of gymnax, such as MinAtar's games, as `PureEnvironment`s. Needs the package gymnax."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import jax.numpy as jnp
from jax import Array

from bench.pure_worlds import Outcome


@dataclass(frozen=True)
class Game:
    """By its name in gymnax; pictures of bits, as bytes."""

    name: str

    @cached_property
    def made(self) -> tuple[Any, Any]:
        import gymnax  # type: ignore[import-not-found, unused-ignore]

        return gymnax.make(self.name)

    @property
    def horizon(self) -> int:
        return int(self.made[1].max_steps_in_episode)

    @property
    def shape(self) -> tuple[int, int, int]:
        env, params = self.made
        rows, columns, channels = env.observation_space(params).shape
        return rows, columns, channels

    @property
    def points(self) -> int:
        return prod(self.shape)

    @property
    def actions(self) -> int:
        return int(self.made[0].num_actions)

    def draw(self, key: Array) -> Array:
        return jnp.zeros(())

    def seen(self, picture: Array) -> Array:
        return picture.astype(jnp.uint8).ravel()

    def reset(self, world: Array, key: Array) -> tuple[Any, Array]:
        env, params = self.made
        picture, state = env.reset_env(key, params)
        return state, self.seen(picture)

    def step(self, world: Array, state: Any, action: Array, key: Array) -> Outcome:
        env, params = self.made
        picture, state, reward, over, _ = env.step_env(key, state, action, params)
        over = over.astype(jnp.float32)
        return Outcome(state, self.seen(picture), reward.astype(jnp.float32), over, jnp.zeros(()))
