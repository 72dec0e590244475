"""The laws of VBOS (O'Donoghue and Lattimore, 2021), for Gaussian arms, exactly: integrals in one dimension.

A mixture π is optimistic if   E max_a μ_a ≤ Σ_a π_a (m_a + s_a √(−2 log π_a)).   With sd = noise = σ before the first
round, an agent that plays optimistic mixtures has a Bayes regret of at most   σ √(2 A T log A (1 + log T)):

    E max μ − Σπm ≤ Σ π_a s_a √(−2 log π_a) ≤ √(2 log A) √(Σ π_a s_a²)    Cauchy and Schwarz; entropy ≤ log A
    Σ_t E Σ_a π_a s_a² = E Σ_t σ²/(1 + n_t) ≤ σ² A (1 + log T)             n_t visits of the arm of round t before it
"""

from math import erfc

import numpy as np
from numpy.typing import ArrayLike

from klearning.lab.theory.inequality import Inequality
from klearning.numerics.types import Floats
from klearning.tabular.optimism.bandits.vbos import solve_vbos

POINTS = 2001
REACH = 9.0  # standard deviations beyond which nothing is left


def mixture_value(policy: ArrayLike, means: ArrayLike, sds: ArrayLike) -> float:
    """Σ_a π_a (m_a + s_a √(−2 log π_a)), what VBOS maximises."""
    pi, m, s = (np.asarray(x, float) for x in (policy, means, sds))
    return float(np.sum(pi * (m + s * np.sqrt(-2.0 * np.log(np.where(pi > 0, pi, 1.0))))))


def expected_maximum(means: ArrayLike, sds: ArrayLike) -> float:
    """E max_a μ_a of independent Gaussians with s_a > 0."""
    t, w, below = _grid(means, sds)
    return float(t[0] + w @ (1.0 - below.prod(axis=0)))


def best_arm_chances(means: ArrayLike, sds: ArrayLike) -> Floats:
    """P(a is best): the mixture that Thompson sampling plays."""
    m, s = np.asarray(means, float), np.asarray(sds, float)
    t, w, below = _grid(m, s)
    density = np.exp(-0.5 * ((t - m[:, None]) / s[:, None]) ** 2) / (s[:, None] * np.sqrt(2.0 * np.pi))
    others = np.stack([np.delete(below, a, axis=0).prod(axis=0) for a in range(m.size)])
    chances = (density * others) @ w
    return np.asarray(chances / chances.sum())


def thompson_is_optimistic(means: ArrayLike, sds: ArrayLike) -> Inequality:
    """E max μ ≤ the value of Thompson sampling's mixture."""
    policy = best_arm_chances(means, sds)
    return Inequality(expected_maximum(means, sds), mixture_value(policy, means, sds))


def vbos_is_optimistic(means: ArrayLike, sds: ArrayLike) -> Inequality:
    """E max μ ≤ the value of VBOS's mixture."""
    policy = solve_vbos(means, sds).policy
    return Inequality(expected_maximum(means, sds), mixture_value(policy, means, sds))


def bandit_regret_bound(arms: int, rounds: ArrayLike, noise: float = 1.0) -> Floats:
    """σ √(2 A T log A (1 + log T)), the most Bayes regret of optimistic mixtures after T rounds, for sd ≤ noise = σ."""
    T = np.asarray(rounds, float)
    return np.asarray(noise * np.sqrt(2.0 * arms * np.log(arms) * T * (1.0 + np.log(T))))


def _grid(means: ArrayLike, sds: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Points, their weights, and the chance of every arm to be below each point; the maximum is not below the first.

    The trapezoidal rule: what is integrated is level at both ends, where it is as good as any.
    """
    m, s = np.asarray(means, float), np.asarray(sds, float)
    t = np.linspace((m - REACH * s).max(), (m + REACH * s).max(), POINTS)
    w = np.full(POINTS, t[1] - t[0])
    w[[0, -1]] *= 0.5
    below = np.array([[0.5 * erfc((c - point) / (d * np.sqrt(2.0))) for point in t] for c, d in zip(m, s)])
    return t, w, below
