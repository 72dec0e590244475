"""A whole run as one scan: environment, acting, remembering and learning in one compiled program."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from bench.pure_worlds import PureEnvironment
from klearning.deep.agent import DeepAgent
from klearning.deep.replay import Steps


class Trace(NamedTuple):
    """Per episode."""

    returns: Array
    length: Array
    good: Array  # 1 if the environment called it a success
    numbers: Array  # entropy and c, summed over the steps
    temperature: Array  # 0 if there is none
    loss: Array  # a running mean


def run(agent: DeepAgent[Any], env: PureEnvironment, episodes: int, seed: int | Array) -> tuple[Any, Trace]:
    """One seed; `jax.vmap` runs many in parallel. Returns the memory at the end and the trace."""
    memory, episode, key = begun(agent, env, seed)
    return jax.lax.scan(episode, memory, jax.random.split(key, episodes))


def run_steps(agent: DeepAgent[Any], env: PureEnvironment, steps: int, seed: int | Array) -> Any:
    """One seed, to the end of the episode in which it reaches ``steps`` steps. Returns the memory at the end."""
    memory, episode, key = begun(agent, env, seed)

    def one_more(now: tuple[Any, Array]) -> tuple[Any, Array]:
        memory, number = now
        return episode(memory, jax.random.fold_in(key, number))[0], number + 1

    return jax.lax.while_loop(lambda now: now[0].seen < steps, one_more, (memory, jnp.zeros((), jnp.int32)))[0]


def begun(
    agent: DeepAgent[Any], env: PureEnvironment, seed: int | Array
) -> tuple[Any, Callable[[Any, Array], tuple[Any, Trace]], Array]:
    """The initial memory, the function of an episode, and a key for episodes."""
    for_agent, for_world, for_episodes = jax.random.split(jax.random.key(seed), 3)
    world = env.draw(for_world)
    _, like = env.reset(world, jax.random.key(0))
    memory = agent.begin(for_agent, like, env.points, env.actions)
    zero, everything = jnp.zeros(()), jnp.ones(env.actions)

    length = min(agent.train_every, env.horizon)  # of a segment, after which networks learn
    segments = -(-env.horizon // length)

    def episode(memory: Any, key: Array) -> tuple[Any, Trace]:
        for_start, for_reset, for_segments = jax.random.split(key, 3)
        memory = agent.start(memory, for_start)

        def step(memory: Any, carry: Any, key: Array) -> tuple[Any, Steps]:
            state, x, over, total, count, numbers, good = carry
            for_action, for_env = jax.random.split(key)
            action, about = agent.act(memory, x, everything, for_action)
            state, after, reward, terminal, success = env.step(world, state, action, for_env)
            live = (1.0 - over) * (count < env.horizon)
            carry = (
                state, after, jnp.maximum(over, terminal), total + live * reward, count + live,
                numbers + live * about, jnp.maximum(good, live * success),
            )  # fmt: skip
            return carry, Steps(x, action, reward, after, terminal, everything)

        def segment(now: Any, key: Array) -> tuple[Any, None]:
            memory, carry = now
            for_steps, for_updates = jax.random.split(key)
            before = carry[4]
            carry, block = jax.lax.scan(partial(step, memory), carry, jax.random.split(for_steps, length))
            count = (carry[4] - before).astype(jnp.int32)
            return (agent.improve(agent.insert(memory, block, count), count, for_updates), carry), None

        state, x = env.reset(world, for_reset)
        carry = (state, x, zero, zero, zero, jnp.zeros(2), zero)
        (memory, carry), _ = jax.lax.scan(segment, (memory, carry), jax.random.split(for_segments, segments))
        _, _, _, total, count, numbers, good = carry
        memory = agent.on_episode_end(memory, numbers)
        tau = jnp.exp(memory.log_tau) if hasattr(memory, "log_tau") else zero
        return memory, Trace(total, count.astype(jnp.int32), good, numbers, tau, memory.loss)

    return memory, episode, for_episodes


def round_length(agent: DeepAgent[Any], envs: int) -> int:
    """Steps of all environments together, after which networks learn."""
    return max(1, agent.train_every // envs) * envs


def begun_vector(
    agent: DeepAgent[Any], env: PureEnvironment, envs: int, seed: int | Array
) -> tuple[Any, Callable[[Any, Array], Any], Array]:
    """One seed with ``envs`` environments side by side: all at the start, the function of a round, a key for rounds.

    A step of all of them counts as one for the networks, which learn after a round. It returns what it was given, and
    the mean return of the episodes that ended in it (nan if none did).
    """
    for_agent, for_world, for_start, key = jax.random.split(jax.random.key(seed), 4)
    world = env.draw(for_world)
    state, x = jax.vmap(lambda k: env.reset(world, k))(jax.random.split(for_start, envs))
    memory = agent.begin(for_agent, jax.tree.map(lambda part: part[0], x), env.points, env.actions)
    length, everything = round_length(agent, envs) // envs, jnp.ones((envs, env.actions))
    members = getattr(agent, "members", 0)  # of an ensemble, of which one acts through an episode

    def step(memory: Any, carry: Any, key: Array) -> tuple[Any, Any]:
        state, x, count, total, numbers, member = carry
        for_actions, for_env, for_reset, for_member = jax.random.split(key, 4)

        def act(x: Array, member: Array, key: Array) -> tuple[Array, Array]:
            return agent.act(memory._replace(member=member) if members else memory, x, everything[0], key)

        action, about = jax.vmap(act)(x, member, jax.random.split(for_actions, envs))
        out = jax.vmap(lambda *given: env.step(world, *given))(state, action, jax.random.split(for_env, envs))
        block = Steps(x, action, out.reward, out.seen, out.terminal, everything)
        count, total, numbers = count + 1, total + out.reward, numbers + about
        over = (out.terminal > 0) | (count >= env.horizon)
        ended = over.sum(), (over * total).sum(), (over[:, None] * numbers).sum(axis=0)
        fresh = jax.vmap(lambda k: env.reset(world, k))(jax.random.split(for_reset, envs))
        drawn = jax.random.randint(for_member, (envs,), 0, members) if members else member

        def chosen(new: Array, old: Array) -> Array:
            return jnp.where(over.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

        state, x = jax.tree.map(chosen, fresh, (out.state, out.seen))
        rest = [chosen(jnp.zeros_like(part), part) for part in (count, total, numbers)]
        return (state, x, *rest, chosen(drawn, member)), (block, ended)

    def play_round(now: Any, key: Array) -> tuple[Any, Array]:
        memory, carry = now
        for_steps, for_updates = jax.random.split(key)
        carry, (blocks, ended) = jax.lax.scan(partial(step, memory), carry, jax.random.split(for_steps, length))
        block = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), blocks)
        memory = agent.improve(agent.insert(memory, block, length * envs), length, for_updates)
        episodes, total, numbers = (part.sum(axis=0) for part in ended)
        return (agent.on_episode_end(memory, numbers, episodes), carry), total / episodes

    none = jnp.zeros(envs, jnp.int32)
    carry = (state, x, none, jnp.zeros(envs), jnp.zeros((envs, 2)), none)
    return (memory, carry), play_round, key


def greedy_return(agent: DeepAgent[Any], memory: Any, env: PureEnvironment, key: Array) -> Array:
    """The return of one greedy episode, in a newly drawn world."""
    for_world, for_reset, for_steps = jax.random.split(key, 3)
    world = env.draw(for_world)

    def step(carry: Any, key: Array) -> tuple[Any, None]:
        state, x, live, total = carry
        after = env.step(world, state, jnp.argmax(agent.greedy(memory, x)), key)
        return (after.state, after.seen, live * (1.0 - after.terminal), total + live * after.reward), None

    state, x = env.reset(world, for_reset)
    carry, _ = jax.lax.scan(step, (state, x, jnp.ones(()), jnp.zeros(())), jax.random.split(for_steps, env.horizon))
    return carry[3]
