"""`run` on a device: an agent in a world, or in one world per seed, with all seeds at once."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from numba import config, cuda

from klearning.agents.beb import BEB
from klearning.agents.k_learning import KLearning
from klearning.agents.psrl import PSRL
from klearning.agents.rlsvi import RLSVI
from klearning.agents.ucbvi import UCBVI
from klearning.arrays.compiled import announce_compilation
from klearning.arrays.screen import ProgressBar
from klearning.beliefs.belief import Prior
from klearning.gpu.batch import Chunk, Form, bytes_per_seed, check_prior, check_world, new_batch, play, refuse
from klearning.gpu.beb import BEBForm
from klearning.gpu.digest import Digest, Tally, digest
from klearning.gpu.k_learning import KLearningForm
from klearning.gpu.layout import Worlds
from klearning.gpu.psrl import PSRLForm
from klearning.gpu.rlsvi import RLSVIForm
from klearning.gpu.ucbvi import UCBVIForm
from klearning.models.mdp import MDP, optimal_value
from klearning.trials.agent import Agent
from klearning.trials.run import Runs

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
    if type(agent) not in FORMS:
        refuse(f"agent={agent!r}", ", ".join(kind.__name__ for kind in FORMS))
    if max(seeds) >= MOST_SEED:
        raise ValueError(f'seeds has {max(seeds)}, and device="gpu" takes seeds below 2³²: give smaller ones')
    own, one = isinstance(world, Worlds), world.like if isinstance(world, Worlds) else world
    if isinstance(world, Worlds) and len(world) != len(seeds):
        raise ValueError(f"seeds are {len(seeds)} and worlds {len(world)}: give as many of both")
    check_world(world)
    check_prior(prior, world)
    announce_compilation()
    form = FORMS[type(agent)](agent, prior, one)
    best = world.optimal_values if isinstance(world, Worlds) else optimal_value(world)
    names = form.diagnostics
    whole = not own and len(seeds) * (episodes * (8 * (2 + len(names)) + 1) + 8 * one.reward.size) <= ALL_BYTES
    group = max(1, min(len(seeds), int(SHARE * free_bytes()) // bytes_per_seed(world)))
    chunks: list[list[Chunk]] = []
    visits, tallies = [], []
    began = time.perf_counter()
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("episodes", len(seeds) * episodes)) if progress is True else None
        tell = progress if callable(progress) else bar
        for first in range(0, len(seeds), group):
            last = min(first + group, len(seeds))
            here = world.part(first, last) if isinstance(world, Worlds) else world
            batch = new_batch(here, type(agent).__name__, np.array(seeds[first:last], np.uint32))
            tally = Tally(
                best[first:last] if isinstance(best, np.ndarray) else best, last - first, episodes, len(names)
            )
            kept: list[Chunk] = []
            for chunk in play(form, batch, episodes):
                if whole:
                    kept.append(chunk)
                else:
                    tally.add(chunk)
                if tell is not None:
                    tell(chunk.values.size)
            chunks.append(kept)
            tallies.append(tally)
            if whole:
                shape = (one.states, one.actions, last - first)
                visits.append(batch.counts.visits.copy_to_host().reshape(shape).transpose(2, 0, 1))
    seconds = time.perf_counter() - began
    if not whole:
        return digest(agent, world, prior, seeds, names, tallies, seconds)

    def joined(field: str, axis: int = 0, kind: Any = np.float64) -> Any:
        groups = [np.concatenate([getattr(chunk, field) for chunk in kept], axis=axis + 1) for kept in chunks]
        return np.ascontiguousarray(np.concatenate(groups, axis=axis), kind)

    return Runs(
        agent=agent, world=one, prior=prior, seeds=seeds, optimal_value=float(best), values=joined("values"),
        returns=joined("returns"), hits=joined("hits", kind=np.bool_),
        visits=np.ascontiguousarray(np.concatenate(visits), np.float64),
        diagnostics=dict(zip(names, joined("diagnostics", 1), strict=True)), seconds=seconds,
    )  # fmt: skip


def free_bytes() -> int:
    """Of the device; of a simulated one, plenty."""
    if config.ENABLE_CUDASIM:
        return 2**30
    return int(cuda.current_context().get_memory_info().free)
