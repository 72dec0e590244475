"""The store: a folder of runs, each named by its spec, and an index that can always be rebuilt.

    store/runs/ab/abcdef…/spec.json     what was run, canonical: one part of a spec (`Spec.parts`)
                          arrays.npz    what came of it
                          meta.json     checksum of the arrays, versions of the libraries
    store/checkpoints/abcdef….npz       what is under way
    store/set-aside/                    what was found broken, never used
    store/index.jsonl                   what is listed of every run; rebuilt from the folders if it is missing

A run's folder is filled under another name, flushed, and renamed: it is whole or it is not there. Any number of
processes may write into one store; who comes second to the same run finds it done.

A store may come from somebody else. It touches nothing outside of its folder: none of the above is ever a symbolic
link, and nothing is read that is not a regular file, or is larger than it should be.
"""

import csv
import errno
import io
import json
import os
import platform
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klearning.lab.experiments.columns import RESULTS, Row, columns, in_order, is_row, row_of
from klearning.lab.experiments.index import Index
from klearning.lab.experiments.results import check_arrays, facts, runs_of, together
from klearning.lab.experiments.spec import Spec, spec_from_json
from klearning.numerics.display.frames import data_frame
from klearning.numerics.files import (
    arrays_to_bytes,
    check_writable,
    checksum,
    checksum_of,
    flush_folder,
    is_abandoned,
    is_folder,
    json_from,
    opened,
    read_bytes,
    unfinished_path,
    unpack,
    write_file,
    write_whole,
)
from klearning.numerics.types import Arrays
from klearning.tabular.trials.runs import Runs
from klearning.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDERS = ("runs", "checkpoints", "set-aside")
INDEX = "index.jsonl"
FILES = ("spec.json", "arrays.npz", "meta.json")  # of a run
NAME = re.compile("[0-9a-f]{64}")
MOST_BYTES = 2**29  # of the arrays of a run or a checkpoint, packed or not
HEADER = 256  # bytes that an array in an archive has besides its numbers, at most
FORMULA = tuple("=+-@\t\r")  # what a formula in a spreadsheet begins with
BROKEN = (OSError, KeyError, TypeError, ValueError, RecursionError)  # what reading a run that nobody wrote may raise


class StoreError(OSError):
    """The store cannot be read or written; the message says where and why."""


class Store:
    """Runs on disk."""

    def __init__(self, path: Path | str, create: bool = True) -> None:
        self.path = Path(path)
        self._index = Index(self.path / INDEX)
        for name in (*FOLDERS, INDEX):
            if (self.path / name).is_symlink():
                raise StoreError(
                    f"cannot use the store {self.path}: its {name} is a symbolic link, which may lead out of it: "
                    "put a folder or file in its place, or link the store as a whole"
                )
        try:
            if create:
                for folder in ("runs", "checkpoints"):
                    (self.path / folder).mkdir(parents=True, exist_ok=True)
            found = is_folder(self.path / "runs")
        except OSError as error:
            raise StoreError(f"cannot use the store {self.path}: {error.strerror or error}") from None
        if not found:
            raise StoreError(f"{self.path} is not a store, a folder with a folder `runs`: give the path of one")

    def folder(self, name: str) -> Path:
        return self.path / "runs" / name[:2] / name

    def checkpoint(self, name: str) -> Path:
        return self.path / "checkpoints" / f"{name}.npz"

    def __contains__(self, spec: Spec) -> bool:
        return all(self._has(part.name) for part in spec.parts)

    def _has(self, name: str) -> bool:
        """Whether there is a run of this name: a folder, reached by folders alone."""
        folder = self.folder(name)
        return is_folder(folder) and is_folder(folder.parent)

    def put(self, spec: Spec, arrays: dict[str, NDArray[Any]], goal: bool = True) -> None:
        """Keep a finished part of a spec; if it is there already, nothing changes. ``goal``: whether there is one."""
        data = packed(arrays)
        meta = page({**provenance(data), "facts": facts(spec, arrays, goal)})
        files = {"spec.json": (spec.canonical + "\n").encode(), "arrays.npz": data, "meta.json": meta}
        self.put_files(spec.name, files)

    def put_files(self, name: str, files: dict[str, bytes]) -> None:
        """Keep the files of a finished run, which may come from another store; `files` gives them."""
        final = self.folder(name)
        unfinished = unfinished_path(self.path / "runs" / name)
        try:
            unfinished.mkdir()
            for file, data in files.items():
                write_whole(unfinished / file, data, links=False)
            if not is_folder(final.parent):
                with suppress(FileExistsError):  # by another process, just now
                    final.parent.mkdir()
                if not is_folder(final.parent):
                    raise NotADirectoryError(errno.ENOTDIR, f"{final.parent} is not a folder")
                flush_folder(final.parent.parent)
            if not is_folder(final):
                unfinished.rename(final)
                flush_folder(final.parent)
        except OSError as error:
            if not self._has(name):
                raise StoreError(f"cannot write to the store {self.path}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self.checkpoint(name).unlink(missing_ok=True)

    def files(self, name: str) -> dict[str, bytes]:
        """The files of a finished run, by their names; none if it is not there."""
        folder = self.folder(name)
        return {file: read_bytes(folder / file, MOST_BYTES) for file in FILES} if self._has(name) else {}

    def get(self, spec: Spec) -> Runs:
        """The result of a spec, all of its seeds; KeyError if a part of it is missing."""
        return self.runs([spec])

    def runs(self, specs: Sequence[Spec]) -> Runs:
        """Results that differ in their seeds alone, as one, as `run` returns them; KeyError if one is missing.

        A store keeps no clock: their ``seconds`` are nan.
        """
        parts = [part for spec in specs for part in spec.parts]
        return together([runs_of(part, self.arrays(part)) for part in parts])

    def arrays(self, spec: Spec) -> Arrays:
        """The arrays of one part of a spec, by name; KeyError if there are none."""
        if not self._has(spec.name):
            raise KeyError(f"no run {spec.name[:12]} in {self.path}")
        return self._read(self.folder(spec.name))[1]

    def read(self, folder: Path) -> Runs:
        """Read and check one part; ValueError, with the reason, if anything is wrong."""
        return runs_of(*self._read(folder))

    def has_goal(self, folder: Path) -> bool:
        """Whether the world of a run has a goal, by its page; no world is built."""
        return _page(folder / "meta.json")["facts"]["solved_seeds"] is not None

    def _read(self, folder: Path) -> tuple[Spec, Arrays]:
        try:
            spec, meta = _spec_of(folder), _page(folder / "meta.json")
            with opened(folder / "arrays.npz", MOST_BYTES) as file:
                if checksum_of(file) != meta["arrays_sha256"]:
                    raise ValueError("its arrays have another checksum")
                arrays = unpack(file, most=MOST_BYTES)[1]
            check_arrays(spec, arrays)
            if meta["facts"] != facts(spec, arrays, meta["facts"]["solved_seeds"] is not None):
                raise ValueError("its page says other things than its arrays")
            return spec, arrays
        except BROKEN as error:
            raise self._broken(folder, error) from None

    def _broken(self, folder: Path, error: Exception) -> ValueError:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        return ValueError(f"run {folder.name[:12]} in {self.path} is broken: {why}")

    def is_sound(self, spec: Spec) -> bool:
        """Whether a run is there and its files are those that were written; cheaper than to read it."""
        folder = self.folder(spec.name)
        try:
            return read_bytes(folder / "spec.json") == f"{spec.canonical}\n".encode() and _is_whole(folder)
        except BROKEN:
            return False

    def missing(self, specs: Iterable[Spec]) -> list[Spec]:
        """The parts of them that are not there, each once; what is there and broken is set aside first."""
        absent = []
        for part in {part.name: part for spec in specs for part in spec.parts}.values():
            if part in self and not self.is_sound(part):
                self.set_aside(self.folder(part.name))
            if part not in self:
                absent.append(part)
        return absent

    def folders(self) -> Iterator[Path]:
        """The folders of all runs, in order of their names."""
        return (Path(entry.path) for entry, ours in self._entries() if ours)

    def _entries(self) -> Iterator[tuple[os.DirEntry[str], bool]]:
        """Everything under ``runs`` but unfinished writes, and whether it has the form of a run of ours."""
        for group in _listed(self.path / "runs"):
            if group.name.startswith("."):
                continue
            if not (group.is_dir(follow_symlinks=False) and len(group.name) == 2):
                yield group, False
                continue
            for entry in _listed(group.path):
                ours = NAME.fullmatch(entry.name) is not None and entry.name.startswith(group.name)
                yield entry, ours and entry.is_dir(follow_symlinks=False)

    def results(self) -> Iterator[Runs]:
        """All that is sound, part by part; what is broken is set aside and reported by `verify`, and never used."""
        for folder in self.folders():
            try:
                yield self.read(folder)
            except ValueError:
                continue

    def verify(self) -> list[str]:
        """Read everything: runs and the index. Set aside what is broken or foreign, and say what."""
        complaints, rows = [], {}
        for entry, ours in list(self._entries()):
            path = Path(entry.path)
            try:
                if not ours:
                    raise ValueError(f"{path.name} in {self.path} is not a run of klearning")
                spec, arrays = self._read(path)
                rows[path.name] = row_of(spec, facts(spec, arrays, self.has_goal(path)))
            except ValueError as error:
                complaints.append(f"{error}; set aside")
                self.set_aside(path)
        if self._index.rebuild(rows):
            complaints.append(f"the index of {self.path} differed from the runs; rebuilt")
        return complaints

    def set_aside(self, path: Path) -> None:
        shelf = self.path / "set-aside"
        shelf.mkdir(exist_ok=True)
        path.rename(shelf / f"{path.name}.{os.urandom(4).hex()}")

    def gc(self) -> list[str]:
        """Remove what nothing will use: abandoned writes, checkpoints of finished runs, what was set aside.

        Of a link the link is removed, and never its target. A run that cannot be removed stays, and is not listed.
        """
        folders = [self.path / name for name in ("runs", "checkpoints")]
        leftovers = [path for folder in folders if is_folder(folder) for path in folder.iterdir() if is_abandoned(path)]
        leftovers += [path for path in (self.path / "checkpoints").glob("*.npz") if self._is_done(path.stem)]
        shelf = self.path / "set-aside"
        leftovers += list(shelf.iterdir()) if is_folder(shelf) else []
        removed = []
        for path in leftovers:
            with suppress(OSError):
                shutil.rmtree(path) if is_folder(path) else path.unlink(missing_ok=True)
                removed.append(str(path.relative_to(self.path)))
        return removed

    def _is_done(self, name: str) -> bool:
        """Whether the work of this name is finished."""
        return NAME.fullmatch(name) is not None and self._has(name)

    def rows(self) -> list[Row]:
        """The row of every sound run, in order of protocol, world, agent, their parameters, and seed."""
        return self.listing().rows

    def listing(self) -> "Listing":
        """The row of every sound run, and a line for each that is broken."""
        there = {entry.name for entry, ours in self._entries() if ours}
        broken: list[str] = []

        def read(name: str) -> Row | None:
            folder = self.folder(name)
            try:
                return self._row(folder)
            except BROKEN as error:
                broken.append(str(self._broken(folder, error)))
                return None

        return Listing(in_order(self._index.rows(there, read).values()), broken)

    def frame(self) -> "DataFrame":
        """One line per run, with a column for every setting: a pandas DataFrame."""
        return data_frame(columns(self.rows()))

    def _row(self, folder: Path) -> Row:
        """The row of a run. Its arrays are not unpacked."""
        spec, meta = _spec_of(folder), _page(f"{folder}/meta.json")
        if not _is_whole(folder, meta):
            raise ValueError("its arrays have another checksum")
        row = row_of(spec, meta["facts"])
        if not is_row(row):
            raise ValueError("its page does not say how it went")
        return row

    def export(self, path: Path, rows: Sequence[Row] | None = None, curves: bool = False) -> int:
        """Write one line per run, or these ``rows``, with a column for every setting, as .csv or .parquet.

        With ``curves`` it is one line per kept episode of a run. Returns how many runs.
        In a .csv, a text that a spreadsheet would take for a formula has an apostrophe before it.
        """
        forms = {".csv": _as_csv, ".parquet": _as_parquet}
        if path.suffix not in forms:
            raise ValueError(f"path={str(path)!r} is neither .csv nor .parquet: give one of these endings")
        check_writable(path)
        listed = self.rows() if rows is None else rows
        write_file(path, forms[path.suffix](self._curves(listed) if curves else columns(listed)))
        return len(listed)

    def _curves(self, rows: Sequence[Row]) -> dict[str, list[Any]]:
        """The settings of these runs, and of every kept episode its value, regret and return; empty after the end."""
        runs = [self.read(self.folder(row["name"])) for row in rows]
        lines = [i for i, part in enumerate(runs) for _ in range(part.values.size)]
        settings = {name: values for name, values in columns(rows).items() if name not in ("seed", "seeds", *RESULTS)}
        return {
            **{name: [values[i] for i in lines] for name, values in settings.items()},
            "seed": [seed for part in runs for seed in part.seeds for _ in part.points],
            "episode": [t for part in runs for _ in part.seeds for t in part.points.tolist()],
            "value": [x for part in runs for x in _numbers(part.values)],
            "regret": [x for part in runs for x in _numbers(part.regret)],
            "return": [x for part in runs for x in _numbers(part.returns)],
        }


class Listing(NamedTuple):
    """The runs of a store as rows, and a line for each run that could not be read."""

    rows: list[Row]
    broken: list[str]


def _numbers(x: NDArray[Any]) -> list[float | None]:
    return [number if isfinite(number) else None for number in x.ravel().tolist()]


def _as_csv(table: dict[str, list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(_literal, table))
    writer.writerows(zip(*(map(_literal, values) for values in table.values()), strict=True))
    return text.getvalue().encode()


def _literal(value: object) -> object:
    """A cell that a spreadsheet does not read as a formula."""
    if isinstance(value, str) and value[:1] in FORMULA:
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value


def _as_parquet(table: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install pyarrow") from None
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(table), data)
    return data.getvalue()


def _listed(folder: Path | str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    """An archive that a store reads again; ValueError if it would be too large for that."""
    size = sum(HEADER + np.asarray(x).nbytes for x in arrays.values())
    if size > MOST_BYTES:
        raise ValueError(
            f"its arrays have {size:,} bytes, and a store keeps at most {MOST_BYTES:,} of a run: "
            "give fewer episodes, or fewer snapshots"
        )
    return arrays_to_bytes(arrays)


def page(content: dict[str, Any]) -> bytes:
    """A page as it is written: JSON that carries its own checksum."""
    plain = json.dumps(content, sort_keys=True)
    whole = {**content, "page_sha256": checksum(plain.encode())}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _page(path: Path | str) -> dict[str, Any]:
    """Read a page; ValueError if it is damaged."""
    content = json_from(read_bytes(path))
    if not isinstance(content, dict):
        raise ValueError(f"{Path(path).name} is not a page")
    if content.pop("page_sha256", None) != checksum(json.dumps(content, sort_keys=True).encode()):
        raise ValueError(f"{Path(path).name} has another checksum")
    return content


def _is_whole(folder: Path, meta: dict[str, Any] | None = None) -> bool:
    """Whether the arrays of a run are those that its page speaks of."""
    said = (_page(folder / "meta.json") if meta is None else meta)["arrays_sha256"]
    with opened(f"{folder}/arrays.npz", MOST_BYTES) as file:
        return bool(checksum_of(file) == said)


def _spec_of(folder: Path) -> Spec:
    spec = spec_from_json(read_bytes(f"{folder}/spec.json").decode())
    if spec.name != folder.name:
        raise ValueError("its spec has another name")
    return spec


def provenance(data: bytes) -> dict[str, Any]:
    """The record beside an archive: its checksum, and the versions that made it."""
    return {"arrays_sha256": checksum(data), "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """Versions and CPU: compilers fuse other operations on another type of CPU, which changes the last digits."""
    from numba.core.registry import cpu_target

    _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    return {
        "klearning": __version__,
        "numpy": np.__version__,
        "numba": version("numba"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": f"{cpu} ({zlib.crc32(features.encode()):08x})",  # which kernels are compiled for
    }


def differences(there: dict[str, Any], here: dict[str, str]) -> str:
    """Differences between the versions there and here; empty if there are none."""
    return ", ".join(
        f"{name} {there.get(name)!s:.60}, not {here[name]}" for name in here if there.get(name) != here[name]
    )
