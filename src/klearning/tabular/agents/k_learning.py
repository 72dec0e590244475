"""K-learning (O'Donoghue, 2021): a Boltzmann policy over K-values, which are optimistic by a bonus κ c/τ.

``optimism`` says where κ comes from, and each is an algorithm of its own:

    a number        κ is given, and 1 is the paper's (`fixed_optimism`)
    "calibrated"    κ is the least that is optimistic by an estimate from posterior draws (`calibrated_optimism`)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

from klearning.numerics import checks
from klearning.tabular.agents import calibrated_optimism, fixed_optimism
from klearning.tabular.agents.calibrated import CALIBRATED, Calibration, Optimism, Optimistic, check_optimism
from klearning.tabular.optimism.bonuses import (
    BONUSES,
    BonusName,
    bonus_named,
    check_calibrated,
    check_schedule,
    check_share,
)
from klearning.tabular.optimism.temperature import fixed
from klearning.tabular.trials.agent import Agent

Memory = fixed_optimism.Memory | calibrated_optimism.Memory


@dataclass(frozen=True, repr=False)
class KLearning(Optimistic[Memory]):
    """K-learning with temperature "optimal", "schedule" or a number, and a bonus of the table (`optimism/bonuses.py`).

    ``tolerance`` is the duality gap, relative to the optimism f − J, at which the search for τ stops. ``optimism`` is a
    number κ in (0, 1] that multiplies the bonus, or "calibrated": the least κ whose bound is no less than the expected
    optimal value, estimated from posterior draws. Pass a `Calibration` to change how. With the bonus `split`, if κ = 1
    is too little, also the least share of its price of transitions.
    """

    temperature: Literal["optimal", "schedule"] | float = "optimal"
    bonus: BonusName = "reward"
    tolerance: float = 1e-6
    optimism: Optimism = 1.0

    choices: ClassVar[Mapping[str, Iterable[str]]] = {
        "temperature": ("optimal", "schedule"),
        "bonus": BONUSES,
        "optimism": (CALIBRATED,),
    }
    default: ClassVar[Calibration] = Calibration()
    since: ClassVar[tuple[str, ...]] = ("optimism",)
    paper: ClassVar[str] = "O'Donoghue (2021), Variational Bayesian reinforcement learning with regret bounds"

    def __post_init__(self) -> None:
        if isinstance(self.temperature, str):
            checks.choice("temperature", self.temperature, self.choices["temperature"])
        else:
            fixed(self.temperature)
        bonus = bonus_named(self.bonus)
        checks.number("tolerance", self.tolerance, 0.0, 1.0, above=True)
        if self.temperature == "schedule":
            check_schedule(bonus)
        check_optimism(self.optimism)
        if not isinstance(self.optimism, str | Calibration):
            check_share(self.optimism, bonus)
            return
        check_calibrated(self.optimism, bonus)
        if self.temperature != "optimal":
            raise ValueError(
                f"temperature={self.temperature!r} with optimism='calibrated', which finds the temperature: "
                "use temperature='optimal'"
            )

    @cached_property
    def algorithm(self) -> Agent[Any]:
        if self.calibration is not None:
            return calibrated_optimism.CalibratedOptimism(self.bonus, self.tolerance, self.calibration)
        return fixed_optimism.FixedOptimism(self.temperature, self.bonus, self.tolerance, cast(float, self.optimism))
