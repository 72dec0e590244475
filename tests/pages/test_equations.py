"""The map of equations, docs/reference/equations.md, is complete both ways: paper ↔ page ↔ code and tests."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import klearning as kl
from klearning.lab import theory

PACKAGE = Path(kl.__file__).parent
TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "reference" / "equations.md").read_text()
LABELS = [line.split()[0] for line in (TESTS / "paper_labels.txt").read_text().splitlines() if line[0] != "#"]
LABEL = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, LABELS))})(?![\w-])")
ROWS = re.findall(r"^\| `([\w:-]+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", PAGE, re.M)  # label, what, code, tests
CODE = re.compile(r"`([\w/]+\.py):(\w+)`")
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def names(path):
    """What a file defines at its top."""
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def docstrings(path):
    """(name, docstring) of the file, under the name None, and of all that it defines; a method counts as its class."""
    tree = ast.parse(path.read_text())
    yield None, ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                    yield node.name, ast.get_docstring(inner) or ""


def mentions():
    """(label, file, name or None) of every label in a docstring of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if LABEL.search(path.read_text()):  # most name none, and are not parsed
            for name, text in docstrings(path):
                for label in dict.fromkeys(LABEL.findall(text)):
                    yield label, path.relative_to(PACKAGE).as_posix(), name


def test_every_label_of_the_paper_has_one_row():
    assert [label for label, *_ in ROWS if label not in LABELS] == []
    assert sorted(label for label, *_ in ROWS) == sorted(LABELS)
    assert len(LABELS) == len(set(LABELS)) == 38


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_leads_to_code_and_to_tests_that_exist(row):
    label, what, code, tests = row
    assert what.strip()
    assert CODE.findall(code), f"{label} names no code"
    assert TEST.findall(tests), f"{label} names no test"
    for file, name in CODE.findall(code):
        assert name in names(PACKAGE / file), f"{label}: {file}:{name} is not there"
    for file, name in TEST.findall(tests):
        assert name in names(TESTS / file), f"{label}: {file}::{name} is not there"
        assert name.startswith("test_")


def test_all_code_and_tests_on_the_page_exist():
    """Those of equations without a label too."""
    for file, name in CODE.findall(PAGE):
        assert name in names(PACKAGE / file), f"{file}:{name} is not there"
    for file, name in TEST.findall(PAGE):
        assert name in names(TESTS / file), f"{file}::{name} is not there"


@pytest.mark.parametrize(("label", "file", "name"), list(mentions()))
def test_a_docstring_that_names_an_equation_is_on_the_map(label, file, name):
    named = {pair for row in ROWS if row[0] == label for pair in CODE.findall(row[2])}
    if name is None:
        assert file in {where for where, _ in named}, f"{file} mentions {label}, whose row does not name it"
    else:
        assert (file, name) in named, f"{file}:{name} mentions {label}, whose row does not name it"


def test_docstrings_mention_no_label_that_the_paper_has_not():
    """A word of the labels' shape in a docstring of the theory is a label."""
    for path in sorted((PACKAGE / "theory").rglob("*.py")):
        for name, text in docstrings(path):
            for word in re.findall(r"(?<![\w`-])[elta]-[a-z_-]+\b", text):
                assert word in LABELS, f"{path.name}:{name} mentions {word}, which is not a label"


def test_every_law_says_what_it_is():
    for name in theory.__all__:
        assert getattr(theory, name).__doc__, f"theory.{name} has no docstring"
