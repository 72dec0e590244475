"""`kl.compare`: numbers are those of the runs, pairs are pairs only where something is shared, words follow tests."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import klearning as kl
from klearning.lab.comparison import Sample, contest
from klearning.lab.comparison.samples import METRICS, pairing, random_value, samples_of
from klearning.numerics.statistics import (
    chance_below,
    holm,
    interquartile_interval,
    mean_difference,
    mean_interval,
    paired_difference,
    paired_sign_test,
)

SEA = kl.deep_sea(4)


def runs(agent, world=SEA, seeds=12, episodes=40, **settings):
    return kl.run(agent, world, episodes=episodes, seeds=seeds, **settings)


@pytest.fixture(scope="module")
def three():
    return {"K": runs(kl.KLearning()), "P": runs(kl.PSRL()), "R": runs(kl.Random())}


def samples(**numbers):
    return {name: np.asarray(x, float) for name, x in numbers.items()}


def normal(seed, shift=0.0, n=30):
    return shift + np.random.default_rng(seed).normal(size=n)


def test_numbers_are_those_of_the_statistics(three):
    c = kl.compare(three)
    ends = {name: own.regret[:, -1] for name, own in three.items()}
    by_name = {s.agent: s for s in c.standings}
    for name, x in ends.items():
        assert by_name[name].mean == mean_interval(x)
        assert by_name[name].iqm == interquartile_interval([x])
    first = c.pairs[0]
    assert (first.a, first.b) == ("K", "P")
    assert (first.difference, first.p_value) == mean_difference([ends["K"]], [ends["P"]])
    assert first.improvement == chance_below([ends["K"]], [ends["P"]]).probability
    assert [p.adjusted for p in c.pairs] == pytest.approx(holm(np.array([p.p_value for p in c.pairs])))
    assert [s.agent for s in c.standings][-1] == "R"


def test_returns_are_better_where_they_are_more(three):
    c = kl.compare(three, "return")
    assert c.standings[-1].agent == "R"
    pair = next(p for p in c.pairs if (p.a, p.b) == ("K", "R"))
    assert pair.difference.estimate > 0.0
    assert pair.improvement.estimate > 0.9
    assert pair.ahead == "K"
    assert "collects more than" in c.sentence or "do not tell" in c.sentence


def test_times_are_censored_not_dropped(three):
    """Random play solves hardly ever: its runs are longer than the cap, not missing."""
    c = kl.compare(three, "solved")
    times = {name: own.solved for name, own in three.items()}
    assert np.isnan(times["R"]).any()
    pair = next(p for p in c.pairs if (p.a, p.b) == ("K", "R"))
    assert pair.improvement.estimate == chance_below([times["K"]], [times["R"]]).probability.estimate
    assert np.isnan(pair.difference.estimate)
    row = next(s for s in c.standings if s.agent == "R")
    assert row.solved.estimate == np.isfinite(times["R"]).mean()
    assert np.isnan(row.mean.estimate)


# What is shared


def test_agents_of_two_classes_share_nothing_by_their_seeds(three):
    assert {pair.test for pair in kl.compare(three).pairs} == {"Welch’s t, permuted"}


def test_variants_of_one_class_meet_the_same_chances():
    """Streams are named by seed, world and class: two tolerances hardly differ, run by run."""
    a, b, c = runs(kl.KLearning()), runs(kl.KLearning(tolerance=1e-5)), runs(kl.KLearning(), seeds=range(3, 15))
    assert np.corrcoef(a.regret[:, -1], b.regret[:, -1])[0, 1] > 0.99
    (pair,) = kl.compare({"a": a, "b": b}).pairs
    assert pair.test == "sign flips, paired by seed"
    assert (pair.difference, pair.p_value) == paired_difference(a.regret[:, -1], b.regret[:, -1])
    assert kl.compare({"a": a, "other seeds": c}).pairs[0].test == "Welch’s t, permuted"


def drawn(agent, seeds):
    worlds = [kl.random_mdp(states=3, actions=2, horizon=3, prior=kl.Prior(), seed=k) for k in seeds]
    return [kl.run(agent, world, episodes=20, seeds=[k]) for k, world in zip(seeds, worlds, strict=True)]


def test_worlds_that_are_drawn_alike_are_pairs():
    a, b = drawn(kl.KLearning(), range(11)), drawn(kl.PSRL(), range(11))
    (pair,) = kl.compare({"a": a, "b": b}).pairs
    assert pair.test == "sign flips, paired by world"
    x, y = (np.array([own.regret[0, -1] for own in each]) for each in (a, b))
    assert (pair.difference, pair.p_value) == paired_difference(x, y)
    (other,) = kl.compare({"a": a, "b": drawn(kl.PSRL(), range(1, 12))}).pairs
    assert other.test == "Welch’s t, permuted"


def test_pairs_of_times_have_a_sign_test():
    x, y = np.array([1.0, 2.0, np.nan, 4.0, 9.0]), np.array([3.0, 5.0, np.nan, np.nan, 8.0])
    samples = [Sample(name, {"w": v}, {"w": "world:1"}) for name, v in (("x", x), ("y", y))]
    (pair,) = contest(samples, "solved").pairs
    assert pair.test == "sign test, paired by world"
    assert pair.p_value == paired_sign_test(x, y)


def test_all_worlds_must_be_shared_for_pairs():
    a = Sample("a", {"u": np.zeros(3), "v": np.zeros(3)}, {"u": "seed:1", "v": "seed:1"})
    assert pairing(a, replace(a, name="b")) == "seed"
    assert pairing(a, replace(a, shares={"u": "seed:1", "v": "seed:2"})) == ""
    assert pairing(a, replace(a, shares={"u": "seed:1", "v": ""})) == ""


# Several worlds


def test_worlds_are_put_on_one_scale():
    """0 is the optimum throughout, 1 what random play loses, in every world."""
    river, agents = kl.river_swim(horizon=6), {"best": kl.OptimalAgent(), "random": kl.Random()}
    results = {name: {"sea": runs(agent), "river": runs(agent, river)} for name, agent in agents.items()}
    c = kl.compare(results)
    assert [s.agent for s in c.standings] == ["best", "random"]
    assert [s.mean.estimate for s in c.standings] == pytest.approx([0.0, 1.0])
    assert [s.gap.estimate for s in c.standings] == pytest.approx([0.0, 1.0])
    assert c.pairs[0].adjusted < 0.001
    best = next(s for s in kl.compare(results, "return").standings if s.agent == "best")
    assert best.mean.estimate == pytest.approx(1.0, abs=0.05)  # what was collected, noise and all
    assert best.gap.estimate >= 0.0
    assert len(c.frame("runs")) == 48


def test_random_play_by_hand():
    uniform = [np.full((n, SEA.actions), 1 / SEA.actions) for n in SEA.widths]
    assert random_value(SEA) == pytest.approx(kl.evaluate(SEA, uniform).value)


# Words, places, pictures


def test_places_are_what_tests_leave_open():
    c = kl.compare(samples(a=normal(0), b=normal(1), c=normal(2, 10.0)))
    places = {s.agent: (s.first, s.last) for s in c.standings}
    assert places == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    assert "do not tell" in c.sentence
    assert "loses less than c" in c.sentence


def test_against_one_agent_there_are_fewer_tests():
    numbers = samples(a=normal(0), b=normal(1), c=normal(2, 10.0), d=normal(3))
    c = kl.compare(numbers, against="b")
    assert len(c.pairs) == 3
    assert all("b" in (pair.a, pair.b) for pair in c.pairs)
    assert "b loses less than c" in c.sentence


def test_the_sentence_says_who_is_better_than_the_one_asked_about():
    c = kl.compare(samples(mine=normal(0, 5.0), theirs=normal(1)), against="mine")
    assert "theirs is better than mine (p < 0.001)" in c.sentence


def test_few_runs_are_said_to_be_few():
    c = kl.compare(samples(a=normal(0, n=5), b=normal(1, n=5)))
    assert "With fewer than 10 runs no interval" in c.sentence
    assert np.isnan(c.standings[0].mean.low)


@pytest.mark.slow
def test_claims_of_nothing():
    """Three agents of one law, 150 times: places are wrong in 5% at most. 3.5 sd above that: false alarms 3e-4."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(150):
        c = kl.compare(dict(zip("abc", rng.exponential(size=(3, 10)), strict=True)))
        wrong += any((s.first, s.last) != (1, 3) for s in c.standings)
    assert wrong / 150 <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 150)


def test_it_prints_as_tables_and_as_html(three):
    c = kl.compare(three)
    text = str(c)
    assert repr(c) == text
    for s in c.standings:
        assert s.agent in text
    assert c.sentence in text
    assert c._repr_html_().count("<table") == 2
    hostile = kl.compare(samples(**{"<script>": normal(0), "b": normal(1)}))
    assert "<script>" not in hostile._repr_html_()


def test_frames_have_a_line_per_agent_pair_and_run(three):
    pandas = pytest.importorskip("pandas")
    c = kl.compare(three)
    assert list(c.frame()["agent"]) == [s.agent for s in c.standings]
    assert c.frame()["mean.low"][0] == c.standings[0].mean.low
    assert list(c.frame("pairs")["adjusted"]) == [p.adjusted for p in c.pairs]
    regret = c.frame("runs").groupby("agent")["regret"].mean()
    assert isinstance(regret, pandas.Series)
    assert regret["K"] == pytest.approx(three["K"].regret[:, -1].mean())


@pytest.mark.parametrize("metric", METRICS)
def test_it_draws_itself(three, metric):
    figure = kl.compare(three, metric).plot()
    assert len(figure.axes) == 3


WRONG = {
    "one agent": ({"a": [1.0, 2.0]}, {}, "not two or more"),
    "no names": ([[1.0], [2.0]], {}, "not two or more"),
    "no numbers": ({"a": "many", "b": [1.0]}, {}, "one number per run"),
    "two dimensions": ({"a": np.zeros((2, 2)), "b": [1.0]}, {}, "one number per run"),
    "nan of regret": ({"a": [np.nan, 1.0], "b": [1.0]}, {}, "not finite"),
    "other worlds": ({"a": {"u": [1.0]}, "b": {"v": [1.0]}}, {}, "same worlds"),
    "no worlds": ({"a": {}, "b": {"v": [1.0]}}, {}, "no worlds"),
    "metric": ({"a": [1.0], "b": [1.0]}, {"metric": "regert"}, "did you mean 'regret'"),
    "against": ({"a": [1.0], "b": [1.0]}, {"against": "c"}, "against='c' is unknown"),
    "level": ({"a": [1.0], "b": [1.0]}, {"level": 95}, "level=95 is not a level"),
}


@pytest.mark.parametrize(("results", "settings", "message"), WRONG.values(), ids=WRONG)
def test_mistakes(results, settings, message):
    with pytest.raises(ValueError, match=message):
        kl.compare(results, **settings)


def test_mistakes_with_runs(three):
    with pytest.raises(ValueError, match="differ in length"):
        kl.compare({"a": three["K"], "b": runs(kl.PSRL(), episodes=41)})
    river = runs(kl.KLearning(), kl.river_swim(horizon=4))
    with pytest.raises(ValueError, match="no goal"):
        kl.compare({"a": river, "b": river}, "solved")
    flat = runs(kl.KLearning(), kl.bandit([0.5, 0.5]))
    with pytest.raises(ValueError, match="nothing to learn"):
        kl.compare({name: {"sea": three["K"], "flat": flat} for name in "ab"})
    with pytest.raises(ValueError, match="table='row' is unknown"):
        kl.compare(three).frame("row")


def test_what_is_not_runs_is_named():
    with pytest.raises(ValueError, match="'b' in"):
        samples_of({"a": [1.0], "b": SimpleNamespace()}, METRICS["regret"])
