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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from klearning.arrays.frames import data_frame
from klearning.experiments.columns import Row, column_names, columns, order_of, row_of
from klearning.experiments.index import Index
from klearning.experiments.spec import Spec, build_agent, build_match, build_prior, build_world, spec_from_json
from klearning.games.matches import Matches
from klearning.storage.files import (
    arrays_from_bytes,
    arrays_to_bytes,
    checksum,
    flush_folder,
    is_abandoned,
    unfinished_path,
    write_whole,
)
from klearning.trials import regret
from klearning.trials.run import Runs
from klearning.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame

FILES = ("spec.json", "arrays.npz", "meta.json")  # of a run
ARRAYS = ("optimal_value", "values", "returns", "hits")  # what every run has


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
        self._index = Index(self.path / "index.sqlite")
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
        data = arrays_to_bytes(arrays)
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
                write_whole(unfinished / file, data)
            if not final.parent.is_dir():
                final.parent.mkdir(exist_ok=True)
                flush_folder(final.parent.parent)
            if not final.is_dir():
                unfinished.rename(final)
                flush_folder(final.parent)
        except OSError as error:
            if not final.is_dir():
                raise StoreError(f"cannot write to the store {self.path}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self.checkpoint(name).unlink(missing_ok=True)

    def files(self, name: str) -> dict[str, bytes]:
        """The files of a finished run, by their names; none where it is not there."""
        folder = self.folder(name)
        return {file: (folder / file).read_bytes() for file in FILES} if folder.is_dir() else {}

    def get(self, spec: Spec) -> Record:
        """A finished run; KeyError where there is none."""
        if spec not in self:
            raise KeyError(f"no run {spec.name[:12]} in {self.path}")
        return self.read(self.folder(spec.name))

    def read(self, folder: Path) -> Record:
        """Read and check one run; ValueError, with the reason, where anything is off."""
        try:
            spec = _spec_of(folder)
            data, meta = (folder / "arrays.npz").read_bytes(), _page(folder / "meta.json")
            if checksum(data) != meta["arrays_sha256"]:
                raise ValueError("its arrays have another checksum")
            arrays = arrays_from_bytes(data)
            _check_arrays(spec, arrays)
            if "facts" in meta and meta["facts"] != facts(arrays):
                raise ValueError("its page says other things than its arrays")
            return Record(spec, arrays)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"run {folder.name[:12]} in {self.path} is broken: {error}") from None

    def is_sound(self, spec: Spec) -> bool:
        """Whether a run is there and its files are those that were written; cheaper than to read it."""
        folder = self.folder(spec.name)
        try:
            meta = _page(folder / "meta.json")
            whole = (folder / "spec.json").read_text() == spec.canonical + "\n"
            return whole and bool(checksum((folder / "arrays.npz").read_bytes()) == meta["arrays_sha256"])
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
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
        """Read everything: runs, batches, the index. Set aside what is broken or foreign, and say what."""
        complaints, rows = [], {}
        for path, ours in list(self._entries()):
            try:
                if not ours:
                    raise ValueError(f"{path.name} in {self.path} is no run of ours")
                rows[path.name] = self.read(path).row()
            except ValueError as error:
                complaints.append(f"{error}; set aside")
                self.set_aside(path)
        for path in sorted((self.path / "batches").glob("*.json")):
            try:
                if checksum(path.with_suffix(".npz").read_bytes()) != _page(path)["arrays_sha256"]:
                    raise ValueError("its arrays have another checksum")
            except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
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
        """Remove what nothing will use: abandoned writes, checkpoints of finished runs, what was set aside."""
        folders = [self.path / name for name in ("runs", "checkpoints", "batches")]
        leftovers = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if is_abandoned(path)]
        leftovers += [path for path in (self.path / "checkpoints").glob("*.npz") if self._is_done(path.stem)]
        shelf = self.path / "set-aside"
        leftovers += list(shelf.iterdir()) if shelf.is_dir() else []
        for path in leftovers:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return [str(path.relative_to(self.path)) for path in leftovers]

    def _is_done(self, name: str) -> bool:
        """Whether a run, or the batch of which ``name`` is a part, is finished."""
        return self.folder(name).is_dir() or self.batch(name.partition(".")[0]).is_file()

    def rows(self) -> list[Row]:
        """What is listed of every sound run, in order of protocol, world, agent, their parameters, and seed."""
        there = {folder.name: folder for folder in self.folders()}
        listed = self._index.rows(there, lambda name: self._row(there[name]))
        names = column_names(listed.values())
        return sorted(listed.values(), key=lambda row: order_of(names, row))

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

    def _row(self, folder: Path) -> Row | None:
        """What is listed of a run; None if it is broken. Its arrays are unpacked only if its page has no facts."""
        try:
            spec, meta = _spec_of(folder), _page(folder / "meta.json")
            if "facts" not in meta:
                return self.read(folder).row()
            return row_of(spec, meta["facts"]) if self.is_sound(spec) else None
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            return None

    def export(self, path: Path) -> int:
        """Write one line per run, with a column for every setting, as .csv or .parquet; returns how many."""
        rows = self.rows()
        table = columns(rows)
        if path.suffix == ".parquet":
            try:
                import pyarrow
                import pyarrow.parquet
            except ImportError:
                raise ImportError("Parquet needs pyarrow: pip install pyarrow") from None
            pyarrow.parquet.write_table(pyarrow.table(table), path)
        elif path.suffix == ".csv":
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        else:
            raise ValueError(f"path={str(path)!r} is neither .csv nor .parquet: give one of these endings")
        return len(rows)


def page(content: dict[str, Any]) -> bytes:
    """A page as it is written: JSON that carries its own checksum."""
    plain = json.dumps(content, sort_keys=True)
    whole = {**content, "page_sha256": checksum(plain.encode())}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _page(path: Path) -> dict[str, Any]:
    """Read a page; ValueError where it is damaged. Pages of before had no checksum of their own."""
    content = json.loads(path.read_text())
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is no page")
    digest = content.pop("page_sha256", None)
    if digest is not None and digest != checksum(json.dumps(content, sort_keys=True).encode()):
        raise ValueError(f"{path.name} has another checksum")
    return content


def _spec_of(folder: Path) -> Spec:
    spec = spec_from_json((folder / "spec.json").read_text())
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


def versions() -> dict[str, str]:
    """What the last digits of a result may depend on."""
    return {
        "klearning": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
