"""What is asked of an agent."""

from typing import Any, ClassVar, Protocol

from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode
from klearning.trials.task import Streams, Task


class Agent(Protocol):
    """What `run` asks of an agent: a frozen dataclass of hyper-parameters with these."""

    diagnostics: ClassVar[tuple[str, ...]]  # names of what it logs of every episode

    def begin(self, belief: Belief) -> Any:
        """All that is carried from episode to episode: a NamedTuple of arrays, among them ``policy``, (A, S)."""

    def advance(self, memory: Any, task: Task, first: int, count: int) -> Any:
        """Play and learn from ``count`` episodes, the first of them number ``first`` = 0, 1, …"""

    def values(self, memory: Any) -> Floats:
        """The agent's own value of every state when it made its last policy; zeros where it has none."""


class Stepwise(Agent, Protocol):
    """What `Learner` asks besides, to learn in a simulator that is none of ours."""

    def plan(self, memory: Any, streams: Streams, t: int, said: Floats) -> Any:
        """Write the policy of episode t = 0, 1, … into the memory, and the diagnostics into ``said``."""

    def update(self, memory: Any, episode: Episode, t: int) -> Any:
        """Learn from episode t."""

    def exploit(self, memory: Any) -> Floats:
        """The policy (A, S) to use once exploring is over."""
