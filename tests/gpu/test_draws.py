"""Draws of the GPU room have the law they should, in float32: its device functions, compiled for the CPU.

Seeds are fixed. Kolmogorov–Smirnov tests at 1e-4: so often a right sampler would fail each with other seeds.
"""

import numba
import numpy as np
import pytest
from scipy import stats

from klearning.gpu import draws, psrl
from klearning.gpu.layout import Counts, Shape, World
from klearning.gpu.value_iteration import Layer
from tests.support.device_functions import on_cpu
from tests.tabular.beliefs.test_stick_breaking import ROWS, directions, dirichlet_draws

DRAWS = 8_000
F = np.float32
SHAPE = Shape(
    horizon=2, states=0, actions=1, slots=0, single=False, own=False, bernoulli=False, goal_state=-1, goal_place=-1,
    goal_action=-1, end=-1,
)  # fmt: skip
Draws = draws.Draws
KEY = (np.uint32(7), np.uint32(8))


@pytest.fixture(scope="module")
def scalars():
    """(a, b, out): a normal, log Gamma(a) and Beta(a, b) in the rows of ``out``."""
    normals, log_gamma, beta = (on_cpu(f) for f in (draws.normals, draws.log_gamma, draws.beta))
    philox = on_cpu(draws.philox)

    @numba.njit
    def fill(a, b, key, out):
        for i in range(out.shape[1]):
            place = Draws(key, np.uint32(i), 3)
            words = philox(key, 0, 3, np.uint32(i), 0)
            out[0, i], out[1, i] = normals(words[0], words[1])
            out[2, i], out[3, i] = log_gamma(a, place, 5, 9), beta(a, b, place, 5, 20)

    return fill


@pytest.mark.thin(3)
@pytest.mark.parametrize(("a", "b"), [(0.1, 1.0), (0.3, 1.0), (1.0, 40.0), (2.5, 0.7), (50.0, 1000.0), (1e4, 3.0)])
def test_normals_gammas_and_betas(scalars, a, b):
    out = np.zeros((4, DRAWS))
    scalars(F(a), F(b), KEY, out)
    laws = stats.norm(), stats.norm(), stats.loggamma(a), stats.beta(a, b)
    for draw, law in zip(out, laws, strict=True):
        assert stats.kstest(draw, law.cdf).pvalue > 1e-4
    assert abs(np.corrcoef(out[:2])[0, 1]) < 4.4 / np.sqrt(DRAWS)  # by chance 1.1e-5


@pytest.fixture(scope="module")
def rows():
    """(world, counts, numbers, V, key, out): P·V of a row in as many draws as ``out`` has room for."""
    action_value = on_cpu(psrl.action_value_for(SHAPE, psrl.Kind(beta=False, learns=True)))

    @numba.njit
    def fill(world, counts, x, V, key, out):
        below = Layer(V, np.int64(0), np.int64(0), np.int64(V.size), F(0.0))
        for i in range(out.size):
            out[i] = action_value(world, counts, x, Draws(key, np.uint32(i), 3), 0, 0, F(0.0), below)

    return fill


def test_a_gamma_far_below_one(scalars):
    """As a logarithm: the gamma itself is not a float32 any more, and a Beta of it is 0 or 1."""
    out = np.zeros((4, DRAWS))
    scalars(F(0.003), F(0.003), KEY, out)
    assert stats.kstest(out[2], stats.loggamma(0.003).cdf).pvalue > 1e-4
    assert abs((out[3] > 0.5).mean() - 0.5) < 4.4 * 0.5 / np.sqrt(DRAWS)  # by chance 1.1e-5


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["scattered", "one", "rising"])
@pytest.mark.parametrize("row", [name for name, (n, _, support) in ROWS.items() if support is None])
def test_a_row_has_the_law_of_its_dirichlet(rows, row, direction):
    """P·V against direct draws. Rewards are certainly nothing."""
    n, mass, _ = ROWS[row]
    width = len(n)
    ints = [
        np.array(x, np.int32) for x in ([0, 1, 1 + width], [0, width], range(width), range(width), range(width + 1))
    ]
    floats = [np.zeros((width, 1), F)] * 3
    world = World(*ints, *floats, np.ones(1, F))
    moves = np.array(n, F)[:, None]
    counts = Counts(np.full((1, 1), moves.sum(), F), np.zeros((1, 1), F), moves)
    V = directions(width, 2)[direction].astype(F)
    out = np.zeros(DRAWS)
    rows(world, counts, psrl.Numbers(F(1.0), F(0.0), F(0.0), F(mass)), V, KEY, out)
    direct = dirichlet_draws(np.asarray(n) + mass / width, 3) @ V.astype(float)
    assert stats.ks_2samp(out.round(5), direct.round(5), method="asymp").pvalue > 1e-4


@pytest.mark.slow
def test_weights_sum_to_one(rows):
    """Where all next states are worth the same, so is every draw."""
    world = World(*(np.array(x, np.int32) for x in ([0, 1, 4], [0, 3], range(3), range(3), range(4))),
                  *[np.zeros((3, 1), F)] * 3, np.ones(1, F))  # fmt: skip
    counts = Counts(np.full((1, 1), 7, F), np.zeros((1, 1), F), np.array([[2], [0], [5]], F))
    out = np.zeros(500)
    rows(world, counts, psrl.Numbers(F(1.0), F(0.0), F(0.0), F(0.8)), np.ones(3, F), KEY, out)
    np.testing.assert_allclose(out, 1.0, atol=1e-6)
