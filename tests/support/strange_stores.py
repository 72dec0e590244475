"""Stores that somebody made to do harm: what leads out of them, never ends, is very large, or is oddly named.

Each is made of a sound store of a few runs, and of a folder outside of it that must stay as it is.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from klearning.lab.experiments.index import Index
from klearning.lab.experiments.spec import Spec, make_spec
from klearning.lab.experiments.store import INDEX, Store
from klearning.numerics.files import unfinished_path

SEEDS = range(3)
LARGE = 8 * 2**30  # bytes of a file that takes no room on disk
LONG_AGO = 7200.0  # seconds


def spec(seed: int = 0) -> Spec:
    return make_spec({"name": "deep_sea", "depth": 3}, {"name": "Random"}, episodes=4, seeds=[seed])


def filled(path: Path) -> Store:
    """A store of a few runs that were never run."""
    store = Store(path)
    for seed in SEEDS:
        values = np.linspace(0.0, 0.75, 4)
        hits = np.array([False, False, True, True])
        store.put(
            spec(seed),
            {
                "optimal_value": np.asarray(0.75),
                "values": values,
                "returns": values,
                "hits": hits,
                "visits": np.ones((2, 6)),
            },
        )
    store.rows()
    return store


def thesis(path: Path) -> Path:
    """A folder outside, which nothing may change."""
    (path / "chapters").mkdir(parents=True)
    (path / "thesis.tex").write_text("all of it")
    (path / "chapters" / "one.tex").write_text("the beginning")
    with closing(sqlite3.connect(path / "mlflow.db")) as database, database:
        database.execute("CREATE TABLE runs (name TEXT)")
        database.execute("INSERT INTO runs VALUES ('mine')")
    return path


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def linked(name: str, target: str = "") -> Callable[[Path, Path], None]:
    """Something of the store is a link to the folder outside, or to something in it."""

    def harm(store: Path, outside: Path) -> None:
        path = store / name.format(group=spec().name[:2], run=spec().name)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.symlink_to(outside / target)

    return harm


def piped(name: str) -> Callable[[Path, Path], None]:
    """A file of the store is a pipe that nobody writes into."""

    def harm(store: Path, outside: Path) -> None:
        path = store / name.format(group=spec().name[:2], run=spec().name)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return harm


def vast(name: str) -> Callable[[Path, Path], None]:
    """A file of the store has eight gigabytes of zeros."""

    def harm(store: Path, outside: Path) -> None:
        with (store / name.format(group=spec().name[:2], run=spec().name)).open("wb") as file:
            file.truncate(LARGE)

    return harm


def database(*statements: str) -> Callable[[Path, Path], None]:
    """The index that earlier versions had, as somebody else made it."""

    def harm(store: Path, outside: Path) -> None:
        with closing(sqlite3.connect(store / "index.sqlite")) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return harm


def odd_process(store: Path, outside: Path) -> None:
    """An unfinished write by a process that no machine can have."""
    ours = unfinished_path(store / "runs" / "x").name
    machine = ours.split(".")[2]
    for folder in ("runs", "checkpoints"):
        (store / folder / f".x.{machine}.99999999999999999999.abcdef01").mkdir()
        (store / folder / f".x.{machine}.0.abcdef01").write_text("")


def abandoned_link(store: Path, outside: Path) -> None:
    path = store / "runs" / ".link"
    path.symlink_to(outside)
    for old in (path, outside):
        os.utime(old, (time.time() - LONG_AGO,) * 2, follow_symlinks=False)


def shelved_link(store: Path, outside: Path) -> None:
    (store / "set-aside").mkdir()
    (store / "set-aside" / "old").symlink_to(outside)
    (store / "set-aside" / "older").mkdir()
    (store / "set-aside" / "older" / "inner").symlink_to(outside)


ENDLESS = (
    "CREATE VIEW settings AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS name, i AS row, i AS digest FROM n"
)
WIDE = "CREATE VIEW settings AS SELECT printf('%900000000d', 1) AS name, '' AS row, '' AS digest"
RUN = "runs/{group}/{run}"

STORES: dict[str, Callable[[Path, Path], None]] = {
    "set-aside leads out": linked("set-aside"),
    "runs leads out": linked("runs"),
    "checkpoints leads out": linked("checkpoints"),
    "a group of runs leads out": linked("runs/{group}"),
    "a run leads out": linked(RUN),
    "a spec leads out": linked(f"{RUN}/spec.json", "thesis.tex"),
    "arrays lead out": linked(f"{RUN}/arrays.npz", "thesis.tex"),
    "a checkpoint leads out": linked("checkpoints/{run}.npz", "thesis.tex"),
    "the index leads out": linked(INDEX, "thesis.tex"),
    "the old index leads to another database": linked("index.sqlite", "mlflow.db"),
    "the old index never ends": database(ENDLESS),
    "the old index is very wide": database(WIDE),
    "a spec is a pipe": piped(f"{RUN}/spec.json"),
    "a page is a pipe": piped(f"{RUN}/meta.json"),
    "arrays are a pipe": piped(f"{RUN}/arrays.npz"),
    "the index is a pipe": piped(INDEX),
    "a spec is vast": vast(f"{RUN}/spec.json"),
    "a page is vast": vast(f"{RUN}/meta.json"),
    "arrays are vast": vast(f"{RUN}/arrays.npz"),
    "the index is vast": vast(INDEX),
    "a process that cannot be": odd_process,
    "an abandoned link": abandoned_link,
    "links on the shelf": shelved_link,
}

REFUSED = [name for name in STORES if name.endswith("leads out") and name.split()[0] not in ("a", "arrays")]


def strange(name: str, folder: Path) -> tuple[Path, Path]:
    """The store of this name and the folder outside of it."""
    store, outside = filled(folder / "store").path, thesis(folder / "outside")
    if name != "the index is vast":
        Index(store / INDEX).path.unlink()  # so that runs are read
    STORES[name](store, outside)
    return store, outside
