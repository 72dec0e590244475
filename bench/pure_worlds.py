"""bsuite's DeepSea and catch as pure functions, to be fused with an agent into one program.

An environment draws a world (the part that stays the same between episodes), resets to a state and its observation,
and steps to the next. `tests/deep` compares them with bsuite's own, step by step. gymnax 1.0.1 has both, but its action
map of DeepSea is fixed or drawn again every episode, not once per seed; it shows pictures, not cells; and it brings
flax and seaborn.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

ROOT_12 = 12.0**0.5


class Outcome(NamedTuple):
    """The result of an action."""

    state: Any
    seen: Array
    reward: Array
    terminal: Array  # 1.0 if the episode ends here, else 0.0
    good: Array  # 1.0 if the environment calls this a success, else 0.0


class PureEnvironment(Protocol):
    """An environment that can be fused; episodes have ``horizon`` steps or end before."""

    @property
    def horizon(self) -> int: ...

    @property
    def points(self) -> int:
        """The number of features, or of different observations."""
        ...

    @property
    def actions(self) -> int: ...

    def draw(self, key: Array) -> Any:
        """A world."""
        ...

    def reset(self, world: Any, key: Array) -> tuple[Any, Array]:
        """A first state and its observation."""
        ...

    def step(self, world: Any, state: Any, action: Array, key: Array) -> Outcome: ...


class Diver(NamedTuple):
    row: Array
    column: Array
    faultless: Array  # 1.0 while no action on the diagonal went left


@dataclass(frozen=True)
class DeepSea:
    """bsuite's DeepSea of N = ``size`` rows, with a random map from actions to left and right.

    Cells are numbered, or shown as bsuite's picture: N² zeros and a one, scaled as features of a Box from 0 to 1 are.
    Success is bsuite's: an episode that is not bad, one in which no action on the diagonal went left.
    """

    size: int = 10
    stochastic: bool = False
    picture: bool = False

    @property
    def horizon(self) -> int:
        return self.size

    @property
    def points(self) -> int:
        return self.size**2

    @property
    def actions(self) -> int:
        return 2

    def draw(self, key: Array) -> Array:
        """Which action goes right, by cell."""
        return jax.random.bernoulli(key, 0.5, (self.points,)).astype(jnp.int32)

    def shown(self, cell: Array) -> Array:
        return ROOT_12 * jax.nn.one_hot(cell, self.points) if self.picture else cell

    def reset(self, world: Array, key: Array) -> tuple[Diver, Array]:
        none = jnp.zeros((), jnp.int32)
        return Diver(none, none, jnp.ones(())), self.shown(none)

    def step(self, world: Array, state: Diver, action: Array, key: Array) -> Outcome:
        N, (row, column, faultless) = self.size, state
        right = action == world[row * N + column]
        last, diagonal = row == N - 1, row == column
        faultless = jnp.where(diagonal & ~right, 0.0, faultless)
        reward = jnp.where(right, -0.01 / N, 0.0) + jnp.where(last & diagonal & right, 1.0, 0.0)
        move = jnp.where(right, 1, -1)
        if self.stochastic:
            for_slip, for_noise = jax.random.split(key)
            move = jnp.where(right & (jax.random.uniform(for_slip) <= 1.0 / N), 0, move)  # straight down
            noisy = last & ((column == 0) | diagonal)
            reward += jnp.where(noisy, jax.random.normal(for_noise), 0.0)
        column = jnp.clip(column + move, 0, N - 1)
        seen = self.shown(jnp.where(last, 0, (row + 1) * N + column))
        over = last.astype(jnp.float32)
        return Outcome(Diver(row + 1, column, faultless), seen, reward, over, over * faultless)


class Falling(NamedTuple):
    row: Array
    column: Array  # of the ball
    paddle: Array


@dataclass(frozen=True)
class Catch:
    """bsuite's catch: a ball falls, a paddle in the last row goes left, stays or goes right."""

    rows: int = 10
    columns: int = 5

    @property
    def horizon(self) -> int:
        return self.rows - 1

    @property
    def points(self) -> int:
        return self.rows * self.columns

    @property
    def actions(self) -> int:
        return 3

    def draw(self, key: Array) -> Array:
        return jnp.zeros(())

    def picture(self, state: Falling) -> Array:
        """The board."""
        ball, paddle = state.row * self.columns + state.column, (self.rows - 1) * self.columns + state.paddle
        return jnp.zeros(self.points).at[ball].set(ROOT_12).at[paddle].set(ROOT_12)

    def reset(self, world: Array, key: Array) -> tuple[Falling, Array]:
        column = jax.random.randint(key, (), 0, self.columns)
        state = Falling(jnp.zeros((), jnp.int32), column, jnp.full((), self.columns // 2, jnp.int32))
        return state, self.picture(state)

    def step(self, world: Array, state: Falling, action: Array, key: Array) -> Outcome:
        paddle = jnp.clip(state.paddle + action - 1, 0, self.columns - 1)
        state = Falling(state.row + 1, state.column, paddle)
        over = (state.row == self.rows - 1).astype(jnp.float32)
        caught = over * (paddle == state.column)
        return Outcome(state, self.picture(state), 2.0 * caught - over, over, caught)
