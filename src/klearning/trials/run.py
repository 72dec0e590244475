"""`run`: an agent in a world, once for every seed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.types import Flags, Floats
from klearning.beliefs.belief import Prior
from klearning.models.mdp import MDP, optimal_value
from klearning.trials import regret
from klearning.trials.agent import Agent, check_methods
from klearning.trials.task import Log
from klearning.trials.threads import on_threads
from klearning.trials.trial import Trial


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
    check_methods(agent)
    if not isinstance(world, MDP):
        raise ValueError(f"world={world!r} is not an MDP: {_world_advice(world)}")
    episodes = checks.whole("episodes", episodes)
    numbers = seed_list(seeds)
    every = checks.whole("evaluate_every", evaluate_every)
    workers = checks.whole("threads", threads) if threads is not None else None
    knows = prior if prior is not None else Prior()
    announce_compilation()
    best = optimal_value(world)
    Trial(agent, world, knows, numbers[0], 1).advance(1)  # compiles, once, before the clock
    began = time.perf_counter()

    def play(seed: int, should_stop: Callable[[], bool]) -> Log:
        trial = Trial(agent, world, knows, seed, episodes, every)
        for count in trial.chunks():
            if progress is not None:
                progress(count)
            if should_stop():
                break
        return trial.log

    log_of = dict(on_threads(play, numbers, workers))
    logs = [log_of[seed] for seed in numbers]
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


def _world_advice(thing: Any) -> str:
    if callable(thing):
        return f"call it, {getattr(thing, '__name__', 'world')}(…)"
    if hasattr(thing, "reset"):
        return "let the agent learn in an environment, kl.learn(agent, env), or read its model, MDP.from_gymnasium(env)"
    return "give one, for example deep_sea(10)"


def seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Which seeds are meant: so many from 0, or these."""
    if isinstance(seeds, Sequence | np.ndarray | range) and not isinstance(seeds, str):
        numbers = tuple(checks.whole(f"seeds[{i}]", s, 0) for i, s in enumerate(seeds))
    else:
        numbers = tuple(range(checks.whole("seeds", seeds)))
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds={seeds!r} is empty or has repeats: give how many, or distinct numbers")
    return numbers
