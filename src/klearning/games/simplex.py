"""Equilibria of zero-sum matrix games, exactly: the simplex method on a tableau of (n + 1) × (m + 1) numbers.

Rows i are the opponent's moves and columns j are ours, everywhere in `klearning.games`; A_ij is our payoff. With all
payoffs made positive, B = A + constant, an equilibrium is the solution of a linear program and of its dual,

    maximise Σ_i q_i   with   Σ_i q_i B_ij ≤ 1 for every j,  q ≥ 0;        y = q / Σq,   value of B = 1 / Σq

and our policy x is read from the last row. It begins with q = 0, which satisfies all constraints.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from klearning.numerics import checks
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.display.summaries import html_summary
from klearning.numerics.types import Floats, Ints

ZERO = 1e-12  # of a tableau whose payoffs are between 1 and 2: anything smaller is rounding
PATIENCE = 5  # times as many pivots as there are moves, by the steepest column; then the rule that cannot cycle


class Tableau(NamedTuple):
    """Arrays that the simplex method works in."""

    table: Floats  # (n + 1, m + 1): a row per constraint and the objective; a column per variable and the right side
    row_of: Ints  # which variable is in the basis: 0 … m−1 are q, m … m+n−1 the slacks of our moves
    column_of: Ints  # which is not


def new_tableau(rows: int, columns: int) -> Tableau:
    return Tableau(np.zeros((columns + 1, rows + 1)), np.zeros(columns, np.int64), np.zeros(rows, np.int64))


@kernel
def extremes(A: Floats) -> tuple[float, float]:
    """The least and the largest number."""
    low, high = np.inf, -np.inf
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            low, high = min(low, A[i, j]), max(high, A[i, j])
    return low, high


@kernel
def _begin(A: Floats, T: Tableau) -> None:
    m, n = A.shape
    low, high = extremes(A)
    span = high - low if high > low else 1.0
    for j in range(n):
        for i in range(m):
            T.table[j, i] = 1.0 + (A[i, j] - low) / span
        T.table[j, m] = 1.0
        T.row_of[j] = m + j
    T.table[n, m] = 0.0
    for i in range(m):
        T.table[n, i] = -1.0
        T.column_of[i] = i


@kernel
def _entering(T: Tableau, pivots: int) -> int:
    """The column that gains most, or after many pivots the first variable that gains (Bland's); −1 if none does."""
    n, m = T.row_of.size, T.column_of.size
    best, bland = -1, pivots >= PATIENCE * (m + n)
    for i in range(m):
        if T.table[n, i] < -ZERO and (
            best < 0 or (T.column_of[i] < T.column_of[best] if bland else T.table[n, i] < T.table[n, best])
        ):
            best = i
    return best


@kernel
def _leaving(T: Tableau, column: int) -> int:
    """The constraint that is met first; of equals the one whose variable is first."""
    n, m = T.row_of.size, T.column_of.size
    best, least = -1, np.inf
    for j in range(n):
        if T.table[j, column] > ZERO:
            ratio = T.table[j, m] / T.table[j, column]
            if ratio < least - ZERO or (ratio < least + ZERO and T.row_of[j] < T.row_of[best]):
                best, least = j, min(ratio, least)
    return best


@kernel
def _pivot(T: Tableau, row: int, column: int) -> None:
    """The two variables change places."""
    table = T.table
    inverse = 1.0 / table[row, column]
    table[row, column] = 1.0
    for i in range(table.shape[1]):
        table[row, i] *= inverse
    for k in range(table.shape[0]):
        factor = table[k, column]
        if k != row and factor != 0.0:
            table[k, column] = 0.0
            for i in range(table.shape[1]):
                table[k, i] -= factor * table[row, i]
    T.row_of[row], T.column_of[column] = T.column_of[column], T.row_of[row]


@kernel
def _normalise(p: Floats) -> None:
    total = 0.0
    for k in range(p.size):
        p[k] = max(p[k], 0.0)
        total += p[k]
    for k in range(p.size):
        p[k] /= total


@kernel
def find_saddle(A: Floats, x: Floats, y: Floats, T: Tableau) -> float:
    """Write our policy to ``x`` and the opponent's to ``y``; return the value of the game."""
    m, n = A.shape
    _begin(A, T)
    for count in range(10 * PATIENCE * (m + n)):
        column = _entering(T, count)
        if column < 0:
            break
        _pivot(T, _leaving(T, column), column)
    for j in range(n):
        x[j] = 0.0
    for i in range(m):
        y[i] = 0.0
    for j in range(n):
        if T.row_of[j] < m:
            y[T.row_of[j]] = T.table[j, m]
    for i in range(m):
        if T.column_of[i] >= m:
            x[T.column_of[i] - m] = T.table[n, i]
    _normalise(x)
    _normalise(y)
    low, high = guarantees(A, x, y)
    return 0.5 * (low + high)


@kernel
def guarantees(A: Floats, x: Floats, y: Floats) -> tuple[float, float]:
    """The least payoff of x against any opponent, and the most that y pays to any of our policies."""
    m, n = A.shape
    low, high = np.inf, -np.inf
    for i in range(m):
        paid = 0.0
        for j in range(n):
            paid += A[i, j] * x[j]
        low = min(low, paid)
    for j in range(n):
        paid = 0.0
        for i in range(m):
            paid += A[i, j] * y[i]
        high = max(high, paid)
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class Saddle:
    """An equilibrium of a matrix game.

    ``policy`` (columns) is ours, ``opponent`` (rows) the other side's; ``gap`` is the most that both could gain
    together by other policies, so that ``value`` is right to half of it.
    """

    policy: Floats
    opponent: Floats
    value: float
    gap: float

    def __repr__(self) -> str:
        return (
            f"Saddle(value={in_words(self.value)}, gap={self.gap:.2g}, {self.opponent.size} × {self.policy.size} moves)"
        )

    def _repr_html_(self) -> str:
        facts = {"value": self.value, "gap": self.gap, "our policy": policy_in_words(self.policy)}
        return html_summary("Saddle", {**facts, "opponent's policy": policy_in_words(self.opponent)})


def policy_in_words(policy: Floats, most: int = 12) -> str:
    """Probabilities in a line."""
    numbers = " ".join(f"{p:.3f}" for p in policy[:most])
    return numbers + (f" … ({policy.size} moves)" if policy.size > most else "")


def in_words(value: float) -> str:
    """A value to four digits, without rounding errors and without a sign of zero."""
    return f"{round(value, 12) + 0.0:.4g}"


def saddle(payoffs: ArrayLike) -> Saddle:
    """An equilibrium of the game whose payoffs to us are known: rows are the opponent's moves, columns are ours."""
    A = matrix("payoffs", payoffs)
    m, n = A.shape
    x, y = np.zeros(n), np.zeros(m)
    value = find_saddle(A, x, y, new_tableau(m, n))
    low, high = guarantees(A, x, y)
    return Saddle(x, y, float(value), max(0.0, float(high - low)))


def matrix(field: str, value: ArrayLike, shape: tuple[int | None, int | None] = (None, None)) -> Floats:
    """Finite numbers, a row per move of the opponent's and a column per move of ours, at least one of each."""
    A = np.ascontiguousarray(checks.array(field, value, shape))
    if A.size == 0:
        raise ValueError(f"{field} has shape {A.shape}: give at least one row (the opponent's) and one column (ours)")
    if (size := np.abs(A).max()) > checks.LARGEST:
        raise ValueError(f"{field} has a number of size {size:g}: give numbers of at most {checks.LARGEST:g}")
    return A
