"""A Beta arm: how it answers to V, by the series of its moment generating function.

With p ~ Beta(a, b), c = a + b, and n a Poisson number of mean βp,

    E exp(βp) = ₁F₁(a; c; β) = Σ_n t_n,      t_{n+1}/t_n = β (a + n) / ((c + n)(n + 1))
    Ψ = log Σ t_n      Ψ′ = n̄/β      Ψ″ = (Var n − n̄)/β²

in which n̄ and Var n are those of the weights t_n. All terms are positive, and only those near the largest count.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel

NEGLIGIBLE = 1e-18  # a term, beside the largest
FEW = 40.0  # terms before the largest: then they are summed from the first, and no lgamma rounds
MOST_STEPS = 60
EXACT = 1e-6  # V − (Ψ′ − 1/β) in units of τ, at which the rest is linear to rounding


class Cumulants(NamedTuple):
    """Ψ(β) and its first two derivatives."""

    psi: float
    first: float
    second: float


class Answer(NamedTuple):
    """x = −log π, dx/dV, τ and h of an arm at V."""

    x: float
    slope: float
    tau: float
    h: float


@kernel
def beta_cumulants(heads: float, mass: float, beta: float) -> Cumulants:
    """Of a Beta(heads, mass − heads), for β > 0."""
    b = beta - mass - 1.0
    peak = np.floor(0.5 * (b + np.sqrt(max(b * b + 4.0 * (beta * heads - mass), 0.0))))
    log_top = 0.0
    if peak < FEW:
        peak = 0.0
    else:
        log_top = peak * np.log(beta) - lgamma(peak + 1.0)
        log_top += lgamma(heads + peak) - lgamma(heads) - (lgamma(mass + peak) - lgamma(mass))
    total, first, second = 1.0, 0.0, 0.0
    t, n, top = 1.0, peak, 1.0
    while t > NEGLIGIBLE * top or n < FEW:
        t *= beta * (heads + n) / ((mass + n) * (n + 1.0))
        n += 1.0
        k = n - peak
        total, first, second = total + t, first + k * t, second + k * k * t
        top = max(top, t)
    t, n = 1.0, peak
    while n > 0.0 and t > NEGLIGIBLE:
        n -= 1.0
        t *= (mass + n) * (n + 1.0) / (beta * (heads + n))
        k = n - peak
        total, first, second = total + t, first + k * t, second + k * k * t
    first, second = first / total, second / total
    mean = peak + first
    return Cumulants(log_top + np.log(total), mean / beta, (second - first * first - mean) / (beta * beta))


@kernel
def respond_beta(mean: float, mass: float, V: float, beta: float, close: float) -> Answer:
    """A Beta of this mean and mass at V; ``beta`` is where to begin, 0 for nowhere in particular.

    The error of x is the square of ``close``, which is V − (Ψ′ − 1/β) in units of τ where the search stops.
    """
    if V >= 1.0:  # Ψ′ < 1: no value of the arm is that large
        return Answer(np.inf, 0.0, 0.0, 1.0)
    heads, variance = mean * mass, mean * (1.0 - mean) / (mass + 1.0)
    if beta == 0.0:  # as if it were Gaussian
        d = V - mean
        q = np.sqrt(d * d + 4.0 * variance)
        beta = (d + q) / (2.0 * variance) if d > 0.0 else 2.0 / (q - d)
    low, high = 0.0, np.inf
    for _ in range(MOST_STEPS):
        if beta * beta * variance < 1e-10:  # where Ψ is a parabola, and its series would round x away
            psi = Cumulants(beta * mean + 0.5 * beta * beta * variance, mean + beta * variance, variance)
            x = 0.5 * beta * beta * variance
        else:
            psi = beta_cumulants(heads, mass, beta)
            x = beta * psi.first - psi.psi
        short = V - (psi.first - 1.0 / beta)
        steep = max(psi.second, 0.0) + 1.0 / (beta * beta)
        slope = beta * max(psi.second, 0.0) / steep
        if abs(short) * beta <= close:
            tau = 1.0 / (beta + short / steep)
            return Answer(max(x + slope * short, 0.5 * x), slope, tau, V + tau)
        low, high = (beta, high) if short > 0.0 else (low, beta)
        better = beta * np.exp(min(max(short / (steep * beta), -2.0), 2.0))  # Newton's step in log β
        beta = better if low < better < high else np.sqrt(low * high)
    return Answer(x, slope, 1.0 / beta, psi.first)
