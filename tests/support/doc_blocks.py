"""The code on the pages, and how a test runs it.

Every block stands alone: it is run in an empty folder, in a namespace of its own. A comment on the line before a
block says what is different about it; readers do not see these, and there may be several.

    <!-- file: sweep.toml -->                     not run: it lies, so named, in the folder of the page's other blocks
    <!-- test: episodes=2000 → episodes=20 -->    run with this replaced, so that it is short; more than one apart by ;
    <!-- test: slow -->                           run by `make slow`
    <!-- test: skip, because … -->                not run at all, for a reason; should be rare

In Python, `# → text` at the end of a line says that the block prints this text. Blocks of `pycon` are the exception:
those of one page are one session, compared with what they print.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.commands import klearning

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = ROOT / "docs" / "notebooks"  # executed whole, by test_notebooks
LANGUAGES = {"python", "sh", "pycon", "toml", "text", "bibtex", "{eval-rst}"}  # others might hide code from the tests


class Block(NamedTuple):
    """One fenced block."""

    page: Path
    line: int
    language: str
    text: str
    remarks: tuple[str, ...]  # "test: slow", "file: sweep.toml", …

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def remark(self, kind: str) -> str | None:
        """What the comments say after "kind:"; None if none does."""
        said = [remark.removeprefix(f"{kind}:").strip() for remark in self.remarks if remark.startswith(f"{kind}:")]
        return "; ".join(said) if said else None

    @property
    def skipped(self) -> bool:
        return (self.remark("test") or "").startswith("skip")

    @property
    def slow(self) -> bool:
        return "slow" in (self.remark("test") or "").split("; ")

    def code(self) -> str:
        """The text, with what a comment replaces."""
        text = self.text
        for change in (self.remark("test") or "").split(";"):
            if "→" in change:
                old, new = (part.strip() for part in change.split("→"))
                assert old in text, f"{self.id}: there is no {old!r} to replace"
                text = text.replace(old, new)
        return text


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    remarks: list[str] = []
    opened: tuple[int, str, list[str]] | None = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if opened is not None:
            if line == "```":
                yield Block(page, opened[0], opened[1], "".join(opened[2]), tuple(remarks))
                opened, remarks = None, []
            else:
                opened[2].append(line + "\n")
        elif line.startswith("```"):
            opened = number, line[3:].strip(), []
        elif comment := re.fullmatch(r"<!-- ((?:test|file): .*) -->", line):
            remarks.append(comment.group(1))
        elif line:
            assert not remarks, f"{page.name}:{number}: a comment for the test stands before no block"
    assert opened is None, f"{page.name}: a block is not closed"


ALL = [block for page in PAGES if page.parent != NOTEBOOKS for block in blocks_of(page)]


def lay_out(block: Block, folder: Path) -> None:
    """Put the files that its page names into the folder."""
    for other in blocks_of(block.page):
        if name := other.remark("file"):
            (folder / name).write_text(other.code())


def run_python(block: Block, folder: Path) -> None:
    lay_out(block, folder)
    script = folder / "block.py"  # a file, so that a traceback shows its lines and kernels can be cached
    script.write_text(block.code())
    runpy.run_path(str(script), run_name="__main__")


def promised(block: Block) -> list[str]:
    """What its comments say that it prints."""
    return re.findall(r"# → (.+)$", block.code(), re.M)


PLAIN = re.compile(r"""klearning( ([\w./:,=+-]+|'[^']*'))*( +#.*)?""")  # nothing in it is for a shell


def run_sh(block: Block, folder: Path) -> list["subprocess.CompletedProcess[str]"]:
    """Its lines up to the first that fails: what is plainly a command of ours in a fork, all else by bash."""
    lay_out(block, folder)
    lines = block.code().splitlines()
    whole = [] if any(line.endswith("\\") or "<<" in line for line in lines) else lines  # lines that belong together
    done = []
    for line in whole or [block.code()]:
        words = shlex.split(line, comments=True)
        done.append(klearning(*words[1:], cwd=folder) if PLAIN.fullmatch(line) else run_bash(line, folder))
        if done[-1].returncode:
            break
    return done


def run_bash(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """It stops at the first failure; `klearning` and `python` are those under test."""
    commands = folder / ".commands"
    commands.mkdir(exist_ok=True)
    for name, what in (("klearning", "-c 'from klearning.cli import main; main()'"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {what} "$@"\n')
        (commands / name).chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder, env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
