"""Memory and time of a `Learner` against states and actions: python -m bench.sizes [STATES ACTIONS HORIZON].

Each row is a process of its own, because its peak of memory is. States are met first by episodes that act at random and
plan once; then whole episodes are timed, plan, steps and update, with and without new states to make room for.
"""

import resource
import subprocess
import sys
import time
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

import klearning as kl

STATES, ACTIONS, HORIZON = (500, 1000, 2000, 5000, 10_000, 20_000), (4, 50), 50
LARGEST = (20_000, 10, 200)
EPISODES = 5  # that are timed


class Ring(gymnasium.Env[int, int]):
    """A ring of places: an action goes its own distance on, now and then one place further; one place pays."""

    def __init__(self, states: int, actions: int) -> None:
        self.observation_space, self.action_space = spaces.Discrete(states), spaces.Discrete(actions)
        self.states, self.place = states, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(self.states))
        return self.place, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        slip = int(self.np_random.random() < 0.1)
        self.place = (self.place + 7 * action + 1 + slip) % self.states
        return self.place, float(self.place == 0), False, False, {}


class Size(NamedTuple):
    """What one learner came to."""

    states: int  # met
    transitions: int
    slots: int  # in the pool of transitions
    plan: float  # seconds of an episode that plans
    between: float  # of one that does not, and meets new states
    gigabytes: float


def wander(learner: kl.Learner, states: int, rng: np.random.Generator) -> None:
    """One episode through states in their order, new ones among them; actions are anybody's."""
    place = min(learner.observations.count, states - 1)
    for _ in range(learner.horizon):
        learner.act(place)
        place = (place + 1) % states
        learner.observe(0.0, place, action=int(rng.integers(learner.actions.count)))
    learner.end_episode()


def measured(states: int, actions: int, horizon: int) -> Size:
    env, rng = Ring(states, actions), np.random.default_rng(0)
    learner = kl.Learner(kl.KLearning(), env.observation_space, env.action_space, horizon, replan_every=10**6)
    while learner.observations.count < states - horizon:
        wander(learner, states, rng)
    start = time.process_time()
    wander(learner, states, rng)
    between = time.process_time() - start
    learner.replan_every = 1
    kl.learn(learner, env, episodes=2)
    start = time.process_time()
    kl.learn(learner, env, episodes=EPISODES)
    plan = (time.process_time() - start) / EPISODES
    rows = learner.memory.posterior.model.rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Size(learner.observations.count, int(rows.length.sum()), rows.used, plan, between, peak)


def size_table() -> None:
    cells = ("states met", "actions", "horizon", "transitions", "slots", "an episode with a plan (s of CPU)",
             "one between plans, new states met (s of CPU)", "peak memory (GB)")  # fmt: skip
    print("| " + " | ".join(cells) + " |")
    print("| " + " | ".join("---" for _ in cells) + " |", flush=True)
    for states, actions, horizon in [*((s, a, HORIZON) for a in ACTIONS for s in STATES), LARGEST]:
        subprocess.run([sys.executable, "-m", "bench.sizes", *map(str, (states, actions, horizon))], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        states, actions, horizon = map(int, sys.argv[1:])
        size = measured(states, actions, horizon)
        print(f"| {size.states:,} | {actions} | {horizon} | {size.transitions:,} | {size.slots:,} | {size.plan:.3f} | "
              f"{size.between:.4f} | {size.gigabytes:.2f} |", flush=True)  # fmt: skip
    else:
        size_table()
