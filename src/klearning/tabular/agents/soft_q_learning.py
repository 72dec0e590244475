"""Soft Q-learning (Haarnoja et al., 2017): a Boltzmann policy of fixed temperature and no bonus, for comparison.

It has two forms, each an algorithm of its own:

    td:     temporal differences (`soft_td`)
    model:  value iteration on the posterior mean (`soft_value_iteration`)

The second is K-learning's sweep with c = 0 and τ held fixed: the two differ by the bonus and the choice of τ.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from klearning.numerics import checks
from klearning.tabular.agents import soft_td, soft_value_iteration
from klearning.tabular.agents.delegate import Delegate
from klearning.tabular.agents.temporal_differences import STEPS, Step, step_number
from klearning.tabular.trials.agent import Agent

Memory = soft_td.Memory | soft_value_iteration.Memory
FORMS = ("td", "model")


@dataclass(frozen=True, repr=False)
class SoftQLearning(Delegate[Memory]):
    """Soft Q-learning at a fixed ``temperature``, in the form "td" or "model"; ``step`` is for the former."""

    temperature: float = 0.05
    form: Literal["td", "model"] = "td"
    step: Step = "falling"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"form": FORMS, "step": STEPS}
    paper: ClassVar[str] = "Haarnoja, Tang, Abbeel and Levine (2017), RL with deep energy-based policies"

    def __post_init__(self) -> None:
        checks.number("temperature", self.temperature, 0.0, above=True)
        checks.choice("form", self.form, FORMS)
        step_number(self.step)

    @cached_property
    def algorithm(self) -> Agent[Any]:
        if self.form == "td":
            return soft_td.SoftTD(self.temperature, self.step)
        return soft_value_iteration.SoftValueIteration(self.temperature)
