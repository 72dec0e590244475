"""VAPOR (Tarbouriech, Lattimore and O'Donoghue, 2023): take an action as often as it may be optimal.

``optimism`` says where κ comes from, a share of the variances, and each is an algorithm of its own:

    a number        κ is given, and 1 is the paper's (`fixed_vapor`)
    "calibrated"    κ is the least that suffices for K-learning by an estimate from posterior draws
                    (`calibrated_vapor`)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

from klearning.numerics import checks
from klearning.tabular.agents import calibrated_vapor, fixed_vapor
from klearning.tabular.agents.calibrated import CALIBRATED, Calibration, Optimism, Optimistic, check_optimism
from klearning.tabular.optimism.vapor.variances import VARIANCES, VarianceName, variance_rule
from klearning.tabular.trials.agent import Agent

Memory = fixed_vapor.Memory | calibrated_vapor.Memory


@dataclass(frozen=True, repr=False)
class VAPOR(Optimistic[Memory]):
    """VAPOR with the bonus "reward", "sharp", or "published" as in the paper (`optimism/vapor/variances.py`).

    ``tolerance`` is the duality gap, relative to the optimism Σ λ s √(−2 ln λ), at which the search for λ stops.
    ``optimism`` is a number κ in (0, 1] that multiplies the variance s², or "calibrated": the least κ with which
    K-learning's bound is no less than the expected optimal value, estimated from posterior draws of the last 30 plans.
    Pass a `Calibration` to change how. By default no episode follows a draw.
    """

    bonus: VarianceName = "reward"
    optimism: Optimism = 1.0
    tolerance: float = 1e-6

    choices: ClassVar[Mapping[str, Iterable[str]]] = {"bonus": VARIANCES, "optimism": (CALIBRATED,)}
    default: ClassVar[Calibration] = Calibration(window=30, thompson_fraction=0.0)
    paper: ClassVar[str] = "Tarbouriech, Lattimore and O'Donoghue (2023), Probabilistic inference in RL done right"

    def __post_init__(self) -> None:
        variance_rule(self.bonus)
        check_optimism(self.optimism)
        checks.number("tolerance", self.tolerance, 0.0, 1.0, above=True)

    @cached_property
    def algorithm(self) -> Agent[Any]:
        if self.calibration is not None:
            return calibrated_vapor.CalibratedVAPOR(self.bonus, self.tolerance, self.calibration)
        return fixed_vapor.FixedVAPOR(self.bonus, cast(float, self.optimism), self.tolerance)
