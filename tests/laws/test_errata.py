"""What the paper's text gets wrong, or leaves to a lucky draw; each with the numbers that show it."""

import math

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.trials.regret import first_hit, time_to_solve


def pigeonhole_sum(choices, weight):
    """Σ_t weight(n_t), n_t how often the arm of time t was chosen before."""
    return sum(weight(choices[:t].count(arm)) for t, arm in enumerate(choices))


def printed(n):
    return 1 / max(n, 1)


def mended(n):
    return 1 / (n + 1)


def test_the_pigeonhole_lemma_needs_one_more():
    """One arm, two pulls: 1 + 1 > 1 + log 2. With n + 1, or with 2 + log N, it holds."""
    assert pigeonhole_sum([0, 0], printed) == 2 > 1 + math.log(2)
    rng = np.random.default_rng(0)
    for arms in (1, 2, 5):
        for N in (1, 2, 3, 10, 300):
            choices = rng.integers(arms, size=N).tolist()
            assert pigeonhole_sum(choices, mended) <= arms * (1 + math.log(N))
            assert pigeonhole_sum(choices, printed) <= arms * (2 + math.log(N))


def test_the_printed_bonus_is_no_bound_where_the_prior_is_wider_than_the_noise():
    """s0 > σ at n = 0: the certainty equivalent μ + s0²/(2τ) is above K; with s0 ≤ σ it is not."""
    for sd, noise, holds in ((2.0, 0.5, False), (0.5, 2.0, True), (1.0, 1.0, True)):
        belief = kl.Belief.empty(kl.Prior(kl.Gaussian(0.0, sd, noise)), [1], 2, [1.0])
        K = kl.solve(belief, 1.0, "paper").k_values[0]
        assert (sd**2 / 2 <= K + 1e-12).all() == holds
        np.testing.assert_allclose(kl.solve(belief, 1.0, "sharp").k_values[0], sd**2 / 2)


def test_the_schedule_divides_by_log_a():
    """One action: log A = 0, and no temperature is needed."""
    belief = kl.Belief.empty(kl.Prior(), [1, 2], 1, [1.0])
    for bonus in ("paper", "sharp", "reward"):
        plan = kl.solve(belief, kl.schedule(1), bonus)
        assert plan.temperature == math.inf
        assert [pi.tolist() for pi in plan.policy] == [[[1.0]], [[1.0], [1.0]]]
        assert plan.bound == 0.0


def test_solved_is_met_by_one_lucky_hit():
    """A hit at t ≤ 10 is 10% of the episodes so far; the first hit, or a burn-in, tells luck from learning."""
    for t in (1, 10):
        hits = np.zeros((1, 1000), bool)
        hits[0, t - 1] = True
        assert time_to_solve(hits) == first_hit(hits) == t
        assert np.isnan(time_to_solve(hits, burn_in=50)).all()
    hits = np.zeros((2, 1000), bool)
    hits[0, 10] = True  # one hit at t = 11 is too few
    hits[1, 500:] = True  # from t = 501 on: 10% at t with t − 500 ≥ t / 10
    assert np.isnan(time_to_solve(hits)[0])
    assert time_to_solve(hits)[1] == time_to_solve(hits, burn_in=50)[1] == 556
    assert first_hit(hits).tolist() == [11.0, 501.0]
    assert np.isnan(first_hit(np.zeros((1, 5), bool))).all()


@pytest.mark.parametrize("depth", [1, 4, 9])
def test_deep_sea_has_fewer_cells_than_its_square(depth):
    assert kl.deep_sea(depth).states == depth * (depth + 1) // 2
