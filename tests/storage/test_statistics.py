"""Intervals cover what they say, censored runs count, and tests reject as often as they may."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import klearning as kl
from klearning import statistics
from klearning.statistics import (
    FEWEST,
    MANY,
    binomial_half,
    fraction_interval,
    holm,
    kaplan_meier,
    mean_interval,
    median_interval,
    median_time,
    paired_difference,
    paired_sign_test,
)
from tests.support.cases import modest

SEEDS = 30  # where an interval is printed
NAN = np.nan


# Means


def test_mean_interval_by_hand():
    """The bootstrap-t: quantiles of (x̄* − x̄)/s*, turned about x̄ and scaled by s."""
    x = np.random.default_rng(3).exponential(size=SEEDS)
    draws = x[np.random.default_rng(5).integers(0, SEEDS, (statistics.RESAMPLES, SEEDS))]
    t = sorted((draw.mean() - x.mean()) / draw.std(ddof=1) for draw in draws)
    low, high = (
        x.mean() - np.interp(share * (len(t) - 1), np.arange(len(t)), t) * x.std(ddof=1) for share in (0.95, 0.05)
    )
    assert mean_interval(x, level=0.9, seed=5) == pytest.approx((x.mean(), low, high), rel=1e-12)


def test_mean_interval_is_students_where_there_is_no_skewness():
    """On normal quantiles; the share of each tail has a Monte Carlo error of 0.0025, the ends of 0.04 sd."""
    x = stats.norm.ppf((np.arange(SEEDS) + 0.5) / SEEDS)
    half = stats.t.ppf(0.975, SEEDS - 1) * x.std(ddof=1) / np.sqrt(SEEDS)
    estimate, low, high = mean_interval(x)
    assert estimate == pytest.approx(0.0, abs=1e-12)
    assert (low, high) == (pytest.approx(-half, rel=0.12), pytest.approx(half, rel=0.12))


def test_a_mean_of_very_many_is_taken_for_normal():
    """A bootstrap-t of 2,000 values and the normal interval of 2,001 agree within a twentieth of their width."""
    x = np.random.default_rng(3).exponential(size=MANY + 1)
    boot, normal = mean_interval(x[:-1]), mean_interval(x)
    width = normal.high - normal.low
    np.testing.assert_allclose(normal, boot, atol=0.05 * width)
    assert width == pytest.approx(2 * 1.959964 * x.std(ddof=1) / np.sqrt(len(x)), rel=1e-6)


@pytest.mark.parametrize("others", [1, 2, 4, 9])
def test_no_interval_where_most_values_are_equal(others):
    """30 regrets, nearly all the same: a bootstrap-t said −120 to 130 of a mean of 12."""
    x = np.full(30, 10.0)
    x[:others] += np.arange(1.0, others + 1.0)
    mean, low, high = mean_interval(x)
    assert mean == pytest.approx(x.mean())
    assert np.isnan([low, high]).all()


def test_an_interval_where_ten_of_thirty_differ_is_about_as_wide_as_students():
    x = np.full(30, 10.0)
    x[:10] += np.linspace(1.0, 3.0, 10)
    mean, low, high = mean_interval(x)
    student = 2.045 * x.std(ddof=1) / np.sqrt(30)
    assert 0.5 * student < mean - low < 2.0 * student
    assert 0.5 * student < high - mean < 2.0 * student


def test_mean_interval_leans_to_the_long_tail_and_turns_with_the_data():
    x = np.random.default_rng(0).exponential(size=SEEDS)
    estimate, low, high = mean_interval(x)
    assert low < estimate < high
    assert high - estimate > 1.2 * (estimate - low)
    assert mean_interval(-x) == pytest.approx((-estimate, -high, -low), rel=1e-9)
    assert mean_interval(3.0 * x + 7.0) == pytest.approx((3 * estimate + 7, 3 * low + 7, 3 * high + 7), rel=1e-9)


def test_intervals_are_wider_where_more_is_asked_and_the_same_when_asked_again():
    x = np.random.default_rng(0).gamma(4.0, size=SEEDS)
    widths = [high - low for _, low, high in (mean_interval(x, level) for level in (0.5, 0.8, 0.95, 0.99))]
    assert widths == sorted(widths)
    assert mean_interval(x) == mean_interval(x)
    assert mean_interval(x, seed=1) != mean_interval(x)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -7.7e9, 1e-300])
@pytest.mark.parametrize("n", [FEWEST, SEEDS, 37])
def test_constant_data(value, n):
    assert mean_interval(np.full(n, value)) == pytest.approx((value, value, value), rel=1e-12)
    assert median_interval(np.full(n, value)) == (value, value, value)
    difference, p_value = paired_difference(np.full(n, value), np.full(n, value))
    assert difference == (0.0, 0.0, 0.0)
    assert p_value == 1.0


def test_too_few_seeds_have_no_interval():
    for n in range(1, FEWEST):
        x = np.arange(1.0, n + 1)
        for estimate, low, high in (mean_interval(x), median_interval(x), paired_difference(x, 0 * x).difference):
            assert estimate == (n + 1) / 2
            assert np.isnan([low, high]).all()
    enough = np.arange(1.0, FEWEST + 1)
    assert np.isfinite([mean_interval(enough), median_interval(enough)]).all()


def test_a_mean_of_what_is_not_known_is_not_known():
    assert np.isnan(mean_interval(np.array([*np.arange(29.0), NAN]))).all()


@pytest.fixture(scope="module")
def learnt():
    """What intervals are printed of: first hits and final regrets of K-learning, 400 seeds."""
    runs = kl.run(kl.KLearning(), kl.deep_sea(6), episodes=100, seeds=400)
    assert np.isfinite(runs.first_hit).all()
    return {"first hits": runs.first_hit, "regrets": runs.regret[:, -1]}


LAWS = {
    "normal": (lambda rng: rng.normal(size=SEEDS), 0.0),
    "exponential": (lambda rng: rng.exponential(size=SEEDS), 1.0),
    "gamma(4)": (lambda rng: rng.gamma(4.0, size=SEEDS), 4.0),
    "lognormal(0.5)": (lambda rng: rng.lognormal(0.0, 0.5, SEEDS), np.exp(0.125)),
    "first hits": None,
    "regrets": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_mean_intervals_cover(law, learnt, monkeypatch):
    """6000 times 30 seeds: the share covered has a Monte Carlo error (one sd) of 0.003.

    Of 20,000 the shares were 0.946 (normal), 0.947, 0.948, 0.940 (lognormal), 0.949 and 0.947: false alarms 1e-3 for
    the lognormal, below 1e-6 for each of the others. A quarter of the resamples makes the ends noisier, and covers no
    more.
    """
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)
    rng, repetitions = np.random.default_rng(7), 6000
    draw, mean = LAWS[law] or (lambda rng: rng.choice(learnt[law], SEEDS), learnt[law].mean())
    covered = 0
    for _ in range(repetitions):
        _, low, high = mean_interval(draw(rng))
        covered += low <= mean <= high
    assert 0.93 <= covered / repetitions <= 0.97


# Medians and censored times


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_median_intervals_cover_at_least_their_level(level):
    """Exactly, by the number of data below the median, for any continuous law; and no narrower one would do."""
    for n in range(FEWEST, 80):
        _, low, high = median_interval(np.random.default_rng(n).permutation(np.arange(1.0, n + 1)), level)
        below = stats.binom(n, 0.5)
        if not np.isfinite(high):  # too few data for this level
            assert below.cdf(n - 1) - below.cdf(0) < level
            continue
        assert below.cdf(high - 1) - below.cdf(low - 1) >= level - 1e-12
        assert low == n + 1 - high
        assert below.cdf(high - 2) - below.cdf(low) < level


def test_median_intervals_cover_where_there_are_ties_and_censoring():
    """Geometric times, median 7, watched for 12: at least 95% of 4000 but for 3.7 sd, false alarms 1e-4."""
    rng = np.random.default_rng(0)
    times = rng.geometric(1 - 0.5 ** (1 / 6.5), (4000, SEEDS)).astype(float)
    watched = np.where(times > 12, NAN, times)
    intervals = [median_interval(row) for row in watched]
    covered = sum(low <= 7 <= high for _, low, high in intervals)
    assert covered / 4000 >= 0.95 - 3.7 * np.sqrt(0.95 * 0.05 / 4000)
    assert any(np.isnan(row).any() for row in watched)


def test_median_time_counts_the_unsolved():
    assert median_time(np.array([3.0, 1.0, 2.0])) == 2.0
    assert median_time(np.array([3.0, 1.0, NAN])) == 3.0
    assert median_time(np.array([3.0, 1.0, 2.0, NAN])) == 2.5
    assert np.isnan(median_time(np.array([3.0, 1.0, NAN, NAN])))
    assert np.isnan(median_time(np.array([NAN])))


def test_median_interval_of_censored_times():
    """30 runs: order statistics 10 and 21."""
    times = np.arange(1.0, 31.0)
    assert median_interval(times) == (15.5, 10.0, 21.0)
    times[:9] = NAN  # what is left of 10..30, and nine that took longer than any
    assert median_interval(times) == (24.5, 19.0, 30.0)
    times[:10] = NAN
    assert median_interval(times) == (25.5, 20.0, np.inf)
    times[:16] = NAN
    assert median_interval(times) == (pytest.approx(NAN, nan_ok=True), 26.0, np.inf)
    times[:] = NAN
    assert median_interval(times) == (pytest.approx(NAN, nan_ok=True), np.inf, np.inf)


def test_kaplan_meier_by_hand():
    times = np.array([3.0, NAN, 5.0, 5.0, NAN, 9.0])
    caps = np.array([10.0, 4.0, 10.0, 10.0, 7.0, 10.0])
    solved, share = kaplan_meier(times, caps)
    assert solved.tolist() == [3.0, 5.0, 9.0]  # at risk 6, 4 (one was watched for 4 only) and 1
    assert share == pytest.approx([5 / 6, 5 / 6 * 2 / 4, 0.0])


def test_kaplan_meier_with_one_cap_is_the_share_not_solved():
    times = np.array([4.0, NAN, 2.0, 4.0, NAN])
    solved, share = kaplan_meier(times, np.full(5, 10.0))
    assert solved.tolist() == [2.0, 4.0]
    assert share == pytest.approx([0.8, 0.4])


def test_kaplan_meier_where_nothing_was_solved():
    solved, share = kaplan_meier(np.full(4, NAN), np.full(4, 10.0))
    assert len(solved) == len(share) == 0


@modest
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=25))
def test_kaplan_meier_against_scipy(runs):
    """Ties between solving and the cap included: who is watched until t is at risk at t."""
    would, caps = np.array(runs, dtype=float).T
    times = np.where(would <= caps, would, NAN)
    ours = kaplan_meier(times, caps)
    seen = ~np.isnan(times)
    theirs = stats.ecdf(stats.CensoredData(uncensored=times[seen], right=caps[~seen])).sf
    assert ours.share == pytest.approx(theirs.evaluate(ours.times), abs=1e-12)
    assert set(ours.times) == set(times[seen])


# Shares


@modest
@given(st.integers(1, 200), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_fraction_interval_is_wilsons(trials, share, level):
    successes = round(share * trials)
    theirs = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    ours = fraction_interval(successes, trials, level)
    assert ours == pytest.approx((successes / trials, theirs.low, theirs.high), abs=1e-9)


def test_fraction_interval_stays_within_none_and_all():
    for trials in range(1, 100):
        assert 0.0 <= fraction_interval(0, trials).low < 1e-12
        assert 1.0 - 1e-12 < fraction_interval(trials, trials).high <= 1.0


@pytest.mark.parametrize("n", [1, 2, 9, 30, 400])
def test_binomial_half(n):
    assert binomial_half(n) == pytest.approx(stats.binom.pmf(np.arange(n + 1), n, 0.5), rel=1e-10)


# Comparisons


def test_sign_flips_by_hand():
    """Of the eight sign patterns of (1, 2, 4), two reach a mean of 7/3 and four one of at least 5/3.

    A share of 4000 has a Monte Carlo error of 0.007: 5 sd, false alarms below 1e-6.
    """
    zero = np.zeros(3)
    assert paired_difference(np.array([1.0, 2.0, 4.0]), zero).p_value == pytest.approx(2 / 8, abs=0.035)
    assert paired_difference(np.array([-1.0, 2.0, 4.0]), zero).p_value == pytest.approx(4 / 8, abs=0.04)


def test_p_values_are_uniform_where_there_is_no_difference():
    """Laws equal and pairs dependent; Kolmogorov–Smirnov at 1e-4, which is the rate of false alarms."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(400):
        world = rng.exponential(size=20)
        a, b = world + rng.exponential(size=(2, 20))
        p_values.append(paired_difference(a, b).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-4


def test_a_shift_is_seen_through_what_pairs_share():
    """Worlds differ a hundred times as much as the agents: unpaired, nothing would be seen."""
    rng = np.random.default_rng(0)
    world = 100.0 * rng.normal(size=SEEDS)
    a, b = world + rng.normal(size=(2, SEEDS))
    (estimate, low, high), p_value = paired_difference(a + 2.0, b)
    assert p_value < 0.001
    assert 0.0 < low < 2.0 < high
    assert estimate == pytest.approx((a + 2.0 - b).mean())
    back = paired_difference(b, a + 2.0)
    assert back.difference == pytest.approx((-estimate, -high, -low))
    assert back.p_value == p_value
    assert stats.ttest_ind(a + 2.0, b).pvalue > 0.5


def test_no_p_value_is_zero():
    assert paired_difference(np.arange(1.0, 31.0), np.zeros(SEEDS)).p_value == pytest.approx(1 / 4001)


def test_what_is_not_known_is_no_finding():
    """A nan, say of an unsolved run, must not make a difference significant."""
    a = np.random.default_rng(0).normal(size=SEEDS)
    b = a.copy()
    b[3] = NAN
    assert not paired_difference(a, b).p_value < 0.05


@modest
@given(st.lists(st.tuples(*2 * [st.sampled_from([1.0, 2.0, 3.0, 4.0, NAN])]), min_size=1, max_size=40))
def test_sign_test_against_scipy(pairs):
    """Unsolved is above all; equal pairs, both unsolved among them, say nothing."""
    a, b = np.array(pairs).T
    below = sum(x < y or (np.isnan(y) and not np.isnan(x)) for x, y in pairs)
    above = sum(x > y or (np.isnan(x) and not np.isnan(y)) for x, y in pairs)
    expected = stats.binomtest(below, below + above).pvalue if below + above else 1.0
    assert paired_sign_test(a, b) == pytest.approx(expected, rel=1e-9)
    assert paired_sign_test(b, a) == pytest.approx(expected, rel=1e-9)


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.4, 0.01])) == pytest.approx([0.9, 0.8, 0.03])
    assert holm(np.array([0.6, 0.6])) == pytest.approx([1.0, 1.0])
    assert holm(np.array([0.2])).tolist() == [0.2]
    assert holm(np.array([])).tolist() == []


@modest
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(0.001, 0.999))
def test_holm_claims_what_the_step_down_rule_claims(p_values, level):
    """Smallest first, p·(how many are left) against the level, until the first that is above it."""
    claimed, left = set(), len(p_values)
    for i in np.argsort(p_values, kind="stable"):
        if p_values[i] * left > level:
            break
        claimed.add(int(i))
        left -= 1
    assert set(np.flatnonzero(holm(np.array(p_values)) <= level)) == claimed
