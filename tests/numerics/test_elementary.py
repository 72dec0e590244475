"""exp, log1p and log in plain arithmetic, against the library's, to a few units in the last place."""

import math

import numpy as np
import pytest

from klearning.numerics.elementary import exp_negative, log1p_unit, log_near_one, log_unit

ULPS = 3


def ulps(got, want):
    return abs(got - want) / math.ulp(want)


def around(centres):
    """The centres and their neighbours among the floats."""
    return [x for c in centres for x in (math.nextafter(c, -math.inf), c, math.nextafter(c, math.inf))]


def test_exp_negative_on_its_range():
    rng = np.random.default_rng(0)
    grid = [-np.linspace(0.0, 707.0, 8000), -np.logspace(-18, math.log10(707), 4000), -rng.uniform(0, 40, 8000)]
    assert max(ulps(exp_negative(x), math.exp(x)) for x in np.concatenate(grid)) <= ULPS


def test_exp_negative_where_the_reduction_switches():
    halves = [-(k + 0.5) * math.log(2) for k in range(1000)]
    whole = [-k * math.log(2) for k in range(1, 1000)]
    assert max(ulps(exp_negative(x), math.exp(x)) for x in around(halves + whole)) <= ULPS


@pytest.mark.parametrize("x", [0.0, -0.0, -5e-324, -1e-300])
def test_exp_of_nothing_is_one(x):
    assert exp_negative(x) == 1.0


@pytest.mark.parametrize("x", [-708.0, -708.1, -745.0, -1e4, -1e300, -math.inf])
def test_exp_negative_far_out_is_positive_and_next_to_nothing(x):
    assert 0.0 < exp_negative(x) < 4e-308


def test_exp_negative_is_monotone():
    x = -np.linspace(0.0, 720.0, 5000)
    y = [exp_negative(v) for v in x]
    assert np.all(np.diff(y) <= 0.0)


def test_log1p_unit_on_its_range():
    grid = [np.linspace(0.0, 1.0, 8001)[1:], np.logspace(-300, 0, 4000), np.logspace(-20, 0, 4000)]
    assert max(ulps(log1p_unit(x), math.log1p(x)) for x in np.concatenate(grid)) <= ULPS


def test_log1p_unit_at_its_edges():
    assert log1p_unit(0.0) == 0.0
    edges = [*around([math.sqrt(2) - 1]), 1.0, math.nextafter(1.0, 0.0), 5e-324, 2.3e-308]
    assert max(ulps(log1p_unit(x), math.log1p(x)) for x in edges) <= ULPS


def test_log_unit_on_its_range():
    """Relatively where log x is large, absolutely next to 1."""
    halves = around([2.0**-k for k in range(1, 1000)])
    grid = [np.linspace(0.0, 1.0, 8001)[1:], np.logspace(-307, 0, 4000), 1.0 - np.logspace(-16, -1, 2000), halves]
    for x in np.concatenate(grid):
        assert abs(log_unit(x) - math.log(x)) <= 3e-16 * max(1.0, -math.log(x)), x
    assert log_unit(1.0) == 0.0


def test_log_near_one():
    """Relatively, next to 1 too, where what is beyond 1 is given."""
    beyond = np.concatenate([s * np.logspace(-300, -0.001, 4000) for s in (-1.0, 1.0)])
    edges = around([-0.29, 0.41, -0.5, 1.0, 3.0])
    for s in (*beyond, *edges):
        assert log_near_one(1.0 + s, s) == pytest.approx(math.log1p(s), rel=1e-15), s
    for x in np.logspace(-300, 300, 4001):
        assert log_near_one(x, x - 1.0) == pytest.approx(math.log(x), rel=1e-15, abs=1e-16), x
    assert log_near_one(1.0, 0.0) == 0.0
