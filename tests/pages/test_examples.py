"""Every example does what the text beside it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
SHARE = 0.02  # by which a number may differ on another kind of machine, where last digits of sums do


def words(line: str) -> str:
    """A line without its numbers, nor the spaces that stand before narrower ones."""
    return re.sub(r"\s", "", NUMBER.sub("#", line))


def difference(printed: str, expected: str) -> str:
    """The first line that differs in a word, or in a number by more than 2% and one unit of its last digit; or ''."""
    ours, theirs = printed.splitlines(), expected.splitlines()
    if len(ours) != len(theirs):
        return f"{len(ours)} lines, not {len(theirs)}"
    for line, wanted in zip(ours, theirs, strict=True):
        if words(line) != words(wanted):
            return f"{line!r} is not {wanted!r}"
        for x, y in zip(NUMBER.findall(line), NUMBER.findall(wanted), strict=True):
            unit = 10.0 ** -len(y.partition(".")[2])
            a, b = (float(number.replace(",", "")) for number in (x, y))
            if abs(a - b) > max(SHARE * abs(b), 1.001 * unit):
                return f"{x} is not {y} in {wanted!r}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_prints_what_is_beside_it(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not difference(done.stdout, path.with_suffix(".txt").read_text(encoding="utf-8"))
    assert not list(tmp_path.iterdir())


def test_each_has_its_output_and_is_listed():
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 7
    for path in EXAMPLES:
        assert path.with_suffix(".txt").exists()
        assert f"({path.name})" in listed
        assert f"({path.stem}.txt)" in listed
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in EXAMPLES}


def test_links_of_the_readme():
    for target in re.findall(r"\]\(([^)]+)\)", (FOLDER / "README.md").read_text(encoding="utf-8")):
        assert (FOLDER / target).exists(), target


def test_differences_are_seen():
    """The comparison itself: a word, a number, a line, and what it forgives."""
    assert not difference("regret 100.0, [ 8, 12]", "regret 101.0, [8, 12]")
    assert not difference("p = 0.002", "p = 0.001")
    assert difference("regret 100.0", "regret 103.0")
    assert difference("regret 100.0", "gain 100.0")
    assert difference("p = 0.003", "p = 0.001")
    assert difference("hit 1 never", "hit 1 85")
    assert difference("a", "a\nb")
