"""K-learning in a matrix game: the joint convex program in the opponent's policy y and the temperature τ.

Payoffs A_ij to us (rows i are the opponent's, columns j ours) are believed to be independent N(μ_ij, s_ij²). Then

    minimise over y in the simplex and τ > 0:   F = τ log Σ_j exp(K_j / τ),    K_j = Σ_i (μ_ij y_i + s_ij² y_i² / (2τ))

and x_j ∝ exp(K_j / τ) is our policy. **Bound.** For every y and τ, E value(A) ≤ E max_j (Aᵀy)_j ≤ F: the opponent could
play y whatever A is, and log E Σ_j exp((Aᵀy)_j / τ) is the logarithm of Σ_j exp(K_j / τ).

**In w = y / τ** the temperature is 1/Σw, and F is a ratio,

    F = G(w) / Σw,      G(w) = log Σ_j exp(Σ_i μ_ij w_i + ½ s_ij² w_i²),      w ≥ 0

a convex function over a linear one, which `klearning.games.newton` minimises.

**Gap.** F = max over x of Σ_j x_j K_j + τH(x), H the entropy. For one x let a = μx and b = s²x, a number per row.
Then f is below Σ_i (a_i y_i + b_i y_i² / (2τ)) + τH for all y and τ if and only if, divided by τ,
Σ_i ((a_i − f) w_i + ½ b_i w_i²) + H ≥ 0 for all w ≥ 0, in which every w_i may be chosen alone:

    Σ_i (f − a_i)₊² / (2 b_i)  ≤  H(x)         (f ≤ a_i if b_i = 0)

The largest such f, a root in one dimension, is a lower bound on min F. Any x gives one; that of the policy gives the
gap.

**Cooling.** If sds are small beside the payoffs, Newton's steps from afar are short. The program is then solved in
stages: with no sd below the payoffs' span, then below a third of it, and so on, each from the solution before. If all
sds are below the tolerance, the equilibrium of μ is the solution.
"""

from dataclasses import dataclass
from math import inf, isfinite, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.games.newton import Workspace, descend, lower_bound, new_workspace, soft_value
from klearning.games.simplex import extremes, find_saddle, guarantees, matrix, policy_in_words
from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.compile.notices import compiling_for
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Floats

COOLING = 3.0  # the least sd shrinks by this factor from stage to stage
WARM_STEPS = 20  # Newton's steps from the solution of a game like this one, before it is solved from the start
STEPS = 100  # per stage
FLOOR = 0.2  # of the tolerance: the least sd, so that the temperature stays above zero


class Answer(NamedTuple):
    bound: float
    gap: float
    temperature: float


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
    """Without a choice the bound is least at an infinite temperature."""
    worst = 0
    for i in range(w.size):
        w[i] = 0.0
        worst = i if mu[i, 0] < mu[worst, 0] else worst
    w[worst], x[0] = 1.0, 1.0
    return Answer(mu[worst, 0], 0.0, inf)


@kernel
def solve_program(mu: Floats, sds: Floats, tolerance: float, w: Floats, x: Floats, W: Workspace) -> Answer:
    """The policy is written to ``x`` and y/τ to ``w`` (y itself if τ is 0 or infinite).

    It begins from ``w`` if that is not zero but the solution of another game. The gap is below the tolerance times
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
    """Equal probabilities, at the temperature that is right for them if all means are equal."""
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


class Bounded:
    """A solution of a program of K-learning, in numbers."""

    temperature: float
    bound: float
    gap: float

    def text(self) -> str:
        return f"temperature={self.temperature:.4g}, bound={self.bound:.4g}, gap={self.gap:.2g}"

    def facts(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "bound on the expected value": self.bound, "gap": self.gap}


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Bounded):
    """The result of `solve`.

    ``policy`` (columns) is ours and ``opponent`` (rows) the y of the program. ``bound`` is at least the expected
    value of the game under the belief, by proof, and at most ``gap`` above the least such bound of this form.
    """

    policy: Floats
    opponent: Floats
    temperature: float
    bound: float
    gap: float

    def __repr__(self) -> str:
        return f"Solution({self.text()}, {self.opponent.size} × {self.policy.size} moves)"

    def _repr_html_(self) -> str:
        policies = {"our policy": policy_in_words(self.policy), "opponent's policy": policy_in_words(self.opponent)}
        return html_summary("Solution", self.facts() | policies)


@uninterrupted  # once, not for each of its kernels
@compiling_for("games.solve")
def solve(means: ArrayLike, sds: ArrayLike, tolerance: float = 1e-9) -> Solution:
    """K-learning's policy for a game whose payoffs are believed to be N(means, sds²), independently.

    Rows are the opponent's moves, columns are ours, and payoffs are paid to us. It is solved until the gap is below
    ``tolerance`` times the span of the means, or the largest sd if that is larger. The temperature is 0 if nothing
    is uncertain (the policy is an equilibrium of the means) and infinite if we have one move only.
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
