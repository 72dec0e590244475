"""The bandits of O'Donoghue and Lattimore (2021): claims are true or false as the numbers say."""

from dataclasses import replace

import pytest

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.summaries import summarise
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers import PAPERS
from klearning.lab.papers.odonoghue_lattimore2021 import bandits
from klearning.lab.papers.odonoghue_lattimore2021.bandits import KINDS, THOMPSON, VARIATIONAL, Bandits
from klearning.lab.papers.paper import FigureSelection
from klearning.lab.papers.publish import publish

SMALL = Bandits(worlds=40, episodes=60)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("bandits") / "store")
    assert not sweep(SMALL.specs.values(), store).failed
    return store


@pytest.fixture(scope="module")
def results(store):
    return SMALL.read(store)


@pytest.mark.slow
def test_claims_hold_at_a_small_size(results):
    """Mean regret is a third of the bound, and the seeds are fixed: nothing here is left to chance."""
    holds = [claim.holds for claim in Bandits().claims(results)]
    assert all(holds[i] for i in (0, 2, 3))


@pytest.mark.slow
def test_claims_fail_where_they_should(results):
    runs = results["coins"][VARIATIONAL]
    much = replace(runs, regret=100.0 * runs.regret)
    said = runs.diagnostics
    low = replace(runs, diagnostics=said | {"bound": said["bound"] - 1.0})
    less = replace(runs, diagnostics=said | {"cumulative_bound": runs.cumulative_bound - 50.0})

    def with_coins(other):
        return {**results, "coins": {**results["coins"], VARIATIONAL: other}}

    assert not bandits.below_the_bound(with_coins(much)).holds
    assert not bandits.beside_thompson(with_coins(much)).holds
    assert not bandits.optimism(with_coins(low)).holds
    assert not bandits.promise(with_coins(less)).holds


@pytest.mark.slow
def test_it_is_published(store, tmp_path):
    shown = publish(FigureSelection((SMALL,), "a test"), store, tmp_path)
    assert (tmp_path / "bandits.png").read_bytes().startswith(b"\x89PNG")
    assert len(shown.claims["bandits"]) == 5
    assert shown.tables["bandits"].count("\n") == 2 + 2 * (4 + 1)


@pytest.mark.slow
def test_the_report_has_its_claims(store):
    assert Bandits().verdict(summarise(store)) is None  # of another size
    verdict = SMALL.verdict(summarise(store))
    assert verdict is not None
    assert "40 bandits" in verdict.extent


def test_the_paper_is_known():
    paper = PAPERS["odonoghue_lattimore2021"]
    assert [figure.name for figure in paper.figures] == ["bandits"]
    assert set(paper.labels("bandits").values()) >= {VARIATIONAL, THOMPSON}
    assert len({kind.noise for kind in KINDS.values()}) == 2
