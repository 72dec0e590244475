"""The store: a folder of runs, each named by its spec, and an index that can always be rebuilt.

    store/runs/ab/abcdef…/spec.json     what was run, canonical
                          arrays.npz    what came of it
                          meta.json     checksum of the arrays, versions of the libraries
    store/checkpoints/abcdef….npz       runs and parts of batches under way
    store/batches/abcdef….npz, .json    many small runs in one file: see batch.py
    store/set-aside/                    what was found broken, never used
    store/index.jsonl                   what is listed of every run; made anew from the folders if it is missing

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
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klearning.games.matches import Matches
from klearning.lab.experiments.columns import Row, columns, in_order, is_row, row_of
from klearning.lab.experiments.index import Index
from klearning.lab.experiments.spec import Spec, build_agent, build_match, build_prior, build_world, spec_from_json
from klearning.numerics.files import (
    arrays_to_bytes,
    check_writable,
    checksum,
    checksum_of,
    flush_folder,
    is_abandoned,
    is_file,
    is_folder,
    json_from,
    opened,
    read_bytes,
    unfinished_path,
    unpack,
    write_file,
    write_whole,
)
from klearning.numerics.frames import data_frame
from klearning.tabular.trials import regret
from klearning.tabular.trials.run import Runs
from klearning.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame

FOLDERS = ("runs", "checkpoints", "batches", "set-aside")
INDEX = "index.jsonl"
FILES = ("spec.json", "arrays.npz", "meta.json")  # of a run
ARRAYS = ("optimal_value", "values", "returns", "hits")  # what every run has
NAME = re.compile("[0-9a-f]{64}")
MOST_BYTES = 2**29  # of the arrays of a run, a checkpoint or a batch, packed or not
HEADER = 256  # bytes that an array in an archive has besides its numbers, at most
FORMULA = tuple("=+-@\t\r")  # what a formula in a spreadsheet begins with
BROKEN = (OSError, KeyError, TypeError, ValueError, RecursionError)  # what reading a run that nobody wrote may raise


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

    def row(self) -> Row:
        """What is listed of it."""
        return row_of(self.spec, facts(self.arrays))


def _common_spec(records: Sequence[Record], kind: str) -> Spec:
    """What records of one kind share that differ in their seed alone; ValueError where they do not."""
    if not records:
        raise ValueError("specs=[] is empty: give the specs of some runs")
    spec = records[0].spec
    if spec.kind != kind:
        other = "matches" if spec.kind == "game" else "runs"
        raise ValueError(f"run {spec.name[:12]} is of a {spec.kind}: read it by store.{other}")
    for record in records:
        if replace(record.spec, seed=0).canonical != replace(spec, seed=0).canonical:
            raise ValueError(
                f"run {record.spec.name[:12]} differs from {spec.name[:12]} in more than its seed: give alike"
            )
    return spec


def _stacked(records: Sequence[Record], name: str) -> NDArray[Any]:
    return np.stack([record.arrays[name] for record in records])


def matches_of(records: Sequence[Record]) -> Matches:
    """Matches that differ in their seed alone, put together, without the mixtures of their rounds."""
    pairing = build_match(_common_spec(records, "game"))
    values, payoffs = _stacked(records, "values"), _stacked(records, "returns")
    *states, rows, columns = records[0].arrays["visits"].shape
    none = (len(records), 0, *states)
    return Matches(
        pairing.agent, pairing.game, pairing.opponent, pairing.belief, tuple(record.spec.seed for record in records),
        values, payoffs, np.zeros((*none, columns)), np.zeros((*none, rows)), np.nan,
    )  # fmt: skip


def runs_of(records: Sequence[Record]) -> Runs:
    """Runs that differ in their seed alone, put together."""
    spec = _common_spec(records, "world")
    for record in records:
        if record.ran < spec.episodes or "visits" not in record.arrays:
            raise ValueError(f'run {record.spec.name[:12]} ended when solved: give runs with stop="never"')
    agent, world, stacked = build_agent(spec), build_world(spec), partial(_stacked, records)

    return Runs(
        agent=agent,
        world=world,
        prior=build_prior(spec, world),
        seeds=tuple(record.spec.seed for record in records),
        optimal_value=records[0].optimal_value,
        values=stacked("values"),
        returns=stacked("returns"),
        hits=stacked("hits"),
        visits=stacked("visits").transpose(0, 2, 1),
        diagnostics={name: stacked(f"diagnostic_{name}") for name in agent.diagnostics},
        seconds=np.nan,
    )


def facts(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """What a list says of a finished run, besides its spec."""
    hits, values, best = arrays["hits"], arrays["values"], float(arrays["optimal_value"])
    first, solved = float(regret.first_hit(hits)), float(regret.time_to_solve(hits))
    return {
        "ran": len(hits),
        "first_hit": None if np.isnan(first) else first,
        "solved": None if np.isnan(solved) else solved,
        "regret": float(regret.cumulative_regret(best, values)[-1]),
    }


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
            elif not is_folder(self.path / "runs"):
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
        return self._has(spec.name)

    def _has(self, name: str) -> bool:
        """Whether there is a run of this name: a folder, reached by folders alone."""
        folder = self.folder(name)
        return is_folder(folder) and is_folder(folder.parent)

    def put(self, spec: Spec, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep a finished run; where it is there already, nothing changes."""
        data = packed(arrays)
        meta = page({**provenance(data), "facts": facts(arrays)})
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
        """The files of a finished run, by their names; none where it is not there."""
        folder = self.folder(name)
        return {file: read_bytes(folder / file, MOST_BYTES) for file in FILES} if self._has(name) else {}

    def get(self, spec: Spec) -> Record:
        """A finished run; KeyError where there is none."""
        if spec not in self:
            raise KeyError(f"no run {spec.name[:12]} in {self.path}")
        return self.read(self.folder(spec.name))

    def read(self, folder: Path) -> Record:
        """Read and check one run; ValueError, with the reason, if anything is wrong."""
        try:
            spec, meta = _spec_of(folder), _page(folder / "meta.json")
            with opened(folder / "arrays.npz", MOST_BYTES) as file:
                if checksum_of(file) != meta["arrays_sha256"]:
                    raise ValueError("its arrays have another checksum")
                arrays = unpack(file, most=MOST_BYTES)[1]
            _check_arrays(spec, arrays)
            if "facts" in meta and meta["facts"] != facts(arrays):
                raise ValueError("its page says other things than its arrays")
            return Record(spec, arrays)
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
        """Those that are not there, each once; what is there and broken is set aside first."""
        absent = []
        for spec in {spec.name: spec for spec in specs}.values():
            if spec in self and not self.is_sound(spec):
                self.set_aside(self.folder(spec.name))
            if spec not in self:
                absent.append(spec)
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

    def records(self) -> Iterator[Record]:
        """All sound runs; broken ones are set aside and reported by `verify`, and never used."""
        for folder in self.folders():
            try:
                yield self.read(folder)
            except ValueError:
                continue

    def verify(self) -> list[str]:
        """Read everything: runs, batches, the index. Set aside what is broken or foreign, and say what."""
        complaints, rows = [], {}
        for entry, ours in list(self._entries()):
            path = Path(entry.path)
            try:
                if not ours:
                    raise ValueError(f"{path.name} in {self.path} is no run of ours")
                rows[path.name] = self.read(path).row()
            except ValueError as error:
                complaints.append(f"{error}; set aside")
                self.set_aside(path)
        for path in sorted((self.path / "batches").glob("*.json")):
            try:
                with opened(path.with_suffix(".npz"), MOST_BYTES) as file:
                    if checksum_of(file) != _page(path)["arrays_sha256"]:
                        raise ValueError("its arrays have another checksum")
            except BROKEN as error:
                complaints.append(f"batch {path.stem[:12]} in {self.path} is broken: {error}; set aside")
                self.set_aside(path)
        if self._index.rebuild(rows):
            complaints.append(f"the index of {self.path} differed from the runs; made anew")
        return complaints

    def set_aside(self, path: Path) -> None:
        shelf = self.path / "set-aside"
        shelf.mkdir(exist_ok=True)
        path.rename(shelf / f"{path.name}.{os.urandom(4).hex()}")

    def gc(self) -> list[str]:
        """Remove what nothing will use: abandoned writes, checkpoints of finished runs, what was set aside.

        Of a link the link is removed, and never what it leads to. What cannot be removed stays, and is not listed.
        """
        folders = [self.path / name for name in ("runs", "checkpoints", "batches")]
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
        """Whether a run, or the batch of which ``name`` is a part, is finished."""
        whole = name.partition(".")[0]
        return NAME.fullmatch(whole) is not None and (self._has(name) or is_file(self.batch(whole)))

    def rows(self) -> list[Row]:
        """What is listed of every sound run, in order of protocol, world, agent, their parameters, and seed."""
        return self.listing().rows

    def listing(self) -> "Listing":
        """What is listed of every sound run, and a line for each that is broken."""
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

    def runs(self, specs: Sequence[Spec]) -> Runs:
        """Finished runs that differ in their seed alone, as `run` returns them; KeyError where one is missing.

        ``seconds`` is nan, because the store keeps no clock.
        """
        return runs_of([self.get(spec) for spec in specs])

    def matches(self, specs: Sequence[Spec]) -> Matches:
        """The same of specs with an opponent, as `games.play` returns them."""
        return matches_of([self.get(spec) for spec in specs])

    def _row(self, folder: Path) -> Row:
        """What is listed of a run. Its arrays are unpacked only if its page has no facts."""
        spec, meta = _spec_of(folder), _page(f"{folder}/meta.json")
        if "facts" not in meta:
            return self.read(folder).row()
        if not _is_whole(folder, meta):
            raise ValueError("its arrays have another checksum")
        row = row_of(spec, meta["facts"])
        if not is_row(row):
            raise ValueError("its page does not say how it went")
        return row

    def export(self, path: Path, rows: Sequence[Row] | None = None) -> int:
        """Write one line per run, or these ``rows``, with a column for every setting, as .csv or .parquet.

        Returns how many. In a .csv, a text that a spreadsheet would take for a formula has an apostrophe before it.
        """
        forms = {".csv": _as_csv, ".parquet": _as_parquet}
        if path.suffix not in forms:
            raise ValueError(f"path={str(path)!r} is neither .csv nor .parquet: give one of these endings")
        check_writable(path)
        listed = self.rows() if rows is None else rows
        write_file(path, forms[path.suffix](columns(listed)))
        return len(listed)


class Listing(NamedTuple):
    """What a store holds, as rows; and what of it could not be read, a line each."""

    rows: list[Row]
    broken: list[str]


def _as_csv(table: dict[str, list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(_literal, table))
    writer.writerows(zip(*(map(_literal, values) for values in table.values()), strict=True))
    return text.getvalue().encode()


def _literal(value: Any) -> Any:
    """A cell that is no formula in a spreadsheet."""
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
    """Read a page; ValueError if it is damaged. Pages of earlier versions have no checksum of their own."""
    content = json_from(read_bytes(path))
    if not isinstance(content, dict):
        raise ValueError(f"{Path(path).name} is no page")
    digest = content.pop("page_sha256", None)
    if digest is not None and digest != checksum(json.dumps(content, sort_keys=True).encode()):
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


def _check_arrays(spec: Spec, arrays: dict[str, NDArray[Any]]) -> None:
    """Names, kinds and shapes of what every run has."""
    if missing := [name for name in ARRAYS if name not in arrays]:
        raise ValueError(f"it has no array {missing[0]!r}")
    length = len(arrays["hits"]) if arrays["hits"].ndim == 1 else -1
    if (
        arrays["optimal_value"].shape != ()
        or arrays["optimal_value"].dtype.kind != "f"
        or not 0 < length <= spec.episodes
    ):
        raise ValueError("its arrays are not those of a run")
    for name, kind in (("values", "f"), ("returns", "f"), ("hits", "b")):
        if arrays[name].shape != (length,) or arrays[name].dtype.kind != kind:
            raise ValueError(f"its {name} are not one per episode")


def provenance(data: bytes) -> dict[str, Any]:
    """What is written beside an archive: its checksum, and the versions that made it."""
    return {"arrays_sha256": checksum(data), "versions": versions()}


@cache
def versions() -> dict[str, str]:
    """What the last digits of a result may depend on: a compiler fuses other operations on another type of CPU."""
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
    """What differs between the versions there and here; empty if nothing does."""
    return ", ".join(
        f"{name} {there.get(name)!s:.60}, not {here[name]}" for name in here if there.get(name) != here[name]
    )
