"""The cost of a `Learner` against states and actions: python -m bench.sizes; and one that learns in 20,000 states.

Each row is a process of its own, because its peak of memory is. States are met first, by episodes that go from one to
the next and do not plan; then episodes of a simulator are timed, plan, steps and update. Times are of the processor.
"""

import resource
import subprocess
import sys
import time
from math import isqrt
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

import klearning as kl
from bench.record import recorded

DISTANCES = (1, 5, 25, *range(2, 5), *range(6, 25))  # those of ten actions are the first
STATES, ACTIONS, HORIZON = (1000, 5000, 20_000), (4, 50), 50
LARGE = (20_000, 10, 200)
TIMED = 5  # episodes
SELDOM = 20  # episodes per plan of the one that learns
CELLS, BATCHES, BATCH = 40_000, 5, 100  # of its field, of which it meets half, and of its episodes


class Field(gymnasium.Env[Any, Any]):
    """Cells without borders: an action goes its own distance along a row or a column, and costs 1, until the first
    column is reached. Episodes begin anywhere."""

    def __init__(self, states: int, actions: int) -> None:
        self.height = next(n for n in range(isqrt(states), 0, -1) if states % n == 0)
        self.width = states // self.height
        self.observation_space, self.action_space = spaces.Discrete(states), spaces.Discrete(actions)
        moves = [move for n in DISTANCES for move in ((n, 0), (-n, 0), (0, n), (0, -n))]
        self.moves = moves[:actions]
        self.x = self.y = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.y = (int(k) for k in self.np_random.integers([self.width, self.height]))
        return self.x + self.width * self.y, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        x, y = self.moves[action]
        self.x, self.y = (self.x + x) % self.width, (self.y + y) % self.height
        return self.x + self.width * self.y, -1.0, self.x == 0, False, {}


# that steps cost about 1 is known, and that an action hardly ever leads to two places
PRIOR = kl.Prior(kl.Gaussian(mean=-1.0, sd=0.3, noise=0.1), kl.Dirichlet(mass=0.01), stationary=True)


class Size(NamedTuple):
    """The cost of one learner."""

    transitions: int
    slots: int  # in the pool of transitions
    planned: float  # seconds of an episode that plans
    between: float  # of one that does not, and meets new states
    gigabytes: float


def peak() -> float:
    """Gigabytes of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def wander(learner: kl.Learner, states: int, rng: np.random.Generator) -> None:
    """One episode through states in their order, new ones to the end of it; actions are anybody's."""
    place = min(learner.observations.count, states - 1)
    for _ in range(learner.horizon):
        learner.act(place)
        place = (place + 1) % states
        learner.observe(-1.0, place, action=int(rng.integers(learner.actions.count)))
    learner.end_episode()


def measured(states: int, actions: int, horizon: int) -> Size:
    env, rng, clock = Field(states, actions), np.random.default_rng(0), time.process_time
    spaces = env.observation_space, env.action_space
    learner = kl.Learner(kl.KLearning(), *spaces, horizon, prior=PRIOR, replan_every=10**6)
    while learner.observations.count < states - horizon:
        wander(learner, states, rng)
    start = clock()
    wander(learner, states, rng)
    between = clock() - start
    learner.replan_every = 1
    kl.learn(learner, env, episodes=2)
    start = clock()
    kl.learn(learner, env, episodes=TIMED)
    planned = (clock() - start) / TIMED
    assert learner.posterior is not None
    rows = learner.posterior.model.rows
    return Size(int(rows.length.sum()), rows.used, planned, between, peak())


def size_row(states: int, actions: int, horizon: int) -> None:
    size = measured(states, actions, horizon)
    print(f"{states:,} {actions} {horizon} {size.transitions:,} {size.slots:,} {size.planned * 1e3:.0f} "
          f"{size.between * 1e3:.0f} {size.gigabytes:.2f}")  # fmt: skip


def curve(cells: int, actions: int, horizon: int) -> None:
    """A learner that begins with nothing, batch by batch."""
    env = Field(cells, actions)
    settings = kl.LearnSettings(replan_every=SELDOM)
    learner = kl.learn(kl.KLearning(), env, episodes=1, horizon=horizon, prior=PRIOR, settings=settings)
    for _ in range(BATCHES):
        start, before = time.process_time(), learner.episodes_done
        kl.learn(learner, env, episodes=BATCH)
        seconds = (time.process_time() - start) / BATCH
        mean, met = np.mean(learner.returns[before:]), learner.observations.count
        print(f"{before + 1}–{learner.episodes_done} {met:,} {mean:.1f} {seconds:.2f} {peak():.2f}")


def in_own_process(what: str, *size: int) -> list[list[str]]:
    """The rows that a process of its own prints: its peak of memory is a column."""
    command = [sys.executable, "-m", "bench.sizes", what, *map(str, size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def size_tables() -> None:
    headings = ("states", "actions", "horizon", "transitions", "slots for them", "episode with a plan (ms)",
                "episode between plans (ms)", "peak memory (GB)")  # fmt: skip
    with recorded("performance.sizes", headings, "make bench") as row:
        for size in [*((states, actions, HORIZON) for actions in ACTIONS for states in STATES), LARGE]:
            for cells in in_own_process("size_row", *size):
                row(*cells)
    curve_headings = ("episodes", "states met", "mean return", "s per episode", "peak memory (GB)")
    with recorded("performance.field", curve_headings, "make bench") as row:
        for cells in in_own_process("curve", CELLS, *LARGE[1:]):
            row(*cells)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"size_row": size_row, "curve": curve}[sys.argv[1]](*map(int, sys.argv[2:]))
    else:
        size_tables()
