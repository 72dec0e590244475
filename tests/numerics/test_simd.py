"""Eight numbers at a time: the same numbers, to the bit, as one at a time; and kernels that borrow what they read."""

import sys

import numpy as np
import pytest

import klearning as kl
from klearning.numerics.compile.kernels import kernel
from klearning.numerics.elementary import exp_negative, log1p_unit, log_near_one
from klearning.numerics.simd.operations import (
    LANES,
    all_true,
    any_true,
    as_floats,
    broadcast,
    choose,
    gather,
    is_contiguous,
    load,
    rounded,
    store,
    truncated,
)
from klearning.numerics.sparse.rows import Rows
from klearning.numerics.types import Floats, Ints
from klearning.tabular.beliefs.belief import Belief, Prior
from klearning.tabular.models.soft import soft_arrays, soft_sweep
from klearning.tabular.models.sweeps import hard_sweep, policy_sweep
from klearning.tabular.trials.trial import Trial


@kernel
def one_by_one(x: Floats, y: Floats, out: Floats) -> None:
    for i in range(x.size):
        d = x[i] - y[i]
        e = exp_negative(-abs(d))
        e = e if abs(d) < 5.0 else 0.0
        out[i] = (x[i] if d > 0.0 else y[i]) + 0.5 * log1p_unit(e) / (1.0 + e)


@kernel
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


@kernel
def whole_parts(x: Floats, n: int, out: Floats, bits: Ints) -> None:
    for i in range(0, x.size, LANES):
        total, whole = broadcast(0.5), truncated(load(x, i))
        total += as_floats(whole)
        store(out, i, total)
        store(bits, i, ((whole >> 1) & 6) | broadcast(n))


def test_numbers_without_what_follows_the_point():
    x = np.append(np.random.default_rng(0).uniform(-50.0, 50.0, 3 * LANES - 3), [0.999, -0.999, 7.0])
    out, bits = np.zeros(x.size), np.zeros(x.size, np.int64)
    whole_parts(x, 8, out, bits)
    assert out.tolist() == (0.5 + np.trunc(x)).tolist()
    assert bits.tolist() == [((int(number) >> 1) & 6) | 8 for number in x]


@kernel
def some_above(x: Floats, least: float) -> int:
    count = 0
    for i in range(0, x.size, LANES):
        count += any_true(load(x, i) > least)
    return count


def test_any_of_eight():
    x = np.zeros(4 * LANES)
    x[[3, 3 * LANES, 4 * LANES - 1]] = 1.0, 2.0, 3.0
    assert [some_above(x, least) for least in (-1.0, 0.5, 2.5, 3.0)] == [4, 2, 1, 0]


@kernel
def logs_by_eight(beyond: Floats, out: Floats) -> None:
    for i in range(0, beyond.size, LANES):
        s = load(beyond, i)
        store(out, i, log_near_one(1.0 + s, s))


def test_logs_in_lanes():
    """To the last bit or two: products may be fused with sums in another place."""
    beyond = np.concatenate([np.linspace(-0.99, 5.0, 8 * LANES), np.logspace(-20, 200, 8 * LANES)])
    out = np.zeros(beyond.size)
    logs_by_eight(beyond, out)
    np.testing.assert_allclose(out, np.log1p(beyond), rtol=1e-15)


@kernel
def places_of_eight(x: Floats, n: Ints, at: Ints, out: Floats) -> int:
    """x where n says, or if none of the eight is above 3 and they are not in a row; how often each was so."""
    few = ordered = 0
    for i in range(0, n.size, LANES):
        lengths, places = load(n, i), load(at, i)
        few += all_true(lengths < 4)
        ordered += is_contiguous(places)
        store(out, i, choose(lengths > 1, gather(x, choose(lengths > 1, places + 1, 0)), -1.0))
    return 100 * few + ordered


def test_integers_in_lanes():
    rng = np.random.default_rng(0)
    n, at, x, out = rng.integers(-2, 7, 40), rng.integers(0, 98, 40), rng.random(100), np.zeros(40)
    n[:LANES], at[LANES : 3 * LANES] = 3, np.arange(40, 40 + 2 * LANES)
    at[2 * LANES - 1] += 1
    assert places_of_eight(x, n, at, out) == 100 * (n.reshape(-1, LANES) < 4).all(1).sum() + 1
    np.testing.assert_array_equal(out, np.where(n > 1, x[at + 1], -1.0))


@kernel
def sum_of_products(x: float, y: float, z: float) -> float:
    return rounded(x * y) + z


def test_a_rounded_product_is_not_fused():
    x = 1.0 + 2.0**-30
    assert sum_of_products(x, x, -x * x) == 0.0  # fused, what rounding took: 2⁻⁶⁰


def shuffled(rows: Rows, rng: np.random.Generator, several: bool) -> Rows:
    """The same rows elsewhere in a pool; ``several``: with a second successor, of no weight, if there is one."""
    start = 3 * rng.permutation(rows.start.size).reshape(rows.start.shape)
    succ, weight = np.zeros(3 * start.size, np.int64), np.zeros(3 * start.size)
    for e in range(2):
        succ[start + e] = rows.succ[rows.start]
    weight[start] = rows.weight[rows.start]
    length = rows.length * 2 if several else rows.length
    return Rows(start, length, np.full_like(start, 3), succ, weight, succ.size)


@pytest.mark.parametrize("depth", [7, 8, 21])
def test_sweeps_are_the_same_to_the_bit_however_rows_lie(depth):
    """Eight rows at a time if each has one successor or none, read in order or gathered; else row by row."""
    trial = Trial(kl.KLearning().algorithm, kl.deep_sea(depth, mapping_seed=1), Prior(), 0, 30)
    trial.advance(30)
    p, c, rng = trial.memory.posterior, trial.memory.c, np.random.default_rng(0)
    assert p.model.rows.length.max() == 1
    answers = set()
    for rows in (p.model.rows, shuffled(p.model.rows, rng, several=False), shuffled(p.model.rows, rng, several=True)):
        model, W = p.model._replace(rows=rows), soft_arrays(p.model.layers, 2)
        V, U, Q, room = np.zeros(c.shape[1]), np.zeros(c.shape[1]), np.zeros_like(c), np.zeros(depth)
        numbers = *soft_sweep(model, c, 0.3, W), hard_sweep(model, model.reward, Q, V)
        value = policy_sweep(model, model.reward, trial.memory.policy, U, room)
        answers.add((*numbers, value, *(x.tobytes() for x in (Q, V, U))))
    assert len(answers) == 1


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
