"""Soft Q-learning (Haarnoja et al., 2017): a Boltzmann policy of fixed temperature and no bonus, for comparison.

It has two forms, each an algorithm of its own:

    td:     temporal differences (`soft_td`)
    model:  value iteration on the posterior mean (`soft_value_iteration`)

The second is K-learning's sweep with c = 0 and τ held fixed: what distinguishes the two is the bonus and the
choice of τ.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from klearning.numerics import checks
from klearning.numerics.types import Flags, Floats, Ints
from klearning.tabular.agents import soft_td, soft_value_iteration
from klearning.tabular.agents.step_sizes import STEPS, step_number
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode
from klearning.tabular.trials.agent import Agent
from klearning.tabular.trials.task import Streams, Task

FORMS: dict[str, Callable[["SoftQLearning"], Agent[Any]]] = {
    "td": lambda agent: soft_td.SoftTD(agent.temperature, agent.step),
    "model": lambda agent: soft_value_iteration.SoftValueIteration(agent.temperature),
}

Memory = soft_td.Memory | soft_value_iteration.Memory


@dataclass(frozen=True)
class SoftQLearning(Agent[Memory]):
    """Soft Q-learning at a fixed ``temperature``, in the form "td" or "model"; ``step`` is for the former."""

    temperature: float = 0.05
    form: str = "td"
    step: str | float = "falling"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"form": tuple(FORMS), "step": STEPS}
    paper: ClassVar[str] = "Haarnoja, Tang, Abbeel and Levine (2017), RL with deep energy-based policies"

    def __post_init__(self) -> None:
        checks.number("temperature", self.temperature, 0.0, above=True)
        checks.choice("form", self.form, FORMS)
        step_number(self.step)

    @cached_property
    def algorithm(self) -> Agent[Any]:
        return FORMS[self.form](self)

    def begin(self, belief: Belief) -> Memory:
        return self.algorithm.begin(belief)

    def advance(self, memory: Memory, task: Task, first: int, count: int) -> Memory:
        return self.algorithm.advance(memory, task, first, count)

    def plan(self, memory: Memory, streams: Streams, t: int, diagnostics: Floats) -> Memory:
        return self.algorithm.plan(memory, streams, t, diagnostics)

    def update(self, memory: Memory, episode: Episode, t: int) -> Memory:
        return self.algorithm.update(memory, episode, t)

    def forbid(self, memory: Memory, states: Ints, forbidden: Flags) -> Memory:
        return self.algorithm.forbid(memory, states, forbidden)

    def forget(self, memory: Memory, factor: float) -> Memory:
        return self.algorithm.forget(memory, factor)

    def exploit(self, memory: Memory) -> Floats:
        return self.algorithm.exploit(memory)

    def values(self, memory: Memory) -> Floats:
        return self.algorithm.values(memory)
