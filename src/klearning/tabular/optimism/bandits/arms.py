"""The arms of a bandit as VBOS asks them: how likely it is to be best that would make an arm worth V.

With Ψ(β) = log E exp(βμ) the cumulant generating function of an arm's mean reward μ, and x = −log π,

    h(x) = inf_τ (τ Ψ(1/τ) + τ x)                      what an arm is worth at most, if it is best with chance π
    V = h − τ,   h = Ψ′(β),   x = β Ψ′(β) − Ψ(β),   β = 1/τ          where π (h(−log π) − V) is largest

For each V one root in one dimension, of the increasing Ψ′(β) − 1/β. A Gaussian N(m, s²) has it in closed form, with

    z = (V − m)/s      u = (z + √(z² + 4))/2      x = u²/2      τ = s/u      h = m + s u

and a Beta's is found by Newton's method on its series (`beta_arms.py`). With V also x rises, at the rate of
dx/dV = β Ψ″ / (Ψ″ + 1/β²), which is u² / √((V−m)² + 4s²) for a Gaussian.
"""

from typing import NamedTuple

import numpy as np

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.records.fields import field_roles
from klearning.numerics.types import Floats
from klearning.tabular.models.sweeps import FORBIDDEN
from klearning.tabular.optimism.bandits.beta_arms import respond_beta

FARTHEST = 1e15  # standard deviations below the best mean: an arm there adds less to the value than a rounding
SMALLEST = 1e-100  # of standard deviations, beside the largest: less is none, and the square of this is a float
NO_MASSES = np.zeros(0)


class Arms(NamedTuple):
    """The posterior of the mean rewards, one number per arm."""

    means: Floats
    sds: Floats  # zero if an arm is known for certain
    masses: Floats  # α + β of the Beta posteriors of coin flips; empty if posteriors are Gaussian


@field_roles(scratch=True)
class Workspace(NamedTuple):
    """The arms' responses to some V, an entry per arm; in units of `Units`."""

    m: Floats  # mean, less the arm's price
    s: Floats
    x: Floats  # −log π; infinite if an arm is certain
    slope: Floats  # dx/dV
    tau: Floats
    h: Floats  # what it is worth at most, less its price


class Units(NamedTuple):
    """V = anchor + scale · (V in the workspace)."""

    anchor: float
    scale: float


def new_workspace(arms: int) -> Workspace:
    return Workspace(*np.zeros((6, arms)))


@kernel
def prepare(arms: Arms, price: Floats, work: Workspace) -> Units:
    """Write means and sds to the workspace: Gaussians from the best mean and by the largest sd, coins as they are."""
    if arms.masses.size > 0:
        for a in range(arms.means.size):
            work.m[a], work.s[a], work.tau[a] = arms.means[a] - price[a], arms.sds[a], 0.0
        return Units(0.0, 1.0)
    anchor, scale = -np.inf, 0.0
    for a in range(arms.means.size):
        anchor, scale = max(anchor, arms.means[a] - price[a]), max(scale, arms.sds[a])
    scale = scale if scale > 0.0 else 1.0
    for a in range(arms.means.size):
        m, s = (arms.means[a] - price[a] - anchor) / scale, arms.sds[a] / scale
        work.m[a], work.s[a] = (m, s if s > SMALLEST else 0.0) if m > -FARTHEST else (-np.inf, 0.0)
    return Units(anchor, scale)


@kernel
def is_allowed(arms: Arms, a: int) -> bool:
    return arms.means[a] > FORBIDDEN


@kernel
def respond(arms: Arms, work: Workspace, V: float, close: float) -> None:
    """x, dx/dV, τ and h of every arm at V; of coins x is good to the square of ``close``."""
    if arms.masses.size == 0:
        respond_gaussian(work.m, work.s, V, work.x, work.slope, work.tau, work.h)
        return
    for a in range(arms.means.size):
        if work.s[a] == 0.0:
            work.x[a], work.slope[a], work.tau[a], work.h[a] = np.inf, 0.0, 0.0, work.m[a]
        else:
            price = arms.means[a] - work.m[a]
            beta = 0.0
            if work.tau[a] > 0.0:  # from where it was, along the tangent
                step = (V - (work.h[a] - work.tau[a])) * (1.0 / work.tau[a] - work.slope[a])
                beta = np.exp(min(max(step, -2.0), 2.0)) / work.tau[a]
            answer = respond_beta(arms.means[a], arms.masses[a], V + price, beta, close)
            work.x[a], work.slope[a], work.tau[a], work.h[a] = answer.x, answer.slope, answer.tau, answer.h - price


@kernel
def respond_gaussian(m: Floats, s: Floats, V: float, x: Floats, slope: Floats, tau: Floats, h: Floats) -> None:
    for a in range(m.size):
        d = V - m[a]
        q = np.sqrt(d * d + 4.0 * s[a] * s[a])
        far = abs(d) + q  # no difference of two that are nearly equal
        above = d > 0.0
        u = far / (2.0 * s[a]) if above else 2.0 * s[a] / far
        tau[a] = 2.0 * s[a] * s[a] / far if above else 0.5 * far
        x[a] = 0.5 * u * u
        slope[a] = u * u / q
        h[a] = m[a] + s[a] * u
        if s[a] == 0.0:
            x[a], slope[a], tau[a], h[a] = np.inf, 0.0, 0.0, m[a]
