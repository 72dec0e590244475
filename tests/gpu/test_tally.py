"""What is counted along on a device is what is read off whole arrays."""

import numpy as np
from numba import cuda

from klearning.gpu.layout import F, Log
from klearning.gpu.tally import LOST, SQUARE, SUMS, VALUE, Tally
from klearning.tabular.trials import regret

SEEDS, LAUNCHES = 40, (7, 3, 1, 19)


def test_a_tally_is_that_of_the_whole():
    rng, episodes = np.random.default_rng(3), sum(LAUNCHES)
    values, talk = rng.random((SEEDS, episodes)).astype(F), rng.random((2, SEEDS, episodes)).astype(F)
    hits = rng.random((SEEDS, episodes)) < 0.07
    hits[:3] = False
    hits[1, 9] = True  # one in ten, at the tenth
    best = rng.random(SEEDS) + 1.0
    tally, t = Tally(best, SEEDS, episodes, 2), 0
    for count in LAUNCHES:
        part = slice(t, t + count)
        arrays = values[:, part].T, values[:, part].T, hits[:, part].T.astype(F), talk[:, :, part].transpose(2, 0, 1)
        wide = [np.concatenate([x, np.full((max(LAUNCHES) - count, *x.shape[1:]), 9.0, F)]) for x in arrays]
        tally.add(Log(*(cuda.to_device(np.ascontiguousarray(x)) for x in wide)), count)
        t += count
    tally.end(None)
    lost = regret.cumulative_regret(best[:, None], values)
    np.testing.assert_array_equal(tally.of_seeds["first_hit"], regret.first_hit(hits))
    np.testing.assert_array_equal(tally.of_seeds["solved"], regret.time_to_solve(hits))
    assert tally.of_seeds["solved"][1] == 10
    np.testing.assert_allclose(tally.of_seeds["regret"], lost[:, -1])
    np.testing.assert_array_equal(tally.of_seeds["last"], values[:, -1])
    np.testing.assert_allclose(tally.sums[VALUE], values.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(tally.sums[LOST], lost.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(tally.sums[SQUARE], (lost**2).sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(tally.sums[SUMS:], talk.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(tally.curve, lost.T[tally.at - 1], rtol=1e-6)
