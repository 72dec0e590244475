"""The store: a folder of runs, each named by its spec, and an index that can always be rebuilt.

    store/runs/ab/abcdef…/spec.json     what was run, canonical
                          arrays.npz    what came of it
                          meta.json     checksum of the arrays, versions of the libraries
    store/checkpoints/abcdef….npz       runs and parts of batches under way
    store/batches/abcdef….npz, .json    many small runs in one file: see batch.py
    store/set-aside/                    what was found broken, never used
    store/index.sqlite                  for queries; rebuilt from the folders whenever it is missing

A run's folder is filled under another name, flushed, and renamed: it is whole or it is not there. Any number of
processes may write into one store; who comes second to the same run finds it done.
"""

import csv
import json
import os
import platform
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from klearning.experiments.spec import Spec, spec_from_json
from klearning.storage.files import arrays_from_bytes, arrays_to_bytes, checksum, flush_folder, write_whole
from klearning.trials import regret
from klearning.version import __version__

ARRAYS = ("optimal_value", "values", "returns", "hits")  # what every run has
BUSY_SECONDS = 30.0
COLUMNS = ("name", "protocol", "world", "agent", "seed", "episodes", "ran", "first_hit", "solved", "regret")


class StoreError(OSError):
    """The store cannot be read or written; the message says where and why."""


@dataclass(frozen=True, eq=False)
class Record:
    """One finished run."""

    spec: Spec
    arrays: dict[str, NDArray[Any]]

    @property
    def optimal_value(self) -> float:
        return float(self.arrays["optimal_value"])

    @property
    def ran(self) -> int:
        """Episodes that were run: fewer than asked for where it stopped when solved."""
        return len(self.arrays["hits"])

    @property
    def first_hit(self) -> float:
        return float(regret.first_hit(self.arrays["hits"]))

    @property
    def solved(self) -> float:
        return float(regret.time_to_solve(self.arrays["hits"]))

    @property
    def regret(self) -> NDArray[np.float64]:
        """Cumulative, an entry an episode."""
        return regret.cumulative_regret(self.optimal_value, self.arrays["values"])

    def row(self) -> dict[str, Any]:
        """What the index holds of it."""
        spec = self.spec
        return {
            "name": spec.name,
            "protocol": spec.protocol,
            "world": json.dumps(spec.world, sort_keys=True),
            "agent": json.dumps(spec.agent, sort_keys=True),
            "seed": spec.seed,
            "episodes": spec.episodes,
            "ran": self.ran,
            "first_hit": None if np.isnan(self.first_hit) else self.first_hit,
            "solved": None if np.isnan(self.solved) else self.solved,
            "regret": float(self.regret[-1]),
        }


class Store:
    """Runs on disk."""

    def __init__(self, path: Path | str, create: bool = True) -> None:
        self.path = Path(path)
        try:
            if create:
                for folder in ("runs", "checkpoints"):
                    (self.path / folder).mkdir(parents=True, exist_ok=True)
            elif not (self.path / "runs").is_dir():
                raise StoreError(f"{self.path} is no store: it has no folder `runs`")
        except OSError as error:
            raise StoreError(f"cannot use the store {self.path}: {error.strerror or error}") from None

    def folder(self, name: str) -> Path:
        return self.path / "runs" / name[:2] / name

    def checkpoint(self, name: str) -> Path:
        return self.path / "checkpoints" / f"{name}.npz"

    def batch(self, name: str) -> Path:
        return self.path / "batches" / f"{name}.json"

    def __contains__(self, spec: Spec) -> bool:
        return self.folder(spec.name).is_dir()

    def put(self, spec: Spec, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep a finished run; where it is there already, nothing changes."""
        final = self.folder(spec.name)
        unfinished = self.path / "runs" / f".{spec.name}.{os.getpid()}.{os.urandom(4).hex()}"
        data = arrays_to_bytes(arrays)
        try:
            unfinished.mkdir()
            write_whole(unfinished / "spec.json", (spec.canonical + "\n").encode())
            write_whole(unfinished / "arrays.npz", data)
            meta = json.dumps(provenance(data), sort_keys=True, indent=1) + "\n"
            write_whole(unfinished / "meta.json", meta.encode())
            final.parent.mkdir(exist_ok=True)
            if not final.is_dir():
                unfinished.rename(final)
                flush_folder(final.parent)
        except OSError as error:
            if not final.is_dir():
                raise StoreError(f"cannot write to the store {self.path}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self.checkpoint(spec.name).unlink(missing_ok=True)

    def get(self, spec: Spec) -> Record:
        """A finished run; KeyError where there is none."""
        if spec not in self:
            raise KeyError(f"no run {spec.name[:12]} in {self.path}")
        return self.read(self.folder(spec.name))

    def read(self, folder: Path) -> Record:
        """Read and check one run; ValueError, with the reason, where anything is off."""
        try:
            spec = spec_from_json((folder / "spec.json").read_text())
            data = (folder / "arrays.npz").read_bytes()
            meta = json.loads((folder / "meta.json").read_text())
            if spec.name != folder.name:
                raise ValueError("its spec has another name")
            if checksum(data) != meta["arrays_sha256"]:
                raise ValueError("its arrays have another checksum")
            arrays = arrays_from_bytes(data)
            if missing := [name for name in ARRAYS if name not in arrays]:
                raise ValueError(f"it has no array {missing[0]!r}")
            return Record(spec, arrays)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"run {folder.name[:12]} in {self.path} is broken: {error}") from None

    def folders(self) -> Iterator[Path]:
        """The folders of all runs, in order of their names."""
        return (path for path, ours in self._entries() if ours)

    def _entries(self) -> Iterator[tuple[Path, bool]]:
        """Everything under ``runs`` but unfinished writes, and whether it has the form of a run of ours."""
        for group in sorted((self.path / "runs").iterdir()):
            if group.name.startswith("."):
                continue
            if not (group.is_dir() and re.fullmatch("[0-9a-f]{2}", group.name)):
                yield group, False
                continue
            for path in sorted(group.iterdir()):
                yield path, path.is_dir() and bool(re.fullmatch(f"{group.name}[0-9a-f]{{62}}", path.name))

    def records(self) -> Iterator[Record]:
        """All sound runs; broken ones are set aside and reported by `verify`, and never used."""
        for folder in self.folders():
            try:
                yield self.read(folder)
            except ValueError:
                continue

    def verify(self) -> list[str]:
        """Read everything; set aside what is broken or foreign, and say what."""
        said = []
        for path, ours in list(self._entries()):
            try:
                if not ours:
                    raise ValueError(f"{path.name} in {self.path} is no run of ours")
                self.read(path)
            except ValueError as error:
                said.append(f"{error}; set aside")
                self.set_aside(path)
        return said

    def set_aside(self, path: Path) -> None:
        shelf = self.path / "set-aside"
        shelf.mkdir(exist_ok=True)
        path.rename(shelf / f"{path.name}.{os.urandom(4).hex()}")

    def gc(self) -> list[str]:
        """Remove what nothing will use: unfinished writes, checkpoints of what is finished, what was set aside."""
        leftovers = [path for path in (self.path / "runs").iterdir() if path.name.startswith(".")]
        leftovers += [path for path in (self.path / "checkpoints").iterdir() if path.name.startswith(".")]
        leftovers += [path for path in (self.path / "checkpoints").glob("*.npz") if self._is_done(path.stem)]
        shelf = self.path / "set-aside"
        leftovers += list(shelf.iterdir()) if shelf.is_dir() else []
        for path in leftovers:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return [str(path.relative_to(self.path)) for path in leftovers]

    def _is_done(self, name: str) -> bool:
        """Whether a run, or the batch of which ``name`` is a part, is finished."""
        return self.folder(name).is_dir() or self.batch(name.partition(".")[0]).is_file()

    def rows(self) -> list[dict[str, Any]]:
        """The index, brought up to date with the folders, in order of protocol, world, agent and seed.

        A broken index is set aside and made again; one that another process is writing is waited for.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        rebuilt = False
        while True:
            try:
                return self._indexed_rows()
            except sqlite3.DatabaseError as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if rebuilt or (busy and time.monotonic() > deadline):
                    raise StoreError(f"cannot use the index of the store {self.path}: {error}") from None
                if busy:
                    time.sleep(0.05)
                    continue
            rebuilt = True
            for path in self.path.glob("index.sqlite*"):
                self.set_aside(path)

    def _indexed_rows(self) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.path / "index.sqlite", timeout=BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            columns = ", ".join(COLUMNS)
            connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns}, PRIMARY KEY (name))")
            have = {name for (name,) in connection.execute("SELECT name FROM runs")}
            there = {folder.name: folder for folder in self.folders()}
            marks = ", ".join("?" * len(COLUMNS))
            with connection:
                connection.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in have - set(there)])
                for name in sorted(set(there) - have):
                    try:
                        row = self.read(there[name]).row()
                    except ValueError:
                        continue
                    connection.execute(f"INSERT OR REPLACE INTO runs ({columns}) VALUES ({marks})", [*row.values()])
            query = f"SELECT {columns} FROM runs ORDER BY protocol, world, agent, seed"
            return [dict(zip(COLUMNS, row, strict=True)) for row in connection.execute(query)]

    def export(self, path: Path) -> int:
        """Write the index as .csv or .parquet; returns the number of rows."""
        rows = self.rows()
        if path.suffix == ".parquet":
            try:
                import pyarrow
                import pyarrow.parquet
            except ImportError:
                raise ImportError("Parquet needs pyarrow: pip install 'klearning[parquet]'") from None
            table = pyarrow.table({c: [row[c] for row in rows] for c in COLUMNS})
            pyarrow.parquet.write_table(table, path)
        elif path.suffix == ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
        else:
            raise ValueError(f"path={str(path)!r} is neither .csv nor .parquet: give one of these endings")
        return len(rows)


def provenance(data: bytes) -> dict[str, Any]:
    """What is written beside an archive: its checksum, and the versions that made it."""
    return {"arrays_sha256": checksum(data), "versions": versions()}


def versions() -> dict[str, str]:
    """What the last digits of a result may depend on."""
    return {
        "klearning": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
