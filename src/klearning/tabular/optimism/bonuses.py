"""The table of bonuses, and c(s,a): half the epistemic variance proxy of a state and action.

A bonus is one row of `BONUSES`, a record of facts. What may be asked for, what the command line completes, what the
schedule and the cone program refuse and the table of docs/reference/theory.md are all read from it; what is proved is
decided in proof.py. A bonus is its array c: the sweep adds c/τ and knows nothing else. One that prices
transitions has a sweep of its own besides, with a bound on the certainty equivalent of P·V in the place of P̄V
(price.py).
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
from klearning.tabular.beliefs.posterior import Episode, Posterior
from klearning.tabular.models.sweeps import Model, shared


@marked(fixed=("version", "spread"))
class BonusNumbers(NamedTuple):
    """A bonus as the kernels read it: its row in the table, and per layer the squared span of the next one's values."""

    version: int
    spread: Floats


@dataclass(frozen=True)
class Bonus:
    """What there is to know about one bonus: a row of the table.

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
    fill: Callable[[BonusNumbers, Posterior, Floats], None] | None = None

    def numbers(self, belief: Belief) -> BonusNumbers:
        return BonusNumbers(list(BONUSES).index(self.name), self.spans(belief) ** 2)


def no_spans(belief: Belief) -> Floats:
    return np.zeros(belief.horizon)


def steps_left(belief: Belief) -> Floats:
    """L − l."""
    return np.arange(belief.horizon - 1, -1, -1.0)


def stated_spans(belief: Belief) -> Floats:
    """Those of the prior where transitions are unknown."""
    return belief.prior.spans(belief.horizon) if belief.transitions.learns else no_spans(belief)


BONUSES = {
    bonus.name: bonus
    for bonus in (
        Bonus(
            "paper", "(σ² + (L−l)²) / (2 (n∨1))",
            "e-bellmanop as printed",
            "where it is nowhere below a valid `sharp`: Beta rewards; with known transitions also Gaussian ones "
            "where 2c is nowhere below Var(μ|data), as with sd ≤ noise",
            steps_left,
        ),
        Bonus(
            "sharp", "½ [Var(μ|data) + ρ_l² / (4 (α0 + n + 1))]",
            "a linear form of a Dirichlet is dominated in convex order by a Beta of the same mean and mass; "
            "ρ_l is the span of V*_{l+1}, L − l unless `Prior(span=…)` states another",
            "where the span holds for certain: Beta rewards and no smaller span stated; or known transitions",
            stated_spans, needs_span=True,
        ),
        Bonus(
            "reward", "½ Var(μ|data)",
            "doubt about rewards alone; the default, and the fastest",
            "where transitions are known; a heuristic elsewhere",
            no_spans,
        ),
        Bonus(
            "split", "½ Var(μ|data)",
            "a bound on the certainty equivalent of P·V_{l+1} stands in the place of P̄V_{l+1}, and needs no span",
            "of layers that are learnt apart; given a stated span, where that span holds for certain",
            no_spans, prices=True, schedule=False,
        ),
        Bonus(
            "visits", "½ Var(μ|data)",
            "as `split`, with a temperature for every state and action, paid for by how rarely it is visited; uses no "
            "span",
            "always, stationary priors included",
            no_spans, prices=True, per_visit=True, schedule=False,
        ),
    )
}  # fmt: skip
PAPER = list(BONUSES).index("paper")


def bonus_named(name: str) -> Bonus:
    return BONUSES[checks.choice("bonus", name, BONUSES)]


def check_schedule(bonus: Bonus) -> None:
    if not bonus.schedule:
        raise ValueError(
            f"temperature by the schedule with bonus={bonus.name!r}: "
            "the schedule is for bonuses c/τ, use temperature='optimal'"
        )


def check_optimism(optimism: str | float, bonus: Bonus, words: tuple[str, ...] = ()) -> None:
    """A share κ of the bonus, or one of the words."""
    if isinstance(optimism, str):
        if not words:
            raise ValueError(f"optimism={optimism!r} is no number: give one in (0, 1]")
        checks.choice("optimism", optimism, words)
    else:
        checks.number("optimism", optimism, 0.0, 1.0, above=True)
    if (bonus.per_visit and optimism != 1.0) or (bonus.prices and not isinstance(optimism, str) and optimism != 1.0):
        raise ValueError(
            f"optimism={optimism!r} with bonus={bonus.name!r}: it is a share of a bonus c/τ, and this one prices "
            "transitions besides; use another bonus, or optimism=1"
        )


@kernel(inline=True)
def half_variance(bonus: BonusNumbers, p: Posterior, l: int, a: int, s: int) -> float:
    """c of row (a, s) of the tables, for layer l."""
    if bonus.version == PAPER:
        return 0.5 * (p.prior.noise + bonus.spread[l]) / max(p.visits[a, s], 1.0)
    return 0.5 * (p.variance[a, s] + bonus.spread[l] / (4.0 * (p.total + p.moves[a, s] + 1.0)))


@kernel(inline=True)
def layers_of(model: Model, c: Floats) -> int:
    """How many layers c has columns for: all; or one, where it is the same for all and they share one table."""
    return model.layers.size - 1 if c.shape[1] == model.layers[-1] else 1


@kernel
def fill(bonus: BonusNumbers, p: Posterior, c: Floats) -> None:
    """c everywhere."""
    layers, table = p.model.layers, p.model.table
    for l in range(layers_of(p.model, c)):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                c[a, s] = half_variance(bonus, p, l, a, s - layers[l] + table[l])


@kernel
def refresh(bonus: BonusNumbers, p: Posterior, episode: Episode, c: Floats) -> None:
    """c where an episode has passed, in every layer that shares the row; elsewhere it is unchanged."""
    layers, table = p.model.layers, p.model.table
    for l in range(episode.actions.size):
        a, i = episode.actions[l], episode.states[l] - layers[l]
        first, last = (0, layers_of(p.model, c)) if shared(p.model) else (l, l + 1)
        for other in range(first, last):
            c[a, layers[other] + i] = half_variance(bonus, p, other, a, table[other] + i)


@kernel
def largest_numerator(bonus: BonusNumbers, p: Posterior, c: Floats) -> float:
    """B of the schedule: σ² + L² as printed, else the largest 2c·(n∨1)."""
    if bonus.version == PAPER:
        horizon = p.model.layers.size - 1
        return p.prior.noise + horizon * horizon
    largest, layers, table = 0.0, p.model.layers, p.model.table
    for l in range(layers_of(p.model, c)):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                if c[a, s] > 0.0:
                    n = p.visits[a, s - layers[l] + table[l]]
                    largest = max(largest, 2.0 * c[a, s] * max(n, 1.0))
    return largest
