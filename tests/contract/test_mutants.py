"""Mutants change what is there: their lines are found, each once, and the tests that they name exist."""

import pytest

from tools.mutants import ROOT, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_still_changes_something(mutant):
    source = (ROOT / "src" / "klearning" / mutant.file).read_text()
    assert source.count(mutant.text) == 1
    assert source.replace(mutant.text, mutant.replacement) != source
    assert (ROOT / "tests" / mutant.tests.split()[0]).exists()
