"""An agent meets a world: policy → one episode → update, thousands of times per second.

An agent's loop (see agents/) hands its policy to `play` and gets an episode back, and never the world: `play`
walks the policy through the world, writes the trajectory into a buffer, and logs the policy's exact
value, the return and whether the goal was reached. Neither side knows that it is watched.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.random.generator import draw_index, normal, uniform
from klearning.numerics.sparse.rows import Rows
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.models.sweeps import Model, policy_sweep


class World(NamedTuple):
    """An MDP as `play` reads it."""

    model: Model
    noise: Floats  # (A, S), standard deviations
    bernoulli: bool
    goal_state: int  # numbered through all layers, or -1
    goal_place: int  # counted from the first state of any layer, or -1
    goal_action: int
    end: int  # the state of every layer where an episode is over, or -1


class Log(NamedTuple):
    """The record of every episode."""

    values: Floats
    returns: Floats
    hits: Flags
    visits: Floats  # (A, S), over all episodes
    diagnostics: Floats  # (names, episodes), whatever the agent has to say


class Task(NamedTuple):
    """A world, the buffers an episode needs, and the streams of randomness, one per use."""

    world: World
    log: Log
    episode: Episode
    evaluate_every: int  # 0: never; N: every N episodes
    V: Floats
    scratch: Floats
    world_stream: np.random.Generator
    action_stream: np.random.Generator
    reward_stream: np.random.Generator  # for agents that sample rewards
    row_stream: np.random.Generator  # for agents that sample transitions


@kernel
def play(task: Task, policy: Floats, t: int) -> None:
    """Episode t = 0, 1, …: evaluate the policy, follow it once, write the trajectory into ``task.episode``."""
    evaluate(task, policy, t)
    follow(task, policy, t)


@kernel
def evaluate(task: Task, policy: Floats, t: int) -> None:
    """Log the policy's exact value, or the last one that was computed; nan if none ever is."""
    model, values = task.world.model, task.log.values
    if task.evaluate_every == 0:
        values[t] = np.nan
    elif t % task.evaluate_every == 0:
        values[t] = policy_sweep(model, model.reward, policy, task.V, task.scratch)
    else:
        values[t] = values[t - 1]


@kernel
def follow(task: Task, policy: Floats, t: int) -> None:
    """Walk a policy through the world."""
    world, log, episode = task.world, task.log, task.episode
    model, nature = world.model, task.world_stream
    total, hit = 0.0, False
    s = draw_index(model.initial, nature)
    for l in range(model.layers.size - 1):
        a = draw_action(policy, s, uniform(task.action_stream))
        r = model.reward[a, s]
        if s - model.layers[l] == world.end:
            r = 0.0
        elif world.bernoulli:
            r = 1.0 if uniform(nature) < r else 0.0
        elif world.noise[a, s] > 0.0:
            r += world.noise[a, s] * normal(nature)
        episode.states[l], episode.actions[l], episode.rewards[l] = s, a, r
        log.visits[a, s] += 1.0
        total += r
        hit = hit or (s == world.goal_state and a == world.goal_action)
        if l + 2 < model.layers.size:
            s = next_state(model.rows, a, s, nature)
    log.returns[t] = total
    log.hits[t] = hit or (world.goal_place >= 0 and passed(episode, model.layers, world.goal_place, world.goal_action))


@kernel(lazy=True)
def passed(episode: Episode, layers: Ints, local_state: int, action: int) -> bool:
    """Whether an action was taken in this place, counted from the first state of a layer, at any step."""
    for l in range(episode.actions.size):
        if episode.actions[l] == action and episode.states[l] - layers[l] == local_state:
            return True
    return False


@kernel(inline=True)
def draw_action(policy: Floats, s: int, u: float) -> int:
    """The action that a uniform u in [0, 1) falls on in state s."""
    last = 0
    for a in range(policy.shape[0]):
        if policy[a, s] > 0.0:
            last = a
            u -= policy[a, s]
            if u < 0.0:
                break
    return last


@kernel(inline=True)
def next_state(rows: Rows, a: int, s: int, rng: np.random.Generator) -> int:
    """A successor of (a, s); no randomness is spent if there is only one."""
    e = rows.start[a, s]
    end = e + rows.length[a, s] - 1
    if e < end:
        u = uniform(rng) - rows.weight[e]
        while u >= 0.0 and e < end:
            e += 1
            u -= rows.weight[e]
    return rows.succ[e]


class Streams(NamedTuple):
    """Randomness for agents that plan with some."""

    reward: np.random.Generator
    row: np.random.Generator
