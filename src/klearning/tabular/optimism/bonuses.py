"""The table of bonuses, and c(s,a): half the epistemic variance proxy of a state and action.

A bonus is one row of `BONUSES`, a record of facts. The allowed names, the command line's completion, what the
schedule and the cone program refuse and the table of docs/reference/theory.md are all read from it; what is proved is
decided in proof.py. A bonus is its array c: the sweep adds c/τ and knows nothing else. One that prices
transitions has a sweep of its own besides, with a bound on the certainty equivalent of P·V in the place of P̄V
(certainty_equivalent.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.records.validation import differs, refuse
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.models.sweeps import Model, shared

BonusName = Literal["paper", "sharp", "reward", "split", "visits"]  # the rows of `BONUSES`, for editors


@field_roles(fixed=("as_printed", "compiled", "spread"))
class BonusNumbers(NamedTuple):
    """A bonus as the kernels read it."""

    as_printed: bool  # c by the paper's formula, from visits alone
    compiled: bool  # whether `half_variance` is its c
    spread: Floats  # per layer, the squared span of the next one's values


@dataclass(frozen=True)
class Bonus:
    """Facts about one bonus: a row of the table.

    ``spans`` says, for a belief, how far apart the values of the next layer count as being, per layer. ``fill`` writes
    c, (A, S), for a posterior; the rows of this file leave it to the kernel `half_variance`, and are faster for it.
    """

    name: str
    c: str  # the formula, for documents
    meaning: str
    proved: str  # of which beliefs `bound` is an upper bound by proof, in words; `proof.is_proved` decides
    spans: Callable[[Belief], Floats]
    prices: bool = False  # whether the sweep itself accounts for unknown transitions
    per_visit: bool = False  # whether every state and action has a temperature of its own, and layers may share tables
    schedule: bool = True  # whether the schedule of temperatures is for it
    needs_span: bool = False
    as_printed: bool = False  # c by the paper's formula, from visits alone
    fill: Callable[[BonusNumbers, Posterior, Floats], None] | None = None

    @property
    def compiled(self) -> bool:
        """Whether kernels compute c; else Python does, after every episode."""
        return self.fill is None

    def numbers(self, belief: Belief) -> BonusNumbers:
        return BonusNumbers(self.as_printed, self.compiled, self.spans(belief) ** 2)

    def write_c(self, numbers: BonusNumbers, p: Posterior, c: Floats) -> None:
        (self.fill or fill)(numbers, p, c)


def no_spans(belief: Belief) -> Floats:
    return np.zeros(belief.horizon)


def steps_left(belief: Belief) -> Floats:
    """L − l."""
    return np.arange(belief.horizon - 1, -1, -1.0)


def stated_spans(belief: Belief) -> Floats:
    """Those of the prior, if transitions are unknown."""
    return belief.prior.spans(belief.horizon) if belief.transitions.learns else no_spans(belief)


BONUSES: dict[BonusName, Bonus] = {
    cast(BonusName, bonus.name): bonus
    for bonus in (
        Bonus(
            "paper", "(σ² + (L−l)²) / (2 (n∨1))",
            "as printed in the paper (e-bellmanop)",
            "with Beta rewards; with known transitions also with Gaussian rewards if 2c ≥ Var(μ|data) everywhere, "
            "for example if sd ≤ noise",
            steps_left, as_printed=True,
        ),
        Bonus(
            "sharp", "½ [Var(μ|data) + ρ_l² / (4 (α0 + n + 1))]",
            "a Beta of the same mean and mass dominates a Dirichlet's linear form in convex order; "
            "ρ_l is the span of V*_{l+1}, L − l unless `Prior(span=…)` states another",
            "if the span is certain: Beta rewards without a smaller stated span, or known transitions",
            stated_spans, needs_span=True,
        ),
        Bonus(
            "reward", "½ Var(μ|data)",
            "uncertainty about rewards only; the default, and the fastest",
            "if transitions are known; otherwise it is a heuristic",
            no_spans,
        ),
        Bonus(
            "split", "½ Var(μ|data)",
            "replaces P̄V_{l+1} by a bound on the certainty equivalent of P·V_{l+1}; needs no span",
            "if layers are learned apart; with a stated span, if that span is certain",
            no_spans, prices=True, schedule=False,
        ),
        Bonus(
            "visits", "½ Var(μ|data)",
            "as `split`, with a temperature per state and action, paid for by how rarely the pair is visited; "
            "needs no span",
            "always, stationary priors included",
            no_spans, prices=True, per_visit=True, schedule=False,
        ),
    )
}  # fmt: skip


def bonus_named(name: str) -> Bonus:
    return BONUSES[cast(BonusName, checks.choice("bonus", name, BONUSES))]


def check_schedule(bonus: Bonus) -> None:
    if not bonus.schedule:
        raise ValueError(
            f"temperature by the schedule with bonus={bonus.name!r}: "
            "the schedule is for bonuses c/τ, use temperature='optimal'"
        )


def check_share(optimism: float, bonus: Bonus) -> None:
    """That κ is a share of this bonus."""
    checks.number("optimism", optimism, 0.0, 1.0, above=True)
    if bonus.prices and optimism != 1.0:
        raise ValueError(refusal(optimism, bonus))


def check_calibrated(optimism: Any, bonus: Bonus) -> None:
    """That a share of this bonus can be calibrated."""
    if bonus.per_visit:
        raise ValueError(refusal(optimism, bonus))


def refusal(optimism: Any, bonus: Bonus) -> str:
    return (
        f"optimism={optimism!r} with bonus={bonus.name!r}: it is a share of a bonus c/τ, and this bonus also prices "
        "transitions; use another bonus, or optimism=1"
    )


@kernel(inline=True)
def half_variance(bonus: BonusNumbers, p: Posterior, l: int, a: int, s: int) -> float:
    """c of row (a, s) of the tables, for layer l."""
    if bonus.as_printed:
        return 0.5 * (p.prior.noise_variance + bonus.spread[l]) / max(p.visits[a, s], 1.0)
    return 0.5 * (p.variance[a, s] + bonus.spread[l] / (4.0 * (p.total + p.moves[a, s] + 1.0)))


@kernel(inline=True)
def layers_of(model: Model, c: Floats) -> int:
    """How many layers c has columns for: all; or one, if it is the same for all and they share one table."""
    return model.layers.size - 1 if c.shape[1] == model.layers[-1] else 1


@kernel
def fill(bonus: BonusNumbers, p: Posterior, c: Floats) -> None:
    """c everywhere."""
    layers, table = p.model.layers, p.model.table
    for l in range(layers_of(p.model, c)):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                c[a, s] = half_variance(bonus, p, l, a, s - layers[l] + table[l])


def check_c(bonus: BonusNumbers, p: Posterior, c: Floats, name: str) -> None:
    """That c follows from a posterior, if kernels compute it."""
    if bonus.compiled:
        right = np.zeros_like(c)
        fill(bonus, p, right)
        refuse(name, "does not follow from its posterior", differs(c, right), c)


@kernel
def refresh(bonus: BonusNumbers, p: Posterior, episode: Episode, c: Floats) -> None:
    """c of the pairs that an episode visited, in every layer that shares the row."""
    layers, table = p.model.layers, p.model.table
    for l in range(episode.actions.size):
        a, i = episode.actions[l], episode.states[l] - layers[l]
        first, last = (0, layers_of(p.model, c)) if shared(p.model) else (l, l + 1)
        for other in range(first, last):
            c[a, layers[other] + i] = half_variance(bonus, p, other, a, table[other] + i)


@kernel
def largest_numerator(bonus: BonusNumbers, p: Posterior, c: Floats) -> float:
    """B of the schedule: σ² + L² as printed, else the largest 2c·(n∨1)."""
    if bonus.as_printed:
        horizon = p.model.layers.size - 1
        return p.prior.noise_variance + horizon * horizon
    largest, layers, table = 0.0, p.model.layers, p.model.table
    for l in range(layers_of(p.model, c)):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                if c[a, s] > 0.0:
                    n = p.visits[a, s - layers[l] + table[l]]
                    largest = max(largest, 2.0 * c[a, s] * max(n, 1.0))
    return largest
