"""Worlds on which priors are varied: one case is a world, a length and what is true of it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.papers.figure import Figure, R
from klearning.tabular.beliefs.belief import Prior
from klearning.tabular.beliefs.rewards import Gaussian
from klearning.tabular.beliefs.transitions import Dirichlet
from klearning.tabular.trials.agent import Agent

SEEDS = 10
NOISE = 0.05  # little against what actions differ by


@dataclass(frozen=True, eq=False)
class CaseStudy(Figure[R]):
    """All cases, each with some seeds."""

    seeds: int = SEEDS
    by_name_only: ClassVar[bool] = True

    def small(self) -> Self:
        return replace(self, seeds=3)


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

    def spec(self, agent: Agent, prior: Prior, protocol: str, seeds: int, hint: str = "nothing") -> Spec:
        """Numbers are kept after the last episode alone."""
        return make_spec(
            self.world, agent, prior, episodes=self.episodes, protocol=protocol, seeds=seeds, keep=[self.episodes],
            hint=hint,
        )  # fmt: skip
