"""Seeds side by side on a device: what every agent there is given, and how episodes come back."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from klearning.gpu.layout import Counts, Log, Shape, World, Worlds, new_log, no_counts, world_on_device, zeros
from klearning.gpu.random import run_key
from klearning.numerics.sparse.validation import same_entries
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.transitions import Known
from klearning.tabular.models.mdp import MDP

THREADS = 128  # per block
REGISTERS = 64  # per thread at most if every pair has one successor: 1,024 threads fit a multiprocessor
LAUNCH_SECONDS = 0.2  # about how long a kernel runs before Python may show progress or stop
LAUNCH_BYTES = 2**30  # what the log of one launch may take
SMALLEST, LARGEST = 1e-25, 1e25  # of the prior's numbers: their squares are float32

Float32s = NDArray[np.float32]


def refuse(what: str, able: str) -> NoReturn:
    raise ValueError(f'{what} has no program for device="gpu", which can do {able}: use device="cpu"')


@dataclass(frozen=True)
class Batch:
    """A world, or one per seed, and what each seed has seen of it, on the device."""

    world: World
    shape: Shape
    counts: Counts
    share: Any  # (S·(A−1), seeds): the policies
    key: tuple[np.uint32, np.uint32]
    seeds: Any  # (seeds,), uint32
    threads: int = THREADS
    registers: int | None = None  # per thread at most; None lets the compiler choose

    @property
    def grid(self) -> tuple[int, int]:
        return -(-len(self.seeds) // self.threads), self.threads


class GpuProgram(Protocol):
    """An agent as the device plays it: made of (agent, prior, mdp), or a ValueError that names what it can do."""

    diagnostics: tuple[str, ...]

    def begin(self, batch: Batch) -> Any:
        """Arrays carried from episode to episode, on the device."""

    def advance(self, batch: Batch, state: Any, log: Log, first: int, count: int) -> None:
        """Play ``count`` episodes of every seed, the first of them episode ``first`` = 0, 1, …; write the log."""


def new_batch(world: MDP | Worlds, agent: str, seeds: NDArray[np.uint32]) -> Batch:
    there, shape = world_on_device(world)
    share = zeros((shape.states * (shape.actions - 1), len(seeds)))
    counts, key = no_counts(there, shape, len(seeds)), run_key(world.name, agent)
    registers = REGISTERS if shape.single else None
    return Batch(there, shape, counts, share, key, cuda.to_device(seeds), registers=registers)


def bytes_per_seed(world: MDP | Worlds) -> int:
    """Bytes that a seed takes on the device, without its log."""
    one = world if isinstance(world, MDP) else world.like
    pairs, entries = one.states * one.actions, int(one.rows.length.sum())
    own = 0 if isinstance(world, MDP) else pairs + entries
    return 4 * (2 * pairs + one.states * (one.actions - 1) + entries + own)


class Chunk(NamedTuple):
    """The log of consecutive episodes, on the host; (seeds, episodes)."""

    values: Float32s
    returns: Float32s
    hits: NDArray[np.bool_]
    diagnostics: Float32s  # (names, seeds, episodes)


def on_host(log: Log, names: int, count: int) -> Chunk:
    """The first ``count`` episodes of a log."""
    values, returns, hits, talk = (x[:count].copy_to_host() for x in log)
    return Chunk(values.T, returns.T, hits.T > 0.0, talk[:, :names].transpose(1, 2, 0))


def play(program: GpuProgram, batch: Batch, episodes: int) -> Iterator[tuple[Log, int]]:
    """All episodes, launch by launch: the log on the device, and how many episodes of it are new.

    Launches double until they take about `LAUNCH_SECONDS`.
    """
    names, seeds, state = len(program.diagnostics), len(batch.seeds), program.begin(batch)
    most = max(1, min(episodes, LAUNCH_BYTES // (4 * seeds * (3 + names))))
    log = new_log(names, most, seeds)
    first, size = 0, 1
    while first < episodes:
        count, began = min(size, most, episodes - first), time.perf_counter()
        program.advance(batch, state, log, first, count)
        cuda.synchronize()
        if count == size and time.perf_counter() - began < LAUNCH_SECONDS / 2:
            size *= 2
        first += count
        yield log, count


def check_prior(prior: Prior, world: MDP | Worlds) -> None:
    """That the device can hold what is believed."""
    numbers, known = prior.reward.numbers(), prior.transitions
    if prior.stationary:
        refuse("a prior with stationary=True", "priors with a table for every layer")
    if np.isfinite(numbers.noise_strength):
        refuse(f"reward={prior.reward!r}", "Gaussian and Beta")
    for name, x in (("noise", numbers.noise_variance), ("sd", numbers.variance), ("strength", numbers.strength)):
        if not SMALLEST <= x <= LARGEST:
            refuse(f"reward={prior.reward!r}", f"rewards of a {name} between {SMALLEST:g} and {LARGEST:g}, squared")
    if isinstance(known, Known):
        if isinstance(world, Worlds) or not same_entries(Belief.before(prior, world).transitions.rows, world.rows):
            refuse(f"transitions={known!r}", "transitions known as they are: Known(world)")
    elif known.support is not None:
        refuse(f"transitions={known!r}", "a Dirichlet over whole layers, without support")


def check_world(world: MDP | Worlds) -> None:
    if (world if isinstance(world, MDP) else world.like).actions < 2:
        refuse(f"world={world!r}", "worlds with a choice: two actions or more")
