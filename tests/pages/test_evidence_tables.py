"""Tables that a measurement writes: page and data file agree, and say what the page claims."""

import json

import pytest

from bench.record import EVIDENCE, with_table
from klearning.lab.experiments import index, spec, store
from klearning.numerics import files
from klearning.simulators import codec

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


def test_the_limits_on_the_page_are_those_of_the_code():
    page = (EVIDENCE / "reliability.md").read_text()
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
        assert limit in page, limit
