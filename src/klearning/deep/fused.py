"""A whole run as one scan: environment, acting, remembering and learning in one compiled program."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from klearning.deep.agent import DeepAgent
from klearning.deep.pure_worlds import PureEnvironment
from klearning.deep.replay import Steps


class Trace(NamedTuple):
    """Per episode."""

    returns: Array
    length: Array
    good: Array  # 1 where the environment called it a success
    numbers: Array  # entropy and c, summed over the steps
    temperature: Array  # 0 where there is none
    loss: Array  # the mean of late


def run(agent: DeepAgent[Any], env: PureEnvironment, episodes: int, seed: int | Array) -> tuple[Any, Trace]:
    """One seed; `jax.vmap` runs many side by side. The memory at the end, and what happened."""
    memory, episode, key = begun(agent, env, seed)
    return jax.lax.scan(episode, memory, jax.random.split(key, episodes))


def run_steps(agent: DeepAgent[Any], env: PureEnvironment, steps: int, seed: int | Array) -> Any:
    """One seed, until the end of the episode in which it has seen so many steps. The memory at the end."""
    memory, episode, key = begun(agent, env, seed)

    def one_more(now: tuple[Any, Array]) -> tuple[Any, Array]:
        memory, number = now
        return episode(memory, jax.random.fold_in(key, number))[0], number + 1

    return jax.lax.while_loop(lambda now: now[0].seen < steps, one_more, (memory, jnp.zeros((), jnp.int32)))[0]


def begun(
    agent: DeepAgent[Any], env: PureEnvironment, seed: int | Array
) -> tuple[Any, Callable[[Any, Array], tuple[Any, Trace]], Array]:
    """The memory at first, what an episode makes of one, and a key for them."""
    for_agent, for_world, for_episodes = jax.random.split(jax.random.key(seed), 3)
    world = env.draw(for_world)
    _, like = env.reset(world, jax.random.key(0))
    memory = agent.begin(for_agent, like, env.points, env.actions)
    zero, everything = jnp.zeros(()), jnp.ones(env.actions)

    def episode(memory: Any, key: Array) -> tuple[Any, Trace]:
        for_start, for_reset, for_steps, for_updates = jax.random.split(key, 4)
        memory = agent.start(memory, for_start)

        def step(carry: Any, key: Array) -> tuple[Any, Steps]:
            state, x, over, total, count, numbers, good = carry
            for_action, for_env = jax.random.split(key)
            action, about = agent.act(memory, x, everything, for_action)
            state, after, reward, terminal, success = env.step(world, state, action, for_env)
            live = 1.0 - over
            carry = (
                state, after, jnp.maximum(over, terminal), total + live * reward, count + live,
                numbers + live * about, jnp.maximum(good, live * success),
            )  # fmt: skip
            return carry, Steps(x, action, reward, after, terminal, everything)

        state, x = env.reset(world, for_reset)
        carry = (state, x, zero, zero, zero, jnp.zeros(2), zero)
        carry, block = jax.lax.scan(step, carry, jax.random.split(for_steps, env.horizon))
        _, _, _, total, count, numbers, good = carry
        count = count.astype(jnp.int32)
        memory = agent.concluded(agent.improve(agent.insert(memory, block, count), count, for_updates), numbers)
        tau = jnp.exp(memory.log_tau) if hasattr(memory, "log_tau") else zero
        return memory, Trace(total, count, good, numbers, tau, memory.loss)

    return memory, episode, for_episodes


def greedy_return(agent: DeepAgent[Any], memory: Any, env: PureEnvironment, key: Array) -> Array:
    """The return of one episode in deployment, in a world drawn anew."""
    for_world, for_reset, for_steps = jax.random.split(key, 3)
    world = env.draw(for_world)

    def step(carry: Any, key: Array) -> tuple[Any, None]:
        state, x, live, total = carry
        after = env.step(world, state, jnp.argmax(agent.greedy(memory, x)), key)
        return (after.state, after.seen, live * (1.0 - after.terminal), total + live * after.reward), None

    state, x = env.reset(world, for_reset)
    carry, _ = jax.lax.scan(step, (state, x, jnp.ones(()), jnp.zeros(())), jax.random.split(for_steps, env.horizon))
    return carry[3]
