"""How a world, and the beliefs of many seeds, lie on a device.

One thread plays one seed. Whatever differs from seed to seed has the seed as its last axis, so that neighbours read
neighbours: beliefs are [(state, action), seed]. The pair of state s and action a is number k = s·A + a.

An agent only sees successors that the world has, so its counts lie on the world's own rows: the entries of pair k are
``start[k] .. start[k+1]-1``. The prior's even share is one mean per layer, as on the CPU. If every pair has one
successor, entry and pair are the same, its count is the visits, and neither ``start`` nor ``counts`` is read.

Sweeps go through all states from the last to the first. A value is needed until the last state that leads there has
been swept: each state has a ``slot`` of a small array per thread, one that is free by then (`slots`). DeepSea needs
slots for one layer, not for two.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import config, cuda

from klearning.gpu.random import F
from klearning.numerics.sparse.rows import places
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.mdp import MDP

config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # few seeds are few blocks, by the caller's choice


class World(NamedTuple):
    """An MDP, or one of the same shape for every seed, on the device."""

    layers: Any  # (L+1,), int32
    start: Any  # (S·A + 1,), int32
    succ: Any  # (entries,), int32: states
    place: Any  # (entries,), int32: their slots
    slot: Any  # (S,), int32
    weight: Any  # (entries, worlds): probabilities; worlds is 1, or one per seed
    reward: Any  # (S·A, worlds): means
    noise: Any  # (S·A, 1): standard deviations
    initial: Any  # (S_1,)


class Counts(NamedTuple):
    """The statistics of every seed, on the device."""

    visits: Any  # (S·A, seeds)
    sums: Any  # (S·A, seeds), of rewards
    moves: Any  # (entries, seeds): how often each successor came; (1, 1) if that is the visits


class Log(NamedTuple):
    """The log of every episode of one launch, on the device."""

    values: Any  # (episodes, seeds): exact, of the policy
    returns: Any
    hits: Any  # 0 or 1
    diagnostics: Any  # (episodes, names, seeds)


@dataclass(frozen=True)
class Shape:
    """The properties of a world that are compiled into its kernels."""

    horizon: int
    states: int
    actions: int
    slots: int
    single: bool  # whether every pair has one successor
    own: bool  # whether every seed has a world of its own
    bernoulli: bool
    goal_state: int  # numbered through all layers, or -1
    goal_place: int  # counted from the first state of any layer, or -1
    goal_action: int
    end: int  # the state of every layer in which an episode is over, or -1


def slots(world: MDP) -> Ints:
    """A slot for every state: free again when the last state that leads there is swept, and lowest first."""
    slot = np.zeros(world.states, np.int64)
    entry, row = places(world.rows)
    needed = np.full(world.states, world.states)  # down to which state a value is needed
    np.minimum.at(needed, world.rows.succ[entry], row % world.states)
    done: dict[int, list[int]] = {}
    free: list[int] = []
    size = 0
    for s in range(world.states - 1, -1, -1):
        free += done.pop(s, [])
        if not free:
            free.append(size)
            size += 1
        free.sort(reverse=True)
        slot[s] = free.pop()
        done.setdefault(min(int(needed[s]), s - 1), []).append(int(slot[s]))
    return slot


@dataclass(frozen=True, eq=False, repr=False)
class Worlds:
    """A world for every seed, all of the same layers and possible successors: those of ``like``."""

    like: MDP
    reward: Floats  # (worlds, A, S): means
    weight: Floats  # (worlds, entries): probabilities, in the order of the pool of ``like.rows``
    optimal_values: Floats  # (worlds,)

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def name(self) -> str:
        return self.like.name

    def __repr__(self) -> str:
        return f"Worlds({len(self):,} × {self.like!r})"

    @property
    def goal(self) -> tuple[int, int] | None:
        return self.like.goal

    def part(self, span: slice | Ints) -> "Worlds":
        """Some of them."""
        return Worlds(self.like, self.reward[span], self.weight[span], self.optimal_values[span])


def world_on_device(world: MDP | Worlds) -> tuple[World, Shape]:
    one = world if isinstance(world, MDP) else world.like
    entry, row = places(one.rows)
    a, s = row // one.states, row % one.states
    order = np.lexsort((entry, a, s))  # by state, then action; the entries of a row as they were
    entry, pair = entry[order], (s * one.actions + a)[order]
    succ = one.rows.succ[entry]
    start = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=one.states * one.actions))])
    inner = int(one.layers[-2]) * one.actions  # pairs that lead somewhere
    slot = slots(one)
    state, action = one.goal if one.goal is not None else (-1, -1)
    shape = Shape(
        horizon=one.horizon, states=one.states, actions=one.actions, slots=int(slot.max()) + 1,
        single=bool(np.array_equal(pair, np.arange(inner))), own=isinstance(world, Worlds),
        bernoulli=isinstance(one.noise, str), goal_state=-1 if one.recurring else state,
        goal_place=state if one.recurring else -1, goal_action=action, end=-1 if one.end is None else one.end,
    )  # fmt: skip
    noise = one.noise_table.T.reshape(-1, 1)
    if isinstance(world, MDP):
        weight, reward = one.rows.weight[entry, None], one.reward.T.reshape(-1, 1)
    else:
        weight, reward = world.weight.T[entry], world.reward.transpose(2, 1, 0).reshape(-1, len(world))
    ints = (np.asarray(x, np.int32) for x in (one.layers, start, succ, slot[succ], slot))
    floats = (np.asarray(x, F) for x in (weight, reward, noise, one.initial))
    return World(*(cuda.to_device(np.ascontiguousarray(x)) for x in (*ints, *floats))), shape


def no_counts(world: World, shape: Shape, seeds: int) -> Counts:
    """Before anything is seen."""
    pairs, entries = world.reward.shape[0], world.succ.shape[0]
    return Counts(zeros((pairs, seeds)), zeros((pairs, seeds)), zeros((1, 1) if shape.single else (entries, seeds)))


def at_most(registers: int | None) -> dict[str, int]:
    """Options of the compiler of a kernel; a simulator has none."""
    return {} if registers is None or config.ENABLE_CUDASIM else {"max_registers": registers}


def zeros(shape: tuple[int, ...], dtype: Any = F) -> Any:
    if config.ENABLE_CUDASIM:  # its threads are Python's
        return cuda.to_device(np.zeros(shape, dtype))
    array = cuda.device_array(shape, dtype)
    fill_zero[-(-array.size // THREADS), THREADS](array.reshape(array.size))
    return array


def new_log(names: int, episodes: int, seeds: int) -> Log:
    """An empty log of an agent with ``names`` diagnostics."""
    values, returns, hits = (zeros((episodes, seeds)) for _ in range(3))
    return Log(values, returns, hits, zeros((episodes, max(names, 1), seeds)))


THREADS = 256


@cuda.jit
def fill_zero(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 0
