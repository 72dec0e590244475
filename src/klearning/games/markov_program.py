"""K-learning in a Markov game: the matrix program of every state, backwards, at one temperature for all of them.

Payoffs are N(μ, s²), transition rows Dirichlet of mass α, all independent. At a temperature τ > 0, with U_{L+1} = 0,

    U_l(s) = min over y in the simplex of  τ log Σ_j exp(K_j / τ),    K_j = Σ_i (Q_ij y_i + S_ij² y_i² / (2τ))
    Q = μ + P̄ U_{l+1},      S² = s² + (max U_{l+1} − min U_{l+1})² / (4(α + 1)),      x_j ∝ exp(K_j / τ)

**Bound.** E V_1 ≤ ρ·U_1 for every τ, since U_l(s) ≥ τ log E exp(V_l(s) / τ): for one y the value of a matrix is at most
max_j (Qᵀy)_j, so E exp(V_l / τ) ≤ Σ_j E exp(Σ_i y_i (A_ij + P_ij·V_{l+1}) / τ). Layers are independent, so given P_l
Hölder's inequality has E exp(Σ_k p_k V_k / τ) ≤ exp(Σ_k p_k U_k / τ) for weights p = Σ_i y_i P_ij, that sum to one,
however the V_k depend on each other. The cumulant of Σ_i y_i P_ij·U remains: rows i are independent, a Dirichlet mean
of values in [a, b] is below a + (b − a)·Beta of the same mass and mean in convex order (split every value into its
ends, and apply Jensen's inequality), and a Beta of mass α is sub-Gaussian with variance 1 / (4(α + 1)) (Marchal and
Arbel, 2017).

**One temperature.** The induction needs U_{l+1} at the temperature of l, or at a lower one. Every state's own program
has its own best τ, and with those the bound is false: two known moves to states of one N(0, 1) payoff and one move
each have τ = ∞ below and 0 above, and say 0, but E max = 0.56. So f(τ) = ρ·U_1 is searched over one τ. It need not be
convex, as it is in an MDP (K is a product of y and of U(τ)); the search finds a proved bound, perhaps not the least.
"""

from dataclasses import dataclass
from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.markov import read_tables, read_transitions
from klearning.games.model import (
    BETA_VARIANCE,
    GameModel,
    Scratch,
    as_model,
    means_ahead,
    new_scratch,
    per_layer,
    sds_ahead,
    start_value,
)
from klearning.games.newton import (
    Workspace,
    expand,
    line_search,
    new_workspace,
    reaches_least,
    soft_value,
    solve_positive,
)
from klearning.games.program import Bounded
from klearning.games.simplex import extremes, find_saddle
from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats, Layers

TOLERANCE = 1e-9  # of a state's gap, relative to the span of its means, its largest sd or the temperature
STEPS = 60  # of Newton's method, per state and start
COLDEST, HOTTEST = 1e-5, 1e4  # temperatures, relative to the largest mean or sd
FINEST = 0.01  # of log τ
FIRST_REACH = 2.0  # of log τ, before any temperature is known
MOST_STEPS = 200  # of the search


@field_roles(finite=("policy", "w"))
class Draft(NamedTuple):
    """A plan as it is written, and arrays to work in."""

    policy: Floats  # (S, columns)
    w: Floats  # (S, rows): y / τ, the start of the next solve
    gaps: Floats  # (S,)
    answer: Floats  # (columns,)
    scratch: Scratch
    work: Workspace


def new_draft(policy: Floats, m: int) -> Draft:
    """Of a policy (S, columns) that it writes, against ``m`` rows."""
    states, n = policy.shape
    scratch, work = new_scratch(states, m, n), new_workspace(m, n)
    return Draft(policy, np.zeros((states, m)), np.zeros(states), np.zeros(n), scratch, work)


@kernel
def dual_bound(mu: Floats, variance: Floats, x: Floats, tau: float, W: Workspace) -> float:
    """A lower bound on F(y, τ) for all y: τH(x) + ν − τ Σ_i (ν − a_i)₊² / (2b_i), a = μx, b = variance·x, any ν.

    The best ν is the root of τ Σ_i (ν − a_i)₊ / b_i = 1: Newton's method from the right ends after a few steps.
    """
    m, n = mu.shape
    H, nu, most = 0.0, inf, inf
    for j in range(n):
        if x[j] > 0.0:
            H -= x[j] * log(x[j])
    for i in range(m):
        a, b = 0.0, 0.0
        for j in range(n):
            a += mu[i, j] * x[j]
            b += variance[i, j] * x[j]
        W.a[i], W.b[i] = a, b
        most = min(most, a if b == 0.0 else inf)
        nu = min(nu, a + b / tau)
    for _ in range(m + 2):
        excess, rise = -1.0, 0.0
        for i in range(m):
            if nu > W.a[i] and W.b[i] > 0.0:
                excess += tau * (nu - W.a[i]) / W.b[i]
                rise += tau / W.b[i]
        if excess <= 0.0:
            break
        nu -= excess / rise
    nu = min(nu, most)
    for i in range(m):
        if nu > W.a[i] and W.b[i] > 0.0:
            most = nu - W.a[i]
            H -= 0.5 * most * most / W.b[i]
    return nu + tau * H


@kernel
def face_step(w: Floats, W: Workspace) -> None:
    """Newton's step with Σ step = 0 and w + step ≥ 0: towards the least of a face; constraints are only added.

    As `newton_step`, with a multiplier of the sum.
    """
    m = w.size
    H, M, step, move, held = W.H, W.M, W.step, W.move, W.held
    for i in range(m):
        held[i] = 1.0 if w[i] == 0.0 and W.slope[i] > 0.0 else 0.0
        step[i] = 0.0
    for _ in range(m):
        for k in range(2):  # H⁻¹1, then H⁻¹ of the slope
            for i in range(m):
                s = W.slope[i]
                for r in range(m):
                    s += H[i, r] * step[r]
                    M[i, r] = H[i, r] if held[i] + held[r] == 0.0 else 0.0
                move[i] = (1.0 if k == 0 else -s) if held[i] == 0.0 else 0.0
                if held[i] > 0.0:
                    M[i, i] = 1.0
            solve_positive(M, move)
            if k == 0:
                for i in range(m):
                    W.b[i] = move[i]
        ones, total = 0.0, 0.0
        for i in range(m):
            ones += W.b[i]
            total += move[i]
        for i in range(m):
            move[i] -= total / ones * W.b[i] if held[i] == 0.0 else 0.0
        if reaches_least(w, W):
            break


@kernel
def descend_at(tau: float, tolerance: float, w: Floats, x: Floats, W: Workspace) -> tuple[float, float]:
    """Newton's method on Σw = 1/τ from ``w``, for the means and variances in ``W``; F and the gap."""
    mu, variance, m = W.mu, W.variance, w.size
    total = 0.0
    for i in range(m):
        total += w[i]
    for i in range(m):
        w[i] /= tau * total
    for count in range(STEPS + 1):
        F = tau * soft_value(mu, variance, w, x, W.log_x)
        gap = F - dual_bound(mu, variance, x, tau, W)
        if gap <= tolerance or count == STEPS:
            break
        level = 0.0  # of G′ along the simplex
        for i in range(m):
            slope = 0.0
            for j in range(x.size):
                slope += x[j] * (mu[i, j] + variance[i, j] * w[i])
            level += tau * w[i] * slope
        expand(mu, variance, w, x, level, W)
        face_step(w, W)
        share = line_search(variance, w, level, W)
        if share == 0.0:
            break
        for i in range(m):
            w[i] = max(0.0, w[i] + share * W.step[i])
    return F, gap


@kernel
def solve_at(tau: float, w: Floats, x: Floats, D: Draft) -> tuple[float, float]:
    """The program of one state, ``D.scratch.matrix`` and ``sds``, at a given temperature: the bound and its gap.

    It begins from ``w``, the solution of a state like it, or from equal probabilities if ``w`` is zero. If that does
    not converge, it begins from the equilibrium of the means.
    """
    W, matrix, sds, start = D.work, D.scratch.matrix, D.scratch.sds, D.scratch.other
    m, n = matrix.shape
    low, high = extremes(matrix)
    middle = 0.5 * (low + high)
    tolerance = TOLERANCE * max(high - low, extremes(sds)[1], tau)
    total = 0.0
    for i in range(m):
        total += w[i]
        for j in range(n):
            W.mu[i, j] = matrix[i, j] - middle
            W.variance[i, j] = sds[i, j] ** 2
    if not total > 0.0:
        for i in range(m):
            w[i] = 1.0
    F, gap = descend_at(tau, tolerance, w, x, W)
    if gap > tolerance:
        find_saddle(W.mu, D.answer, start, W.tableau)
        certified = F - dual_bound(W.mu, W.variance, D.answer, tau, W)
        if certified < gap:  # with hardly any temperature the policy is lost in rounding
            gap = certified
            for j in range(n):
                x[j] = D.answer[j]
        other, rest = descend_at(tau, tolerance, start, D.answer, W)
        if other < F and rest < gap:
            F, gap = other, rest
            for j in range(n):
                x[j] = D.answer[j]
            for i in range(m):
                w[i] = start[i]
    return middle + F, max(gap, 0.0)


@kernel
def soft_sweep(B: GameModel, tau: float, D: Draft) -> float:
    """ρ·U_1 at a temperature."""
    W = D.scratch
    for l in range(B.layers.size - 2, -1, -1):
        for s in range(B.layers[l], B.layers[l + 1]):
            means_ahead(B, l, s, W.values, W.matrix)
            sds_ahead(B, l, s, W.values, W.sds)
            W.values[s], D.gaps[s] = solve_at(tau, D.w[s], D.policy[s], D)
    return start_value(B, W.values)


@kernel
def scale_of(B: GameModel) -> float:
    scale = 0.0
    for s in range(B.means.shape[0]):
        for i in range(B.means.shape[1]):
            for j in range(B.means.shape[2]):
                scale = max(scale, abs(B.means[s, i, j]), B.sds[s, i, j])
    return scale if scale > 0.0 else 1.0


@kernel
def search(B: GameModel, tau: float, reach: float, D: Draft) -> float:
    """A temperature whose neighbours have no lower bound: steps of log τ from ``tau``, shortened if none is lower."""
    scale = scale_of(B)
    coldest, hottest = log(COLDEST * scale), log(HOTTEST * scale)
    at = min(max(log(tau), coldest), hottest) if tau > 0.0 else log(scale)
    least, step, steps = soft_sweep(B, exp(at), D), reach, 0
    while abs(step) > FINEST and steps < MOST_STEPS:
        steps += 1
        there = min(max(at + step, coldest), hottest)
        f = soft_sweep(B, exp(there), D)
        if f < least:
            at, least = there, f
            continue
        there = min(max(at - step, coldest), hottest)
        f = soft_sweep(B, exp(there), D)
        if f < least:
            at, least, step = there, f, -step
        else:
            step *= 0.4
    soft_sweep(B, exp(at), D)
    return exp(at)


@dataclass(frozen=True, eq=False, repr=False)
class MarkovSolution(Bounded):
    """The result of `solve_markov`; lists have one array per layer.

    ``policy`` (S_l, columns) is ours in every state, ``opponent`` (S_l, rows) the y of its program, ``values``
    (S_l,) the U of the recursion. ``bound`` is at least the expected value of the game under the belief, by proof, at
    any temperature. ``gap`` is of the worst state: how far its U is at most above the least over y, given the next
    layer's.
    """

    policy: Layers
    opponent: Layers
    values: Layers
    temperature: float
    bound: float
    gap: float

    def __repr__(self) -> str:
        return f"MarkovSolution({self.text()}, horizon={len(self.values)})"

    def _repr_html_(self) -> str:
        return html_summary("MarkovSolution", self.facts())


@uninterrupted  # once, not for each of its kernels
@compiling_for("games.solve_markov")
def solve_markov(
    means: Any,
    sds: Any,
    transitions: Any = (),
    initial: ArrayLike | None = None,
    masses: Any = None,
    temperature: float | None = None,
) -> MarkovSolution:
    """K-learning's policy for a Markov game whose payoffs are believed to be N(means, sds²), independently.

    Lists have one array per layer: means and sds (S_l, rows, columns), rows the opponent's moves and columns ours;
    ``transitions`` the mean probabilities (S_l, rows, columns, S_{l+1}) for every layer but the last. ``masses``
    (S_l, rows, columns), one for every layer, are those of their Dirichlet rows; without them transitions are known.
    ``temperature`` is the same for all states, by default that of the least bound that a search finds.
    """
    mu = read_tables("means", means)
    s = read_tables("sds", sds, mu)
    P = read_transitions(transitions, mu)
    for l, block in enumerate(s):
        checks.counts(f"sds[{l}]", block, block.shape)
    variances = [np.zeros_like(block) for block in mu]
    if masses is not None:
        alpha = read_tables("masses", masses, mu)
        for l, block in enumerate(alpha):
            variances[l] = BETA_VARIANCE / (checks.counts(f"masses[{l}]", block, block.shape) + 1.0)
    start = np.full(len(mu[0]), 1.0 / len(mu[0])) if initial is None else initial
    rho = np.ascontiguousarray(checks.distributions("initial", start, (len(mu[0]),)))
    tau = 0.0 if temperature is None else checks.moderate("temperature", temperature, 0.0, above=True)
    B = as_model(mu, s, P, variances, rho)
    states, m, n = B.means.shape
    D = new_draft(np.zeros((states, n)), m)
    if temperature is None:
        tau = search(B, 0.0, FIRST_REACH, D)
    bound = soft_sweep(B, tau, D)
    y = D.w / D.w.sum(axis=1, keepdims=True)
    policy, opponent, values = (per_layer(part, B.layers) for part in (D.policy, y, D.scratch.values))
    return MarkovSolution(policy, opponent, values, float(tau), float(bound), float(D.gaps.max()))
