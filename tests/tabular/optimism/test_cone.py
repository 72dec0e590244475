"""The one-dimensional solve against the exponential cone program, stated to CVXPY's solvers.

f is flat at τ*: a solver that is right to 1e-8 in f is right to about 1e-4 in τ.
"""

import numpy as np
import pytest

import klearning as kl
from tests.support.cases import BONUSES, REWARDS, random_case

pytest.importorskip("cvxpy")

SMALL = [
    (widths, actions, reward, transitions)
    for widths, actions in (([1], 3), ([2, 3], 2), ([2, 3, 2], 3))
    for reward in REWARDS
    for transitions in ("even", "known")
]


def small_belief(widths, actions, reward, transitions):
    rng = np.random.default_rng([*widths, actions, len(reward), len(transitions)])
    return random_case(rng, widths, actions, reward, transitions, most=10).belief()


@pytest.mark.thin(3)
@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_clarabel_finds_the_same(shape, bonus):
    belief = small_belief(*shape)
    ours, theirs = kl.solve(belief, bonus=bonus), kl.solve_cone(belief, bonus, "CLARABEL")
    assert ours.bound <= theirs.bound + 1e-8 * (1 + abs(theirs.bound))
    assert ours.bound == pytest.approx(theirs.bound, rel=1e-6, abs=1e-6)
    assert ours.temperature == pytest.approx(theirs.temperature, rel=1e-4 if belief.horizon > 1 else 1e-3)
    for got, want in zip(ours.k_values + ours.policy, theirs.k_values + theirs.policy, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


@pytest.mark.thin(4)
@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_scs_finds_nothing_better(shape, bonus):
    belief = small_belief(*shape)
    ours, theirs = kl.solve(belief, bonus=bonus), kl.solve_cone(belief, bonus, "SCS")
    assert ours.bound <= theirs.bound + 1e-4
    assert ours.bound == pytest.approx(theirs.bound, abs=1e-4)
    assert ours.temperature == pytest.approx(theirs.temperature, rel=1e-2)


def test_the_cone_program_without_choice_or_uncertainty():
    alone = random_case(np.random.default_rng(0), [2, 2], 1).belief()
    assert kl.solve_cone(alone, "sharp").bound == kl.solve(alone, bonus="sharp").bound
    sure = kl.Belief.from_counts(kl.Prior(kl.Gaussian(noise=0.0)), [[[1.0, 1.0]]], [[[0.25, 0.75]]], [], [1.0])
    assert kl.solve_cone(sure, "reward").bound == pytest.approx(0.75, abs=1e-6)
