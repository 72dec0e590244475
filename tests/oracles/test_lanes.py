"""Eight numbers at a time: the same numbers, to the bit, as one at a time; and kernels that borrow what they read."""

import sys

import numpy as np
import pytest

import klearning as kl
from klearning.arrays.compiled import kernel
from klearning.arrays.elementary import exp_negative, log1p_unit
from klearning.arrays.lanes import LANES, choose, load, store
from klearning.arrays.types import Floats
from klearning.beliefs.belief import Belief, Prior
from klearning.models.sweeps import hard_sweep, policy_sweep
from klearning.trials.trial import Trial


@kernel
def one_by_one(x: Floats, y: Floats, out: Floats) -> None:
    for i in range(x.size):
        d = x[i] - y[i]
        e = exp_negative(-abs(d))
        e = e if abs(d) < 5.0 else 0.0
        out[i] = (x[i] if d > 0.0 else y[i]) + 0.5 * log1p_unit(e) / (1.0 + e)


@kernel(borrows=True)
def by_eight(x: Floats, y: Floats, out: Floats) -> None:
    for i in range(0, x.size, LANES):
        d = load(x, i) - load(y, i)
        e = choose(abs(d) < 5.0, exp_negative(-abs(d)), 0.0)
        store(out, i, choose(d > 0.0, load(x, i), load(y, i)) + 0.5 * log1p_unit(e) / (1.0 + e))


def test_lanes_are_the_same_numbers_to_the_bit():
    x, y = 8.0 * np.random.default_rng(0).standard_normal((2, 100 * LANES))
    y[:LANES] = x[:LANES]
    single, eight = np.zeros_like(x), np.zeros_like(x)
    one_by_one(x, y, single)
    by_eight(x, y, eight)
    assert np.array_equal(single, eight)


def test_a_kernel_that_borrows_returns_no_arrays():
    def same(x: Floats) -> Floats:
        return x

    with pytest.raises(TypeError, match="borrows arrays, and returns some"):
        kernel(borrows=True)(same)


def test_no_reference_is_lost_or_kept():
    """A buffer or a stream that is held once more after every episode is never freed; once less, it is freed in use."""
    trial = Trial(kl.KLearning().algorithm, kl.deep_sea(4), Prior(), 0, 30)
    posterior = trial.memory.posterior
    held = [trial.task.world_stream, trial.task.V, trial.task.episode.states, posterior.visits, trial.memory.policy]
    trial.advance(1)
    before = [sys.getrefcount(x) for x in held]
    for _ in range(5):
        trial.advance(4)
    assert [sys.getrefcount(x) for x in held] == before


def test_rows_without_successors_read_nothing_that_is_not_there():
    """V is as it came from memory until its layer is swept: what nobody wrote must not be read, not even times zero."""
    world = kl.deep_sea(6)
    p = Belief.before(Prior(), world).posterior()  # nothing seen: every row is empty
    Q, policy = np.full((2, 21), np.nan), np.full((2, 21), 0.5)
    assert np.isfinite(hard_sweep(p.model, p.model.reward, Q, np.full(21, np.nan)))
    assert np.isfinite(Q).all()
    assert np.isfinite(policy_sweep(p.model, p.model.reward, policy, np.full(21, np.nan), np.full(21, np.nan)))
