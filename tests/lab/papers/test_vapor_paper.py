"""VAPOR's paper, Tarbouriech, Lattimore and O'Donoghue (2023): claims are true or false as the numbers say."""

from dataclasses import replace

import numpy as np
import pytest

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import summarise
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers import PAPERS
from klearning.lab.papers.paper import FigureSelection
from klearning.lab.papers.publish import publish
from klearning.lab.papers.tarbouriech2023 import learning
from klearning.lab.papers.tarbouriech2023.learning import CALIBRATED, K_LEARNING, THOMPSON, VARIATIONAL, Learning

SMALL = Learning(depths=(3, 4, 5), seeds=10, worlds=20, episodes=40)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("vapor") / "store")
    assert not sweep(SMALL.specs.values(), store).failed
    return store


@pytest.fixture(scope="module")
def results(store):
    return SMALL.read(store)


def with_worlds(results, **changes):
    runs = results.worlds[VARIATIONAL]
    return results._replace(worlds={**results.worlds, VARIATIONAL: replace(runs, **changes)})


def with_sea(results, depth, solved):
    by = results.seas[depth]
    sea = {**by, VARIATIONAL: replace(by[VARIATIONAL], solved=np.full(10, solved))}
    return results._replace(seas={**results.seas, depth: sea})


def test_the_bound_holds_at_a_small_size(results):
    """Seeds are fixed: nothing here is left to chance."""
    assert learning.optimism(results).holds
    assert learning.promise(results).holds


def test_claims_fail_where_they_should(results):
    runs = results.worlds[VARIATIONAL]
    said = runs.diagnostics
    low, less = ({"bound": said["bound"] - 5.0}, {"cumulative_bound": runs.cumulative_bound - 500.0})
    assert not learning.optimism(with_worlds(results, diagnostics=said | low)).holds
    assert not learning.promise(with_worlds(results, diagnostics=said | less)).holds
    assert not learning.regrets(with_worlds(results, regret=100.0 * runs.regret)).holds
    assert learning.regrets(with_worlds(results, regret=0.01 * runs.regret)).holds
    theirs = results.worlds[THOMPSON].regret
    for factor, holds in ((0.5, True), (2.0, False)):
        worlds = {**results.worlds, CALIBRATED: replace(results.worlds[CALIBRATED], regret=factor * theirs)}
        assert learning.calibrated_regrets(results._replace(worlds=worlds)).holds is holds


def test_who_does_not_solve_is_seen(results):
    assert learning.deep_sea_is_solved(with_sea(with_sea(with_sea(results, 3, 9.0), 4, 9.0), 5, 9.0)).holds
    assert not learning.deep_sea_is_solved(with_sea(results, 4, np.nan)).holds
    cubed = with_sea(with_sea(with_sea(results, 3, 3.0**4), 4, 4.0**4), 5, 5.0**4)
    assert not learning.grows_slowly(cubed).holds


def test_it_is_published_and_reported(store, tmp_path):
    shown = publish(FigureSelection((SMALL,), "a test"), store, tmp_path)
    assert (tmp_path / "learning.png").read_bytes().startswith(b"\x89PNG")
    assert len(shown.claims["learning"]) == 6
    assert shown.tables["learning"].count("\n") == 2 + 4
    assert Learning().verdict(summarise(store)) is None  # of another size
    verdict = SMALL.verdict(summarise(store))
    assert verdict is not None
    assert "20 random worlds" in verdict.extent


def test_the_paper_is_known():
    paper = PAPERS["tarbouriech2023"]
    assert [figure.name for figure in paper.figures] == ["learning"]
    assert set(paper.labels("vapor").values()) >= {VARIATIONAL, K_LEARNING}
