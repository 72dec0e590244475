"""Where an agent meets a world: policy → one episode → update, thousands of times a second.

This is the only module that sees both. An agent's loop (see agents/) asks `play` for each episode: it
walks the policy through the world, writes the trajectory into a buffer, and logs the policy's exact
value, the return and whether the goal was reached. Neither side knows that it is watched.
"""

import os
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from klearning import checks, regret
from klearning.beliefs import Belief, Episode, Prior
from klearning.bellman import Model, policy_sweep
from klearning.compiled import Floats, announce_compilation, kernel
from klearning.mdp import MDP, optimal
from klearning.regret import Flags
from klearning.rows import Rows

CHUNK_SECONDS = 0.1  # about how long a kernel runs before Python may show progress or stop


class World(NamedTuple):
    """An MDP as `play` reads it."""

    model: Model
    noise: float
    bernoulli: bool
    goal_state: int
    goal_action: int
    end: int  # the state of every layer where an episode is over, or -1


class Log(NamedTuple):
    """What is kept of every episode."""

    values: Floats
    returns: Floats
    hits: Flags
    visits: Floats  # (A, S), over all episodes
    diagnostics: Floats  # (names, episodes), whatever the agent has to say


class Task(NamedTuple):
    """A world, the buffers an episode needs, and the streams of randomness, one a use."""

    world: World
    log: Log
    episode: Episode
    evaluate_every: int
    V: Floats
    scratch: Floats
    world_stream: np.random.Generator
    action_stream: np.random.Generator
    reward_stream: np.random.Generator  # for agents that sample rewards
    row_stream: np.random.Generator  # for agents that sample transitions


@kernel
def play(task: Task, policy: Floats, t: int) -> None:
    """Episode t = 0, 1, …: evaluate the policy, follow it once, write the trajectory into ``task.episode``."""
    world, log, episode = task.world, task.log, task.episode
    model, nature = world.model, task.world_stream
    if t % task.evaluate_every == 0:
        log.values[t] = policy_sweep(model, model.reward, policy, task.V, task.scratch)
    else:
        log.values[t] = log.values[t - 1]
    total, hit = 0.0, False
    s = draw_start(model.initial, nature)
    for l in range(model.layers.size - 1):
        a = draw_action(policy, s, task.action_stream.random())
        r = model.reward[a, s]
        if s - model.layers[l] == world.end:
            r = 0.0
        elif world.bernoulli:
            r = 1.0 if nature.random() < r else 0.0
        elif world.noise > 0.0:
            r += world.noise * nature.standard_normal()
        episode.states[l], episode.actions[l], episode.rewards[l] = s, a, r
        log.visits[a, s] += 1.0
        total += r
        hit = hit or (s == world.goal_state and a == world.goal_action)
        if l + 2 < model.layers.size:
            s = next_state(model.rows, a, s, nature)
    log.returns[t] = total
    log.hits[t] = hit


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
def draw_start(initial: Floats, rng: np.random.Generator) -> int:
    """A state of the first layer."""
    last, u = 0, rng.random()
    for s in range(initial.size):
        if initial[s] > 0.0:
            last = s
            u -= initial[s]
            if u < 0.0:
                break
    return last


@kernel(inline=True)
def next_state(rows: Rows, a: int, s: int, rng: np.random.Generator) -> int:
    """A successor of (a, s); no randomness is spent where there is but one."""
    e = rows.start[a, s]
    end = e + rows.length[a, s] - 1
    if e < end:
        u = rng.random() - rows.weight[e]
        while u >= 0.0 and e < end:
            e += 1
            u -= rows.weight[e]
    return rows.succ[e]


class Streams(NamedTuple):
    """Randomness for agents that plan with some."""

    reward: np.random.Generator
    row: np.random.Generator


class Agent(Protocol):
    """What `run` asks of an agent: a frozen dataclass of hyper-parameters with these."""

    diagnostics: ClassVar[tuple[str, ...]]  # names of what it logs of every episode

    def begin(self, belief: Belief) -> Any:
        """All that is carried from episode to episode: a NamedTuple of arrays, among them ``policy``, (A, S)."""

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        """Play and learn from ``count`` episodes, the first of them number ``first`` = 0, 1, …"""

    def values(self, memory: Any) -> Floats:
        """The agent's own value of every state when it made its last policy; zeros where it has none."""


class Stepwise(Agent, Protocol):
    """What `Learner` asks besides, to learn in a simulator that is none of ours."""

    def plan(self, memory: Any, streams: Streams, t: int, said: Floats) -> Any:
        """Write the policy of episode t = 0, 1, … into the memory, and the diagnostics into ``said``."""

    def update(self, memory: Any, episode: Episode, t: int) -> Any:
        """Learn from episode t."""

    def exploit(self, memory: Any) -> Floats:
        """The policy (A, S) to use once exploring is over."""


@dataclass(frozen=True, eq=False)
class Runs:
    """All that a batch of seeds produced; arrays are (seeds, episodes), or one number a seed."""

    agent: Agent
    world: MDP
    prior: Prior
    seeds: tuple[int, ...]
    optimal_value: float
    values: Floats  # exact value of the policy of every episode
    returns: Floats  # what was collected
    hits: Flags  # whether the goal was reached
    visits: Floats  # (seeds, S, A), over all episodes
    diagnostics: dict[str, Floats]  # what the agent says of every episode
    seconds: float

    @property
    def regret(self) -> Floats:
        """Exact cumulative regret."""
        return regret.cumulative_regret(self.optimal_value, self.values)

    @property
    def first_hit(self) -> Floats:
        """First episode that reached the goal; nan where none did."""
        return regret.first_hit(self.hits)

    @property
    def solved(self) -> Floats:
        """First episode by which 10% of the episodes so far reached the goal; nan where none."""
        return regret.time_to_solve(self.hits)


def run(
    agent: Agent,
    world: MDP,
    *,
    prior: Prior | None = None,
    episodes: int = 1000,
    seeds: int | Sequence[int] = 5,
    threads: int | None = None,
    evaluate_every: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Runs:
    """Let an agent learn in a world, once for every seed, in parallel.

    ``seeds`` is how many or which; results depend on nothing else. The policy's exact value is computed
    every ``evaluate_every`` episodes and carried over in between. ``progress`` is called from time to
    time with the number of episodes just finished.
    """
    if not isinstance(world, MDP):
        raise ValueError(f"world={world!r} is not an MDP: give one, for example deep_sea(10)")
    episodes = checks.whole("episodes", episodes)
    numbers = _seed_list(seeds)
    every = checks.whole("evaluate_every", evaluate_every)
    workers = checks.whole("threads", threads if threads is not None else os.cpu_count() or 1)
    knows = prior if prior is not None else Prior()
    belief = Belief.empty(knows, world.widths, world.actions, world.initial, world.end)
    announce_compilation()
    best = optimal(world).value
    agent.advance(agent.begin(belief), new_task(agent, world, 1, numbers[0]), 0, 1)  # compiles, once, before the clock
    stop = threading.Event()
    began = time.perf_counter()

    def one(seed: int) -> Log:
        task = new_task(agent, world, episodes, seed, every)
        memory, done, count = agent.begin(belief), 0, 1
        while done < episodes and not stop.is_set():
            count = min(count, episodes - done)
            start = time.perf_counter()
            memory = agent.advance(memory, task, done, count)
            done += count
            if progress is not None:
                progress(count)
            if time.perf_counter() - start < CHUNK_SECONDS / 2:
                count *= 2
        return task.log

    with ThreadPoolExecutor(min(workers, len(numbers))) as pool:
        futures = [pool.submit(one, seed) for seed in numbers]
        try:
            logs = [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    talk = np.stack([log.diagnostics for log in logs], axis=1)
    return Runs(
        agent=agent,
        world=world,
        prior=knows,
        seeds=numbers,
        optimal_value=best,
        values=np.stack([log.values for log in logs]),
        returns=np.stack([log.returns for log in logs]),
        hits=np.stack([log.hits for log in logs]),
        visits=np.stack([log.visits.T for log in logs]),
        diagnostics=dict(zip(agent.diagnostics, talk, strict=True)),
        seconds=time.perf_counter() - began,
    )


def _seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, Sequence | np.ndarray | range) and not isinstance(seeds, str):
        numbers = tuple(checks.whole(f"seeds[{i}]", s, 0) for i, s in enumerate(seeds))
    else:
        numbers = tuple(range(checks.whole("seeds", seeds)))
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds={seeds!r} is empty or has repeats: give how many, or distinct numbers")
    return numbers


def new_task(agent: Agent, world: MDP, episodes: int, seed: int, every: int = 1) -> Task:
    """Fresh buffers, log and streams for one seed."""
    L, noise = world.horizon, world.noise
    goal = world.goal if world.goal is not None else (-1, -1)
    bernoulli = isinstance(noise, str)
    # each use has a stream of its own, named by what it is for
    names = (zlib.crc32(world.name.encode()), zlib.crc32(type(agent).__name__.encode()))
    streams = [np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*names, use))) for use in range(4)]
    return Task(
        world=World(
            world.model, 0.0 if bernoulli else float(noise), bernoulli, *goal, -1 if world.end is None else world.end
        ),
        log=Log(np.zeros(episodes), np.zeros(episodes), np.zeros(episodes, np.bool_),
                np.zeros_like(world.reward), np.zeros((len(agent.diagnostics), episodes))),
        episode=Episode(np.zeros(L, np.int64), np.zeros(L, np.int64), np.zeros(L)),
        evaluate_every=every,
        V=np.zeros(world.states),
        scratch=np.zeros(max(world.widths)),
        world_stream=streams[0],
        action_stream=streams[1],
        reward_stream=streams[2],
        row_stream=streams[3],
    )  # fmt: skip
