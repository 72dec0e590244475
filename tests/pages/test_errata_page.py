"""The errata page computes what it says: every line is run, and what it prints compared."""

import doctest
import re

import pytest

from tests.pages.test_docs import ROOT, blocks

PAGE = "docs/evidence/errata.md"


@pytest.mark.slow
def test_every_line_of_the_page_is_true():
    source = "".join(blocks(PAGE, "pycon"))
    example = doctest.DocTestParser().get_doctest(source, {}, PAGE, PAGE, 0)
    assert len(example.examples) > 40
    report: list[str] = []
    failures, _ = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert failures == 0, "".join(report)


def test_every_trap_has_its_numbers():
    """Eleven sections in order, each with code that prints something."""
    sections = re.split(r"^## ", (ROOT / PAGE).read_text(), flags=re.M)[1:]
    assert [int(section.split(".")[0]) for section in sections] == list(range(1, 12))
    for section in sections:
        code = re.findall(r"```pycon\n(.*?)```", section, re.S)
        assert any(example.want for block in code for example in doctest.DocTestParser().get_examples(block)), section
