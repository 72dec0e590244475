"""The optimistic sweep that prices unknown transitions, and the search for its temperature: the bonus `split`.

As `soft_sweep` and `temperature.at_optimum`, with φ of certainty_equivalent.py for P̄V; f = J + τH̄ + C̄/τ and the
certificate are those of the tilted model. The search differs: H̄ is entropy less prices and may be negative, and
then only a bracket certifies; C̄ may be zero while rows are uncertain; and the tilted model is optimistic itself, so
that f − J does not measure the optimism.
"""

from typing import NamedTuple, Protocol

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.beliefs.posterior import Posterior
from klearning.tabular.models.soft import Soft, boltzmann, fold, soft_arrays, without_padding
from klearning.tabular.models.sweeps import FORBIDDEN, Model, at_start, first_column, hard_sweep
from klearning.tabular.optimism.split.certainty_equivalent import (
    mix_parts_of_layer,
    seen_equivalents,
    tilted_means_of_layer,
)
from klearning.tabular.optimism.split.unseen_mass import Unseen, unseen_arrays
from klearning.tabular.optimism.temperature import (
    MOST_SWEEPS,
    Temperature,
    allowed,
    at_limit,
    duality_gap,
    first_guess,
    newton,
)

COLD = 500.0  # how far below the size of rewards a search may begin: if cold, H̄, a difference, is rounded badly


@field_roles(scratch=True)
class Priced(NamedTuple):
    """Workspace for a sweep that prices transitions."""

    soft: Soft
    unseen: Unseen


class Prices(Protocol):
    """What `priced_backup` reads of a workspace."""

    @property
    def soft(self) -> Soft: ...
    @property
    def unseen(self) -> Unseen: ...


def priced_arrays(belief: Belief, p: Posterior) -> Priced:
    """The prices follow what ``p`` comes to know: it shares its counts."""
    horizon = belief.horizon
    span = np.full(horizon, np.inf) if belief.prior.span is None else belief.prior.spans(horizon)
    unseen = unseen_arrays(float(belief.transitions.even_mass), p.moves, span, p.discount)
    return Priced(soft_arrays(belief.layers, belief.actions), unseen)


@kernel(inline=True)
def priced_backup(
    model: Model, c: Floats, tau: float, l: int, a: int, top: float, work: Prices,
    K: Floats, H: Floats, C: Floats, D: Floats, at: int,
) -> None:  # fmt: skip
    """One action's K and its parts for the states of layer l, as `soft.backup`, with φ for P̄V; with γφ for γP̄V.

    The certainty equivalent of γ·P·V at τ is γ times that of P·V at τ/γ, and so at most γφ.
    """
    W, u = work.soft, work.unseen
    seen, gamma, width = u.seen, u.discount, model.layers[l + 1] - model.layers[l]
    row, bonus = model.table[l], first_column(model, c, l)
    once, thrice = 1.0 / tau, 2.0 / (tau * tau * tau)
    if l + 2 == model.layers.size:
        seen.V[:width] = seen.H[:width] = seen.C[:width] = seen.D[:width] = 0.0
    else:
        seen_equivalents(model, tau, l, a, top, W, u)
        if u.mass > 0.0:  # else the prior's mass is in the rows, on a support
            mix_parts_of_layer(u, width, top, tau)
    for i in range(width):
        c_s = c[a, bonus + i]
        K[at + i] = model.reward[a, row + i] + c_s * once + gamma * seen.V[i]
        H[at + i] = gamma * seen.H[i]
        C[at + i] = c_s + gamma * seen.C[i]
        D[at + i] = c_s * thrice + gamma * seen.D[i]


@kernel
def priced_sweep(model: Model, c: Floats, tau: float, work: Priced) -> tuple[float, float, float, float]:
    """As `soft_sweep`, with a price for unknown transitions: f, H̄, C̄ and f″."""
    W, u = work.soft, work.unseen
    for l in range(model.layers.size - 2, -1, -1):
        top = tilted_means_of_layer(model, l, tau, W, u)
        priced_backup(model, c, tau, l, 0, top, work, W.V, W.H, W.C, W.D, W.at[l])
        for a in range(1, model.reward.shape[0]):
            priced_backup(model, c, tau, l, a, top, work, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            fold(tau, W, l, a)
        if model.end >= 0:
            over = W.at[l] + model.end
            W.V[over] = W.H[over] = W.C[over] = W.D[over] = 0.0
    return at_start(model, W.V), at_start(model, W.H), at_start(model, W.C), at_start(model, W.D)


@kernel
def priced_k_values(model: Model, c: Floats, tau: float, K: Floats, V: Floats, work: Priced) -> None:
    """K and V of every layer, from what the last sweep left."""
    W, u = work.soft, work.unseen
    without_padding(model.layers, W.at, W.V, V)
    for l in range(model.layers.size - 1):
        top = tilted_means_of_layer(model, l, tau, W, u)
        for a in range(K.shape[0]):
            priced_backup(model, c, tau, l, a, top, work, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            for i in range(model.layers[l + 1] - model.layers[l]):
                K[a, model.layers[l] + i] = 0.0 if i == model.end else W.K_a[i]


@kernel
def priced_at_temperature(model: Model, c: Floats, tau: float, policy: Floats, work: Priced) -> Temperature:
    """The sweep at a given τ, and its two limits."""
    if tau == 0.0 or np.isinf(tau):
        return at_limit(model, tau, policy)
    f, H, C, _ = priced_sweep(model, c, tau, work)
    boltzmann(model.layers, work.soft, policy)
    return Temperature(tau, f, duality_gap(tau, H, C), 1, tau)


@kernel
def priced_at_optimum(
    model: Model, c: Floats, warm: float, tolerance: float, policy: Floats, work: Priced
) -> Temperature:
    """Newton in log τ, kept inside a bracket, until the gap is below ``tolerance`` times the size of f."""
    if c.shape[0] == 1:
        return at_limit(model, np.inf, policy)
    scale = largest_reward(model)
    # rewards may be certain, or all but certain, and transitions not: then the optimum is far from the guess
    tau = warm if warm > 0.0 else max(first_guess(model, c), scale / COLD)
    low, high, sweeps = 0.0, np.inf, 0
    while tau > 0.0:
        f, H, C, f2 = priced_sweep(model, c, tau, work)
        sweeps += 1
        slope = tau * H - C / tau  # df / d log τ
        low, high = (low, tau) if slope > 0.0 else (tau, high)
        gap, better = duality_gap(tau, H, C), newton(tau, slope, slope + tau * tau * f2, low, high)
        if H < 0.0 and high < np.inf:  # a convex f falls no faster than here, and rises from ``high`` on
            gap = -slope * (high / tau - 1.0)
        enough = allowed(tolerance, f, max(abs(f), scale))
        if gap <= enough or sweeps == MOST_SWEEPS:
            if C == 0.0 and is_certain(model, f, enough):
                break
            boltzmann(model.layers, work.soft, policy)
            return Temperature(tau, f, gap, sweeps, better)
        tau = better
    return at_limit(model, 0.0, policy)


@kernel
def largest_reward(model: Model) -> float:
    """The largest |m(s,a)| of actions that are allowed."""
    largest = 0.0
    for a in range(model.reward.shape[0]):
        for s in range(model.reward.shape[1]):
            if model.reward[a, s] > FORBIDDEN:
                largest = max(largest, abs(model.reward[a, s]))
    return largest


@kernel
def is_certain(model: Model, f: float, enough: float) -> bool:
    """Whether the bound f is no more than the greedy policy expects: then nothing that matters is uncertain."""
    states = model.layers[-1]
    expected = hard_sweep(model, model.reward, np.empty((model.reward.shape[0], states)), np.empty(states))
    return f - expected <= enough
