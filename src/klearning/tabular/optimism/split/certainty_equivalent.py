"""The price of unknown transitions, row by row: the bonus `split`, an upper bound with no span stated.

With W the soft values of the next layer, P̄W is replaced by a bound on the certainty equivalent of P·W,

    φ = τ log Σ_k ω_k(n) · exp((1−b_k) v/τ) · mean_i exp(b_k W_i/τ)        v = max_q q·W − τ n KL(n_j/n ‖ q) ,

which is jointly convex in (τ, W), homogeneous, monotone, and moves with W. So q = ∂φ/∂W is a probability vector, the
tilted row, D = (q·W − φ)/τ ≥ 0 its price, and with g = V′ − V/τ

    K = m + c/τ + q·V − τD      H ← q·H − D      C ← c + q·C      K″ = 2c/τ³ + q·V″ + (variance of P·g, tilted)/τ

A stated span bounds how far the values of the unseen part may lie above the layer's least. Means of the next layer come
first (`tilted_means`), then v of its rows (`seen_equivalents`), then φ (`mix_parts`), eight rows at a time. The sweep
over all layers is in priced_sweep.py, the proofs in docs/evidence/better_bonus.md.
"""

from typing import Any

import numpy as np

from klearning.numerics.compile.kernels import index, kernel
from klearning.numerics.elementary import exp_negative, log_near_one
from klearning.numerics.loops import largest
from klearning.numerics.simd.operations import (
    LANES,
    all_true,
    any_true,
    as_floats,
    broadcast,
    choose,
    gather,
    load,
    store,
    truncated,
)
from klearning.numerics.sparse.rows import EIGHT, are_lone, first_of_eight, lone_successors
from klearning.numerics.types import Floats, Ints
from klearning.tabular.models.soft import Part, Soft
from klearning.tabular.models.sweeps import ONE, Model
from klearning.tabular.optimism.split.unseen_mass import DENSE, Unseen, place_of

FAR = 600.0  # for a mass of at most 1, what falls out of the range of floats below this is of no weight


@kernel
def kl_bound(w: Floats, n: Floats, tau: float, q: Floats, spread: Floats) -> float:
    """max over q of q·w − τ N KL(n/N ‖ q), at least the certainty equivalent of P·w for P ~ Dirichlet(n), N = Σn.

    Writes the maximiser q_j = n_j/(z − w_j/τ), z such that Σq = 1, and r_j = q_j²/n_j: the second derivative in w is
    (diag(r) − r rᵀ/Σr)/τ.
    """
    N, top = n.sum(), largest(w) / tau
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
        x = ((z - N) + (top - w[j] / tau)) / N  # small if N is large, and N log N would drown the rest
        phi -= n[j] * (np.log1p(x) if abs(x) < 0.5 else np.log((z + (top - w[j] / tau)) / N))
    return tau * phi


@kernel
def clip(V: Floats, H: Floats, C: Floats, D: Floats, span: float) -> None:
    """Values no further above the least of a layer than a stated span."""
    least = np.argmin(V)
    for i in range(V.size):
        if V[i] > V[least] + span:
            V[i], H[i], C[i], D[i] = V[least] + span, H[least], C[least], D[least]


@kernel(inline=True)
def tilted_means(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """For eight knots the means of a layer under weights exp(b_k (V_i − top)/τ), and mean_i of these weights."""
    once, at, b = 1.0 / tau, index(k), load(u.knots, index(k))
    total = m_x = m_H = m_C = m_D = m_gg = broadcast(0.0)
    for i in range(index(V.size)):
        x = (V[i] - top) * once
        g = H[i] - C[i] * once * once - V[i] * once
        e = exp_negative(b * x)
        total += e
        m_x += e * x
        m_H += e * H[i]
        m_C += e * C[i]
        m_D += e * D[i]
        m_gg += e * (g * g)
    q = 1.0 / total
    x, m_H, m_C = q * m_x, q * m_H, q * m_C
    g = m_H - m_C * once * once - (x + top * once)
    variance = q * m_gg - g * g
    store(u.S, at, total * (1.0 / V.size))
    store(u.x, at, x)
    store(u.H, at, m_H)
    store(u.C, at, m_C)
    store(u.D, at, q * m_D)
    store(u.g, at, g)
    store(u.variance, at, choose(variance > 0.0, variance, 0.0))


@kernel
def tilted_means_by_sums(u: Unseen, k: int, V: Floats, H: Floats, C: Floats, D: Floats, top: float, tau: float) -> None:
    """The same of one knot for a prior mass above 1, whose draws are closer to even than to one state: `kl_bound`."""
    q, r, b = np.empty(V.size), np.empty(V.size), u.knots[k]
    u.log_S[k] = kl_bound(b * (V - top), np.full(V.size, u.mass / V.size), tau, q, r) / tau
    g = H - C / tau**2 - V / tau
    u.variance[k] = (r * (g - (r * g).sum() / r.sum()) ** 2).sum()
    u.x[k], u.H[k], u.C[k], u.D[k] = (q * (V - top)).sum() / tau, (q * H).sum(), (q * C).sum(), (q * D).sum()
    u.g[k] = (q * g).sum()


@kernel(inline=True)
def tilted_means_of_layer(model: Model, l: int, tau: float, W: Soft, u: Unseen) -> float:
    """For every knot, the means over layer l+1 under its weights; returns the largest value, 0 behind the last."""
    if l + 2 == model.layers.size:
        return 0.0
    low = W.at[l + 1]
    high = low + model.layers[l + 2] - model.layers[l + 1]
    V, H, C, D = W.V[low:high], W.H[low:high], W.C[low:high], W.D[low:high]
    return (
        tilted_means_at_knots(u, V, H, C, D, tau)
        if np.isinf(u.span[l])
        else tilted_means_clipped(u, V, H, C, D, tau, u.span[l])
    )


@kernel
def tilted_means_at_knots(u: Unseen, V: Floats, H: Floats, C: Floats, D: Floats, tau: float) -> float:
    top = V[0]
    for i in range(V.size):
        top = max(top, V[i])
    if u.mass > 1.0:
        for k in range(u.knots.size):
            tilted_means_by_sums(u, k, V, H, C, D, top, tau)
    elif u.mass > 0.0:
        for k in range(0, u.knots.size, LANES):
            tilted_means(u, k, V, H, C, D, top, tau)
    return top


@kernel
def tilted_means_clipped(u: Unseen, V: Floats, H: Floats, C: Floats, D: Floats, tau: float, span: float) -> float:
    """The same with values that a stated span allows."""
    V, H, C, D = V.copy(), H.copy(), C.copy(), D.copy()
    clip(V, H, C, D, span)
    return tilted_means_at_knots(u, V, H, C, D, tau)


@kernel(inline=True)
def log_mean(u: Unseen, k: int) -> float:
    """log S of a knot."""
    return u.log_S[k] if u.mass > 1.0 else np.log(u.S[k])


@kernel
def several_seen(
    succ: Ints, weight: Floats, first: int, length: int, below: int,
    V: Floats, H: Floats, C: Floats, D: Floats, tau: float,
) -> Part:  # fmt: skip
    """v, the bound for the seen part of a row with more than one successor."""
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


@kernel(inline=True)
def place_in_table(u: Unseen, i: int, n: float) -> None:
    """Where a row that was seen n times has its weights.

    Beta(α0, n) is dominated by a coin of chance ``keep`` times the Beta of the table's row; tails is all seen.
    """
    place = place_of(u.counts, n)
    u.seen.place[i], u.seen.keep[i] = place, (u.mass + u.counts[place]) / (u.mass + n)


@kernel(inline=True)
def place_eight(u: Unseen, i: Any, n: Any) -> None:
    """The same of eight rows."""
    if all_true(n < DENSE + 1.0):
        place = truncated(n)
        store(u.seen.place, i, place)
        store(u.seen.keep, i, (u.mass + as_floats(place)) / (u.mass + n))
    else:
        store(u.seen.keep, i, n)
        for j in range(LANES):
            place_in_table(u, i + j, u.seen.keep[i + j])


@kernel(inline=True)
def unseen_eight(u: Unseen, i: Any, top: float) -> None:
    """Rows that were never seen: whatever stands for what was seen has no weight."""
    none = broadcast(0.0)
    store(u.seen.V, i, broadcast(top))
    store(u.seen.H, i, none)
    store(u.seen.C, i, none)
    store(u.seen.D, i, none)
    store(u.seen.place, i, broadcast(0))
    store(u.seen.keep, i, broadcast(1.0))


@kernel(inline=True)
def seen_equivalents(model: Model, tau: float, l: int, a: int, top: float, W: Soft, u: Unseen) -> None:
    """The seen part of the rows of a layer, and its visits; an unseen row has all its weight on the last knot."""
    rows, seen, row = model.rows, u.seen, index(model.table[l])
    width, under = index(model.layers[l + 1] - model.layers[l]), W.at[l + 1] - model.table[l + 1]
    below = index(under)  # from a successor's number to its place
    if are_lone(rows.length[a], row, width):
        nowhere = index(W.at[l + 1])
        for j in range(index(0), width, EIGHT):
            i = first_of_eight(j, width)
            length = load(rows.length[a], row + i)
            some = length > 0
            if all_true(length < 1):
                unseen_eight(u, i, top)
                continue
            y, _ = lone_successors(rows, a, row + i, length, below, nowhere)
            store(seen.V, i, choose(some, gather(W.V, y), top))
            store(seen.H, i, choose(some, gather(W.H, y), 0.0))
            store(seen.C, i, choose(some, gather(W.C, y), 0.0))
            store(seen.D, i, choose(some, gather(W.D, y), 0.0))
            if u.mass > 0.0:
                place_eight(u, i, choose(some, load(u.moves[a], row + i), 0.0))
    else:
        for j in range(index(0), width, EIGHT):
            unseen_eight(u, j, top)
        for s in range(width):
            first, length = rows.start[a, row + s], rows.length[a, row + s]
            if length > 0:
                y = index(rows.succ[first]) + below
                part = Part(W.V[y], W.H[y], W.C[y], W.D[y])
                if length > 1:
                    part = several_seen(rows.succ, rows.weight, first, length, under, W.V, W.H, W.C, W.D, tau)
                seen.V[s], seen.H[s], seen.C[s], seen.D[s] = part
                if u.mass > 0.0:
                    place_in_table(u, int(s), u.moves[a, row + s])
    for s in range(width, (width + EIGHT - ONE) // EIGHT * EIGHT):
        seen.V[s], seen.place[s], seen.keep[s] = top, 0, 1.0  # of whom `mix_parts` asks no more than of the others


@kernel(inline=True)
def chances_near(u: Unseen, place: Any, keep: Any, y: Any) -> Any:
    """Of eight rows ω_k · mean_i exp(b_k (V_i − v)/τ) for every knot, with y = (v − top)/τ; returns their sum less 1.

    Knots are squares, b_k = k²/m², so that exp(−b_k y) takes two products: by r^(2k+1), with r = exp(−y/m²).
    """
    last = index(u.knots.size - 1)
    small = exp_negative(-abs(y) * (1.0 / (last * last)))
    r = choose(y < 0.0, 1.0 / small, small)
    power, ratio, r_r, beyond = broadcast(1.0), r, r * r, broadcast(0.0)
    store(u.chance, index(0), keep * gather(u.weights, place) + (1.0 - keep))
    for k in range(ONE, last + ONE):
        power, ratio = power * ratio, ratio * r_r
        omega = keep * gather(u.weights, place + k)
        e = omega * (u.S[k] * power)
        beyond += e - omega
        store(u.chance, k * EIGHT, e)
    return beyond


@kernel(inline=True)
def chances_far(u: Unseen, j: int, place: int, keep: float, y: float) -> None:
    """The same for one row, column j, by logarithms and less a factor, which may be beyond the range of floats."""
    best = -np.inf
    for k in range(u.knots.size):
        log_omega = np.log(keep) + u.log_weights[place, k]
        if k == 0:
            log_omega = np.logaddexp(log_omega, np.log(1.0 - keep))
        u.chance[k, j] = log_omega + log_mean(u, k) + (1.0 - u.knots[k]) * y
        best = max(best, u.chance[k, j])
    for k in range(u.knots.size):
        u.chance[k, j] = np.exp(u.chance[k, j] - best)
    u.shift[j] = best


@kernel(inline=True)
def chances(u: Unseen, i: Any, y: Any) -> tuple[Any, Any, Any]:
    """Those of eight rows, each in the one way or the other: above what they are reckoned, less what, their sum less 1.

    By logarithms the largest is 1, and the sum no less.
    """
    seen, none = u.seen, broadcast(0.0)
    reach = FAR if u.mass <= 1.0 else 0.0
    near, beyond = abs(y) < reach, none
    if reach > 0.0:
        beyond = chances_near(u, load(seen.place, i) * u.knots.size, load(seen.keep, i), y)
    if all_true(near):
        return y, none, beyond
    store(u.shift, index(0), y)
    for j in range(LANES):
        if abs(u.shift[j]) >= reach:
            chances_far(u, j, seen.place[i + j], seen.keep[i + j], u.shift[j])
    return choose(near, y, none), choose(near, none, load(u.shift, index(0))), choose(near, beyond, 1.0)


@kernel(inline=True)
def chances_of(u: Unseen, v: float, n: float, top: float, tau: float) -> None:
    """Those of one row, seen n times, in the first column."""
    place_in_table(u, 0, n)
    place, keep, y = u.seen.place[0], u.seen.keep[0], (v - top) / tau
    if u.mass <= 1.0 and abs(y) < FAR:
        chances_near(u, broadcast(place * u.knots.size), broadcast(keep), broadcast(y))
    else:
        chances_far(u, 0, place, keep, y)


@kernel(inline=True)
def all_unseen(u: Unseen, top: float, tau: float) -> Part:
    """φ of a row that was never seen: all weight is on the last knot."""
    last = u.knots.size - 1
    phi = log_mean(u, last)
    return Part(top + tau * phi, u.H[last] - (u.x[last] - phi), u.C[last], u.D[last] + u.variance[last] / tau)


@kernel(inline=True)
def mix_parts_of_layer(u: Unseen, width: int, top: float, tau: float) -> None:
    """φ of the rows of a layer, from what `seen_equivalents` left, in its place."""
    unvisited = all_unseen(u, top, tau)
    for i in range(index(0), index(width), EIGHT):
        mix_parts(u, i, unvisited, top, tau)


@kernel(inline=True)
def mix_parts(u: Unseen, i: Any, unvisited: Part, top: float, tau: float) -> None:
    """φ of eight rows from what was seen of them and, knot by knot, what was not: one log-sum-exp.

    All in units of τ, and above ``base``: v of each row itself, so that next to nothing unseen costs next to nothing,
    also in the last format_value; or the layer's largest value, if v may be too far below it. What a row's neighbours
    are like changes no bit of it.
    """
    seen, once = u.seen, 1.0 / tau
    some = choose(load(seen.keep, i) < 1.0, 1.0, as_floats(load(seen.place, i))) > 0.0
    V, H, C, D = broadcast(unvisited.V), broadcast(unvisited.H), broadcast(unvisited.C), broadcast(unvisited.D)
    if any_true(some):
        v, h, c, d = load(seen.V, i), load(seen.H, i), load(seen.C, i), load(seen.D, i)
        y, g_seen = (v - top) * once, h - c * once * once - v * once
        base, shift, beyond = chances(u, i, y)
        total = seen_share = x = m_H = m_C = m_D = m_gg = broadcast(0.0)
        for k in range(index(u.knots.size)):
            e, b = load(u.chance, k * EIGHT), u.knots[k]
            g = (1.0 - b) * g_seen + b * u.g[k]
            total += e
            seen_share += e * (1.0 - b)
            m_gg += e * (g * g + b * b * u.variance[k])
            e = b * e
            x += e * (u.x[k] - base)
            m_H += e * u.H[k]
            m_C += e * u.C[k]
            m_D += e * u.D[k]
        q = 1.0 / total
        seen_share = q * seen_share
        x = seen_share * (y - base) + q * x
        m_H, m_C, m_D = seen_share * h + q * m_H, seen_share * c + q * m_C, seen_share * d + q * m_D
        phi = shift + log_near_one(total, beyond)
        g = m_H - m_C * once * once - ((base + x) + top * once)
        spread = q * m_gg - g * g
        V, H = choose(some, top + tau * (base + phi), V), choose(some, m_H - (x - phi), H)
        C, D = choose(some, m_C, C), choose(some, m_D + choose(spread > 0.0, spread, 0.0) * once, D)
    store(seen.V, i, V)
    store(seen.H, i, H)
    store(seen.C, i, C)
    store(seen.D, i, D)
