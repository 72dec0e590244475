"""Write the table of a measurement, and where it comes from, into docs/evidence/data. `make pages` shows it."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tools.pages import DATA, ROOT, line, text_of

TABLE = re.compile(r"(?:^\|.*(?:\n|$))+", re.M)


@contextmanager
def recorded(name: str, headings: Sequence[str], command: str) -> Iterator[Callable[..., None]]:
    """Print rows as they come, and write the table when all are there."""
    rows: list[list[Any]] = []

    def row(*cells: Any) -> None:
        rows.append(list(cells))
        print(line(cells), flush=True)

    print(f"\n{line(headings)}\n{line(['---'] * len(headings))}", flush=True)
    yield row
    record(name, command, headings, rows)


def record(
    name: str,
    command: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    keep: bool = False,
    device: str = "",
) -> None:
    """Write a table. With `keep`, rows that were measured earlier stay, and so do the commits they came from."""
    path = DATA / f"{name}.json"
    table: dict[str, Any] = {"command": command, "machine": device or machine(), "commit": commit(), "date": today()}
    before = json.loads(path.read_text()) if keep and path.exists() else None
    if before and before["headings"] == list(headings):
        rows = updated(before["rows"], rows)
        table |= {key: joined(before[key], table[key]) for key in ("machine", "commit")}
    table |= {"headings": list(headings), "rows": [list(row) for row in rows]}
    path.parent.mkdir(exist_ok=True)
    path.write_text(text_of(table))


def record_markdown(name: str, command: str, text: str) -> None:
    """Write the first Markdown table of a text."""
    found = TABLE.search(text)
    if found is None:
        raise ValueError(f"{name}: the text has no table")
    headings, _, *rows = (cells_of(line) for line in found[0].splitlines())
    record(name, command, headings, rows)


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def updated(before: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Earlier rows in their order, each replaced by a new one with the same first cell, then the other new ones."""
    new = {row[0]: row for row in rows}
    return [new.pop(row[0], row) for row in before] + list(new.values())


def joined(before: str, now: str) -> str:
    """Both, unless they are the same."""
    return before if now in before.split(" and ") else f"{before} and {now}"


def machine() -> str:
    """Processor and versions; nothing that names a machine."""
    shared = ", shared with other work" if os.getloadavg()[0] > 2.0 else ""
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {version('numba')}"
    return f"{processor()}{shared}; {versions}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if names:
            return f"{names[0]}, {len(names)} cores"
    return platform.processor()


def commit() -> str:
    """The last commit that changed what was measured."""
    last = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--abbrev=7", "--", "src"], cwd=ROOT, capture_output=True, text=True
    )
    changed = subprocess.run(["git", "status", "--porcelain", "--", "src"], cwd=ROOT, capture_output=True, text=True)
    return (last.stdout.strip() or "unknown") + (" with changes" if changed.stdout.strip() else "")


def today() -> str:
    return datetime.now(UTC).date().isoformat()
