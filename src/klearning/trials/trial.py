"""One run of an agent in a world: fresh buffers, log and streams."""

import numpy as np

from klearning.beliefs.posterior import Episode
from klearning.models.mdp import MDP
from klearning.trials.agent import Agent
from klearning.trials.streams import streams
from klearning.trials.task import Log, Task, World


def new_task(agent: Agent, world: MDP, episodes: int, seed: int, every: int = 1) -> Task:
    """Fresh buffers, log and streams for one seed."""
    L, noise = world.horizon, world.noise
    goal = world.goal if world.goal is not None else (-1, -1)
    bernoulli = isinstance(noise, str)
    nature, actions, rewards, rows = streams(seed, world.name, type(agent).__name__, uses=4)
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
        world_stream=nature,
        action_stream=actions,
        reward_stream=rewards,
        row_stream=rows,
    )  # fmt: skip
