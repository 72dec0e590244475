"""A whole run as one scan: environment, acting, remembering and learning in one compiled program.

For environments that are pure functions: `reset(key)` gives a state and features, `step(state, action, key)` the next
ones with a reward and whether the episode is over.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from klearning.deep.agent import DeepAgent
from klearning.deep.replay import Steps


class PureEnvironment(Protocol):
    """What can be fused; episodes have exactly ``horizon`` steps or end before."""

    horizon: int
    points: int
    actions: int

    def reset(self, key: Array) -> tuple[Any, Array]: ...

    def step(self, state: Any, action: Array, key: Array) -> tuple[Any, Array, Array, Array]: ...


class Trace(NamedTuple):
    """Per episode."""

    returns: Array
    length: Array
    good: Array  # what the environment calls success
    numbers: Array  # the agent's, summed over the steps
    temperature: Array


def run(agent: DeepAgent[Any], env: Any, episodes: int, seed: Array) -> tuple[Any, Trace]:
    """One seed; `jax.vmap` runs many side by side."""
    root = jax.random.key(seed)
    for_agent, for_world, for_episodes = jax.random.split(root, 3)
    world = env.draw(for_world)
    _, like = env.reset(world, jax.random.key(0))
    memory = agent.begin(for_agent, like, env.points, env.actions)
    everything = jnp.ones(env.actions)

    def episode(memory: Any, key: Array) -> Any:
        for_start, for_reset, for_steps, for_updates = jax.random.split(key, 4)
        memory = agent.start(memory, for_start)

        def step(carry: Any, key: Array) -> Any:
            state, x, over, total, count, numbers, good = carry
            for_action, for_env = jax.random.split(key)
            action, about = agent.act(memory, x, everything, for_action)
            state, after, reward, terminal, success = env.step(world, state, action, for_env)
            seen = Steps(x, action, reward, after, terminal.astype(jnp.float32), everything)
            live = 1.0 - over
            carry = (
                state, after, jnp.maximum(over, terminal), total + live * reward, count + live,
                numbers + live * about, jnp.maximum(good, live * success),
            )  # fmt: skip
            return carry, seen

        state, x = env.reset(world, for_reset)
        zero = jnp.zeros(())
        carry = (state, x, zero, zero, zero, jnp.zeros(2), zero)
        carry, block = jax.lax.scan(step, carry, jax.random.split(for_steps, env.horizon))
        _, _, _, total, count, numbers, good = carry
        count = count.astype(jnp.int32)
        memory = agent.concluded(agent.improve(agent.insert(memory, block, count), count, for_updates), numbers)
        return memory, Trace(total, count, good, numbers, jnp.exp(getattr(memory, "log_tau", zero)))

    return jax.lax.scan(episode, memory, jax.random.split(for_episodes, episodes))
