"""An agent whose settings choose among algorithms, each of which is an agent by itself."""

from functools import cached_property
from typing import Any, ClassVar

from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.trials.agent import Agent, M, settings_text
from klearning.tabular.trials.task import Streams, Task


class Delegate(Agent[M]):
    """Hands its calls to its ``algorithm``."""

    since: ClassVar[tuple[str, ...]] = ()  # settings that neither data nor repr mention at their default

    @cached_property
    def algorithm(self) -> Agent[Any]:
        raise NotImplementedError

    @property
    def diagnostics(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.algorithm.diagnostics

    def __repr__(self) -> str:
        return settings_text(self)

    def begin(self, belief: Belief) -> M:
        memory: M = self.algorithm.begin(belief)
        return memory

    def advance(self, memory: M, task: Task, first: int, count: int) -> M:
        return self.algorithm.advance(memory, task, first, count)

    def plan(self, memory: M, streams: Streams, t: int, diagnostics: Floats) -> M:
        return self.algorithm.plan(memory, streams, t, diagnostics)

    def update(self, memory: M, episode: Episode, t: int) -> M:
        return self.algorithm.update(memory, episode, t)

    def values(self, memory: M) -> Floats:
        return self.algorithm.values(memory)

    def exploit(self, memory: M) -> Floats:
        return self.algorithm.exploit(memory)

    def posterior(self, memory: M) -> Posterior | None:
        return self.algorithm.posterior(memory)

    def forbid(self, memory: M, states: Ints, forbidden: Flags) -> M:
        return self.algorithm.forbid(memory, states, forbidden)

    def forget(self, memory: M, factor: float) -> M:
        return self.algorithm.forget(memory, factor)
