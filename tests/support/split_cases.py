"""What the tests of the bonus `split` share: one row between two layers, and one sweep, straight from the kernels."""

import numpy as np

import klearning as kl
from klearning.tabular.models.soft import soft_sweep
from klearning.tabular.optimism.program import program
from klearning.tabular.optimism.split.priced_sweep import priced_sweep


def one_row(mass, counts, W, span=None):
    """One state and action, seen to lead to the states behind it as often as ``counts``, worth W(i) for certain."""
    n = np.asarray(counts, float)
    prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(mass), span=span)
    visits, sums = [[[n.sum()]], np.ones((n.size, 1))], [[[0.0]], np.reshape(W, (-1, 1))]
    return kl.Belief.from_counts(prior, visits, sums, [n.reshape(1, 1, -1)], [1.0])


def row_bound(mass, counts, W, tau, span=None):
    """φ of such a row: K less the reward, which is 0 and, where it was seen, certain."""
    belief = one_row(mass, counts, W, span)
    reward = 0.0 if np.sum(counts) > 0 else 0.5 / tau  # a prior variance of 1
    return kl.solve(belief, tau, "split").k_values[0].item() - reward


def exact(mass, counts, W, tau):
    """τ log E exp(P·W/τ) of P ~ Dirichlet(α), α = mass/N + counts, by a series of positive terms, m = Σα:

    E exp(Σ P_i x_i) = Σ_n e_n,      n e_n = Σ_{k=1..n} (Σ_i α_i x_i^k) e_{n−k} (m)_{n−k}/(m)_n,      x = (W − min W)/τ

    as in theory.cumulants.dirichlet_cumulant, but for counts whose coefficients would be beyond floats.
    """
    alpha, x = mass / len(W) + np.asarray(counts, float), (W - np.min(W)) / tau
    top, total = x.max(), alpha.sum()
    size = int(top + 12 * np.sqrt(top) + 60)
    power = np.power.outer(x / top, np.arange(size + 1)).T @ alpha
    rising = np.concatenate([[0.0], np.cumsum(np.log(total + np.arange(size)))])
    e = np.ones(size + 1)
    for n in range(1, size + 1):
        k = np.arange(1, n + 1)
        e[n] = (power[k] * np.exp(k * np.log(top) + rising[n - k] - rising[n])) @ e[n - k] / n
    return float(np.min(W) + tau * np.log(e.sum()))


def mean(mass, counts, W):
    alpha = mass / len(W) + np.asarray(counts, float)
    return float(alpha @ W / alpha.sum())


def any_mass(rng, least, most):
    """One for several rows: the first row of a mass takes most of a tenth of a second, for its table."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def random_row(rng, most=1e4, seen=5, ratios=(0.1, 200.0)):
    """Counts (whole or fractional), values, and a temperature at a stated ratio to their span."""
    width = int(rng.integers(2, 12))
    counts = np.zeros(width)
    where = rng.choice(width, min(int(rng.integers(seen + 1)), width), replace=False)
    counts[where] = np.exp(rng.uniform(np.log(0.2), np.log(most), where.size))
    if rng.random() < 0.6:
        counts = np.ceil(counts)
    W = rng.normal(size=width) if rng.random() < 0.5 else (rng.random(width) < 0.3) * 1.0
    W[int(rng.integers(width))] = W.max() + 0.5
    tau = float(np.ptp(W) / np.exp(rng.uniform(*np.log(ratios))))
    return counts, W, tau


class Sweeps:
    """f, H̄, C̄ and f″ of a belief at any τ, from one record of arrays."""

    def __init__(self, belief, bonus="split"):
        self.ready = program(belief, bonus)
        self.sweep = priced_sweep if self.ready.priced else soft_sweep

    def __call__(self, tau):
        return self.sweep(self.ready.model, self.ready.c, tau, self.ready.work)

    def slope(self, tau):
        _, H, C, _ = self(tau)
        return H - C / tau**2
