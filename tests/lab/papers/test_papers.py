"""The paper's figures and claims: drawn from a store alone, and true or false as the numbers say."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from klearning.cli.reproduce import run_stages
from klearning.lab.experiments.results import runs_of
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.papers.odonoghue2021 import bayes_regret, figure2, heatmaps
from klearning.lab.papers.odonoghue2021.learning_times import learning_table
from klearning.lab.papers.odonoghue2021.protocols import GREEDY, K_OPTIMAL, K_SCHEDULE, PRINTED, SOFT, TEXT, THOMPSON
from klearning.lab.papers.paper import FigureSelection
from klearning.lab.papers.publish import publish
from klearning.lab.theory import regret_bound
from tests.support.papers import TINY, figure, fill, tiny_store


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    return tiny_store(tmp_path_factory)


@pytest.fixture(scope="module")
def published(filled, tmp_path_factory):
    """A folder of all that is written, and the claims."""
    folder = tmp_path_factory.mktemp("published")
    return folder, publish(TINY, filled, folder).claims


@pytest.mark.slow
def test_everything_is_drawn_from_the_store(published):
    folder, found = published
    pictures = sorted(path.name for path in folder.glob("*.png"))
    by_protocol = [f"figure{k}_{name}.png" for k in (2, 3, 4) for name in ("printed", "text")]
    assert pictures == sorted([*by_protocol, "figure1.png", "bayes_regret.png", "planning_cost.png", "watching.png"])
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert json.loads((folder / "claims.json").read_text()).keys() == found.keys()
    for claims in found.values():
        for claim in claims:
            assert claim.mark in (folder / "claims.md").read_text()


@pytest.mark.slow
def test_figures_are_the_same_bytes_twice(filled, published, tmp_path):
    publish(TINY, filled, tmp_path)
    names = {path.name for path in published[0].iterdir()}
    assert names == {path.name for path in tmp_path.iterdir()}
    for name in names:
        assert (published[0] / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_second_call_runs_nothing(filled):
    again = fill(filled, TINY)
    assert again.done == 0
    assert again.skipped == len({part.name for spec in TINY.specs() for part in spec.parts})


def test_a_figure_without_its_runs_says_which(tmp_path):
    with pytest.raises(KeyError, match="no run"):
        figure("figure3_text").read(Store(tmp_path))


@pytest.mark.slow
def test_seeds_come_in_stages(tmp_path, capsys, monkeypatch):
    """Seven seeds where an agent solves, five if it cannot; and what is drawn and checked is made of these."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    small = figure2.LearningTime(depths=(2, 12), seeds=7, cap=30, left_out=False)
    extent, store = FigureSelection((small,), "a test"), Store(tmp_path / "store")
    run_stages(extent, store)
    counts = {(label, d): len(t) for label, by_depth in small.read(store).items() for d, t in by_depth.items()}
    assert {n for (_, d), n in counts.items() if d == 12} == {5}
    assert {n for (_, d), n in counts.items() if d == 2} == {7}
    assert "running further seeds of agents that mostly succeed" in capsys.readouterr().err
    assert publish(extent, store, tmp_path).claims.keys() == {"figure2_text"}
    assert len(list(store.folders())) == sum(counts.values())
    with pytest.raises(KeyError, match="no run"):
        replace(small, seeds=8).read(store)


def times(**changes):
    """Times to solve at four depths, two seeds, in which every claim of Figure 2 holds."""
    never = np.full(2, np.nan)
    slow = {4: np.array([10.0, 10.0]), 6: np.array([100.0, 90.0]), 14: never, 20: never}
    found = {label: {d: np.array([500.0, 600.0]) * d for d in slow} for label in TEXT.contestants()}
    found |= {label: dict(slow) for label in TEXT.left_out()}
    found[GREEDY] = {4: np.array([8.0, 8.0]), 6: np.array([40.0, 40.0]), 14: never, 20: never}
    found[GREEDY][5] = np.array([16.0, 16.0])
    found[SOFT] = {4: np.array([8.0, 8.0]), 6: np.array([30.0, 30.0]), 14: np.array([9e3, 9e3]), 20: never}
    found[THOMPSON] = {d: np.array([11.0, 12.0]) * d for d in slow}
    found[K_OPTIMAL] = {d: np.array([9.0, 10.0]) * d for d in slow}
    found[K_SCHEDULE] = {d: np.array([90.0, 100.0]) * d for d in slow}
    return found | changes


def marks(found):
    return "".join(claim.mark for claim in figure2.claims(found, TEXT))


def test_claims_of_figure_2_hold_where_they_should():
    assert marks(times()) == "✓✓✓✓✓✓"


@pytest.mark.parametrize(
    ("label", "values", "expected"),
    [
        (GREEDY, {4: 8.0, 5: 16.0, 6: 40.0, 14: 8e3, 20: np.nan}, "✗✓✓✓✓✓"),
        (SOFT, {4: 8.0, 6: 30.0, 14: 9e3, 20: 9e4}, "✓✗✓✓✓✓"),
        ("RLSVI", {4: 1.0, 6: 1.0, 14: 1.0, 20: 1.0}, "✓✓✓✗✓✓"),
        (K_SCHEDULE, {4: 1.0, 6: 1e4, 14: 1e4, 20: 1e4}, "✓✓✓✓✗✓"),
        ("BOLT", {4: 1.0, 6: 1.0, 14: 1.0, 20: 900.0}, "✓✓✓✓✓✗"),
    ],
)
def test_each_claim_of_figure_2_can_fail(label, values, expected):
    assert marks(times(**{label: {d: np.full(2, v) for d, v in values.items()}})) == expected


def spread(median, seeds=30, width=0.1):
    """Times of many seeds, evenly about a median."""
    return median * np.linspace(1.0 - width, 1.0 + width, seeds)


def many(**changes):
    """`times` with thirty seeds, five if none of these five solved, in which every claim holds by its intervals."""
    found = {
        label: {d: np.full(5, np.nan) if np.isnan(t).all() else spread(t.mean()) for d, t in by_depth.items()}
        for label, by_depth in times().items()
    }
    return found | changes


def shares(label, **counts):
    """That agent's times, N of 30 solved at some depths."""
    unsolved = {int(d[1:]): np.where(np.arange(30) < n, 500.0, np.nan) for d, n in counts.items()}
    return {label: many()[label] | unsolved}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "✓✓✓✓✓✓"),
        (shares(GREEDY, L14=25), "✗✓✗✓✓✓"),  # and time grows too slowly
        (shares(GREEDY, L14=14), "?✓✓✓✓✓"),
        (shares(SOFT, L14=14), "✓??✓✓✓"),  # and too few depths for a rate
        ({"RLSVI": {d: spread(9.0 * d) for d in (4, 6, 14, 20)}}, "✓✓✓✗✓✓"),
        ({"RLSVI": {d: spread(11.5 * d) for d in (4, 6, 14, 20)}}, "✓✓✓?✓✓"),
        ({K_SCHEDULE: {4: spread(30.0), 6: spread(1e4), 14: spread(1e4), 20: spread(1e4)}}, "✓✓✓✓✗✓"),
        ({K_SCHEDULE: {4: np.sort(spread(37.9))[::-1], **{d: spread(1e4) for d in (6, 14, 20)}}}, "✓✓✓✓?✓"),
        (shares("BOLT", L20=29), "✓✓✓✓✓✗"),
        (shares("BOLT", L20=15), "✓✓✓✓✓?"),
    ],
)
def test_with_many_seeds_claims_hold_fail_or_stay_open_by_intervals(changes, expected):
    assert marks(many(**changes)) == expected


def test_dithering_that_grows_slowly_is_no_exponential():
    flat = {4: spread(50.0), 5: spread(52.0), 6: spread(55.0), 14: np.full(5, np.nan), 20: np.full(5, np.nan)}
    assert marks(many(**{GREEDY: flat}))[2] == "✗"
    wild = {d: np.geomspace(2.0, 3000.0, 30) * d for d in (4, 5, 6)} | {14: flat[14], 20: flat[20]}
    assert marks(many(**{GREEDY: wild}))[2] == "?"


def test_dithering_that_doubles_twice_per_layer_is_not_about_2_to_the_depth():
    steep = {d: spread(4.0**d) for d in (4, 5, 6)} | {14: np.full(5, np.nan), 20: np.full(5, np.nan)}
    assert marks(many(**{GREEDY: steep}))[2] == "✗"


def test_the_table_has_medians_intervals_and_who_was_stopped():
    assert learning_table(times(), 100_000) == ""
    partly = shares(SOFT, L14=20)
    lines = learning_table(many(**partly), 100_000).splitlines()
    rows = {line.split(" | ")[0].strip("| "): line for line in lines}
    assert "| > 100,000 / 0 of 5 |" in rows[GREEDY]
    assert "| 500 [500, ∞] / 20 of 30 |" in rows[SOFT]
    assert "| 38 [37, 39] |" in rows[K_OPTIMAL]


def test_the_caption_says_how_many_seeds_there_are():
    few, most = ({label: {d: by[d] for d in (4, 6, 14, 20)} for label, by in t.items()} for t in (times(), many()))
    assert "2 seeds, cap 100,000 episodes; open marks" in figure2.draw(few, TEXT, 100_000, "a test").get_supxlabel()
    assert "30 seeds, 5 or more if most fail" in figure2.draw(most, TEXT, 100_000, "a test").get_supxlabel()


def test_claims_that_cannot_be_told_are_open():
    shallow = {label: {4: np.array([5.0, 5.0])} for label in TEXT.contestants()}
    assert marks(shallow)[:2] == "??"


def test_evidence_is_words_where_there_are_no_numbers():
    """No share "at L=[]", no first hit at nan."""
    shallow = {label: {4: np.array([5.0, 5.0])} for label in TEXT.contestants()}
    assert figure2.claims(shallow, TEXT)[-1].numbers == "no depth above 14 was run"
    few = {label: {4: np.array([5.0, 5.0]), 20: np.array([5.0, 5.0])} for label in TEXT.contestants(left_out=False)}
    assert figure2.claims(few, TEXT)[-1].numbers == "they were not run"
    never = heatmaps.claims_k_learning(record(np.zeros(1000, bool)))[2]
    assert (never.holds, never.numbers) == (False, "not reached in 1000 episodes")


def record(hits, goal_visits=0.0, goal_value=9.0):
    depth = 4
    spec = make_spec(TEXT.world_data(depth), TEXT.k_learning(), TEXT.prior, episodes=1000, snapshots=(5, 300, 1000))
    values = np.zeros((3, 10))
    values[1, -1] = goal_value
    visits = np.zeros((3, 2, 10))
    visits[1, 1, -1] = goal_visits
    series = {"values": np.zeros(1000), "returns": np.zeros(1000), "hits": hits, "optimal_value": np.asarray(1.0)}
    return runs_of(spec, series | {"snapshot_values": values, "snapshot_visits": visits})


def test_claims_of_figure_3():
    hits = np.zeros(1000, bool)
    hits[310] = True
    hits[800:] = True
    assert [c.holds for c in heatmaps.claims_k_learning(record(hits))] == [True, False, True, True]  # 3 of 4 cells: 75%
    hits[10] = True
    early = heatmaps.claims_k_learning(record(hits, goal_visits=1.0))
    assert [c.holds for c in early] == [False, False, False, True]
    hits[900:920] = False
    assert not heatmaps.claims_k_learning(record(hits))[3].holds


def test_the_sizes_are_as_the_theorem_counts():
    """2 √((σ² + L²) S A T log A (1 + log(T/L))) by hand: L = 5, S = 25 over all layers, A = 2, one episode, T = 5."""
    by_hand = 2 * np.sqrt((0.25 + 25) * 25 * 2 * 5 * np.log(2) * (1 + np.log(1)))
    assert regret_bound(bayes_regret.SIZES, 1, bayes_regret.NOISE) == pytest.approx(by_hand)


def test_the_bound_can_be_crossed_on_paper():
    low = {label: np.ones((12, 50)) * np.arange(1, 51) for label in bayes_regret.contestants()}
    assert bayes_regret.claims(low)[0].holds
    high = low | {"K-learning, optimal, paper": low["Thompson sampling"] * 1e4}
    assert not bayes_regret.claims(high)[0].holds


def test_protocols_are_as_documented():
    assert TEXT.prior.reward.noise == TEXT.noise == TEXT.world(5).noise == 0.05
    assert PRINTED.prior.transitions.mass == PRINTED.noise == 1.0
    assert len(TEXT.contestants()) == 12
