"""One run of an agent in a world.

`run`, sweeps and `check_agent` all play a `Trial`, chunk by chunk; what differs is what they do between two
chunks.
"""

from typing import Any

import numpy as np

from klearning.numerics.checks import TOLERANCE
from klearning.numerics.records.validation import check_fixed, refuse
from klearning.numerics.types import Arrays
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.models.mdp import MDP
from klearning.tabular.trials.agent import Agent, as_agent
from klearning.tabular.trials.chunks import Chunked
from klearning.tabular.trials.runs import DIAGNOSTIC
from klearning.tabular.trials.streams import streams
from klearning.tabular.trials.task import Log, Task, World


class Trial(Chunked):
    """An agent that begins with a prior, in a world, with a seed: results depend on nothing else."""

    def __init__(
        self, agent: Agent, world: MDP, prior: Prior, seed: int, episodes: int, evaluate_every: int = 1
    ) -> None:
        super().__init__(episodes)
        self.agent, self.world, self.prior = agent, world, prior
        self.purpose = f"{type(agent).__name__} in {world.name}"
        self.belief = Belief.before(prior, world)  # what the agent begins with
        self.task = task = new_task(agent, world, episodes, seed, evaluate_every)
        self.streams = task.world_stream, task.action_stream, task.reward_stream, task.row_stream
        self.memory = self.fresh_memory()

    @property
    def log(self) -> Log:
        return self.task.log

    def advance(self, count: int) -> None:
        """Play ``count`` more episodes."""
        self.memory = self.agent.advance(self.memory, self.task, self.played, count)
        self.played += count

    def result(self, ran: int | None = None) -> Arrays:
        """The arrays of all episodes, or of the first ``ran`` of them."""
        arrays = self.log_until(ran)
        diagnostics, visits = arrays.pop("diagnostics"), arrays.pop("visits")
        named = {f"{DIAGNOSTIC}{name}": diagnostics[i] for i, name in enumerate(self.agent.diagnostics)}
        return {**arrays, **named, "visits": visits}

    def fresh_memory(self) -> Any:
        return self.agent.begin(self.belief)

    def check(self, memory: Any, fresh: Any, played: int) -> None:
        """The posterior's episodes begin where the world's do, and the log is one of that many episodes."""
        believed, begun = (as_agent(self.agent).posterior(m) for m in (memory, fresh))
        if isinstance(believed, Posterior) and isinstance(begun, Posterior):
            check_fixed("memory.posterior.model.initial", believed.model.initial, begun.model.initial)
        t, log, reward = played, self.log, self.world.reward
        low, high = self.world.horizon * min(0.0, reward.min()), self.world.horizon * max(0.0, reward.max())
        values, slack = log.values[:t], TOLERANCE * (high - low)
        impossible = ~((values >= low - slack) & (values <= high + slack))
        refuse("log.values", "is not a value of a policy in this world", impossible, values)
        refuse("log.returns", "is not finite", ~np.isfinite(log.returns[:t]), log.returns)
        refuse("log.diagnostics", "is not a number", np.isnan(log.diagnostics[:, :t]), log.diagnostics)
        refuse("log.visits", "is not a count", ~(log.visits >= 0.0), log.visits)
        if log.visits.sum() != t * self.world.horizon:
            raise ValueError(f"log.visits are {log.visits.sum():g}, not {self.world.horizon} in each of {t} episodes")

    def log_until(self, t: int | None) -> Arrays:
        log = self.log
        return {
            "values": log.values[:t],
            "returns": log.returns[:t],
            "hits": log.hits[:t],
            "visits": log.visits,
            "diagnostics": log.diagnostics[:, :t],
        }


def new_task(agent: Agent, world: MDP, episodes: int, seed: int, every: int = 1) -> Task:
    """Fresh buffers, log and streams for one seed."""
    L = world.horizon
    state, action = world.goal if world.goal is not None else (-1, -1)
    goal = (-1, state, action) if world.recurring else (state, -1, action)
    nature, actions, rewards, rows = streams(seed, world.name, type(agent).__name__, uses=4)
    return Task(
        world=World(
            world.model, world.noise_table, isinstance(world.noise, str), *goal,
            -1 if world.end is None else world.end,
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
