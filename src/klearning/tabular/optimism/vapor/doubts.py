"""How uncertain VAPOR takes a state and action to be: s² of (l, s, a), by name.

    s² = κ [ f Var(μ|data) + spread_l / (α0 + n + shift) ]

The second term is for transitions that are not known. With the rewards that stand for them, μ̃ = μ + (P − P̄)·V*_{l+1},
the optimal value of an MDP is that of an MDP whose transitions are P̄; so what has to be bounded is how far μ̃ strays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compiled import kernel
from klearning.numerics.trees import marked
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.optimism.bonuses import BONUSES, no_spans, stated_spans, steps_left
from klearning.tabular.optimism.proof import is_proved

PUBLISHED_FACTOR = 3.6**2


@marked(fixed=("reward", "spread", "shift"))
class DoubtNumbers(NamedTuple):
    """A doubt as the kernels read it."""

    reward: float  # κ f
    spread: Floats  # κ spread, per layer
    shift: float


@dataclass(frozen=True)
class Doubt:
    """A row of the table: what there is to know about one way to count doubt."""

    name: str
    variance: str  # the formula, for documents
    meaning: str
    reward: float
    spread: Callable[[Belief], Floats]
    shift: float

    def numbers(self, belief: Belief, optimism: float) -> DoubtNumbers:
        spread = self.spread(belief) if belief.transitions.learns else np.zeros(belief.horizon)
        return DoubtNumbers(optimism * self.reward, optimism * spread, self.shift)


DOUBTS = {
    doubt.name: doubt
    for doubt in (
        Doubt("reward", "Var(μ|data)", "doubt about rewards alone; the default", 1.0, no_spans, 1.0),
        Doubt(
            "sharp", "Var(μ|data) + ρ_l² / (4 (α0 + n + 1))",
            "and about transitions; ρ_l is the span of V*_{l+1}, L − l unless `Prior(span=…)` states another",
            1.0, lambda belief: 0.25 * stated_spans(belief) ** 2, 1.0,
        ),
        Doubt(
            "published", "3.6² Var(μ|data) + (L−l)² / (α0 + n)",
            "as in the paper, for rewards in [0, 1]",
            PUBLISHED_FACTOR, lambda belief: steps_left(belief) ** 2, 0.0,
        ),
    )
}  # fmt: skip


def doubt_named(name: str) -> Doubt:
    return DOUBTS[checks.choice("bonus", name, DOUBTS)]


@kernel
def fill_doubts(numbers: DoubtNumbers, p: Posterior, s: Floats) -> None:
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

    Where transitions are known, E[λμ] ≤ λ̄ (m + s √(−2 ln λ̄)) asks nothing of the layers: they may share a table.
    Elsewhere μ̃ has to be sub-Gaussian about m, as for K-learning: independent layers, a span that holds for certain.
    """
    if belief.transitions.learns:
        return is_proved(belief, BONUSES["reward"], p, 0.5 * s**2)
    if belief.forgets or belief.prior.reward.learns_noise:
        return False
    return all(
        (s[:, low:high] ** 2 >= p.variance[:, at : at + high - low] * (1.0 - 1e-12)).all()
        for low, high, at in zip(belief.layers[:-1], belief.layers[1:], belief.table, strict=False)
    )
