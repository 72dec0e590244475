"""`run` on a device: an agent in a world, or in one world per seed, with all seeds at once."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numba import config, cuda

from klearning.gpu.batch import (
    Batch,
    Chunk,
    Form,
    bytes_per_seed,
    check_prior,
    check_world,
    new_batch,
    on_host,
    play,
    refuse,
)
from klearning.gpu.beb import BEBForm
from klearning.gpu.digest import Digest, digest
from klearning.gpu.k_learning import KLearningForm
from klearning.gpu.layout import Log, Worlds
from klearning.gpu.psrl import PSRLForm
from klearning.gpu.rlsvi import RLSVIForm
from klearning.gpu.tally import Tally
from klearning.gpu.ucbvi import UCBVIForm
from klearning.numerics.screen import ProgressBar
from klearning.tabular.agents.beb import BEB
from klearning.tabular.agents.k_learning import KLearning
from klearning.tabular.agents.psrl import PSRL
from klearning.tabular.agents.rlsvi import RLSVI
from klearning.tabular.agents.ucbvi import UCBVI
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.run import Runs

FORMS: dict[type, Callable[[Any, Prior, MDP], Form]] = {
    KLearning: KLearningForm,
    PSRL: PSRLForm,
    RLSVI: RLSVIForm,
    BEB: BEBForm,
    UCBVI: UCBVIForm,
}

ALL_BYTES = 2**31  # `Runs` up to this size, else a `Digest`: whichever machine it is
SHARE = 0.7  # of the device's free memory, for beliefs
MOST_SEED = 2**32


def run(
    agent: Agent[Any],
    world: MDP | Worlds,
    prior: Prior,
    episodes: int,
    seeds: tuple[int, ...],
    progress: Callable[[int], None] | bool | None = None,
) -> Runs | Digest:
    """`klearning.run` with ``device="gpu"``: `Runs` where all of it fits into 2 GiB, else a `Digest`."""
    form, own = checked_form(agent, world, prior, seeds), isinstance(world, Worlds)
    one = world.like if isinstance(world, Worlds) else world
    best = world.optimal_values if isinstance(world, Worlds) else optimal_value(world)
    names = form.diagnostics
    whole = not own and len(seeds) * (episodes * (8 * (2 + len(names)) + 1) + 8 * one.reward.size) <= ALL_BYTES
    kept: list[Kept] = []
    tallies: list[Tally] = []
    began = time.perf_counter()
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("episodes", len(seeds) * episodes)) if progress is True else None
        tell = progress if callable(progress) else bar
        for span in groups(world, len(seeds)):
            here = world.part(span) if isinstance(world, Worlds) else world
            optimal = best[span] if isinstance(best, np.ndarray) else best
            batch = new_batch(here, type(agent).__name__, np.array(seeds[span], np.uint32))
            keeper = Kept(len(names)) if whole else Tally(optimal, len(batch.seeds), episodes, len(names))
            for log, count in play(form, batch, episodes):
                keeper.add(log, count)
                if tell is not None:
                    tell(count * len(batch.seeds))
            keeper.end(batch)
            kept += [keeper] if isinstance(keeper, Kept) else []
            tallies += [keeper] if isinstance(keeper, Tally) else []
    seconds = time.perf_counter() - began
    if not whole:
        return digest(agent, world, prior, seeds, names, tallies, seconds)
    visits = np.concatenate([part.visits for part in kept]).reshape(-1, one.states, one.actions)
    return Runs(
        agent=agent, world=one, prior=prior, seeds=seeds, optimal_value=float(best), values=joined(kept, "values"),
        returns=joined(kept, "returns"), hits=joined(kept, "hits", kind=np.bool_), visits=visits,
        diagnostics=dict(zip(names, joined(kept, "diagnostics", 1), strict=True)), seconds=seconds,
    )  # fmt: skip


def checked_form(agent: Agent[Any], world: MDP | Worlds, prior: Prior, seeds: Sequence[int]) -> Form:
    """The agent as the device plays it, or one line that says what of it, of the prior or of the world cannot be."""
    if type(agent) not in FORMS:
        refuse(f"agent={agent!r}", ", ".join(kind.__name__ for kind in FORMS))
    if max(seeds) >= MOST_SEED:
        raise ValueError(f'seeds has {max(seeds)}, and device="gpu" takes seeds below 2³²: give smaller ones')
    if isinstance(world, Worlds) and len(world) != len(seeds):
        raise ValueError(f"seeds are {len(seeds)} and worlds {len(world)}: give as many of both")
    check_world(world)
    check_prior(prior, world)
    return FORMS[type(agent)](agent, prior, world.like if isinstance(world, Worlds) else world)


def groups(world: MDP | Worlds, seeds: int) -> Iterator[slice]:
    """All seeds, as many at a time as the device has room for."""
    size = max(1, min(seeds, int(SHARE * free_bytes()) // bytes_per_seed(world)))
    return (slice(first, min(first + size, seeds)) for first in range(0, seeds, size))


class Kept:
    """All that some seeds left, on the host."""

    def __init__(self, names: int) -> None:
        self.names = names
        self.chunks: list[Chunk] = []
        self.visits = np.zeros((0, 0))  # (seeds, S·A)

    def add(self, log: Log, count: int) -> None:
        self.chunks.append(on_host(log, self.names, count))

    def end(self, batch: Batch) -> None:
        self.visits = batch.counts.visits.copy_to_host().T.astype(np.float64)


def joined(kept: list[Kept], field: str, axis: int = 0, kind: Any = np.float64) -> Any:
    """One field of all seeds, on this axis, and all episodes, on the next."""
    parts = [np.concatenate([getattr(chunk, field) for chunk in part.chunks], axis=axis + 1) for part in kept]
    return np.ascontiguousarray(np.concatenate(parts, axis=axis), kind)


def free_bytes() -> int:
    """Of the device; of a simulated one, plenty."""
    if config.ENABLE_CUDASIM:
        return 2**30
    return int(cuda.current_context().get_memory_info().free)
