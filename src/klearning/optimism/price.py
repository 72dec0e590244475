"""The price of unknown transitions, row by row: the bonus `split`, an upper bound with no span stated.

With W the soft values of the next layer, P̄W is replaced by a bound on the certainty equivalent of P·W,

    φ = τ log Σ_k ω_k(n) · exp((1−b_k) v/τ) · mean_i exp(b_k W_i/τ)        v = max_q q·W − τ n KL(n_j/n ‖ q) ,

which is jointly convex in (τ, W), homogeneous, monotone, and moves with W. So q = ∂φ/∂W is a probability vector, the
tilted row, D = (q·W − φ)/τ ≥ 0 its price, and with g = V′ − V/τ

    K = m + c/τ + q·V − τD      H ← q·H − D      C ← c + q·C      K″ = 2c/τ³ + q·V″ + (variance of P·g, tilted)/τ

A stated span lets values of the unseen part be no further than that above the layer's least. The sweep over all layers
is in priced_sweep.py, the proofs in docs/evidence/better_bonus.md.
"""

from typing import NamedTuple

import numpy as np

from klearning.arrays.compiled import index, kernel
from klearning.arrays.elementary import exp_negative
from klearning.arrays.types import Floats, Ints
from klearning.models.soft import Soft
from klearning.models.sweeps import Model
from klearning.optimism.unseen_mass import Unseen, place_of

FAR = 600.0  # for a mass of at most 1, what falls out of the range of floats below this is of no weight


@kernel
def kl_bound(w: Floats, n: Floats, tau: float, q: Floats, spread: Floats) -> float:
    """max over q of q·w − τ N KL(n/N ‖ q), at least the certainty equivalent of P·w for P ~ Dirichlet(n), N = Σn.

    Writes the maximiser q_j = n_j/(z − w_j/τ), z such that Σq = 1, and r_j = q_j²/n_j: the second derivative in w is
    (diag(r) − r rᵀ/Σr)/τ.
    """
    N, top = n.sum(), w.max() / tau
    low, high = 0.0, N  # of z − top: Σq is at least 1 at low and at most 1 at high
    for j in range(w.size):
        low = max(low, n[j] - (top - w[j] / tau))
    z = low if low > 0.0 else 0.5 * high
    for _ in range(60):
        value, slope = -1.0, 0.0
        for j in range(w.size):
            q[j] = n[j] / (z + (top - w[j] / tau))
            value += q[j]
            slope -= q[j] * q[j] / n[j]
        step = (value + 1.0) * value / slope  # Newton on 1/Σq, which is concave and nearly straight
        better = min(max(z - step, low), high)
        if abs(better - z) <= 1e-15 * better:
            break
        z = better
    total, phi = q.sum(), top + (z - N)
    for j in range(w.size):
        q[j] /= total
        spread[j] = q[j] * q[j] / n[j]
        x = ((z - N) + (top - w[j] / tau)) / N  # small where N is large, and N log N would drown the rest
        phi -= n[j] * (np.log1p(x) if abs(x) < 0.5 else np.log((z + (top - w[j] / tau)) / N))
    return tau * phi


@kernel
def clip(V: Floats, H: Floats, C: Floats, D: Floats, span: float) -> None:
    """Values no further above the least of a layer than a stated span."""
    least = np.argmin(V)
    for i in range(V.size):
        if V[i] > V[least] + span:
            V[i], H[i], C[i], D[i] = V[least] + span, H[least], C[least], D[least]


@kernel(inline=True, reorder=True, borrows=True)
def tilt(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """The means of a layer under weights exp(b_k V_i/τ), and mean_i of these weights."""
    once, b = 1.0 / tau, u.knots[k] / tau
    total = m_V = m_H = m_C = m_D = m_gg = 0.0
    for i in range(index(V.size)):
        e = exp_negative(b * (V[i] - top))
        g = H[i] - C[i] * once * once - V[i] * once
        total += e
        m_V += e * V[i]
        m_H += e * H[i]
        m_C += e * C[i]
        m_D += e * D[i]
        m_gg += e * g * g
    q = 1.0 / total
    u.S[k], u.V[k], u.H[k], u.C[k], u.D[k] = total / V.size, q * m_V, q * m_H, q * m_C, q * m_D
    u.g[k] = u.H[k] - u.C[k] * once * once - u.V[k] * once
    u.variance[k] = max(q * m_gg - u.g[k] ** 2, 0.0)


@kernel
def tilt_heavily(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """The same for a prior mass above 1, whose draws are closer to even than to one state: by `kl_bound`."""
    q, r, b = np.empty(V.size), np.empty(V.size), u.knots[k]
    u.log_S[k] = kl_bound(b * (V - top), np.full(V.size, u.mass / V.size), tau, q, r) / tau
    g = H - C / tau**2 - V / tau
    u.variance[k] = (r * (g - (r * g).sum() / r.sum()) ** 2).sum()
    u.V[k], u.H[k], u.C[k], u.D[k] = (q * V).sum(), (q * H).sum(), (q * C).sum(), (q * D).sum()
    u.g[k] = (q * g).sum()


@kernel(inline=True, borrows=True)
def tilt_layer(model: Model, l: int, tau: float, W: Soft, u: Unseen) -> float:
    """For every knot, the means over layer l+1 under its weights; returns the largest value, 0 behind the last."""
    if l + 2 == model.layers.size:
        return 0.0
    low = W.at[l + 1]
    high = low + model.layers[l + 2] - model.layers[l + 1]
    V, H, C, D = W.V[low:high], W.H[low:high], W.C[low:high], W.D[low:high]
    return tilt_knots(u, V, H, C, D, tau) if np.isinf(u.span[l]) else tilt_clipped(u, V, H, C, D, tau, u.span[l])


@kernel(borrows=True)
def tilt_knots(u: Unseen, V: Floats, H: Floats, C: Floats, D: Floats, tau: float) -> float:
    top = V[0]
    for i in range(V.size):
        top = max(top, V[i])
    for k in range(u.knots.size):
        if u.mass > 1.0:
            tilt_heavily(u, k, V, H, C, D, top, tau)
        elif u.mass > 0.0:
            tilt(u, k, V, H, C, D, top, tau)
    return top


@kernel
def tilt_clipped(u: Unseen, V: Floats, H: Floats, C: Floats, D: Floats, tau: float, span: float) -> float:
    """The same with values that a stated span allows."""
    V, H, C, D = V.copy(), H.copy(), C.copy(), D.copy()
    clip(V, H, C, D, span)
    return tilt_knots(u, V, H, C, D, tau)


@kernel(inline=True, borrows=True)
def log_mean(u: Unseen, k: int) -> float:
    """log S of a knot."""
    return u.log_S[k] if u.mass > 1.0 else np.log(u.S[k])


class Part(NamedTuple):
    """The value of a row or a part of it, and what it hands on: see `Soft`."""

    V: float
    H: float
    C: float
    D: float


@kernel
def several_seen(
    succ: Ints, weight: Floats, first: int, length: int, below: int,
    V: Floats, H: Floats, C: Floats, D: Floats, tau: float,
) -> Part:  # fmt: skip
    """v, the bound for what was seen of a row, where that is more than one successor."""
    w, q, r = np.empty(length), np.empty(length), np.empty(length)
    for j in range(length):
        w[j] = V[succ[first + j] + below]
    v = kl_bound(w, weight[first : first + length], tau, q, r)
    V_q = H_q = C_q = D_q = m = 0.0
    for j in range(length):
        y = succ[first + j] + below
        g = H[y] - C[y] / tau**2 - V[y] / tau
        V_q += q[j] * V[y]
        H_q += q[j] * H[y]
        C_q += q[j] * C[y]
        D_q += q[j] * D[y] + r[j] * g * g / tau
        m += r[j] * g
    return Part(v, H_q - (V_q - v) / tau, C_q, D_q - m * m / r.sum() / tau)


@kernel(inline=True, reorder=True, borrows=True)
def chances_near(u: Unseen, place: int, keep: float, y: float) -> float:
    """ω_k · mean_i exp(b_k (V_i − top)/τ) · exp((1−b_k) y) for every knot, less the factor whose log is returned."""
    above, row = max(y, 0.0), index(place)
    for k in range(index(u.knots.size)):
        u.chance[k] = keep * u.weights[row, k] * u.S[k] * exp_negative((1.0 - u.knots[k]) * y - above)
    u.chance[0] += (1.0 - keep) * exp_negative(y - above)
    return above


@kernel(inline=True, borrows=True)
def chances_far(u: Unseen, place: int, keep: float, y: float) -> float:
    """The same by logarithms, where a factor may be beyond the range of floats."""
    best = -np.inf
    for k in range(u.knots.size):
        log_omega = np.log(keep) + u.log_weights[place, k]
        if k == 0:
            log_omega = np.logaddexp(log_omega, np.log(1.0 - keep))
        u.chance[k] = log_omega + log_mean(u, k) + (1.0 - u.knots[k]) * y
        best = max(best, u.chance[k])
    for k in range(u.knots.size):
        u.chance[k] = np.exp(u.chance[k] - best)
    return best


@kernel(inline=True, reorder=True, borrows=True)
def mix(u: Unseen, seen: Part, n: float, top: float, tau: float) -> Part:
    """φ from what was seen and, knot by knot, what was not: one log-sum-exp."""
    once = 1.0 / tau
    y, g_seen = (seen.V - top) * once, seen.H - seen.C * once * once - seen.V * once
    place = place_of(u.counts, n)
    # Beta(α0, n) is dominated by a coin of chance `keep` times the Beta of the table's row; tails is all seen
    keep = (u.mass + u.counts[place]) / (u.mass + n)
    near = u.mass <= 1.0 and abs(y) <= FAR
    shift = chances_near(u, place, keep, y) if near else chances_far(u, place, keep, y)
    total = own = V = H = C = D = gg = 0.0
    for k in range(index(u.knots.size)):
        e, b = u.chance[k], u.knots[k]
        here = (1.0 - b) * g_seen + b * u.g[k]
        total += e
        own += e * (1.0 - b)
        gg += e * (here * here + b * b * u.variance[k])
        b *= e
        V += b * u.V[k]
        H += b * u.H[k]
        C += b * u.C[k]
        D += b * u.D[k]
    q = 1.0 / total
    own *= q
    V, H, C, D = own * seen.V + q * V, own * seen.H + q * H, own * seen.C + q * C, own * seen.D + q * D
    phi = top + tau * (shift + np.log(total))
    g = H - C * once * once - V * once
    return Part(phi, H - (V - phi) * once, C, D + max(q * gg - g * g, 0.0) * once)


@kernel(inline=True, borrows=True)
def all_unseen(u: Unseen, top: float, tau: float) -> Part:
    """φ of a row that was never seen: all weight is on the last knot."""
    phi = top + tau * log_mean(u, u.knots.size - 1)
    return Part(phi, u.H[-1] - (u.V[-1] - phi) / tau, u.C[-1], u.D[-1] + u.variance[-1] / tau)
