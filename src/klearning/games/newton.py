"""Newton's method for K-learning's program in a matrix game, from a point near enough (`klearning.games.program`).

    minimise over w ≥ 0:   F = G(w) / Σw,      G(w) = log Σ_j exp(Σ_i μ_ij w_i + ½ s_ij² w_i²)

F is a convex function over a linear one. It is least at a point at which its gradient (G′ − F) / Σw vanishes, or points
outwards at w_i = 0; its Hessian there is G″ / Σw. So Newton's method with G″, on the faces of w ≥ 0, converges
quadratically.
"""

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from klearning.games.simplex import Tableau, new_tableau
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats

REACH = 10.0  # how many times w a step may be
RIDGE = 1e-13  # of the Hessian's diagonal
NEVER = -300.0  # a logarithm of a probability below which it is 0: products of tinier ones are slow
ARMIJO = 1e-4  # a share of the fall that the slope promises
SHORTEST = 1e-10  # share of a step


@field_roles(scratch=True)
class Workspace(NamedTuple):
    """Arrays that a solve works in, for one size of game."""

    mu: Floats  # (m, n), around zero
    variance: Floats  # (m, n), of the stage
    D: Floats  # (m, n): ∂ of exponent j by w_i, less its mean
    H: Floats  # (m, m): G″
    M: Floats  # (m, m): G″ of the face, then its Cholesky factor
    mean: Floats  # (m,): G′
    slope: Floats  # (m,): G′ − F
    step: Floats  # (m,)
    move: Floats  # (m,): a part of the step, on one face
    held: Floats  # (m,): 1 if w stays at zero, else 0
    first: Floats  # (n,): how exponents change along the step
    second: Floats  # (n,)
    trial: Floats  # (n,): exponents after a step
    log_x: Floats  # (n,): of the policy, also of probabilities below the range of floats
    a: Floats  # (m,)
    b: Floats  # (m,)
    tableau: Tableau


def new_workspace(m: int, n: int) -> Workspace:
    def of(*shape: int) -> Floats:
        return np.zeros(shape)

    return Workspace(
        mu=of(m, n), variance=of(m, n), D=of(m, n), H=of(m, m), M=of(m, m), mean=of(m), slope=of(m), step=of(m),
        move=of(m), held=of(m), first=of(n), second=of(n), trial=of(n), log_x=of(n), a=of(m), b=of(m),
        tableau=new_tableau(m, n),
    )  # fmt: skip


@kernel(reorder=True)
def soft_value(mu: Floats, variance: Floats, w: Floats, x: Floats, log_x: Floats) -> float:
    """G(w); the policy is written to ``x``, and its logarithm."""
    m, n = mu.shape
    for j in range(n):
        log_x[j] = 0.0
    for i in range(m):
        if w[i] > 0.0:
            half = 0.5 * w[i] * w[i]
            for j in range(n):
                log_x[j] += w[i] * mu[i, j] + half * variance[i, j]
    top = log_x[0]
    for j in range(n):
        top = max(top, log_x[j])
    Z = 0.0
    for j in range(n):
        x[j] = exp_negative(log_x[j] - top) if log_x[j] - top > NEVER else 0.0
    for j in range(n):
        Z += x[j]
    G = top + log(Z)
    for j in range(n):
        x[j] /= Z
        log_x[j] -= G
    return G


@kernel(reorder=True)
def lower_bound(mu: Floats, variance: Floats, x: Floats, a: Floats, b: Floats) -> float:
    """The largest f with Σ_i (f − a_i)₊² / (2 b_i) ≤ H(x): monotone by Newton's method from the right."""
    m, n = mu.shape
    H = 0.0
    for j in range(n):
        if x[j] > 0.0:
            H -= x[j] * log(x[j])
    H = max(H, 0.0)
    f = inf
    for i in range(m):
        paid, spread = 0.0, 0.0
        for j in range(n):
            paid += mu[i, j] * x[j]
            spread += variance[i, j] * x[j]
        a[i], b[i] = paid, spread
        f = min(f, paid + sqrt(2.0 * H * spread))
    for _ in range(50):
        excess, rise = -H, 0.0
        for i in range(m):
            if f > a[i] and b[i] > 0.0:
                share = (f - a[i]) / b[i]
                excess += 0.5 * share * (f - a[i])
                rise += share
        if excess <= 0.0 or rise == 0.0:
            break
        last = f
        f -= excess / rise
        if f >= last:
            break
    return f


@kernel(reorder=True)
def expand(mu: Floats, variance: Floats, w: Floats, x: Floats, F: float, W: Workspace) -> None:
    """G′ − F and G″ at w: the covariance, under the policy, of the exponents' derivatives, and the mean of theirs.

    A multiple of the identity keeps the step to a few times w if G is flat; it vanishes with the slope.
    """
    m, n = mu.shape
    D, H = W.D, W.H
    total, steepest = 0.0, 0.0
    for i in range(m):
        g, b = 0.0, 0.0
        for j in range(n):
            D[i, j] = mu[i, j] + variance[i, j] * w[i]
        for j in range(n):
            g += D[i, j] * x[j]
            b += variance[i, j] * x[j]
        for j in range(n):
            D[i, j] -= g
        W.slope[i] = g - F
        W.mean[i] = g
        for k in range(i + 1):
            s = 0.0
            for j in range(n):
                s += x[j] * D[i, j] * D[k, j]
            H[i, k] = s
            H[k, i] = s
        H[i, i] += b
        total += w[i]
        if w[i] > 0.0 or W.slope[i] < 0.0:
            steepest = max(steepest, abs(W.slope[i]))
    for i in range(m):
        H[i, i] += RIDGE * H[i, i] + steepest / (REACH * total)


@kernel(inline=True)
def reaches_least(w: Floats, W: Workspace) -> bool:
    """Go along ``move`` up to the first w_i that vanishes, and hold it there from then on; whether none does."""
    step, move, share, blocking = W.step, W.move, 1.0, -1
    for i in range(w.size):
        if move[i] < 0.0 and w[i] + step[i] + share * move[i] < 0.0:
            share, blocking = (w[i] + step[i]) / -move[i], i
    for i in range(w.size):
        step[i] += share * move[i]
    if blocking >= 0:
        step[blocking] = -w[blocking]
        W.held[blocking] = 1.0
    return blocking < 0


@kernel(reorder=True)
def newton_step(w: Floats, W: Workspace) -> None:
    """The step to the least of the quadratic model with w + step ≥ 0, as far as constraints are only added.

    From face to face: towards the face's least, up to the first w_i that vanishes, which is held there from then on.
    """
    m = w.size
    H, M, slope, step, move, held = W.H, W.M, W.slope, W.step, W.move, W.held
    for i in range(m):
        held[i] = 1.0 if w[i] == 0.0 and slope[i] > 0.0 else 0.0
        step[i] = 0.0
    for _ in range(m):
        for i in range(m):
            s = slope[i]
            for k in range(m):
                s += H[i, k] * step[k]
            for k in range(m):
                M[i, k] = H[i, k] if held[i] + held[k] == 0.0 else 0.0
            move[i] = -s if held[i] == 0.0 else 0.0
            if held[i] > 0.0:
                M[i, i] = 1.0
        solve_positive(M, move)
        if reaches_least(w, W):
            break


@kernel(reorder=True)
def solve_positive(M: Floats, v: Floats) -> None:
    """Replace v by M⁻¹v; the lower half of M becomes its Cholesky factor."""
    m = v.size
    for i in range(m):
        for k in range(i + 1):
            s = M[i, k]
            for j in range(k):
                s -= M[i, j] * M[k, j]
            if k < i:
                M[i, k] = s / M[k, k]
            else:
                M[i, i] = sqrt(max(s, RIDGE * M[i, i]))
    for i in range(m):
        s = v[i]
        for j in range(i):
            s -= M[i, j] * v[j]
        v[i] = s / M[i, i]
    for i in range(m - 1, -1, -1):
        s = v[i]
        for j in range(i + 1, m):
            s -= M[j, i] * v[j]
        v[i] = s / M[i, i]


@kernel(reorder=True)
def line_search(variance: Floats, w: Floats, F: float, W: Workspace) -> float:
    """The share of the step, halved until F falls enough; 0 if it never does.

    Along the step an exponent is a quadratic function of the share: a trial costs n exponentials.
    """
    m, n = variance.shape
    total, change, gain, mean = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        W.first[j], W.second[j] = 0.0, 0.0
    for i in range(m):
        total += w[i]
        change += W.step[i]
        gain += W.slope[i] * W.step[i]
        mean += W.mean[i] * W.step[i]
        half = 0.5 * W.step[i] * W.step[i]
        for j in range(n):
            W.first[j] += W.step[i] * W.D[i, j]
            W.second[j] += half * variance[i, j]
    share = 1.0
    while share > SHORTEST:
        top = -inf
        for j in range(n):
            W.trial[j] = W.log_x[j] + share * (W.first[j] + share * W.second[j])
            top = max(top, W.trial[j])
        Z = 0.0
        for j in range(n):
            Z += exp_negative(W.trial[j] - top)
        rise = top + log(Z) + share * (mean - F * change)  # of G(w) − F Σw, which was 0
        if rise <= ARMIJO * share * gain and total + share * change > 0.0:
            return share
        share *= 0.5
    return 0.0


@kernel
def descend(
    mu: Floats, variance: Floats, w: Floats, x: Floats, temperatures: float, tolerance: float, steps: int, W: Workspace
) -> tuple[float, float]:
    """Newton's method from ``w`` until the gap is below ``temperatures`` · τ + ``tolerance``; F and the gap."""
    m = w.size
    for count in range(steps + 1):
        total = 0.0
        for i in range(m):
            total += w[i]
        F = soft_value(mu, variance, w, x, W.log_x) / total
        gap = F - lower_bound(mu, variance, x, W.a, W.b)
        if gap <= tolerance + temperatures / total or count == steps:
            break
        expand(mu, variance, w, x, F, W)
        newton_step(w, W)
        share = line_search(variance, w, F, W)
        if share == 0.0:
            break
        for i in range(m):
            w[i] = max(0.0, w[i] + share * W.step[i])
    return F, gap
