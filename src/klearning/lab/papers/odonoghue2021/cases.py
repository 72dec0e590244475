"""Worlds on which priors are varied: one case is a world, a length and what is true of it."""

from typing import Any, NamedTuple

from klearning.lab.experiments.batch import Batch
from klearning.lab.experiments.spec import make_spec
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent

SEEDS = 10
NOISE = 0.05  # little against what actions differ by


class Case(NamedTuple):
    """A world, for how many episodes it is played, the Dirichlet mass that suits it, the span of its optimal values."""

    world: dict[str, Any]
    episodes: int
    mass: float
    span: float

    @property
    def reward(self) -> Gaussian:
        """The right one: its noise is the world's."""
        return Gaussian(0.0, 1.0, self.world["noise"])

    @property
    def prior(self) -> Prior:
        return Prior(self.reward, Dirichlet(self.mass))

    def batch(self, agent: Agent, prior: Prior, protocol: str, seeds: int, told: str = "nothing") -> Batch:
        """``told`` is what the agent knows of the world's transitions besides the prior."""
        spec = make_spec(self.world, agent, prior, episodes=self.episodes, protocol=protocol)
        return Batch(spec, seeds, (self.episodes,), told)
