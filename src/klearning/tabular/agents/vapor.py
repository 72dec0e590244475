"""VAPOR (Tarbouriech, Lattimore and O'Donoghue, 2023): take an action as often as it may be optimal.

What it does in an episode depends on where κ is from, a share of the variances, each an algorithm of its own:

    a number        κ is given, and 1 is the paper's (`fixed_vapor`)
    "calibrated"    κ is the least that is enough for K-learning, by what draws from the posterior say
                    (`calibrated_vapor`)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from klearning.numerics import checks
from klearning.tabular.agents import calibrated_vapor, fixed_vapor
from klearning.tabular.agents.calibrated_optimism import CALIBRATED, RULES, check_draws
from klearning.tabular.agents.delegate import Delegate
from klearning.tabular.optimism.vapor.doubts import DOUBTS, doubt_named
from klearning.tabular.trials.agent import Agent

Memory = fixed_vapor.Memory | calibrated_vapor.Memory


@dataclass(frozen=True, repr=False)
class VAPOR(Delegate[Memory]):
    """VAPOR with a bonus of `tabular/optimism/vapor/doubts.py`: "reward", "sharp", or "published" as in the paper.

    ``tolerance`` is the duality gap, relative to the optimism Σ λ s √(−2 ln λ), at which the search for λ stops.
    ``optimism`` is a number κ in (0, 1] that multiplies the variance s², or "calibrated": the least κ with which
    K-learning's bound is no less than the expected optimal value, estimated by ``draws`` MDPs per plan from the
    posterior and those of the last ``window`` plans, plus ``margin`` standard errors of it. A share of ``thompson`` of
    the episodes is then greedy in such a draw, as for `KLearning`; by default none is.
    """

    bonus: str = "reward"
    optimism: str | float = 1.0
    tolerance: float = 1e-6
    draws: int = 1
    window: int = 30
    margin: float = 0.0
    thompson: str | float = 0.0

    choices: ClassVar[Mapping[str, Iterable[str]]] = {"bonus": DOUBTS, "optimism": (CALIBRATED,), "thompson": RULES}
    since: ClassVar[tuple[str, ...]] = ("draws", "window", "margin", "thompson")
    diagnostics: ClassVar[tuple[str, ...]] = fixed_vapor.FixedVAPOR.diagnostics
    paper: ClassVar[str] = "Tarbouriech, Lattimore and O'Donoghue (2023), Probabilistic inference in RL done right"

    def __post_init__(self) -> None:
        doubt_named(self.bonus)
        if isinstance(self.optimism, str):
            checks.choice("optimism", self.optimism, (CALIBRATED,))
            # it has more to say of an episode than the class does
            object.__setattr__(self, "diagnostics", calibrated_vapor.CalibratedVAPOR.diagnostics)
        else:
            checks.number("optimism", self.optimism, 0.0, 1.0, above=True)
        checks.number("tolerance", self.tolerance, 0.0, 1.0, above=True)
        check_draws(self.draws, self.window, self.margin, self.thompson)

    @cached_property
    def algorithm(self) -> Agent[Any]:
        if isinstance(self.optimism, str):
            return calibrated_vapor.CalibratedVAPOR(
                self.bonus, self.tolerance, self.draws, self.window, self.margin, self.thompson
            )
        return fixed_vapor.FixedVAPOR(self.bonus, self.optimism, self.tolerance)
