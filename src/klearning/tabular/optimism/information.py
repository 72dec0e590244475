"""Which of two policies to follow, or how often: the mixture with the least regret squared per information.

Of a policy let Δ = v − J be its regret by an estimate v of E V*, and I what an episode of it is expected to tell,

    I = Σ λ(s,a) [½ log(1 + Var(μ|data)/σ²) + ½ log(1 + 1/(α0 + n))] ,

the first exact for Gaussian rewards, the second as if a row were one number. A chance q of the second policy of two has
Δ and I in proportion, and Δ²/I, the information ratio (Russo and Van Roy, 2014), is convex in q. A heuristic here: no
regret bound is claimed of it.
"""

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.sweeps import policy_sweep, shared

MOST = 1e3  # visits' worth that one visit tells at most: without noise the first tells all
LEAST_REGRET = 1e-9  # an estimate may be below what a policy is expected to return


@kernel
def fill_gains(p: Posterior, out: Floats) -> None:
    """The information of a visit of (a, s), a column for every row of the tables."""
    last = p.visits.shape[1] if shared(p.model) else p.model.layers[-2]  # nothing follows the last layer
    for a in range(out.shape[0]):
        for s in range(out.shape[1]):
            out[a, s] = 0.0
            if np.isinf(p.visits[a, s]):
                continue
            if p.variance[a, s] > 0.0:
                out[a, s] += 0.5 * np.log1p(min(p.variance[a, s] / max(p.prior.noise_variance, 1e-300), MOST))
            if p.learns and s < last:
                out[a, s] += 0.5 * np.log1p(min(1.0 / max(p.total + p.moves[a, s], 1e-300), MOST))


@kernel
def best_mixture(d: float, i: float, e: float, j: float) -> float:
    """The chance q of the second policy that minimises ((1−q)d + qe)² / ((1−q)i + qj)."""
    if i <= 0.0 or j <= 0.0:  # nothing is learned by one of them: by the other, or by neither
        return 1.0 if j > i else 0.0
    q = 1.0 if e * e / j < d * d / i else 0.0
    if e != d and j != i:
        inside = d / (e - d) - 2.0 * i / (j - i)
        if 0.0 < inside < 1.0 and (d + inside * (e - d)) ** 2 < (i + inside * (j - i)) * min(e * e / j, d * d / i):
            q = inside
    return q


@kernel(lazy=True)
def informed_share(p: Posterior, estimate: float, first: Floats, second: Floats) -> float:
    """The chance of the second policy in the best mixture of the two."""
    states = first.shape[1]
    gains, V, work = np.empty(p.visits.shape), np.empty(states), np.empty(states)
    fill_gains(p, gains)
    d = max(estimate - policy_sweep(p.model, p.model.reward, first, V, work), LEAST_REGRET)
    e = max(estimate - policy_sweep(p.model, p.model.reward, second, V, work), LEAST_REGRET)
    return best_mixture(
        d, policy_sweep(p.model, gains, first, V, work), e, policy_sweep(p.model, gains, second, V, work)
    )
