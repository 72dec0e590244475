"""`plan.proved`: if it is true draws of V* never average above the bound, and if it is false some bound is wrong.

V* is that of exact draws of the posterior, `Belief.sample` and `kl.optimal`; "5 standard errors" is one-sided, 3e-7 by
chance for each belief, were its bound tight.
"""

from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.optimism.bonuses import BONUSES
from tests.support.cases import REWARDS, TRANSITIONS, random_case

DRAWS = 200


def expected_optimum(belief):
    """E V* and its standard error."""
    values = [kl.optimal(belief.sample(np.random.SeedSequence([1, i]))).value for i in range(DRAWS)]
    return np.mean(values), np.std(values) / np.sqrt(DRAWS)


def is_expected(bonus, case):
    """What theory says of layers that are learned apart, with no span stated."""
    bounded, enough = isinstance(case.reward, kl.Beta), zip(case.half_variance("paper"), case.half_variance("reward"))
    return {
        "paper": bounded or (case.known and all((c >= least).all() for c, least in enough)),
        "sharp": bounded or case.known,
        "reward": case.known,
        "split": True,
        "visits": True,
    }[bonus]


@pytest.mark.thin(2)
@pytest.mark.parametrize("transitions", TRANSITIONS)
@pytest.mark.parametrize("reward", REWARDS)
def test_a_proved_bound_holds(reward, transitions):
    for seed in range(3):
        case = random_case(np.random.default_rng([seed, 5]), [2, 3, 2], 2, reward, transitions, most=6)
        if reward == "gaussian":
            case = replace(case, reward=kl.Gaussian(0.2, 0.8, 0.3))
        belief = case.belief()
        best, error = expected_optimum(belief)
        for bonus in BONUSES:
            for temperature in ("optimal", 0.7):
                plan = kl.solve(belief, temperature, bonus)
                assert plan.proved == is_expected(bonus, case)
                assert not plan.proved or plan.bound >= best - 5 * error


def test_the_printed_bonus_of_what_was_never_tried():
    """The default prior, one step, two actions: `paper` states 0.059 where E max of two N(0, 1) is 1/√π = 0.564."""
    belief = kl.Belief.empty(kl.Prior(), [1], 2, [1.0])
    plan = kl.solve(belief, bonus="paper")
    assert plan.bound == pytest.approx(0.059, abs=1e-3)
    assert plan.bound < 1 / np.sqrt(np.pi)
    assert not plan.proved
    for bonus in ("sharp", "reward", "split"):
        plan = kl.solve(belief, bonus=bonus)
        assert plan.proved
        assert plan.bound >= 1 / np.sqrt(np.pi)


def test_the_printed_bonus_with_known_transitions():
    """σ²/(n∨1) against s0²σ²/(σ² + n s0²): enough where sd ≤ noise, or where everything was tried."""
    rows = [np.full((1, 2, 2), 0.5)]

    def belief(sd, visits):
        prior = kl.Prior(kl.Gaussian(0.0, sd, 0.5), kl.Known(rows))
        n = [np.full((1, 2), visits), np.full((2, 2), visits)]
        return kl.Belief.from_counts(prior, n, [0 * x for x in n], [visits * rows[0]], [1.0])

    proved = {(sd, n): kl.solve(belief(sd, n), bonus="paper").proved for sd in (0.4, 0.5, 0.6) for n in (0.0, 1.0)}
    assert proved == {(sd, n): sd <= 0.5 or n == 1.0 for sd, n in proved}


def tied(seen, horizon=20):
    """Two states; the first pays 1 and leads to either, each seen so often; the second action is known to be bad."""
    prior = kl.Prior(kl.Gaussian(noise=0.0), kl.Dirichlet(0.3), stationary=True)
    r = np.array([[1.0, -1e4], [0.0, -1e4]])
    counts = np.zeros((2, 2, 2))
    counts[1, :, 1] = counts[0, 1, 1] = 1e4
    counts[0, 0] = seen
    n, later = counts.sum(axis=-1), horizon - 2
    visits, sums = [n, *[0 * n] * later, np.ones((2, 2))], [n * r, *[0 * n] * later, r]
    return kl.Belief.from_counts(prior, visits, sums, [counts, *[0 * counts] * later], [1.0, 0.0])


@pytest.mark.parametrize("bonus", [bonus for bonus in BONUSES if bonus != "visits"])
def test_nothing_is_proved_of_a_stationary_prior(bonus):
    """Every other bonus states 2.0 to 2.5, with a gap of nothing, where E V* is about 7.9."""
    belief = tied(0.0)
    plan = kl.solve(belief, bonus=bonus)
    best, error = expected_optimum(belief)
    assert plan.gap < 1e-6
    assert plan.bound < 2.6 < best - 5 * error
    assert not plan.proved


@pytest.mark.parametrize("bonus", [bonus for bonus in BONUSES if bonus != "paper"])
def test_one_step_is_the_same_with_any_prior(bonus):
    plans = [kl.solve(kl.Belief.empty(kl.Prior(stationary=s), [3], 2, [1.0, 0, 0]), bonus=bonus) for s in (True, False)]
    assert plans[0].bound == plans[1].bound
    assert [plan.proved for plan in plans] == [True, True]


def half_known(reward, span):
    """One state, never tried, that leads to one worth little, tried a hundred times, or to one never tried."""
    prior = kl.Prior(reward, kl.Dirichlet(1.0), span=span)
    low = reward.mean - 5 if isinstance(reward, kl.Gaussian) else 0.0
    visits, sums = [np.zeros((1, 2)), [[100.0, 100.0], [0.0, 0.0]]], [np.zeros((1, 2)), [[100 * low] * 2, [0.0] * 2]]
    return kl.Belief.from_counts(prior, visits, sums, [np.zeros((1, 2, 2))], [1.0])


@pytest.mark.parametrize("reward", [kl.Gaussian(0.0, 1.0, 0.3), kl.Beta(30.0, 2.0)])
def test_a_span_that_the_belief_does_not_bear_out_proves_nothing(reward):
    """With no values apart `split` states less than E V*. A span that is true of Beta rewards changes nothing."""
    belief = half_known(reward, 0.0)
    plan = kl.solve(belief, bonus="split")
    best, error = expected_optimum(belief)
    assert plan.bound < best - 5 * error
    assert not plan.proved
    assert not kl.solve(belief, bonus="sharp").proved
    assert kl.solve(half_known(reward, None), bonus="split").proved
    for bonus in ("split", "sharp"):
        assert kl.solve(half_known(reward, 1.0), bonus=bonus).proved == isinstance(reward, kl.Beta)


def test_an_end_that_pays_nothing_is_covered():
    for reward, bonuses in ((kl.Gaussian(0.3, 0.5, 0.2), ("split",)), (kl.Beta(2.0, 1.0), ("split", "sharp", "paper"))):
        belief = kl.Belief.empty(kl.Prior(reward), [3] * 3, 2, [0.0, 0.5, 0.5], end=0)
        belief = belief.update([1, 5, 6], [0, 1, 0], [1.0, 0.0, 0.0])
        best, error = expected_optimum(belief)
        for bonus in bonuses:
            plan = kl.solve(belief, bonus=bonus)
            assert plan.proved
            assert plan.bound >= best - 5 * error


@pytest.mark.parametrize("bonus", ["paper", "sharp", "reward"])
def test_the_cone_program_says_the_same(bonus):
    pytest.importorskip("cvxpy")
    for transitions in ("even", "known"):
        belief = random_case(np.random.default_rng(3), [2, 2], 2, "beta", transitions).belief()
        assert kl.solve_cone(belief, bonus).proved == kl.solve(belief, bonus=bonus).proved
