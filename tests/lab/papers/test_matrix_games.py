"""The games of O'Donoghue, Lattimore and Osband (2021): claims are true or false as the numbers say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from klearning import games
from klearning.lab.experiments.spec import match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import summarise
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers import PAPERS
from klearning.lab.papers.odonoghue_lattimore_osband2021 import regret
from klearning.lab.papers.odonoghue_lattimore_osband2021.mixtures import Mixtures, Paths, draw
from klearning.lab.papers.odonoghue_lattimore_osband2021.regret import (
    ADVERSARIAL,
    GAMES,
    K_LEARNING,
    OPTIMISTIC,
    PLAYERS,
    RANDOM,
    ROCK,
    THOMPSON,
    THREAT,
    WORST,
    Growth,
    Regret,
)
from klearning.lab.papers.paper import FigureSelection
from klearning.lab.papers.publish import publish
from klearning.lab.report import build, films, paper_charts
from klearning.lab.report.charts import chart_data
from klearning.lab.report.labels import looks
from klearning.lab.report.mixtures import match_film, mixtures_of

SMALL = Regret(seeds=10, rounds=40)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("games") / "store")
    assert not sweep(SMALL.specs.values(), store).failed
    return store


def results_with(powers, last=lambda game, agent: 10.0):
    """Contests against the best response whose seeds grow by these powers, and end there."""
    spread = np.linspace(-0.01, 0.01, 10)
    return {
        (game, WORST, agent): Growth(
            np.array([1.0, 100.0]), np.tile([1.0, last(game, agent)], (10, 1)), powers.get((agent, game), 0.5) + spread
        )
        for game in GAMES
        for agent in PLAYERS
    }


def test_numbers_are_those_of_play(store):
    matches = games.play(games.KLearning(), games.rock_paper_scissors(), rounds=40, seeds=10)
    found = SMALL.read(store)[ROCK, WORST, K_LEARNING]
    assert np.array_equal(found.regret, matches.regret[:, found.points.astype(int) - 1])
    assert np.array_equal(found.power, matches.powers(), equal_nan=True)


def test_random_games_are_one_per_seed(store):
    found = SMALL.read(store)[RANDOM, WORST, K_LEARNING]
    third = games.play(games.KLearning(), games.random_game(5, 5, seed=2), rounds=40, seeds=[2])
    assert found.regret[2, -1] == third.regret[0, -1]
    assert np.array_equal(found.power[2], third.powers()[0], equal_nan=True)


def test_what_is_there_is_not_played_again(store):
    assert sweep(SMALL.specs.values(), store).done == 0


def test_sub_linear_growth():
    assert regret.sub_linear(results_with({})).holds
    for agent in (K_LEARNING, OPTIMISTIC):
        assert regret.sub_linear(results_with({(agent, RANDOM): 0.8})).holds is False
    assert regret.sub_linear(results_with({(K_LEARNING, ROCK): np.nan})).holds is None


def test_linear_growth():
    everywhere = {(THOMPSON, game): 1.0 for game in GAMES}
    assert regret.thompson_is_linear(results_with(everywhere)).holds
    assert regret.thompson_is_linear(results_with(everywhere | {(THOMPSON, ROCK): 0.85})).holds is False
    one = {(THOMPSON, THREAT): 1.0}
    assert regret.thompson_can_be_linear(results_with(one)).holds
    assert regret.thompson_can_be_linear(results_with({})).holds is False
    assert regret.thompson_can_be_linear(results_with(one | {(K_LEARNING, THREAT): 0.8})).holds is False


def test_the_adversarial_one_is_worse():
    assert regret.adversarial_is_worse(results_with({}, lambda game, who: 20.0 if who == ADVERSARIAL else 10.0)).holds
    only_ours = results_with({}, lambda game, who: {ADVERSARIAL: 20.0, OPTIMISTIC: 30.0}.get(who, 10.0))
    only_ucb = results_with({}, lambda game, who: {ADVERSARIAL: 20.0, K_LEARNING: 30.0}.get(who, 10.0))
    assert not regret.adversarial_is_worse(only_ours).holds
    assert not regret.adversarial_is_worse(only_ucb).holds


@pytest.mark.slow
def test_it_is_published_and_reported(store, tmp_path):
    shown = publish(FigureSelection((SMALL,), "a test"), store, tmp_path)
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert len(shown.claims["regret"]) == 4
    assert shown.tables["regret"].count("\n") == 2 + 48
    assert Regret().verdict(summarise(store)) is None  # of another size
    verdict = SMALL.verdict(summarise(store))
    assert verdict is not None
    assert "10 seeds, 40 rounds" in verdict.extent


def test_the_paper_is_known():
    assert [figure.name for figure in PAPERS["odonoghue_lattimore_osband2021"].figures] == ["mixtures", "regret"]


@pytest.mark.slow
def test_mixtures_are_watched(tmp_path):
    """The runs of the figure, but short: drawn, reported, and played in the page."""
    figure, store = Mixtures(), Store(tmp_path / "store")
    runs = {key: replace(spec, episodes=20, snapshots=spec.snapshots[:20]) for key, spec in figure.specs.items()}
    assert sweep(runs.values(), store).done == 40
    results = {who: Paths(store.arrays(runs[who, 0])["snapshot_policy"], np.ones(10)) for who in PLAYERS}
    assert results[K_LEARNING].mixtures.shape == (20, 3)
    assert draw(results, "a test") is not None
    reel = films.reel(summarise(store), "game", match_film)
    assert [film["label"] for film in reel.films] == ["K-learning", "Thompson", "UCB", "EXP3"]
    assert [stage["title"] for stage in reel.stages] == ["rock-paper-scissors, against a best response"]
    assert reel.stages[0]["moves"] == ["rock", "paper", "scissors"]
    first, arrays = reel.films[0], store.arrays(runs[K_LEARNING, 0])
    packed = mixtures_of(first)
    np.testing.assert_allclose(packed[:, 0], arrays["snapshot_policy"], atol=1e-5)
    np.testing.assert_allclose(packed[:, 1], arrays["snapshot_opponent"], atol=1e-5)
    np.testing.assert_allclose(packed[-1, 2], arrays["visits"].sum(axis=0) / 20, atol=1e-5)
    np.testing.assert_allclose(packed[-1, 3], arrays["visits"].sum(axis=1) / 20, atol=1e-5)
    assert first["regret"][-1] == pytest.approx(store.get(runs[K_LEARNING, 0]).regret[0, -1], rel=1e-5)
    page = build(summarise(store))
    assert "Watch them play" in page
    assert "mean cumulative regret" in page
    assert page == build(summarise(store))


def test_what_has_no_triangle_has_no_film(tmp_path):
    store = Store(tmp_path / "store")
    for name in ("idle_threat", "guarded_sea"):
        sweep([match_spec({"name": name}, games.UCB(), opponent="best_response", episodes=3, snapshots=[1, 3])], store)
    summary = summarise(store)
    assert films.reel(summary, "game", match_film).left_out == {films.TOO_LARGE: 2}
    assert films.reel(summary).left_out == {}
    page = build(summary)
    assert "Watch them play" not in page
    assert "idle threat, against a best response" in page


def test_curves_on_a_page_are_means_of_what_was_kept(store, monkeypatch):
    """Twelve charts, agents in the colours that they have elsewhere; the command says at which size they were run."""
    paper = SimpleNamespace(figures=(SMALL,), title="a title", name="a_paper")
    monkeypatch.setattr(paper_charts, "PAPERS", {"a_paper": paper})
    shown = paper_charts.exhibits(summarise(store))
    assert len(shown) == 12
    assert shown[0].title == "Games: rock-paper-scissors, against a best response"
    results = SMALL.read(store)
    drawn = chart_data(shown[0].plot)["series"]
    for series, agent in zip(drawn, PLAYERS, strict=True):
        assert series["label"] == agent
        np.testing.assert_allclose(series["y"], results[ROCK, WORST, agent].regret.mean(axis=0), rtol=1e-5, atol=1e-8)
        assert all(low <= y <= high for low, y, high in zip(series["low"], series["y"], series["high"], strict=True))
    colours = [series["colour"] for series in drawn]
    assert len(set(colours)) == 4
    assert looks(["KLearning", "PSRL"]) == [(colours[0], 0), (colours[2], 0)]
    flat = next(exhibit for exhibit in shown if "rock-paper-scissors, against the equilibrium" in exhibit.title)
    assert {y for series in chart_data(flat.plot)["series"] for y in series["y"]} == {0}  # rounding is not regret
    assert "klearning reproduce a_paper regret" in shown[0].more
