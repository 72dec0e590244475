"""Gymnasium's MountainCar-v0, CartPole-v1 and Acrobot-v1 as pure functions, for whole runs in one compiled program.

Agents see what `klearning.deep.features` makes of Gymnasium's observations. A time limit is not an end: the step
after it is still worth something. `tests/deep/test_pure_worlds.py` holds all of it against Gymnasium, step by step.
"""

from dataclasses import dataclass
from math import pi
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from bench.pure_worlds import Outcome

ROOT_3 = 3.0**0.5


@dataclass(frozen=True)
class Control:
    """States are vectors; a world is nothing."""

    horizon: ClassVar[int]
    points: ClassVar[int]
    actions: ClassVar[int]

    def draw(self, key: Array) -> Array:
        return jnp.zeros(())


@dataclass(frozen=True)
class MountainCar(Control):
    horizon, points, actions = 200, 2, 3

    def seen(self, state: Array) -> Array:
        return ROOT_3 * jnp.stack([(state[0] + 0.3) / 0.9, state[1] / 0.07])

    def reset(self, world: Array, key: Array) -> tuple[Array, Array]:
        state = jnp.stack([jax.random.uniform(key, (), minval=-0.6, maxval=-0.4), jnp.zeros(())])
        return state, self.seen(state)

    def step(self, world: Array, state: Array, action: Array, key: Array) -> Outcome:
        place, speed = state
        speed = jnp.clip(speed + (action - 1) * 0.001 - 0.0025 * jnp.cos(3.0 * place), -0.07, 0.07)
        place = jnp.clip(place + speed, -1.2, 0.6)
        speed = jnp.where((place == -1.2) & (speed < 0.0), 0.0, speed)
        over = ((place >= 0.5) & (speed >= 0.0)).astype(jnp.float32)
        state = jnp.stack([place, speed])
        return Outcome(state, self.seen(state), jnp.full((), -1.0), over, over)


@dataclass(frozen=True)
class CartPole(Control):
    horizon, points, actions = 500, 4, 2

    def seen(self, state: Array) -> Array:
        x, x_speed, angle, angle_speed = state
        lean = 24.0 * pi / 180.0
        return jnp.stack([ROOT_3 * x / 4.8, jnp.arcsinh(x_speed), ROOT_3 * angle / lean, jnp.arcsinh(angle_speed)])

    def reset(self, world: Array, key: Array) -> tuple[Array, Array]:
        state = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return state, self.seen(state)

    def step(self, world: Array, state: Array, action: Array, key: Array) -> Outcome:
        _, x_speed, angle, angle_speed = state
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        force = jnp.where(action == 1, 10.0, -10.0)
        push = (force + 0.05 * angle_speed**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        state = state + 0.02 * jnp.stack([x_speed, push - 0.05 * turn * cosine / 1.1, angle_speed, turn])
        fallen = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > 12.0 * pi / 180.0)
        over = fallen.astype(jnp.float32)
        return Outcome(state, self.seen(state), jnp.ones(()), over, 1.0 - over)


@dataclass(frozen=True)
class Acrobot(Control):
    horizon, points, actions = 500, 6, 3

    def seen(self, state: Array) -> Array:
        a, b, a_speed, b_speed = state
        parts = [jnp.cos(a), jnp.sin(a), jnp.cos(b), jnp.sin(b), a_speed / (4.0 * pi), b_speed / (9.0 * pi)]
        return ROOT_3 * jnp.stack(parts)

    def reset(self, world: Array, key: Array) -> tuple[Array, Array]:
        state = jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1)
        return state, self.seen(state)

    def velocity(self, state: Array, torque: Array) -> Array:
        """Of Sutton and Barto's book: links of mass and length 1, centres in their middle, moments of inertia 1."""
        a, b, a_speed, b_speed = state
        d1, d2 = 3.5 + jnp.cos(b), 1.25 + 0.5 * jnp.cos(b)
        weight2 = 0.5 * 9.8 * jnp.cos(a + b - pi / 2.0)
        swing = -0.5 * b_speed**2 * jnp.sin(b) - b_speed * a_speed * jnp.sin(b)
        weight1 = swing + 1.5 * 9.8 * jnp.cos(a - pi / 2.0) + weight2
        b_turn = (torque + d2 / d1 * weight1 - 0.5 * a_speed**2 * jnp.sin(b) - weight2) / (1.25 - d2**2 / d1)
        return jnp.stack([a_speed, b_speed, -(d2 * b_turn + weight1) / d1, b_turn])

    def step(self, world: Array, state: Array, action: Array, key: Array) -> Outcome:
        torque, h = action - 1.0, 0.2
        k1 = self.velocity(state, torque)  # Runge and Kutta
        k2 = self.velocity(state + h / 2.0 * k1, torque)
        k3 = self.velocity(state + h / 2.0 * k2, torque)
        k4 = self.velocity(state + h * k3, torque)
        state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        angles = (state[:2] + pi) % (2.0 * pi) - pi
        speeds = jnp.clip(state[2:], -jnp.array([4.0, 9.0]) * pi, jnp.array([4.0, 9.0]) * pi)
        state = jnp.concatenate([angles, speeds])
        over = (-jnp.cos(state[0]) - jnp.cos(state[1] + state[0]) > 1.0).astype(jnp.float32)
        return Outcome(state, self.seen(state), over - 1.0, over, over)
