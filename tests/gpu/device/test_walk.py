"""One episode on a device: actions by the policy, successors and rewards by the world, and all of it counted.

Seeds are fixed; each test is at 1e-4: so often a right walk would fail it with other seeds.
"""

import numpy as np
import pytest
from numba import cuda
from scipy import stats

import klearning as kl
from klearning.gpu.batch import new_batch
from klearning.gpu.layout import zeros
from klearning.gpu.random import F
from klearning.gpu.walk import play_for

SEEDS = 2000
CHANCES = np.array([0.5, 0.2, 0.3])  # of the actions, everywhere
LEVEL = 1e-4
MEANS = [[[0.2, 0.7, 0.4]], [[0.1, 0.9, 0.5], [0.8, 0.3, 0.6]]]
ROWS = [[[[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]]]]


def walked(noise):
    """Visits, reward sums and moves of one episode of every seed, [pair or entry, seed]; returns and hits."""
    world = kl.MDP.from_layers(MEANS, ROWS, [1.0], noise, goal=(1, 2))
    batch = new_batch(world, "walker", np.arange(SEEDS, dtype=np.uint32))
    play, out = play_for(batch.shape), zeros((2, SEEDS))
    shares = np.array([0.2 / 0.7, 0.3])  # of action 1 among 0 and 1, of action 2 among all
    batch.share.copy_to_device(np.repeat(np.tile(shares, 3)[:, None], SEEDS, axis=1).astype(F))

    @cuda.jit
    def walk(world, share, counts, key, seeds, out):
        i = cuda.grid(1)
        if i < seeds.size:
            out[0, i], out[1, i] = play(world, share, counts, key, seeds[i], i, 7)

    walk[batch.grid](batch.world, batch.share, batch.counts, batch.key, batch.seeds, out)
    return *(x.copy_to_host() for x in batch.counts), *out.copy_to_host()


@pytest.fixture(scope="module")
def coins():
    return walked("bernoulli")


def test_actions_are_drawn_from_the_policy(coins):
    visits = coins[0].sum(axis=1).reshape(3, 3)
    assert visits[0].sum() == visits[1:].sum() == SEEDS
    for n in visits:
        assert stats.chisquare(n, n.sum() * CHANCES).pvalue > LEVEL


def test_successors_are_drawn_from_the_world(coins):
    visits, _, moves, _, hits = coins
    first, second, certain, third, fourth = moves.sum(axis=1)
    for n, p in (((first, second), 0.3), ((third, fourth), 0.5)):
        assert stats.binomtest(int(n[0]), int(sum(n)), p).pvalue > LEVEL
    assert certain == visits[1].sum()
    np.testing.assert_array_equal(hits > 0, visits[1 * 3 + 2] > 0)  # the goal: action 2 in state 1


def test_rewards_are_drawn_from_the_world(coins):
    visits, sums, _, total, _ = coins
    assert set(np.unique(sums)) == {0.0, 1.0}
    np.testing.assert_array_equal(total, sums.sum(axis=0))
    for k, mean in enumerate(np.concatenate(MEANS).ravel()):
        assert stats.binomtest(int(sums[k].sum()), int(visits[k].sum()), mean).pvalue > LEVEL


def test_noise_is_normal():
    visits, sums, *_ = walked(0.5)
    pairs, seeds = np.nonzero(visits)
    z = (sums[pairs, seeds] - np.concatenate(MEANS).ravel()[pairs]) / 0.5
    assert stats.kstest(z, "norm").pvalue > LEVEL
    steps = z.reshape(-1)[np.argsort(seeds, kind="stable")].reshape(SEEDS, 2)
    assert stats.pearsonr(*steps.T).pvalue > LEVEL  # one step says nothing of the next
