"""Tables that a measurement writes: page and data file agree, and say what the page claims."""

import json

import pytest

from bench.record import EVIDENCE, with_table

FILES = sorted(EVIDENCE.glob("*.json"))
RELIABILITY = json.loads((EVIDENCE / "reliability.json").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_page_has_the_numbers_of_its_file(path):
    page = path.with_suffix(".md").read_text()
    for name, table in json.loads(path.read_text()).items():
        assert with_table(page, name, table) == page, name


def column(table, heading):
    place = RELIABILITY[table]["headings"].index(heading) - 1
    return {key: row[place] for key, row in RELIABILITY[table]["rows"].items()}


def test_no_interrupt_of_a_command_is_a_crash():
    for bad in ("crashes", "other exit codes", "tracebacks", "processes left"):
        assert set(column("commands", bad).values()) == {0}
    assert sum(column("commands", "interrupted").values()) >= 300
    assert column("commands", "interrupted")["learn, DeepKLearning"] >= 60


def test_no_crafted_file_does_harm():
    for bad in ("traceback", "over 10 s", "over 1 GB", "crash"):
        assert set(column("crafted", bad).values()) == {0}
    counts = column("crafted", "how many")
    assert counts.pop("stores") >= 24  # folders, each tried with seven commands
    assert min(counts.values()) >= 300
