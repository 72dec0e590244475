"""Tables of measurements: page and data file agree, each says where it comes from, and says what the page claims."""

import json
import re

import numpy as np
import pytest

from bench import record, suggested_priors
from klearning.lab.experiments import index, spec, store
from klearning.numerics import files
from klearning.simulators import codec
from tools import pages

NAMES = sorted(path.stem for path in pages.DATA.glob("*.json"))
PAGES = {page: page.read_text() for page in pages.pages()}
RELIABILITY = (pages.ROOT / "docs" / "evidence" / "reliability.md").read_text()
SHOWN = [(page, name) for page, text in PAGES.items() for name in pages.tables(text)]


def test_a_page_has_the_numbers_of_its_files():
    assert SHOWN
    for page, text in PAGES.items():
        assert pages.rendered(text) == text, f"{page.name} is out of date: run make pages"


def test_a_changed_number_is_found_out(tmp_path, monkeypatch):
    page, name = SHOWN[0]
    changed = pages.load(name)
    changed["rows"][0][-1] = "another number"
    monkeypatch.setattr(pages, "DATA", tmp_path)
    for _, other in SHOWN:
        (tmp_path / f"{other}.json").write_text(pages.text_of(changed))
    assert pages.rendered(PAGES[page]) != PAGES[page]


BY_HAND = {  # tables of settings, choices and arithmetic: nothing in them was measured
    "benchmarks.md: problem": "priors of four problems",
    "protocols.md: ": "the two protocols",
    "reliability.md: what": "limits, compared with the code below",
    "simulators.md: ": "what the two simulators are",
    "theory_to_practice.md: bonus": "arithmetic, checked by test_study_docs",
    "theory_to_practice.md: you want": "which bonus when",
}


def test_no_measurement_stands_on_an_evidence_page_alone():
    found = set()
    for page, text in PAGES.items():
        if page.parent == pages.ROOT / "docs" / "evidence":
            for table in re.findall(r"^(?:\|.*\n)+", pages.MARKS.sub("", text), re.M):
                found.add(f"{page.name}: {table.splitlines()[0].split('|')[1].strip()}")
    assert found == set(BY_HAND)


def test_every_data_file_is_shown_or_linked():
    assert set(NAMES) == {name for _, name in SHOWN}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_where_it_comes_from(name):
    table = pages.load(name)
    assert all(table[field] for field in pages.FIELDS)
    assert "/home" not in json.dumps(table)
    assert pages.text_of(table) == (pages.DATA / f"{name}.json").read_text()


def test_a_missing_file_or_an_uneven_row_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        pages.rendered("<!-- table: none -->\n<!-- end -->")
    table = dict.fromkeys(pages.FIELDS, "x") | {"headings": ["a", "b"], "rows": [[1]]}
    (tmp_path / "uneven.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match="does not fit the headings"):
        pages.load("uneven")


def test_two_columns_of_one_heading_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "DATA", tmp_path)
    table = dict.fromkeys(pages.FIELDS, "x") | {"headings": ["a", "CPU", "CPU"], "rows": [[1, 2, 3]]}
    (tmp_path / "twice.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match="two columns have the same heading"):
        pages.load("twice")


def test_a_page_may_show_some_columns():
    table = {"headings": ["a", "b", "c"], "rows": [[1, 2, 3]]}
    assert pages.part(table, "c; a") == {"headings": ["c", "a"], "rows": [[3, 1]]}
    assert pages.part(table, None) == table
    with pytest.raises(ValueError, match="no columns"):
        pages.part(table, "a; d")


def test_a_page_may_arrange_a_table_by_two_columns():
    rows = [["one", "x", "K", 1], ["one", "x", "P", 2], ["two", "y", "K", 3]]
    table = {"headings": ["size", "kind", "agent", "regret"], "rows": rows}
    assert pages.part(table, "rows size; kind; columns agent; cells regret") == {
        "headings": ["size", "kind", "K", "P"],
        "rows": [["one", "x", 1, 2], ["two", "y", 3, "–"]],
    }
    with pytest.raises(ValueError, match="do not tell all rows"):
        pages.part(table, "rows kind; columns size; cells regret")
    with pytest.raises(ValueError, match="no columns"):
        pages.part(table, "rows size; columns player; cells regret")


def test_a_measurement_is_recorded(tmp_path, monkeypatch):
    """Rows that are measured again replace the earlier ones; commits of both are named."""
    monkeypatch.setattr(record, "DATA", tmp_path)
    monkeypatch.setattr(pages, "DATA", tmp_path)
    monkeypatch.setattr(record, "commit", lambda: "aaaaaaa")
    with record.recorded("some.table", ("what", "how many"), "a command") as row:
        row("one", 1)
        row("two", 2)
    monkeypatch.setattr(record, "commit", lambda: "bbbbbbb")
    record.record("some.table", "a command", ("what", "how many"), [["two", 3], ["three", 4]], keep=True)
    table = pages.load("some.table")
    assert table["rows"] == [["one", 1], ["two", 3], ["three", 4]]
    assert table["commit"] == "aaaaaaa and bbbbbbb"
    record.record("some.table", "a command", ("what", "how many"), [["two", 5]])
    assert pages.load("some.table")["rows"] == [["two", 5]]
    assert pages.load("some.table")["commit"] == "bbbbbbb"


def column(table, heading):
    table = pages.load(f"reliability.{table}")
    place = table["headings"].index(heading)
    return {row[0]: row[place] for row in table["rows"]}


def test_no_interrupt_of_a_command_is_a_crash():
    for bad in ("crashes", "other exit codes", "tracebacks", "processes left"):
        assert set(column("commands", bad).values()) == {0}
    assert sum(column("commands", "interrupted").values()) >= 300
    assert column("commands", "interrupted")["learn, DeepKLearning"] >= 60


def test_no_crafted_file_does_harm():
    for bad in ("traceback", "over 10 s", "over 1 GB", "crash"):
        assert set(column("crafted", bad).values()) == {0}
    counts = column("crafted", "count")
    assert f"About {sum(counts.values()) // 100 * 100:,} files and stores" in RELIABILITY
    assert counts.pop("stores") >= 24  # folders, each tried with seven commands
    assert min(counts.values()) >= 300


def test_no_interrupt_of_a_call_loses_anything():
    for bad in ("crashes", "other errors"):
        assert set(column("interrupts", bad).values()) == {"0"}
    assert set(column("interrupts", "episodes lost").values()) == {"0", "–"}
    times = column("interrupts", "times")
    assert set(times.values()) == {"60"}
    assert len(times) == 15
    assert "Fifteen kinds of calls were interrupted 60 times each" in RELIABILITY


def test_the_page_counts_the_mutants():
    results = [row[-1] for row in pages.load("mutants")["rows"]]
    assert f"{results.count('killed')} of {len(results)} are noticed" in RELIABILITY


def test_the_limits_on_the_page_are_those_of_the_code():
    for limit in (
        f"or {files.MANY_BYTES >> 30} GB if that is more",
        f"if it is more than {files.FEW_BYTES >> 20} MB | {files.MOST_RATIO} times the file",
        f"a checkpoint or a batch | {store.MOST_BYTES >> 20} MB",
        f"the header of a learner | {files.MOST_TEXT >> 20} MB",
        f"the header of an array | {files.MOST_HEADER:,} bytes",
        f"members of an archive | {files.MOST_DIRECTORY >> 20} MB",
        f"the index of a store | {index.MOST_BYTES >> 20} MB; a line {index.MOST_LINE >> 10} kB",
        f"a part of a prior | {spec.MOST_PARAMETERS}",
        f"parts of a space | {codec.MOST_PARTS:,}",
    ):
        assert limit in RELIABILITY, limit


def numbers(name, heading):
    """The first number of every cell of a column."""
    table = pages.load(name)
    place = table["headings"].index(heading)
    cells = [str(row[place]).replace(",", "").replace("−", "-") for row in table["rows"]]
    return [float(found[0]) for cell in cells if (found := re.search(r"-?\d+(\.\d+)?(e-?\d+)?", cell))]


def span(values, digits=2):
    """The least and the largest, as a sentence has them."""
    rounded = (float(f"{x:.{digits}g}") for x in (min(values), max(values)))
    return " to ".join(f"{x:,.10g}" for x in rounded)


def test_sentences_have_the_numbers_of_linked_files():
    """A page may say in a sentence what a file holds, and link to it."""
    text = {page.stem: " ".join(content.split()) for page, content in PAGES.items() if page.parent.name == "evidence"}
    for page, sentence in (
        ("performance", f"takes {span(numbers('performance.solves', 'cold solve (ms)'))} ms: "),
        ("performance", f" ms: {span(numbers('performance.solves', 'ratio'))} times less than Clarabel's"),
        ("performance", f"normal arms is {span(numbers('performance.mixtures', 'ratio'))} times as fast"),
        ("performance", f"adds {span(numbers('performance.simulators', 'act + observe (µs)'))} µs per step"),
        ("performance", f"needs {pages.load('performance.others')['rows'][0][2]} CPU time"),
        ("performance", f"klearning {pages.load('performance.others')['rows'][1][2]} ("),
        ("games", f"one more observation a solve takes {span(numbers('games.solve', 'warm'))} µs"),
        ("games", f"Clarabel takes {span(numbers('games.solve', 'Clarabel'))} ms"),
        ("visits", f"in {span(numbers('visits.estimates', 'intervals that hold it'))}% of the repetitions"),
        ("visits", f"takes {span(numbers('visits.bounds', 'time of `visits` / `split`'))} times as long"),
        ("vapor", f"VAPOR is {span(numbers('vapor.long', 'ratio at 10,000'))} of Thompson sampling's"),
        ("vapor", f"95th percentile {span(numbers('vapor.long', 'ratio of 95th percentiles'))} ("),
        ("vapor", f"takes {span(numbers('vapor.speed', '`kl.solve_vapor` (ms)'))} ms"),
        ("bayes_regret", f"exponents of {span(numbers('bayes_regret.growth', 'T')[:-1])}"),
    ):
        assert sentence in text[page], sentence
    assert max(numbers("games.solve", "largest gap")) < 1e-8
    for row in pages.load("vapor.worlds")["rows"]:
        assert min(map(float, row[1:])) == float(row[-1]), row


@pytest.mark.slow
def test_the_share_of_the_way_has_an_interval_that_covers():
    """Fieller's, of ten pairs of seeds: 95% of 1,000 intervals, whose number is 950 ± 7, cover 0.9 and 0.3."""
    rng = np.random.default_rng(0)
    for share in (0.9, 0.3):
        covered = 0
        for _ in range(1000):
            common = rng.normal(0.0, 0.5, 10)
            hand = 5.0 + common + rng.normal(0.0, 1.0, 10)
            rule = 5.0 * share + common + rng.normal(0.0, 1.0, 10)
            told = suggested_priors.way(rule, hand, rng.normal(0.0, 3.0, 1000))
            covered += told.low <= share <= told.high
        assert 920 <= covered <= 980, share  # four standard errors
    assert np.isnan(suggested_priors.way(*rng.normal(0.0, 1.0, (2, 10)), rng.normal(0.0, 1.0, 1000)).low)


def test_every_pain_names_a_test_that_exists():
    table = pages.load("seams.pains")
    for row in table["rows"]:
        file, _, name = row[table["headings"].index("test")].strip("`").partition("::")
        text = (pages.ROOT / "tests" / file).read_text()
        assert not name or f"def {name}(" in text, f"{file} has no {name}"
    assert not [row for row in table["rows"] if "Traceback" in row[3] or "TypeError" in row[3]]
