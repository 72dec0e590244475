"""A Gaussian prior of mean rewards that is too narrow for what was seen, widened.

If mean rewards are N(μ0, s²) and the noise is σ, the mean r̄ of n rewards has the variance s² + σ²/n. If their variance
is w s² instead, then with n0 = σ²/s² and f = n / (n + n0)

    z² = f (r̄ − μ0)² / s²        E z² = 1 + (w − 1) f

Least squares over all pairs of states and actions gives w − 1 = Σ f (z² − 1) / Σ f². If the prior is right, the error
of that is about √(2 / Σ f²). `widening` is w less `ERRORS` of these, and no less than 1: a prior that fits stays as it
is. `widened` is the posterior as if the prior had had that variance. Coins have no variance to widen, and a prior that
learns the noise takes surprising rewards for noise, which widens its posterior by itself.
"""

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.beliefs.rewards import RewardPrior, is_beta, learns_noise, reward_posterior
from klearning.tabular.models.sweeps import Model

ERRORS = 2.0
MOST = 100.0  # a deviation ten times as large


@kernel
def widening(p: Posterior) -> float:
    """What the prior's variance of mean rewards should be multiplied by; 1 if it fits."""
    prior, total, squares = p.prior, 0.0, 0.0
    if is_beta(prior) or learns_noise(prior) or np.isinf(prior.strength):
        return 1.0
    for a in range(p.visits.shape[0]):
        for s in range(p.visits.shape[1]):
            n = p.visits[a, s]
            if n > 0.0 and not np.isinf(n):
                f = n / (n + prior.strength)
                off = p.reward_sums[a, s] / n - prior.mean
                total += f * (f * off * off / prior.variance - 1.0)
                squares += f * f
    if squares == 0.0:
        return 1.0
    return min(max(1.0 + total / squares - ERRORS * np.sqrt(2.0 / squares), 1.0), MOST)


@kernel
def widened(p: Posterior, reward: Floats, variance: Floats) -> Posterior:
    """The posterior if the prior's variance were `widening` times as large; its means and variances in these arrays.

    The posterior itself if that is 1.
    """
    w, prior, m = widening(p), p.prior, p.model
    if w == 1.0:
        return p
    wide = RewardPrior(
        prior.mean, w * prior.variance, prior.strength / w, prior.noise_variance, prior.shift, prior.noise_strength
    )
    for a in range(p.visits.shape[0]):
        for s in range(p.visits.shape[1]):
            reward[a, s], variance[a, s] = reward_posterior(wide, p.visits[a, s], p.reward_sums[a, s], 0.0)
    model = Model(m.layers, m.table, m.end, m.initial, reward, m.scale, m.mass, m.rows)
    return Posterior(
        model, variance, p.visits, p.moves, p.reward_sums, wide, p.total, p.learns, p.discount, p.reward_squares
    )
