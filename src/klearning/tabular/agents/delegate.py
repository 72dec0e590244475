"""An agent whose settings choose among algorithms, each of which is an agent by itself."""

from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar

from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.trials.agent import Agent, M
from klearning.tabular.trials.task import Streams, Task


class Delegate(Agent[M]):
    """What it is asked, its ``algorithm`` answers."""

    since: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def algorithm(self) -> Agent[Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Without what came later and is at its default: most have no use for it."""
        settings: Any = self
        shown = [f for f in fields(settings) if f.name not in self.since or getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown)})"

    def begin(self, belief: Belief) -> M:
        memory: M = self.algorithm.begin(belief)
        return memory

    def advance(self, memory: M, task: Task, first: int, count: int) -> M:
        return self.algorithm.advance(memory, task, first, count)

    def plan(self, memory: M, streams: Streams, t: int, diagnostics: Floats) -> M:
        return self.algorithm.plan(memory, streams, t, diagnostics)

    def update(self, memory: M, episode: Episode, t: int) -> M:
        return self.algorithm.update(memory, episode, t)

    def refreshed(self, memory: M) -> M:
        return self.algorithm.refreshed(memory)

    def values(self, memory: M) -> Floats:
        return self.algorithm.values(memory)
