"""The index of a store: what is listed of every run, in one file, so that a list need not read the runs again.

    0123abcd… {"name": "abcdef…", "protocol": "", "world": "deep_sea", …}        a checksum, and a row as JSON

It is a cache and never believed: a line that is damaged, or is not a row, is read from its run. If the index cannot be
read or written (a read-only folder, a full disk, something else in its place) only time is lost. Of two processes that
write it at once, the second one wins: what it does not have is read again.
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from klearning.lab.experiments.columns import Row, is_row
from klearning.numerics.files import checksum, json_from, opened, write_whole

MOST_BYTES = 2**28  # of the index; a larger one is not read
MOST_LINE = 2**16  # bytes of a line
MORE_LINES = 10_000  # than there should be; what is behind them is read from its run
DIGITS = 64  # of a checksum


class Index:
    """Rows by the name of their run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, names: Collection[str], read: Callable[[str], Row | None]) -> dict[str, Row]:
        """The rows of these runs; ``read`` gives one from its run, or None if the run is broken."""
        kept = self._load(names)
        fresh = {name: row for name in sorted(set(names) - set(kept)) if (row := read(name)) is not None}
        if fresh:
            self._save(kept | fresh)
        return kept | fresh

    def rebuild(self, rows: Mapping[str, Row]) -> bool:
        """Replace all rows; returns whether those that were there differed."""
        differs = self.path.exists() and self._load(rows) != rows
        with suppress(OSError):
            self.path.unlink(missing_ok=True)  # whatever it is
        self._save(rows)
        return differs

    def _load(self, names: Collection[str]) -> dict[str, Row]:
        """The rows of these runs that are sound."""
        rows: dict[str, Row] = {}
        with suppress(OSError), opened(self.path, MOST_BYTES) as file:
            for _ in range(MORE_LINES + 2 * len(names)):
                if not (line := file.readline(MOST_LINE)):
                    break
                digest, text = line[:DIGITS].decode("latin-1"), line[DIGITS + 1 : -1]
                if checksum(text) != digest:
                    continue
                with suppress(ValueError):
                    row = json_from(text.decode())
                    if is_row(row) and row["name"] in names:
                        rows[row["name"]] = row
        return rows

    def _save(self, rows: Mapping[str, Row]) -> None:
        texts = [json.dumps(row).encode() for row in rows.values()]
        lines = [checksum(text).encode() + b" " + text + b"\n" for text in texts]
        with suppress(OSError):
            write_whole(self.path, b"".join(line for line in lines if len(line) <= MOST_LINE), links=False)
