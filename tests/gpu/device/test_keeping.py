"""What is counted along on a device is what is read off whole arrays."""

from types import SimpleNamespace

import numpy as np
from numba import cuda

from klearning.gpu.keeping import KeepPoints
from klearning.gpu.layout import Log
from klearning.gpu.random import F
from klearning.tabular.trials.runs import at_points, stacked

SEEDS, LAUNCHES = 40, (7, 3, 1, 19)
POINTS = (1, 9, 10, 11, 30)
NAMES = ("gap", "bound")


def test_what_is_counted_is_that_of_the_whole():
    rng, episodes = np.random.default_rng(3), sum(LAUNCHES)
    values, talk = rng.random((SEEDS, episodes)).astype(F), rng.random((2, SEEDS, episodes)).astype(F)
    hits = rng.random((SEEDS, episodes)) < 0.07
    hits[:3] = False
    hits[1, 9] = True  # one in ten, at the tenth
    best = rng.random(SEEDS) + 1.0
    keeper, t = KeepPoints(best, SimpleNamespace(seeds=range(SEEDS)), NAMES, POINTS, episodes), 0
    for count in LAUNCHES:
        part = slice(t, t + count)
        arrays = values[:, part].T, values[:, part].T, hits[:, part].T.astype(F), talk[:, :, part].transpose(2, 0, 1)
        wide = [np.concatenate([x, np.full((max(LAUNCHES) - count, *x.shape[1:]), 9.0, F)]) for x in arrays]
        keeper.add(Log(*(cuda.to_device(np.ascontiguousarray(x)) for x in wide)), count)
        t += count
    found = keeper.arrays()
    series = {"values": values, "returns": values, "hits": hits}
    series |= {f"diagnostic_{name}": talk[m] for m, name in enumerate(NAMES)}
    whole = [{"optimal_value": best[i], **{name: x[i] for name, x in series.items()}} for i in range(SEEDS)]
    expected = stacked([at_points(arrays, POINTS) for arrays in whole])
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-6)
    assert found["solved"][1] == 10
    assert keeper.solved_share() == np.isfinite(found["solved"]).mean()
