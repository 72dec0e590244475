"""K-learning (O'Donoghue, 2021): a Boltzmann policy over K-values, which are optimistic by a bonus κ c/τ.

What it does in an episode depends on where κ is from, each an algorithm of its own:

    a number        κ is given, and 1 is the paper's (`fixed_optimism`)
    "calibrated"    κ is the least that is optimistic by what draws from the posterior say (`calibrated_optimism`)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from klearning.numerics import checks
from klearning.tabular.agents import calibrated_optimism, fixed_optimism
from klearning.tabular.agents.calibrated_optimism import CALIBRATED, RULES, check_draws
from klearning.tabular.agents.delegate import Delegate
from klearning.tabular.optimism.bonuses import BONUSES, bonus_named, check_optimism, check_schedule
from klearning.tabular.optimism.temperature import fixed
from klearning.tabular.trials.agent import Agent

Memory = fixed_optimism.Memory | calibrated_optimism.Memory


@dataclass(frozen=True, repr=False)
class KLearning(Delegate[Memory]):
    """K-learning with temperature "optimal", "schedule" or a number, and a bonus of the table (`optimism/bonuses.py`).

    ``tolerance`` is the duality gap, relative to the optimism f − J, at which the search for τ stops. ``optimism`` is a
    number κ in (0, 1] that multiplies the bonus, or "calibrated": the least κ whose bound is no less than the expected
    optimal value, estimated by ``draws`` MDPs per plan from the posterior and those of the last ``window`` plans, plus
    ``margin`` standard errors of it; with the bonus `split`, where κ = 1 is too little, also the least share of its
    price of transitions. A share of ``thompson`` of the episodes is greedy in such a draw, as those of `PSRL`: a
    number; "rising", with the logarithm of time (fitted); or "informed", where the information ratio chooses.
    """

    temperature: str | float = "optimal"
    bonus: str = "reward"
    tolerance: float = 1e-6
    optimism: str | float = 1.0
    draws: int = 1
    window: int = 10
    margin: float = 0.0
    thompson: str | float = "rising"

    choices: ClassVar[Mapping[str, Iterable[str]]] = {
        "temperature": ("optimal", "schedule"),
        "bonus": BONUSES,
        "optimism": (CALIBRATED,),
        "thompson": RULES,
    }
    since: ClassVar[tuple[str, ...]] = ("optimism", "draws", "window", "margin", "thompson")
    diagnostics: ClassVar[tuple[str, ...]] = fixed_optimism.FixedOptimism.diagnostics
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
        check_optimism(self.optimism, bonus, (CALIBRATED,))
        check_draws(self.draws, self.window, self.margin, self.thompson)
        if self.optimism == CALIBRATED:
            if self.temperature != "optimal":
                raise ValueError(
                    f"temperature={self.temperature!r} with optimism='calibrated', which finds the temperature: "
                    "use temperature='optimal'"
                )
            # it has more to say of an episode than the class does
            object.__setattr__(self, "diagnostics", calibrated_optimism.CalibratedOptimism.diagnostics)

    @cached_property
    def algorithm(self) -> Agent[Any]:
        if isinstance(self.optimism, str):
            return calibrated_optimism.CalibratedOptimism(
                self.bonus, self.tolerance, self.draws, self.window, self.margin, self.thompson
            )
        return fixed_optimism.FixedOptimism(self.temperature, self.bonus, self.tolerance, self.optimism)
