"""K-learning in a matrix game: the joint convex program in the opponent's mixture y and the temperature τ.

Payoffs A_ij to us (rows i are the opponent's, columns j ours) are believed to be independent N(μ_ij, s_ij²). Then

    minimise over y in the simplex and τ > 0:   F = τ log Σ_j exp(K_j / τ),    K_j = Σ_i (μ_ij y_i + s_ij² y_i² / (2τ))

and x_j ∝ exp(K_j / τ) is our policy. **Bound.** For every y and τ, E value(A) ≤ E max_j (Aᵀy)_j ≤ F: the opponent could
play y whatever A is, and log E Σ_j exp((Aᵀy)_j / τ) is the logarithm of Σ_j exp(K_j / τ).

**In w = y / τ** the temperature is 1/Σw, and F is a ratio,

    F = G(w) / Σw,      G(w) = log Σ_j exp(Σ_i μ_ij w_i + ½ s_ij² w_i²),      w ≥ 0

a convex function over a linear one: where its gradient (G′ − F) / Σw vanishes, or points outwards at w_i = 0, it is
least, and there its Hessian is G″ / Σw. So Newton's method with G″, on the faces of w ≥ 0, converges quadratically.

**Gap.** F = max over x of Σ_j x_j K_j + τH(x), H the entropy. For one x let a = μx and b = s²x, a number per row.
Then f is below Σ_i (a_i y_i + b_i y_i² / (2τ)) + τH for all y and τ if and only if, divided by τ,
Σ_i ((a_i − f) w_i + ½ b_i w_i²) + H ≥ 0 for all w ≥ 0, in which every w_i may be chosen alone:

    Σ_i (f − a_i)₊² / (2 b_i)  ≤  H(x)         (f ≤ a_i where b_i = 0)

The largest such f, a root in one dimension, is a lower bound on min F. Any x gives one; that of the policy gives the
gap.

**Cooling.** Where sds are small beside the payoffs Newton's steps from afar are short. The program is then solved with
no sd below the payoffs' span first, then below a third of it, and so on, each from the solution before. Where all sds
are below the tolerance, the equilibrium of μ is the solution.
"""

from dataclasses import dataclass
from math import inf, isfinite, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.arrays import checks
from klearning.arrays.cards import html_card
from klearning.arrays.compiled import kernel
from klearning.arrays.elementary import exp_negative
from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.types import Floats
from klearning.games.simplex import Tableau, extremes, find_saddle, guarantees, matrix, new_tableau, told

COOLING = 3.0  # by what the least sd shrinks from stage to stage
WARM_STEPS = 20  # Newton's steps from the solution of a game like this one, before it is solved from the start
STEPS = 100  # per stage
REACH = 10.0  # how many times w a step may be
RIDGE = 1e-13  # of the Hessian's diagonal
NEVER = -300.0  # a logarithm of a probability below which it is 0: products of tinier ones are slow
ARMIJO = 1e-4  # a share of the fall that the slope promises
SHORTEST = 1e-10  # share of a step
FLOOR = 0.2  # of the tolerance: the least sd, so that the temperature stays above zero


class Workspace(NamedTuple):
    """Room to work in, for one size of game."""

    mu: Floats  # (m, n), around zero
    variance: Floats  # (m, n), of the stage
    D: Floats  # (m, n): ∂ of exponent j by w_i, less its mean
    H: Floats  # (m, m): G″
    M: Floats  # (m, m): G″ of the face, then its Cholesky factor
    mean: Floats  # (m,): G′
    slope: Floats  # (m,): G′ − F
    step: Floats  # (m,)
    move: Floats  # (m,): a part of the step, on one face
    held: Floats  # (m,): 1 where w stays at zero
    first: Floats  # (n,): how exponents change along the step
    second: Floats  # (n,)
    trial: Floats  # (n,): exponents after a step
    log_x: Floats  # (n,): of the policy, where it is below the range of floats too
    a: Floats  # (m,)
    b: Floats  # (m,)
    tableau: Tableau


class Answer(NamedTuple):
    bound: float
    gap: float
    temperature: float


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
        Z += x[j]
    G = top + log(Z)
    for j in range(n):
        x[j] /= Z
        log_x[j] -= G
    return G


@kernel(reorder=True)
def lower_bound(mu: Floats, variance: Floats, x: Floats, a: Floats, b: Floats) -> float:
    """The largest f with Σ_i (f − a_i)₊² / (2 b_i) ≤ H(x): Newton's method from the right, where it is monotone."""
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

    A multiple of the identity keeps the step to a few times w where G is flat; it vanishes with the slope.
    """
    m, n = mu.shape
    D, H = W.D, W.H
    total, steepest = 0.0, 0.0
    for i in range(m):
        g, b = 0.0, 0.0
        for j in range(n):
            D[i, j] = mu[i, j] + variance[i, j] * w[i]
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
                M[i, k] = H[i, k] if held[i] + held[k] == 0.0 else 0.0
            move[i] = -s if held[i] == 0.0 else 0.0
            if held[i] > 0.0:
                M[i, i] = 1.0
        solve_positive(M, move)
        share, blocking = 1.0, -1
        for i in range(m):
            if move[i] < 0.0 and w[i] + step[i] + share * move[i] < 0.0:
                share, blocking = (w[i] + step[i]) / -move[i], i
        for i in range(m):
            step[i] += share * move[i]
        if blocking < 0:
            break
        step[blocking] = -w[blocking]
        held[blocking] = 1.0


@kernel(reorder=True)
def solve_positive(M: Floats, v: Floats) -> None:
    """M⁻¹v in the place of v, by Cholesky's factor in the lower half of M."""
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
    """The share of the step, halved until F falls enough; 0 where it does not.

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
    """Newton's method from ``w`` until the gap is below so many temperatures and the tolerance; F and the gap."""
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


@kernel
def set_variance(sds: Floats, least: float, variance: Floats) -> float:
    """Variances of a stage, in which no sd is below the least; their mean."""
    m, n = sds.shape
    total = 0.0
    for i in range(m):
        for j in range(n):
            variance[i, j] = max(sds[i, j], least) ** 2
            total += variance[i, j]
    return total / (m * n)


@kernel
def at_equilibrium(mu: Floats, sds: Floats, w: Floats, x: Floats, W: Workspace) -> Answer:
    """The equilibrium of the means, with the temperature and the bound that y then has."""
    m, n = mu.shape
    find_saddle(mu, x, w, W.tableau)
    low, high = guarantees(mu, x, w)
    most = 0.0
    for j in range(n):
        V = 0.0
        for i in range(m):
            V += (sds[i, j] * w[i]) ** 2
        most = max(most, V)
    tau = sqrt(most / (2.0 * log(n)))
    return Answer(high + 2.0 * tau * log(n), high + 2.0 * tau * log(n) - low, tau)


@kernel
def with_one_move(mu: Floats, w: Floats, x: Floats) -> Answer:
    """Nothing is to be chosen: the bound is least at an infinite temperature."""
    worst = 0
    for i in range(w.size):
        w[i] = 0.0
        worst = i if mu[i, 0] < mu[worst, 0] else worst
    w[worst], x[0] = 1.0, 1.0
    return Answer(mu[worst, 0], 0.0, inf)


@kernel
def solve_program(mu: Floats, sds: Floats, tolerance: float, w: Floats, x: Floats, W: Workspace) -> Answer:
    """The policy is written to ``x`` and y/τ to ``w`` (y itself where τ is 0 or infinite).

    It begins from ``w`` where that is the solution of another game, and not zero. The gap is below the tolerance times
    the span of the means or the largest sd, whichever is larger.
    """
    m, n = mu.shape
    if n == 1:
        return with_one_move(mu, w, x)
    low, high = extremes(mu)
    middle, span = 0.5 * (low + high), high - low
    smallest, largest = extremes(sds)
    scale = max(span, largest)
    if largest * sqrt(2.0 * log(n)) <= tolerance * scale:
        return at_equilibrium(mu, sds, w, x, W)
    total = 0.0
    for i in range(m):
        total += w[i]
        for j in range(n):
            W.mu[i, j] = mu[i, j] - middle
    coldest = max(smallest, FLOOR * tolerance * scale)
    gap = inf
    if total > 0.0:
        set_variance(sds, coldest, W.variance)
        F, gap = descend(W.mu, W.variance, w, x, 0.0, tolerance * scale, WARM_STEPS, W)
    if not gap <= tolerance * scale:
        heat = max(span, coldest)
        start(set_variance(sds, heat, W.variance), w, n)
        while heat > coldest:
            descend(W.mu, W.variance, w, x, 1.0, 0.0, STEPS, W)
            heat = max(coldest, heat / COOLING)
            set_variance(sds, heat, W.variance)
            follow(W.mu, W.variance, w, x, W)
        F, gap = descend(W.mu, W.variance, w, x, 0.0, tolerance * scale, STEPS, W)
    set_variance(sds, 0.0, W.variance)
    total = 0.0
    for i in range(m):
        total += w[i]
    gap = F - lower_bound(W.mu, W.variance, x, W.a, W.b)
    if gap > tolerance * scale:  # with hardly any temperature the policy is lost in rounding
        find_saddle(W.mu, W.trial, W.step, W.tableau)
        certified = F - lower_bound(W.mu, W.variance, W.trial, W.a, W.b)
        if certified < gap:
            gap = certified
            for j in range(n):
                x[j] = W.trial[j]
    return Answer(middle + F, max(gap, 0.0), 1.0 / total)


@kernel
def start(spread: float, w: Floats, n: int) -> None:
    """An even mixture, at the temperature that is right for it where all means are equal."""
    for i in range(w.size):
        w[i] = sqrt(2.0 * log(n) / (w.size * spread))


@kernel
def follow(mu: Floats, variance: Floats, w: Floats, x: Floats, W: Workspace) -> None:
    """A third of the temperature, if that is better in the stage that begins."""
    total = 0.0
    for i in range(w.size):
        total += w[i]
        W.step[i] = COOLING * w[i]
    F = soft_value(mu, variance, w, x, W.log_x) / total
    if soft_value(mu, variance, W.step, x, W.log_x) / (COOLING * total) < F:
        for i in range(w.size):
            w[i] = W.step[i]


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """What `solve` returns.

    ``policy`` (columns) is our mixture and ``opponent`` (rows) the y of the program. ``bound`` is at least the expected
    value of the game under the belief, by proof, and at most ``gap`` above the least such bound of this form.
    """

    policy: Floats
    opponent: Floats
    temperature: float
    bound: float
    gap: float

    def __repr__(self) -> str:
        numbers = f"temperature={self.temperature:.4g}, bound={self.bound:.4g}, gap={self.gap:.2g}"
        return f"Solution({numbers}, {self.opponent.size} × {self.policy.size} moves)"

    def _repr_html_(self) -> str:
        facts = {"temperature": self.temperature, "bound on the expected value": self.bound, "gap": self.gap}
        mixtures = {"our mixture": told(self.policy), "opponent's mixture": told(self.opponent)}
        return html_card("Solution", {**facts, **mixtures})


@uninterrupted  # once, not for each of its kernels
def solve(means: ArrayLike, sds: ArrayLike, tolerance: float = 1e-9) -> Solution:
    """K-learning's policy for a game whose payoffs are believed to be N(means, sds²), independently.

    Rows are the opponent's moves, columns are ours, and payoffs are paid to us. It is solved until the gap is below
    ``tolerance`` times the span of the means, or the largest sd where that is larger. The temperature is 0 where
    nothing is uncertain (the policy is an equilibrium of the means) and infinite where we have one move only.
    """
    mu = matrix("means", means)
    m, n = mu.shape
    s = matrix("sds", sds, (m, n))
    if (s < 0.0).any():
        i, j = np.argwhere(s < 0.0)[0]
        raise ValueError(f"sds[{i}, {j}]={s[i, j]:g} is negative: standard deviations are zero or more")
    tolerance = checks.number("tolerance", tolerance, 1e-12, 1.0)
    unit = max(np.ptp(mu), s.max()) or 1.0  # so that neither squares nor sums leave the range of floats
    w, x = np.zeros(m), np.zeros(n)
    answer = solve_program(mu / unit, s / unit, tolerance, w, x, new_workspace(m, n))
    bound, gap, temperature = (unit * number for number in answer)
    if not isfinite(bound):
        raise ValueError("means and sds give a bound beyond the range of floats: scale them")
    return Solution(x, w / w.sum(), temperature, bound, gap)
