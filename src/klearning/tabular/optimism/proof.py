"""Of which beliefs f(τ) is an upper bound on E V* by proof.

Let what is unknown of different layers be independent given the data, and ρ_l bound, for certain, the span of
V*_{l+1}. Then K_l(s,a) ≥ τ log E exp(Q*_l(s,a)/τ), hence f(τ) ≥ E_ρ V*_1, for every τ > 0, if

    c(s,a) ≥ ½ [variance proxy of μ(s,a) + ρ_l² / (4 (α0 + n + 1))]

where the second term is not needed if transitions are known, or if the sweep prices them
(docs/evidence/better_bonus.md). A table that layers share makes them dependent, so that nothing is proved of a
stationary prior with more than one layer, except with the bonus `visits`, whose proof lets layers depend on each other
(docs/evidence/visits.md); and a Student-t, whose noise is learned, has no variance proxy at
all. A stated span is a premise only if the belief bears it out: a Gaussian reward may be anything. Counts that fade
with time are the statistics of no data, so nothing is proved of them either.
"""

import numpy as np

from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.optimism.bonuses import Bonus

ROUNDING = 1e-12


def layers_depend(belief: Belief) -> bool:
    """Whether what is unknown of one layer is so of another: they share a table."""
    return belief.prior.stationary and belief.horizon > 1


def certain_spans(belief: Belief) -> Floats:
    """How far apart values of the next layer can be under this belief, per layer; infinite for Gaussian rewards."""
    low, high = belief.prior.reward.bounds or (-np.inf, np.inf)
    if belief.end >= 0:  # nothing is paid there
        low, high = min(low, 0.0), max(high, 0.0)
    return np.append(np.arange(belief.horizon - 1.0, 0.0, -1.0) * (high - low), 0.0)


def is_proved(belief: Belief, bonus: Bonus, p: Posterior, c: Floats) -> bool:
    """Whether the bonus's sweep with this c bounds the expected optimal value."""
    prices = bonus.prices
    if belief.forgets or belief.prior.reward.learns_noise:
        return False
    if layers_depend(belief) and not bonus.per_visit:
        return False
    if belief.transitions.learns and not prices and belief.prior.reward.bounds is None and belief.horizon > 1:
        return False  # no c is enough
    spans = certain_spans(belief) if belief.transitions.learns else np.zeros(belief.horizon)
    if prices:
        if not bonus.per_visit and belief.prior.span is not None and (belief.prior.spans(belief.horizon) < spans).any():
            return False
        spans = np.zeros(belief.horizon)
    squared = np.repeat(spans**2, np.diff(belief.layers))
    variance, moves = p.variance, p.moves
    if c.shape != variance.shape:  # of one table that all layers share
        variance, moves = (np.tile(x, belief.horizon) for x in (variance, moves))
    least = 0.5 * (variance + squared / (4.0 * (p.total + moves + 1.0)))
    return bool((c >= least * (1.0 - ROUNDING)).all())
