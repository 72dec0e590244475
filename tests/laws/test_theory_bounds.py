"""The pigeonhole lemma, the theorem's bound and the arithmetic between them."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klearning as kl
from klearning.lab import theory
from klearning.lab.theory import regret_bound
from tests.support.cases import modest


def greedy_for_the_sum(counts):
    """The worst process: an arm that was pulled least."""
    least = min(counts)
    ties = [n == least for n in counts]
    return [tie / sum(ties) for tie in ties]


def random_chances(seed):
    """Chances that depend on the counts, each time the same."""
    return lambda counts: np.random.default_rng([seed, *counts]).dirichlet(np.ones(len(counts)))


@modest
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 8))
def test_the_pigeonhole_lemma_mended(seed, arms, pulls):
    """l-pigeonhole, enumerated: true with n + 1 and with 2 + log N, for chances that depend on the counts."""
    for chances in (random_chances(seed), greedy_for_the_sum):
        assert theory.pigeonhole(chances, arms, pulls, "visits+1").holds(tolerance=1e-12)
        assert theory.pigeonhole(chances, arms, pulls, "2+log N").holds(tolerance=1e-12)


@modest
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 5), st.sampled_from(["printed", "visits+1"]))
def test_the_enumeration_of_counts_is_that_of_paths(seed, arms, pulls, form):
    chances, total = random_chances(seed), 0.0
    for path in product(range(arms), repeat=pulls):
        chance, rows, counts = 1.0, [], [0] * arms
        for choice in path:
            rows.append(chances(tuple(counts)))
            chance *= rows[-1][choice]
            counts[choice] += 1
        total += chance * theory.pigeonhole_on_a_path(rows, path, form).lower
    assert theory.pigeonhole(chances, arms, pulls, form).lower == pytest.approx(total)


@pytest.mark.parametrize("arms", [1, 2, 3])
def test_long_runs_of_the_worst_process(arms):
    """Round robin, or one arm alone. As printed it is false for one arm at every N ≥ 2, by γ = 0.577 in the end."""
    for pulls in (1, 10, 200):
        for chances in (greedy_for_the_sum, lambda counts: np.eye(len(counts))[0]):
            for form in ("visits+1", "2+log N"):
                assert theory.pigeonhole(chances, arms, pulls, form).holds(tolerance=1e-12)
    if arms == 1:
        excess = [-theory.pigeonhole(greedy_for_the_sum, 1, N).slack[0] for N in range(2, 100)]
        assert 0.3 < min(excess) <= max(excess) < np.euler_gamma < max(excess) + 0.01


def test_the_arithmetic_of_the_theorem():
    """With the mended lemma the printed constant is reached from N = 4 on; the slack grows with every episode."""
    slack = [float(theory.theorem_arithmetic(N).slack[0]) for N in range(1, 400)]
    assert [x > 0 for x in slack[:5]] == [False, False, False, True, True]
    steps = np.diff(slack)
    N = np.arange(1.0, len(slack))
    assert (steps >= 0).all()
    assert (steps >= 1 / (2 * np.sqrt(N + 1) * (1 + np.log(N + 1)) ** 1.5) - 1e-12).all()
    assert theory.theorem_arithmetic(10**6).holds()


@pytest.mark.parametrize("episodes", [1, 2, 3])
def test_before_that_regret_is_below_the_bound_anyhow(episodes):
    """Mean rewards in [0, 1]: N episodes lose at most N·L, which is below the bound for every A ≥ 2 and S ≥ L."""
    for L in (1, 2, 5, 50):
        assert episodes * L <= regret_bound((L, L, 2), episodes, noise=0.0)


def test_the_bound_by_hand():
    world = kl.deep_sea(4, noise=0.5)  # L = 4, S = 10, A = 2
    want = 2 * math.sqrt((0.25 + 16) * 10 * 2 * 28 * math.log(2) * (1 + math.log(7)))
    assert regret_bound(world, 7) == pytest.approx(want)
    assert regret_bound((4, 10, 2), 7, 0.5) == pytest.approx(want)
    assert regret_bound(world, 7, noise=1.0) > want
    several = regret_bound(world, np.array([7.0, 14.0]))
    assert several.shape == (2,)
    assert several[0] == pytest.approx(want)
    coins = kl.bandit([0.1, 0.9], noise="bernoulli")
    assert regret_bound(coins, 1) == pytest.approx(2 * math.sqrt(1.25 * 2 * math.log(2)))
    assert regret_bound(kl.bandit([0.5]), 9) == 0.0
    assert theory.bounds.lower_bound(world, 7) == pytest.approx(math.sqrt(4 * 10 * 2 * 28))
    belief = kl.Belief.empty(kl.Prior(), [1, 2], 2, [1.0])
    assert regret_bound(belief, 5, 0.3) == regret_bound((2, 3, 2), 5, 0.3)


def test_the_bounds_are_a_factor_of_root_l_apart_up_to_logarithms():
    for L in (1, 4, 16):
        ratio = regret_bound((L, 3 * L, 2), 50, 0.0) / theory.bounds.lower_bound((L, 3 * L, 2), 50)
        assert ratio == pytest.approx(2 * math.sqrt(L * math.log(2) * (1 + math.log(50))))


def test_errors_name_the_fix():
    for wrong, message in (((2, 1, 2), "over all layers"), ((2, 3), "horizon, states, actions"), ("x", "give an MDP")):
        with pytest.raises(ValueError, match=message):
            regret_bound(wrong, 1, 0.1)
    with pytest.raises(ValueError, match="noise"):
        regret_bound((1, 1, 2), 1)
    with pytest.raises(ValueError, match="at least 1"):
        regret_bound((1, 1, 2), [3, 0], 0.1)
    with pytest.raises(ValueError, match="form"):
        theory.pigeonhole(greedy_for_the_sum, 1, 1, "visits")


def test_what_the_assumption_asks_for():
    coins = kl.Prior(kl.Beta())
    assert theory.breaks_assumption(coins) == []
    assert theory.breaks_assumption(coins, kl.river_swim()) == []
    assert len(theory.breaks_assumption(coins, kl.deep_sea(4))) == 1
    assert len(theory.breaks_assumption(kl.Prior(kl.Gaussian(0, 1, 2)))) == 1
    assert len(theory.breaks_assumption(kl.Prior(), kl.deep_sea(4))) == 3
