"""When very many seeds solve a world, on a device: the seeds of `run`, and not an episode more than the last needs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from klearning.gpu.batch import new_batch, play
from klearning.gpu.seeds import checked_form, groups
from klearning.gpu.tally import Tally
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.models.mdp import MDP, optimal_value
from klearning.tabular.trials.agent import Agent


def solved_times(agent: Agent[Any], world: MDP, prior: Prior, episodes: int, seeds: Sequence[int]) -> Floats:
    """The episode by which each seed has solved it, as that of `Runs`; nan where it has not after so many."""
    form, best, times = checked_form(agent, world, prior, seeds), optimal_value(world), np.full(len(seeds), np.nan)
    for span in groups(world, len(seeds)):
        batch = new_batch(world, type(agent).__name__, np.array(seeds[span], np.uint32))
        tally = Tally(best, len(batch.seeds), episodes, len(form.diagnostics))
        for log, count in play(form, batch, episodes):
            tally.add(log, count)
            if tally.by_seed.solved.copy_to_host().all():
                break
        tally.end(batch)
        times[span] = tally.of_seeds["solved"]
    return times
