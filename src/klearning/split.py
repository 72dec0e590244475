"""The optimistic sweep with a price for unknown transitions: the bonus `split`, an upper bound with no span stated.

With W the soft values of the next layer, P̄W is replaced by a bound on the certainty equivalent of P·W,

    φ = τ log Σ_k ω_k(n) · exp((1−b_k) v/τ) · mean_i exp(b_k W_i/τ)        v = max_q q·W − τ n KL(n_j/n ‖ q) ,

which is jointly convex in (τ, W), homogeneous, monotone, and moves with W. So q = ∂φ/∂W is a probability vector, the
tilted row, D = (q·W − φ)/τ ≥ 0 its price, and with g = V′ − V/τ

    K = m + c/τ + q·V − τD      H ← q·H − D      C ← c + q·C      K″ = 2c/τ³ + q·V″ + (variance of P·g, tilted)/τ

The rest of the sweep, f = J + τH̄ + C̄/τ and the certificate stay as they are, under the tilted model. A stated span
lets values of the unseen part be no further than that above the layer's least. Proofs: docs/better_bonus.md.
"""

from typing import NamedTuple

import numpy as np

from klearning.bellman import Model, Soft, at_start, fold, soft_sweep
from klearning.compiled import Floats, Ints, index, kernel
from klearning.elementary import exp_negative
from klearning.unseen import Unseen, place_of


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
    total, phi = q.sum(), top + z - N + N * np.log(N)
    for j in range(w.size):
        q[j] /= total
        spread[j] = q[j] * q[j] / n[j]
        phi -= n[j] * np.log(z + (top - w[j] / tau))
    return tau * phi


@kernel
def clip(V: Floats, H: Floats, C: Floats, D: Floats, span: float) -> None:
    """Values no further above the least of a layer than a stated span."""
    least = np.argmin(V)
    for i in range(V.size):
        if V[i] > V[least] + span:
            V[i], H[i], C[i], D[i] = V[least] + span, H[least], C[least], D[least]


@kernel(inline=True, reorder=True)
def tilt(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """The means of a layer under weights exp(b_k V_i/τ), and log mean_i of these weights."""
    once, b = 1.0 / tau, u.knots[k] / tau
    total = m_V = m_H = m_C = m_D = m_g = m_gg = 0.0
    for i in range(index(V.size)):
        e = exp_negative(b * (V[i] - top))
        g = H[i] - C[i] * once * once - V[i] * once
        total += e
        m_V += e * V[i]
        m_H += e * H[i]
        m_C += e * C[i]
        m_D += e * D[i]
        m_g += e * g
        m_gg += e * g * g
    q = 1.0 / total
    u.log_S[k], u.variance[k] = np.log(total / V.size), max(q * m_gg - (q * m_g) ** 2, 0.0)
    u.V[k], u.H[k], u.C[k], u.D[k], u.g[k] = q * m_V, q * m_H, q * m_C, q * m_D, q * m_g


@kernel
def tilt_heavily(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """The same for a prior mass above 1, whose draws are closer to even than to one state: by `kl_bound`."""
    q, r, b = np.empty(V.size), np.empty(V.size), u.knots[k]
    u.log_S[k] = (kl_bound(b * V, np.full(V.size, u.mass / V.size), tau, q, r) - b * top) / tau
    g = H - C / tau**2 - V / tau
    u.variance[k] = (r * (g - (r * g).sum() / r.sum()) ** 2).sum()
    u.V[k], u.H[k], u.C[k], u.D[k] = (q * V).sum(), (q * H).sum(), (q * C).sum(), (q * D).sum()
    u.g[k] = (q * g).sum()


@kernel
def tilt_layer(model: Model, l: int, tau: float, W: Soft) -> float:
    """For every knot, the means over layer l+1 under its weights; returns the largest value."""
    u, low = W.unseen, W.at[l + 1]
    high = low + model.layers[l + 2] - model.layers[l + 1]
    V, H, C, D = W.V[low:high], W.H[low:high], W.C[low:high], W.D[low:high]
    if not np.isinf(u.span[l]):
        V, H, C, D = V.copy(), H.copy(), C.copy(), D.copy()
        clip(V, H, C, D, u.span[l])
    top = V.max()
    for k in range(u.knots.size):
        if u.mass > 1.0:
            tilt_heavily(u, k, V, H, C, D, top, tau)
        elif u.mass > 0.0:
            tilt(u, k, V, H, C, D, top, tau)
    return top


class Part(NamedTuple):
    """The value of a row or a part of it, and what it hands on: see `Soft`."""

    V: float
    H: float
    C: float
    D: float


@kernel
def several_seen(succ: Ints, n: Floats, V: Floats, H: Floats, C: Floats, D: Floats, tau: float) -> Part:
    """v, the bound for what was seen of a row, where that is more than one successor."""
    q, r = np.empty(n.size), np.empty(n.size)
    v = kl_bound(V[succ], n, tau, q, r)
    V_q = H_q = C_q = D_q = m = 0.0
    for j in range(n.size):
        y = succ[j]
        g = H[y] - C[y] / tau**2 - V[y] / tau
        V_q += q[j] * V[y]
        H_q += q[j] * H[y]
        C_q += q[j] * C[y]
        D_q += q[j] * D[y] + r[j] * g * g / tau
        m += r[j] * g
    return Part(v, H_q - (V_q - v) / tau, C_q, D_q - m * m / r.sum() / tau)


@kernel(inline=True, reorder=True)
def mix(u: Unseen, seen: Part, n: float, top: float, tau: float) -> Part:
    """φ from what was seen and, knot by knot, what was not: one log-sum-exp."""
    once = 1.0 / tau
    y, g_seen = (seen.V - top) * once, seen.H - seen.C * once * once - seen.V * once
    place = place_of(u.counts, n)
    # Beta(α0, n) is dominated by a coin of chance `keep` times the Beta of the table's row; tails is all seen
    keep = (u.mass + u.counts[place]) / (u.mass + n)
    log_keep, log_rest = np.log(keep), np.log(1.0 - keep) if keep < 1.0 else -np.inf
    omega = u.log_weights[place]
    best = log_rest
    for k in range(index(u.knots.size)):
        best = max(best, omega[k] + log_keep + u.log_S[k] - u.knots[k] * y)
    rest = np.exp(log_rest - best)
    total, V, H, C, D = rest, rest * seen.V, rest * seen.H, rest * seen.C, rest * seen.D
    g, gg = rest * g_seen, rest * g_seen * g_seen
    for k in range(index(u.knots.size)):
        b = u.knots[k]
        e = exp_negative(omega[k] + log_keep + u.log_S[k] - b * y - best)
        s, here = e * (1.0 - b), (1.0 - b) * g_seen + b * u.g[k]
        b *= e
        total += e
        V += s * seen.V + b * u.V[k]
        H += s * seen.H + b * u.H[k]
        C += s * seen.C + b * u.C[k]
        D += s * seen.D + b * u.D[k]
        g += e * here
        gg += e * here * here + b * u.knots[k] * u.variance[k]
    q = 1.0 / total
    phi = seen.V + tau * (best + np.log(total))
    return Part(phi, q * H - (q * V - phi) * once, q * C, q * D + max(q * gg - (q * g) ** 2, 0.0) * once)


@kernel
def split_backup(
    model: Model, c: Floats, tau: float, l: int, a: int, top: float, W: Soft,
    K: Floats, H: Floats, C: Floats, D: Floats, at: int,
) -> None:  # fmt: skip
    """One action's K and its parts for the states of layer l, as `bellman.backup`, with φ for P̄V."""
    u, rows, low = W.unseen, model.rows, model.layers[l]
    last, below = l + 2 == model.layers.size, W.at[l + 1] - model.table[l + 1]
    once, thrice = 1.0 / tau, 2.0 / (tau * tau * tau)
    for i in range(model.layers[l + 1] - low):
        row, phi = model.table[l] + i, Part(0.0, 0.0, 0.0, 0.0)
        if not last:
            first, length = rows.start[a, row], rows.length[a, row]
            if length == 1:
                y = rows.succ[first] + below
                phi = Part(W.V[y], W.H[y], W.C[y], W.D[y])
            elif length > 1:
                succ, n = rows.succ[first : first + length] + below, rows.weight[first : first + length]
                phi = several_seen(succ, n, W.V, W.H, W.C, W.D, tau)
            else:
                phi = Part(top, 0.0, 0.0, 0.0)  # nothing seen: any value, it gets no weight
            if u.mass > 0.0:  # else the prior's mass is in the rows, on a support
                phi = mix(u, phi, u.moves[a, row], top, tau)
        c_s = c[a, low + i]
        K[at + i] = model.reward[a, row] + c_s * once + phi.V
        H[at + i] = phi.H
        C[at + i] = c_s + phi.C
        D[at + i] = c_s * thrice + phi.D


@kernel
def split_sweep(model: Model, c: Floats, tau: float, W: Soft) -> tuple[float, float, float, float]:
    """As `soft_sweep`, with a price for unknown transitions."""
    for l in range(model.layers.size - 2, -1, -1):
        top = 0.0
        if l + 2 < model.layers.size:
            top = tilt_layer(model, l, tau, W)
        split_backup(model, c, tau, l, 0, top, W, W.V, W.H, W.C, W.D, W.at[l])
        for a in range(1, model.reward.shape[0]):
            split_backup(model, c, tau, l, a, top, W, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            fold(tau, W, l, a)
        if model.end >= 0:
            over = W.at[l] + model.end
            W.V[over] = W.H[over] = W.C[over] = W.D[over] = 0.0
    return at_start(model, W.V), at_start(model, W.H), at_start(model, W.C), at_start(model, W.D)


@kernel
def sweep(model: Model, c: Floats, tau: float, W: Soft) -> tuple[float, float, float, float]:
    """f, H̄, C̄ and f″ at one τ, with or without a price for unknown transitions."""
    if W.unseen.priced:
        return split_sweep(model, c, tau, W)
    return soft_sweep(model, c, tau, W)


@kernel
def split_k_values(model: Model, c: Floats, tau: float, W: Soft, K: Floats) -> None:
    """K of every layer, from the values that the last sweep left."""
    for l in range(model.layers.size - 1):
        top = 0.0
        if l + 2 < model.layers.size:
            top = tilt_layer(model, l, tau, W)
        for a in range(K.shape[0]):
            split_backup(model, c, tau, l, a, top, W, W.K_a, W.H_a, W.C_a, W.D_a, 0)
            for i in range(model.layers[l + 1] - model.layers[l]):
                K[a, model.layers[l] + i] = 0.0 if i == model.end else W.K_a[i]
