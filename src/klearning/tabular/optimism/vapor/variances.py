"""The variance s² that VAPOR assumes for (l, s, a), by name.

    s² = κ [ f Var(μ|data) + spread_l / (α0 + n + shift) ]

The second term is for unknown transitions. With rewards μ̃ = μ + (P − P̄)·V*_{l+1}, an MDP has the same optimal value
as one whose transitions are P̄, so s² has to bound how far μ̃ strays from its mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.optimism.bonuses import BONUSES, no_spans, stated_spans, steps_left
from klearning.tabular.optimism.proof import is_proved

PUBLISHED_FACTOR = 3.6**2
VarianceName = Literal["reward", "sharp", "published"]  # the rows of `VARIANCES`, for editors


@field_roles(fixed=("reward", "spread", "shift"))
class VarianceNumbers(NamedTuple):
    """A row of the table as the kernels read it."""

    reward: float  # κ f
    spread: Floats  # κ spread, per layer
    shift: float


@dataclass(frozen=True)
class VarianceRule:
    """A row of the table: one formula for s²."""

    name: VarianceName
    variance: str  # the formula, for documents
    meaning: str
    reward: float
    spread: Callable[[Belief], Floats]
    shift: float

    def numbers(self, belief: Belief, optimism: float) -> VarianceNumbers:
        spread = self.spread(belief) if belief.transitions.learns else np.zeros(belief.horizon)
        return VarianceNumbers(optimism * self.reward, optimism * spread, self.shift)


VARIANCES: dict[VarianceName, VarianceRule] = {
    rule.name: rule
    for rule in (
        VarianceRule("reward", "Var(μ|data)", "uncertainty about rewards alone; the default", 1.0, no_spans, 1.0),
        VarianceRule(
            "sharp", "Var(μ|data) + ρ_l² / (4 (α0 + n + 1))",
            "also about transitions; ρ_l is the span of V*_{l+1}, L − l unless `Prior(span=…)` states another",
            1.0, lambda belief: 0.25 * stated_spans(belief) ** 2, 1.0,
        ),
        VarianceRule(
            "published", "3.6² Var(μ|data) + (L−l)² / (α0 + n)",
            "as in the paper, for rewards in [0, 1]",
            PUBLISHED_FACTOR, lambda belief: steps_left(belief) ** 2, 0.0,
        ),
    )
}  # fmt: skip


def variance_rule(name: str) -> VarianceRule:
    return VARIANCES[cast(VarianceName, checks.choice("bonus", name, VARIANCES))]


@kernel
def fill_sds(numbers: VarianceNumbers, p: Posterior, s: Floats) -> None:
    """The square root of s² for every (l, s, a)."""
    layers, table = p.model.layers, p.model.table
    for l in range(layers.size - 1):
        spread = numbers.spread[l]
        for a in range(s.shape[0]):
            for i in range(layers[l], layers[l + 1]):
                k = i - layers[l] + table[l]
                variance = numbers.reward * p.variance[a, k]
                if spread > 0.0:
                    variance += spread / (p.total + p.moves[a, k] + numbers.shift)
                s[a, i] = np.sqrt(variance)


def is_bound(belief: Belief, p: Posterior, s: Floats) -> bool:
    """Whether VAPOR's value with this s is an upper bound on the expected optimal value, by proof.

    If transitions are known, E[λμ] ≤ λ̄ (m + s √(−2 ln λ̄)) holds for layers that share a table too.
    Otherwise μ̃ has to be sub-Gaussian about m, as for K-learning: independent layers, a span that holds for certain.
    """
    if belief.transitions.learns:
        return is_proved(belief, BONUSES["reward"], p, 0.5 * s**2)
    if belief.forgets or belief.prior.reward.learns_noise:
        return False
    return all(
        (s[:, low:high] ** 2 >= p.variance[:, at : at + high - low] * (1.0 - 1e-12)).all()
        for low, high, at in zip(belief.layers[:-1], belief.layers[1:], belief.table, strict=False)
    )
