"""Theorem 4 of docs/evidence/calibrated.md: Bayes regret of any agent that a guard with a surplus watches.

    BR(N) ≤ √(Ψ N G_N) + 4 √(D · BR(N)),      Ψ = 4 L log A,  D = L(L+1)/2,  G_N ≥ E Σ_t C̄_t

for layered beliefs, rewards in [0, 1] and one fresh draw per episode. G_N is that of the bonus `sharp`.
"""

from math import log, sqrt
from typing import NamedTuple

from klearning.numerics.types import Floats


class Layered(NamedTuple):
    """L layers of S states with A actions, the mass a + b of Beta rewards and that of Dirichlet rows."""

    L: int
    S: int
    A: int
    reward_mass: float = 2.0
    row_mass: float = 1.0


def harmonic_limit(mass: float, visits: float) -> float:
    """1/(ν+1) + log(1 + n/(ν+1)), no less than the sum of 1/(ν+1+k) over k = 0 .. n−1."""
    return 1.0 / (mass + 1.0) + log(1.0 + visits / (mass + 1.0))


def most_bonus(size: Layered, episodes: int) -> float:
    """G_N: the most that c of `sharp` adds up to over the visits of N episodes, in expectation."""
    visits = episodes / (size.S * size.A)
    rewards = size.L * harmonic_limit(size.reward_mass, visits)
    spans = sum(left * left for left in range(size.L))
    return size.S * size.A * (rewards + spans * harmonic_limit(size.row_mass, visits)) / 8.0


def guarded_regret_bound(size: Layered, episodes: int) -> float:
    """(√a + 4√D)², a = √(Ψ N G_N)."""
    a = sqrt(4.0 * size.L * log(size.A) * episodes * most_bonus(size, episodes))
    return (sqrt(a) + 4.0 * sqrt(size.L * (size.L + 1) / 2.0)) ** 2


def last_surplus(excess: Floats) -> float:
    """S_N of S_{t+1} = (S_t + X_t)₊."""
    surplus = 0.0
    for x in excess:
        surplus = max(surplus + float(x), 0.0)
    return surplus
