"""A paper from outside the package is one folder, a figure one file in it: run, drawn, checked and reported by name."""

import importlib
import json
import sys
from dataclasses import replace
from textwrap import dedent

import pytest
from click.testing import CliRunner

from klearning.cli import commands
from klearning.cli.reproduce import figure_names, protocol_names
from klearning.lab import papers
from klearning.lab.papers import odonoghue2021

PAPER = """
    from klearning.lab.papers import register
    from klearning.lab.papers.figure import Protocol
    from klearning.lab.papers.paper import Paper

    HASTY = Protocol("hasty", "hasty settings", "thirty episodes, no more")
    PAPER = register(Paper("toy2099", "Toy (2099), On toys", __name__, {"hasty": HASTY}, remark="Toys are small."))
"""

FIGURE = """
    from dataclasses import dataclass, replace

    import numpy as np

    from klearning.lab.experiments.spec import make_spec
    from klearning.numerics.display.canvas import new_figure, styled
    from klearning.numerics.display.markup import element
    from klearning.lab.papers.claims import Claim, Verdict
    from klearning.lab.papers.figure import Figure
    from toy_paper import HASTY

    WORLD = {"name": "river_swim", "states": 3, "horizon": 3}


    @dataclass(frozen=True, eq=False)
    class Dots(Figure):
        name: str = "dots"
        protocol: object = HASTY
        seeds: int = 4

        def small(self):
            return replace(self, seeds=2)

        def runs(self):
            return {
                who: make_spec(WORLD, {"name": who}, episodes=30, seeds=self.seeds, protocol="hasty")
                for who in ("Random", "PSRL")
            }

        def read(self, store):
            found = self.results(store)
            return {(who, i): x for who, runs in found.items() for i, x in enumerate(runs.regret[:, -1])}

        @styled
        def draw(self, results, command):
            figure, axes = new_figure()
            axes.plot(list(results.values()), "o")
            figure.supxlabel(command)
            return figure

        def claims(self, results):
            return [Claim("toys", "regret is never negative", min(results.values()) >= 0.0, f"{len(results)} regrets")]

        def table(self, results):
            return f"| runs |\\n|---|\\n| {len(results)} |\\n"

        def section(self, summary):
            return element("p", "dots, as they came")

        def verdict(self, summary):
            figure = next((f for f in (self, self.small()) if all(s in summary.store for s in f.specs.values())), None)
            return figure and Verdict("Dots", f"{figure.seeds} seeds", figure.claims(figure.read(summary.store)))


    FIGURES = (Dots(),)
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = tmp_path / "toy_paper"
    folder.mkdir()
    (folder / "__init__.py").write_text(dedent(PAPER))
    (folder / "dots.py").write_text(dedent(FIGURE))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("toy_paper")
    yield papers.PAPERS["toy2099"]
    del papers.PAPERS["toy2099"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_paper"]:
        del sys.modules[name]


def klearning(*words):
    return CliRunner().invoke(commands, words, catch_exceptions=False)


@pytest.mark.slow
def test_it_is_run_drawn_checked_and_reported(toy, tmp_path):
    place = ("--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"))
    done = klearning("reproduce", "toy2099", "dots", "--quick", *place)
    assert done.exit_code == 0
    assert "✓ regret is never negative\n      4 regrets" in done.stdout
    assert "| 4 |" in done.stdout
    assert (tmp_path / "out" / "dots_hasty.png").read_bytes().startswith(b"\x89PNG")
    assert "Command: `klearning reproduce toy2099 dots --quick`" in (tmp_path / "out" / "claims.md").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "dots, as they came" in page
    assert "klearning reproduce toy2099 dots --protocol hasty --quick</code>" in page  # behind the regret curves
    assert "1 hold in what was run, 0 do not. Toys are small." in page
    assert "hasty (thirty episodes, no more)" in page
    assert "Fitted" not in page  # the other paper has nothing to say of this store


def test_options_reach_the_figures_that_have_them(toy, tmp_path):
    place = ("--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"))
    done = klearning("reproduce", "toy2099", "--seeds", "3", "--depths", "4,5", "--protocol", "hasty", "--json", *place)
    assert json.loads(done.stdout)["dots_hasty"][0]["numbers"] == "6 regrets"


def test_the_shell_completes_it_and_mistakes_name_the_nearest(toy):
    assert {"toy2099", "dots"} <= set(figure_names())
    assert "hasty" in protocol_names()
    with pytest.raises(ValueError, match="did you mean 'dots'"):
        klearning("reproduce", "toy2099", "dot")


def test_a_name_is_taken_once(toy):
    with pytest.raises(ValueError, match="is there already, from toy_paper"):
        papers.register(replace(toy, home="elsewhere"))


def test_a_figure_is_one_file_in_its_paper(tmp_path, monkeypatch):
    """A file beside the others brings its FIGURES; nothing else is told of it."""
    text = "from klearning.lab.papers.figure import Figure\nFIGURES = (Figure('figure9'),)\n"
    (tmp_path / "figure_nine.py").write_text(text)
    monkeypatch.setattr(odonoghue2021, "__path__", [*odonoghue2021.__path__, str(tmp_path)])
    try:
        paper = replace(odonoghue2021.PAPER)
        assert [f.name for f in paper.select(["figure9"]).figures] == ["figure9"]
        assert "figure9" in paper.figure_names
        assert "figure9" not in odonoghue2021.PAPER.figure_names
    finally:
        sys.modules.pop(f"{odonoghue2021.__name__}.figure_nine", None)


def test_a_paper_may_be_one_file(tmp_path, monkeypatch):
    (tmp_path / "note2099.py").write_text(
        "from klearning.lab.papers.figure import Figure\n"
        "from klearning.lab.papers.paper import Paper\n"
        "FIGURES = (Figure('figure1'),)\n"
        "PAPER = Paper('note2099', 'A note', __name__)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("note2099").PAPER.figure_names == ["figure1"]
    del sys.modules["note2099"]


def test_every_figure_says_what_it_is():
    for paper in papers.PAPERS.values():
        files = [figure.file for figure in paper.figures]
        assert len(files) == len(set(files))
        for figure in paper.figures:
            assert type(figure).__doc__
            assert figure.protocol is None or paper.protocols[figure.protocol.name] is figure.protocol
            assert figure.small().file == figure.file
