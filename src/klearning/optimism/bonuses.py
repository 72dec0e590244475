"""c(s,a): half the epistemic variance proxy of a state and action, in four versions.

| name     | c(s,a)                                         | standing                                    |
|----------|------------------------------------------------|---------------------------------------------|
| `paper`  | (σ² + (L−l)²) / (2 (n∨1))                      | e-bellmanop as printed                      |
| `sharp`  | ½ [Var(μ|data) + ρ_l² / (4 (α0 + n + 1))]      | an upper bound; ρ_l bounds the span of V*   |
| `reward` | ½ Var(μ|data)                                  | exact when P is known, else a heuristic     |
| `split`  | ½ Var(μ|data)                                  | an upper bound; the sweep prices P itself   |

All that distinguishes the first three is this array: the sweep adds c/τ and knows nothing else. `split` has the c of
`reward`, and a sweep that puts a bound on the certainty equivalent of P·V in the place of P̄V (split.py).
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays import checks
from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief
from klearning.beliefs.posterior import Episode, Posterior
from klearning.models.sweeps import shared
from klearning.optimism.unseen_mass import Unseen, no_price, price

PAPER, SHARP, REWARD, SPLIT = range(4)


BONUSES = {"paper": PAPER, "sharp": SHARP, "reward": REWARD, "split": SPLIT}


class Bonus(NamedTuple):
    """A version of c, and by layer the squared span that its transition part is worth."""

    version: int
    spread: Floats


def bonus_for(belief: Belief, name: str) -> Bonus:
    version = BONUSES[checks.choice("bonus", name, BONUSES)]
    left = np.arange(belief.horizon - 1, -1, -1.0)
    spans = 0.0 * left
    if version == PAPER:
        spans = left
    elif version == SHARP and belief.transitions.learns:
        spans = belief.prior.spans(belief.horizon)
    return Bonus(version, spans**2)


def unseen_for(belief: Belief, bonus: Bonus, p: Posterior) -> Unseen:
    """The price of unknown transitions: none, but for `split` where they are unknown."""
    if bonus.version != SPLIT or not belief.transitions.learns:
        return no_price()
    span = np.full(belief.horizon, np.inf) if belief.prior.span is None else belief.prior.spans(belief.horizon)
    return price(float(belief.transitions.even_mass), p.moves, span)


@kernel(inline=True)
def half_variance(bonus: Bonus, p: Posterior, l: int, a: int, s: int) -> float:
    """c of row (a, s) of the tables, for layer l."""
    if bonus.version == PAPER:
        return 0.5 * (p.prior.noise + bonus.spread[l]) / max(p.visits[a, s], 1.0)
    return 0.5 * (p.variance[a, s] + bonus.spread[l] / (4.0 * (p.total + p.moves[a, s] + 1.0)))


@kernel
def fill(bonus: Bonus, p: Posterior, c: Floats) -> None:
    """c everywhere."""
    layers, table = p.model.layers, p.model.table
    for l in range(layers.size - 1):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                c[a, s] = half_variance(bonus, p, l, a, s - layers[l] + table[l])


@kernel
def refresh(bonus: Bonus, p: Posterior, episode: Episode, c: Floats) -> None:
    """c where an episode has passed, in every layer that shares the row; elsewhere it is unchanged."""
    layers, table = p.model.layers, p.model.table
    for l in range(episode.actions.size):
        a, i = episode.actions[l], episode.states[l] - layers[l]
        first, last = (0, layers.size - 1) if shared(p.model) else (l, l + 1)
        for other in range(first, last):
            c[a, layers[other] + i] = half_variance(bonus, p, other, a, table[other] + i)


@kernel
def largest_numerator(bonus: Bonus, p: Posterior, c: Floats) -> float:
    """B of the schedule: σ² + L² as printed, else the largest 2c·(n∨1)."""
    if bonus.version == PAPER:
        horizon = p.model.layers.size - 1
        return p.prior.noise + horizon * horizon
    largest, layers, table = 0.0, p.model.layers, p.model.table
    for l in range(layers.size - 1):
        for a in range(c.shape[0]):
            for s in range(layers[l], layers[l + 1]):
                if c[a, s] > 0.0:
                    n = p.visits[a, s - layers[l] + table[l]]
                    largest = max(largest, 2.0 * c[a, s] * max(n, 1.0))
    return largest


def check_schedule(bonus: str) -> None:
    if bonus == "split":
        raise ValueError(
            "temperature by the schedule with bonus='split': the schedule is for bonuses c/τ, use temperature='optimal'"
        )
