"""The index of a store: what is listed of every run, kept in SQLite so that a list need not read the runs again.

It is a cache and never believed: every row carries a checksum, and what is missing, damaged or of another form is read
from the runs themselves. Where it cannot be written (a read-only folder, a full disk, another process at it for long)
the rows are listed all the same, and only the time is lost.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

OLDER = ("runs", "listed")  # tables of earlier versions
BUSY_SECONDS = 30.0  # how long another process is waited for
BROKEN = (sqlite3.Error, UnicodeDecodeError, OverflowError, ValueError, TypeError)

Row = dict[str, Any]


class Index:
    """Rows by the name of their run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, names: Collection[str], read: Callable[[str], Row | None]) -> dict[str, Row]:
        """The rows of these runs; ``read`` gives one from its run, or None where the run is broken."""
        kept = self._load()
        sound = {name: row for name, row in kept.items() if name in names}
        fresh = {name: row for name in sorted(set(names) - set(sound)) if (row := read(name)) is not None}
        if fresh or len(sound) < len(kept):
            self._save(fresh, set(kept) - set(names))
        return sound | fresh

    def rebuild(self, rows: dict[str, Row]) -> bool:
        """Replace all rows; whether what was there differed."""
        differs = self.path.exists() and self._load() != rows and not self._is_older()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._save(rows, set())
        return differs

    def _load(self) -> dict[str, Row]:
        """The rows that are sound."""
        if not self.path.is_file():
            return {}
        rows: dict[str, Row] = {}
        try:
            with closing(
                sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
            ) as reader:
                for name, text, digest in reader.execute("SELECT name, row, digest FROM settings"):
                    if _digest(text) == digest and (row := json.loads(text))["name"] == name:
                        rows[name] = row
        except BROKEN:
            return rows
        return rows

    def _is_older(self) -> bool:
        """Whether it was written by an earlier version, whose rows had other columns."""
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
                tables = {name for (name,) in reader.execute("SELECT name FROM sqlite_master")}
        except BROKEN:
            return False
        return "settings" not in tables and bool(tables & set(OLDER))

    def _save(self, fresh: dict[str, Row], gone: set[str]) -> None:
        texts = [(name, json.dumps(row, sort_keys=True)) for name, row in fresh.items()]
        entries = [(name, text, _digest(text)) for name, text in texts]
        try:
            self._write(entries, gone)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in UNUSABLE:
                with suppress(OSError, sqlite3.Error):
                    self.path.unlink()
                    self._write(entries, gone)

    def _write(self, entries: list[tuple[str, str, str]], gone: set[str]) -> None:
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as writer, writer:
            for name in OLDER:
                writer.execute(f"DROP TABLE IF EXISTS {name}")
            writer.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, row TEXT, digest TEXT)")
            writer.executemany("DELETE FROM settings WHERE name = ?", [(name,) for name in gone])
            writer.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", entries)


UNUSABLE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
