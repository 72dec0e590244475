"""Program: a belief and a bonus, made ready to solve: the first step of every plan.

minimise over τ   f(τ) = E_ρ V_1      K = m + c/τ + P̄V  (or a priced P·V)      V = τ log Σ_a exp(K/τ)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from klearning.numerics.compile.kernels import by_record, kernel
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.soft import Soft, soft_arrays, without_padding
from klearning.tabular.models.sweeps import Model, all_action_values
from klearning.tabular.optimism.bonuses import Bonus, BonusNumbers, bonus_named
from klearning.tabular.optimism.proof import is_proved
from klearning.tabular.optimism.split.priced_sweep import (
    Priced,
    priced_arrays,
    priced_at_optimum,
    priced_at_temperature,
    priced_k_values,
)
from klearning.tabular.optimism.temperature import Temperature, at_optimum, at_temperature
from klearning.tabular.optimism.visits import (
    Visits,
    visits_arrays,
    visits_at_optimum,
    visits_at_temperature,
    visits_k_values,
)


@dataclass(frozen=True, eq=False)
class Program:
    """The arrays that a sweep reads, and its workspace."""

    belief: Belief
    bonus: Bonus
    numbers: BonusNumbers
    posterior: Posterior
    c: Floats
    work: Soft | Priced | Visits

    @property
    def model(self) -> Model:
        return self.posterior.model

    @property
    def priced(self) -> bool:
        """Whether the sweep prices transitions: the bonus does, and there are any to learn."""
        return isinstance(self.work, Priced) or (isinstance(self.work, Visits) and self.work.learns)

    @property
    def proved(self) -> bool:
        """Whether f(τ) is an upper bound on the expected optimal value by proof, whatever τ."""
        return is_proved(self.belief, self.bonus, self.posterior, self.c)


def check_belief(belief: object) -> None:
    """ValueError for anything else."""
    if not isinstance(belief, Belief):
        raise ValueError(f"belief={belief!r} is not a Belief: give one, for example Belief.before(prior, world)")


def program(belief: Belief, bonus: str, tied: bool = False) -> Program:
    """``tied``: let c be one table, as rewards are, if layers share one and the bonus is the same in all of them."""
    check_belief(belief)
    chosen = bonus_named(bonus)
    numbers, p = chosen.numbers(belief), belief.posterior()
    same = tied and chosen.compiled and not numbers.spread.any()
    c = np.zeros(belief.visits.shape if same else (belief.actions, belief.states))
    chosen.write_c(numbers, p, c)
    return Program(belief, chosen, numbers, p, c, workspace(belief, chosen, p))


def workspace(belief: Belief, bonus: Bonus, p: Posterior) -> Soft | Priced | Visits:
    """The workspace of the sweep that goes with a bonus."""
    if bonus.per_visit:
        return visits_arrays(belief, p)
    if bonus.prices and belief.transitions.learns:
        return priced_arrays(belief, p)
    return soft_arrays(belief.layers, belief.actions)


def soft_part(work: Soft | Priced | Visits) -> Soft:
    """The results of the last sweep."""
    return work if isinstance(work, Soft) else work.soft


@kernel
def plain_k_values(model: Model, c: Floats, tau: float, K: Floats, V: Floats, W: Soft) -> None:
    """K and V of every layer, from what the last sweep left."""
    without_padding(model.layers, W.at, W.V, V)
    all_action_values(model, model.reward, V, K)
    for a in range(c.shape[0]):
        for i in range(c.shape[1]):
            K[a, i] += c[a, i] / tau


# the workspace says which sweep: its kind is known when a kernel is compiled
solve_at: Callable[..., Temperature] = by_record(
    {Soft: at_temperature, Priced: priced_at_temperature, Visits: visits_at_temperature}
)
solve_best: Callable[..., Temperature] = by_record(
    {Soft: at_optimum, Priced: priced_at_optimum, Visits: visits_at_optimum}
)
k_values: Callable[..., None] = by_record({Soft: plain_k_values, Priced: priced_k_values, Visits: visits_k_values})
