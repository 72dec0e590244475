"""The optimistic sweep with a share ν of the price of unknown transitions, and its temperature.

    K = m + c/τ + (1−ν) P̄V + ν φ(V)

ν = 0 is `soft_sweep`, ν = 1 the bonus `split`. Both K have the same m + c/τ, so the blend of the two backups, and of
their H, C and D, is that of the sweep. φ is jointly convex in (τ, V) and P̄V linear: f(τ) is convex for every ν.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.soft import Soft, backup, boltzmann, fold, spread_all_evenly
from klearning.tabular.models.sweeps import Model, at_start
from klearning.tabular.optimism.split.certainty_equivalent import tilted_means_of_layer
from klearning.tabular.optimism.split.priced_sweep import COLD, largest_reward, priced_arrays, priced_backup
from klearning.tabular.optimism.split.unseen_mass import Unseen
from klearning.tabular.optimism.temperature import MOST_SWEEPS, Temperature, allowed, duality_gap, first_guess, newton


@field_roles(scratch=True)
class Blended(NamedTuple):
    """Workspace; K, H, C and D of one action without the price, one layer wide."""

    soft: Soft
    unseen: Unseen
    K: Floats
    H: Floats
    C: Floats
    D: Floats


def blended_arrays(belief: Belief, p: Posterior) -> Blended:
    soft, unseen = priced_arrays(belief, p)
    return Blended(soft, unseen, *np.zeros((4, soft.K_a.size)))


@kernel
def blend(nu: float, priced: Floats, plain: Floats, out: Floats, at: int, size: int) -> None:
    """ν · priced + (1−ν) · plain, written from position ``at`` on."""
    for i in range(index(size)):
        out[at + i] = plain[i] + nu * (priced[i] - plain[i])


@kernel
def blended_sweep(model: Model, c: Floats, nu: float, tau: float, work: Blended) -> tuple[float, float, float, float]:
    """As `soft_sweep`, with a share ν of the price: f, H̄, C̄ and f″."""
    W, u = work.soft, work.unseen
    for l in range(model.layers.size - 2, -1, -1):
        size, at = model.layers[l + 1] - model.layers[l], W.at[l]
        top, even = tilted_means_of_layer(model, l, tau, W, u), spread_all_evenly(model, l, W)
        for a in range(model.reward.shape[0]):
            priced_backup(model, c, tau, l, a, top, work, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            backup(model, c, tau, l, a, even, W, work.K, work.H, work.C, work.D, 0)
            if a == 0:
                blend(nu, W.K_a, work.K, W.V, at, size)
                blend(nu, W.H_a, work.H, W.H, at, size)
                blend(nu, W.C_a, work.C, W.C, at, size)
                blend(nu, W.D_a, work.D, W.D, at, size)
            else:
                blend(nu, W.K_a, work.K, W.K_a, 0, size)
                blend(nu, W.H_a, work.H, W.H_a, 0, size)
                blend(nu, W.C_a, work.C, W.C_a, 0, size)
                blend(nu, W.D_a, work.D, W.D_a, 0, size)
                fold(tau, W, l, a)
        if model.end >= 0:
            over = at + model.end
            W.V[over] = W.H[over] = W.C[over] = W.D[over] = 0.0
    return at_start(model, W.V), at_start(model, W.H), at_start(model, W.C), at_start(model, W.D)


@kernel
def blended_at_optimum(
    model: Model, c: Floats, nu: float, warm: float, tolerance: float, policy: Floats, work: Blended
) -> Temperature:
    """The best τ for a given ν, for more than one action; H̄ may be negative, as in `priced_at_optimum`."""
    scale = largest_reward(model)
    tau = warm if warm > 0.0 else max(first_guess(model, c), scale / COLD)
    low, high, sweeps = 0.0, np.inf, 0
    while True:
        f, H, C, f2 = blended_sweep(model, c, nu, tau, work)
        sweeps += 1
        slope = tau * H - C / tau  # df / d log τ
        low, high = (low, tau) if slope > 0.0 else (tau, high)
        gap, better = duality_gap(tau, H, C), newton(tau, slope, slope + tau * tau * f2, low, high)
        if H < 0.0 and high < np.inf:  # a convex f falls no faster than here, and rises from ``high`` on
            gap = -slope * (high / tau - 1.0)
        if gap <= allowed(tolerance, f, max(abs(f), scale)) or sweeps == MOST_SWEEPS or better == 0.0:
            boltzmann(model.layers, work.soft, policy)
            return Temperature(tau, f, gap, sweeps, better)
        tau = better
