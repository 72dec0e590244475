"""Whether the tests notice a wrong constant: one text of the sources is replaced at a time, in a copy of the tree.

python -m tools.mutants [NAME ...]

Every mutant names the tests that should fail with it. Those files are run in the copy, first as they are, then with
each mutant. The results are printed and, if all were tried, written to docs/evidence/data/mutants.json.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from bench.record import record

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("mutants.toml")
HEADINGS = ("what is made wrong", "file", "tests", "result")
COPIED = ("src", "tests", "tools", "pyproject.toml")
LONGEST = 300.0  # seconds, of the tests of one mutant
KILLED, SURVIVED, BROKEN = "killed", "**survived**", "**not run**"

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Mutant:
    """One wrong line. ``tests`` are what should notice it; ``reason`` says why none can, if none can."""

    name: str
    file: str  # under src/klearning
    text: str
    replacement: str
    tests: str  # a file under tests, with "-k EXPRESSION" where a few of it do
    reason: str = ""


def mutants() -> list[Mutant]:
    return [Mutant(**row) for row in tomllib.loads(TABLE.read_text())["mutant"]]


def main(names: Sequence[str]) -> int:
    chosen = [mutant for mutant in mutants() if not names or mutant.name in names]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()  # one per core, each with one mutant at a time
        for i in range(os.cpu_count() or 1):
            copies.put(copied(Path(folder) / str(i)))
        tests = sorted({mutant.tests for mutant in chosen})
        for name, came in zip(tests, pool.map(lambda name: lent(copies, outcome, name), tests), strict=True):
            if came != SURVIVED:
                print(f"tests/{name} fails as it is: mend that first")
                return 1
        results = list(pool.map(lambda mutant: lent(copies, result, mutant), chosen))
    if not names:
        record("mutants", "make mutants", HEADINGS, rows(results))
    return sum(came != KILLED and not mutant.reason for mutant, came in results)


def lent(copies: "SimpleQueue[Path]", work: Callable[[Path, Thing], Answer], thing: Thing) -> Answer:
    """Work on a copy that nobody else has at the time."""
    copy = copies.get()
    try:
        return work(copy, thing)
    finally:
        copies.put(copy)


def copied(folder: Path) -> Path:
    """The tree as it is, without what was compiled."""
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return folder


def result(copy: Path, mutant: Mutant) -> tuple[Mutant, str]:
    """Its result; the copy is restored afterwards."""
    path = copy / "src" / "klearning" / mutant.file
    source = path.read_text()
    began = time.monotonic()
    if source.count(mutant.text) != 1:
        came = BROKEN
    else:
        path.write_text(source.replace(mutant.text, mutant.replacement))
        came = outcome(copy, mutant.tests)
        path.write_text(source)
    print(f"{came:12} {time.monotonic() - began:5.0f} s  {mutant.name}", flush=True)
    return mutant, came


def outcome(copy: Path, tests: str) -> str:
    """Of the tests in the copy, until the first that fails."""
    file, _, expression = tests.partition(" -k ")
    pick = ["-k", expression] if expression else ["-m", "not slow"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{file}"]
    path = os.pathsep.join([str(copy / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    here = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(copy / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **here}
    try:
        run = subprocess.run([*command, *pick], cwd=copy, env=environment, capture_output=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return KILLED  # a search that does not end is noticed
    return {0: SURVIVED, 1: KILLED}.get(run.returncode, BROKEN)


def rows(results: Sequence[tuple[Mutant, str]]) -> list[list[str]]:
    """The table of the page: what was made wrong, where, the tests, and the result."""
    found = []
    for mutant, came in results:
        tests = mutant.tests.partition(" -k ")[0]
        why = f": {mutant.reason}" if came != KILLED and mutant.reason else ""
        found.append([mutant.name, f"`{mutant.file}`", f"`{tests}`", f"{came}{why}"])
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
