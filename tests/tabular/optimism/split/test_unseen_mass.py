"""The table of `split`: how much of a row is unseen, on a few knots, never less spread than Beta(α0, n)."""

from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest

from klearning.tabular.beliefs import distributions
from klearning.tabular.optimism.split.unseen_mass import DENSE, KNOTS, MOST, place_of, table

MASSES = (0.01, 0.3, 1.0, 7.5, 40.0)


def integral(a, n, high):
    """∫ b^(a−1) (1−b)^(n−1) db from 0 to ``high``, the binomial written out."""
    terms = (comb(n - 1, j) * (-1) ** j * high ** (a + j) / (a + j) for j in range(n))
    return sum(terms, Decimal(0))


def exact_log_weights(mass, n):
    """From incomplete beta functions, with enough digits that their differences do no harm."""
    with localcontext() as context:
        context.prec = 60 + 3 * n
        b, a = [Decimal(float(x)) for x in KNOTS], Decimal(mass)
        norm, w = integral(a, n, Decimal(1)), [Decimal(0)] * len(b)
        below = [[integral(a + i, n, x) / norm if x > 0 else Decimal(0) for x in b] for i in (0, 1)]
        for k in range(len(b) - 1):
            p, e = (c[k + 1] - c[k] for c in below)
            up = (e - b[k] * p) / (b[k + 1] - b[k])
            w[k + 1] += up
            w[k] += p - up
        return np.array([float(x.ln()) for x in w])


@pytest.mark.thin(3)
@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("n", [1, 2, 5, 31])
def test_every_weight_is_right_relative_to_itself(mass, n):
    """The far ones too: they will meet exp of large numbers."""
    counts, weights, logs = table(mass)
    row = int(np.flatnonzero(counts == n)[0])
    want = exact_log_weights(mass, n)
    np.testing.assert_allclose(logs[row], want, rtol=0, atol=1e-11)
    np.testing.assert_allclose(weights[row], np.exp(want), rtol=1e-11)


@pytest.mark.parametrize("mass", [1e-50, 1e-16, 1e-9, *MASSES, 100.0, 3000.0])
def test_the_mean_stays_and_the_spread_grows(mass):
    counts, weights, _ = table(mass)
    n = counts.astype(float)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(weights @ KNOTS, mass / (mass + n), rtol=1e-11)
    second = mass * (mass + 1) / ((mass + n) * (mass + n + 1))
    excess = weights @ KNOTS**2 - second
    assert (excess >= -1e-13 * second).all()
    # no more than what moving to the ends of a cell can add: the mean of (b − low)(high − b), at most width²/4
    assert (excess <= np.diff(KNOTS).max() ** 2 / 4).all()


@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("x", [-50.0, -3.0, 3.0, 50.0])
def test_exp_is_dominated_at_every_count(mass, x):
    """E exp(xB̂) ≥ ₁F₁(α0; α0+n; x), with the coin that stands for counts between the rows of the table."""
    counts, weights, _ = table(mass)
    rng = np.random.default_rng(0)
    for n in [0.25, 0.5, 1.5, 7.9, 33.0, 34.5, *np.exp(rng.uniform(0, 14, 6)), 3e6]:
        place = place_of(counts, n)
        keep = (mass + counts[place]) / (mass + n)
        assert counts[place] <= n
        mean = keep * (weights[place] @ KNOTS)
        assert mean == pytest.approx(mass / (mass + n), rel=1e-11)
        ours = (1 - keep) + keep * (weights[place] @ np.exp(x * KNOTS))
        assert np.log(ours) >= distributions.beta_cumulant(mass, n, x) - 1e-11


@pytest.mark.parametrize("mass", [0.3, 1000.0, 3000.0])
def test_weights_below_the_range_of_floats_have_logarithms(mass):
    """E exp(xB̂) ≥ ₁F₁ for x of 1e4 too, where it is such weights that count."""
    counts, weights, logs = table(mass)
    assert np.isfinite(logs[1:]).all()
    assert (weights[1:] == 0.0).any()
    for row in (1, 20, 50, 80, 110):
        x = 1e4 * KNOTS + logs[row]
        ours = x.max() + np.log(np.exp(x - x.max()).sum())
        assert ours >= distributions.beta_cumulant(mass, float(counts[row]), 1e4) - 1e-9


def test_the_furthest_weight_of_mass_1():
    """Beta(1, n): the last knot has (1−b)^n/(n+1), b the knot before it, down to exp(−2e6)."""
    counts, _, logs = table(1.0)
    n = counts[1:].astype(float)
    np.testing.assert_allclose(logs[1:, -1], n * np.log1p(-KNOTS[-2]) - np.log1p(n), rtol=1e-12)


def test_the_rows_of_the_table():
    """Every count up to `DENSE`, then no more than 10% (and one, for rounding) apart; the place of any count."""
    counts = table(0.3)[0]
    assert counts[: DENSE + 1].tolist() == list(range(DENSE + 1))
    assert counts[-1] == MOST
    assert (counts[DENSE + 1 :] <= 1.12 * counts[DENSE:-1] + 1).all()
    for n in [0.0, 0.9, 1.0, 31.99, 32.0, 32.5, 33.0, 100.0, 1e5, 1e6, 1e9]:
        assert place_of(counts, n) == np.searchsorted(counts, n, side="right") - 1


@pytest.mark.parametrize("mass", [0.01, 0.3, 30.0])
def test_nothing_of_many_visits_is_lost(mass):
    """Far counts by another way: log weights of the first cell's knots against the density's own integral."""
    counts, weights, _ = table(mass)
    last = float(counts[-1])
    # all of Beta(mass, 1e6) is in the first cell: weight of knot 1 is mean / width
    assert weights[-1, 1] == pytest.approx(mass / (mass + last) / KNOTS[1], rel=1e-9)
