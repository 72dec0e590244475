"""Seeds on a device: an agent in a world, or in one world per seed, with as many seeds at once as there is room for."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numba import config, cuda

from klearning.gpu.batch import GpuProgram, bytes_per_seed, check_prior, check_world, new_batch, play, refuse
from klearning.gpu.beb import BEBProgram
from klearning.gpu.k_learning import KLearningProgram
from klearning.gpu.keeping import KeepAll, KeepPoints
from klearning.gpu.layout import Worlds
from klearning.gpu.psrl import PSRLProgram
from klearning.gpu.rlsvi import RLSVIProgram
from klearning.gpu.ucbvi import UCBVIProgram
from klearning.numerics.display.progress import ProgressBar
from klearning.numerics.types import Arrays
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.run import Progress
from klearning.tabular.trials.runs import Meeting, Runs

PROGRAMS: dict[type, Callable[[Any, Prior, MDP], GpuProgram]] = {
    KLearning: KLearningProgram,
    PSRL: PSRLProgram,
    RLSVI: RLSVIProgram,
    BEB: BEBProgram,
    UCBVI: UCBVIProgram,
}

SHARE = 0.7  # of the device's free memory, for beliefs
MOST_SEED = 2**32
MOST_SOLVED = 0.99  # of the seeds: the others are played again by themselves, from their first episode


class DeviceRun:
    """All seeds of an agent in a world. A seed's numbers do not depend on those beside it.

    Without ``points`` every episode is kept. If it is to ``stop`` when "solved", it keeps points, and plays not many
    more episodes than the last seed needs: when nearly all seeds have solved the world the few others are played again.
    """

    def __init__(
        self, agent: Agent[Any], world: MDP | Worlds, prior: Prior, episodes: int, seeds: Sequence[int],
        points: Sequence[int] = (), stop: str = "never",
    ) -> None:  # fmt: skip
        self.program = checked_program(agent, world, prior, seeds)
        self.agent, self.world, self.prior, self.episodes = agent, world, prior, episodes
        self.seeds, self.points, self.stop = np.array(seeds), points, stop
        self.parts: list[Arrays] = []
        best = world.optimal_values if isinstance(world, Worlds) else optimal_value(world)
        self.optimal = np.broadcast_to(best, len(seeds))

    def chunks(self) -> Iterator[int]:
        """Play to the end; after every launch its number of episodes is yielded."""
        for span in groups(self.world, len(self.seeds)):
            here = self.world.part(span) if isinstance(self.world, Worlds) else self.world
            batch = new_batch(here, type(self.agent).__name__, self.seeds[span].astype(np.uint32))
            names, optimal = self.program.diagnostics, self.optimal[span]
            keeper: KeepAll | KeepPoints = KeepAll(optimal, batch, names)
            if self.points:
                keeper = KeepPoints(optimal, batch, names, self.points, self.episodes)
            for log, count in play(self.program, batch, self.episodes):
                keeper.add(log, count)
                yield count * len(batch.seeds)
                if self.stop == "solved" and isinstance(keeper, KeepPoints) and keeper.solved_share() >= MOST_SOLVED:
                    break
            arrays = keeper.arrays()
            if isinstance(keeper, KeepPoints) and keeper.played < self.episodes and self.stop == "solved":
                yield from self._play_again(arrays, span)
            self.parts.append(_cut_at_solved(arrays, self.points) if self.stop == "solved" else arrays)

    def _play_again(self, arrays: Arrays, span: slice) -> Iterator[int]:
        """Those that have not solved the world yet, from their first episode on."""
        slow = np.flatnonzero(np.isnan(arrays["solved"]))
        if slow.size:
            seeds = self.seeds[span][slow].tolist()
            world = self.world.part(span).part(slow) if isinstance(self.world, Worlds) else self.world
            again = DeviceRun(self.agent, world, self.prior, self.episodes, seeds, self.points, self.stop)
            yield from again.chunks()
            for name, x in again.result().items():
                arrays[name][slow] = x

    def result(self) -> Arrays:
        """The results of all seeds."""
        return {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}


def _cut_at_solved(arrays: Arrays, points: Sequence[int]) -> Arrays:
    """Without what lies behind the episode at which a seed ends."""
    late = np.array(points) > np.nan_to_num(arrays["solved"], nan=np.inf)[:, None]
    by_point = {name: x for name, x in arrays.items() if x.ndim == 2}
    return arrays | {name: np.where(late, False if x.dtype == np.bool_ else np.nan, x) for name, x in by_point.items()}


def run(
    agent: Agent[Any],
    world: MDP | Worlds,
    prior: Prior,
    episodes: int,
    seeds: tuple[int, ...],
    progress: Progress = None,
    points: Sequence[int] = (),
) -> Runs:
    """`klearning.run` with ``device="gpu"``."""
    device = DeviceRun(agent, world, prior, episodes, seeds, points)
    began = time.perf_counter()
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("episodes", len(seeds) * episodes)) if progress is True else None
        tell = progress if callable(progress) else bar
        for count in device.chunks():
            if tell is not None:
                tell(count)
    arrays, seconds = device.result(), time.perf_counter() - began
    return Runs.of(Meeting(agent, world, prior), seeds, arrays, np.array(points) if points else None, seconds)


def checked_program(agent: Agent[Any], world: MDP | Worlds, prior: Prior, seeds: Sequence[int]) -> GpuProgram:
    """The agent as the device plays it, or one line that says what of it, of the prior or of the world cannot be."""
    if type(agent) not in PROGRAMS:
        refuse(f"agent={agent!r}", ", ".join(kind.__name__ for kind in PROGRAMS))
    if max(seeds) >= MOST_SEED:
        raise ValueError(f'seeds has {max(seeds)}, and device="gpu" takes seeds below 2³²: give smaller ones')
    if isinstance(world, Worlds) and len(world) != len(seeds):
        raise ValueError(f"seeds are {len(seeds)} and worlds {len(world)}: give as many of both")
    check_world(world)
    check_prior(prior, world)
    return PROGRAMS[type(agent)](agent, prior, world.like if isinstance(world, Worlds) else world)


def groups(world: MDP | Worlds, seeds: int) -> Iterator[slice]:
    """All seeds, as many at a time as the device has room for."""
    size = max(1, min(seeds, int(SHARE * free_bytes()) // bytes_per_seed(world)))
    return (slice(first, min(first + size, seeds)) for first in range(0, seeds, size))


def free_bytes() -> int:
    """Of the device; of a simulated one, plenty."""
    if config.ENABLE_CUDASIM:
        return 2**30
    return int(cuda.current_context().get_memory_info().free)
