"""The store: what goes in comes out, what is broken or foreign is seen, and no write is half done."""

import csv
import errno
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, from_dtype

from klearning.lab.experiments import index
from klearning.lab.experiments.columns import row_of
from klearning.lab.experiments.results import facts
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import INDEX, Store, StoreError, page, provenance
from klearning.lab.experiments.sweep import sweep
from klearning.numerics.files import arrays_from_bytes, arrays_to_bytes, checksum, unfinished_path, write_whole
from tests.support.cases import modest
from tests.support.commands import klearning

SEEDS = range(3)


def spec(seed=0):
    return make_spec({"name": "deep_sea", "depth": 3}, {"name": "Random"}, episodes=4, seeds=[seed])


def result(seed=0):
    """What a run of four episodes leaves: the goal is reached in the third, unless the seed is 2."""
    return {
        "optimal_value": np.float64(0.75),
        "values": np.array([0.0, 0.25, 0.5, 0.75]) - seed,
        "returns": np.arange(4.0),
        "hits": np.array([False, False, seed != 2, True]) & (seed != 2),
        "visits": np.ones((2, 6)),
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    made = Store(tmp_path_factory.mktemp("filled") / "store")
    for seed in SEEDS:
        made.put(spec(seed), result(seed))
    return made.path


@pytest.fixture
def store(filled, tmp_path):
    return Store(shutil.copytree(filled, tmp_path / "store"))


def contents(folder):
    """Every path below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def seeds_of(records):
    return sorted(record.spec.seed for record in records)


# Round trip


def test_put_and_get(store):
    for seed in SEEDS:
        assert spec(seed) in store
        assert store.get(spec(seed)).spec.canonical == spec(seed).canonical
        kept = store.arrays(spec(seed))
        assert kept.keys() == result().keys()
        for name, array in result(seed).items():
            np.testing.assert_array_equal(kept[name], array, strict=True)
    assert spec(9) not in store
    with pytest.raises(KeyError, match=spec(9).name[:12]):
        store.get(spec(9))
    assert seeds_of(store.results()) == list(SEEDS)
    assert store.verify() == []


def test_what_a_result_says(store):
    runs = store.get(spec(0))
    assert (runs.optimal_value, *runs.ran, *runs.first_hit, *runs.solved) == (0.75, 4, 3.0, 3.0)
    assert runs.regret.tolist() == [[0.75, 1.25, 1.5, 1.5]]
    never = store.get(spec(2))
    assert np.isnan([never.first_hit, never.solved]).all()
    assert facts(spec(2), store.arrays(spec(2)))["first_hit"] is None


def test_a_world_without_a_goal_has_no_solved_seeds(tmp_path):
    """Not 0: None in rows, an empty cell in tables, "no goal" in the list."""
    store = Store(tmp_path / "store")
    bandit, sea = make_spec({"name": "bandit"}, {"name": "Random"}, episodes=4), spec(2)
    assert not sweep([bandit, sea], store).failed
    assert {row["world"]: row["solved_seeds"] for row in store.rows()} == {"bandit": None, "deep_sea": 0}
    assert store.verify() == []
    assert [store.has_goal(store.folder(s.name)) for s in (bandit, sea)] == [False, True]
    assert [store.get(s).has_goal for s in (bandit, sea)] == [False, True]
    assert "hit" not in store.get(bandit).frame()
    store.export(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert [row["solved_seeds"] for row in csv.DictReader(file)] == ["", "0"]
    lines = klearning("store", "ls", "--store", str(store.path)).stdout.splitlines()
    assert [re.search("no goal|0 solved", line)[0] for line in lines] == ["no goal", "0 solved"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_curves_are_exported_episode_by_episode(store, tmp_path, ending):
    path = tmp_path / f"curves.{ending}"
    assert store.export(path, curves=True) == 3
    frame = pandas.read_csv(path) if ending == "csv" else pandas.read_parquet(path)
    assert len(frame) == 3 * 4
    one = frame[frame["seed"] == 1]
    assert one["episode"].tolist() == [1, 2, 3, 4]
    for column, own in (("value", "values"), ("regret", "regret"), ("return", "returns")):
        assert one[column].tolist() == getattr(store.get(spec(1)), own)[0].tolist()
    assert set(frame["world.depth"]) == {3}
    assert not {"ran", "solved_seeds"} & set(frame)


def test_a_page_cannot_hide_solved_seeds(store):
    folder = store.folder(spec(0).name)
    meta = json.loads((folder / "meta.json").read_text())
    del meta["page_sha256"]
    (folder / "meta.json").write_bytes(page(meta | {"facts": meta["facts"] | {"solved_seeds": None}}))
    with pytest.raises(ValueError, match="other things than its arrays"):
        store.get(spec(0))


def test_what_is_kept_beside_the_arrays(store):
    folder = store.folder(spec().name)
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.npz", "meta.json", "spec.json"]
    assert (folder / "spec.json").read_text() == spec().canonical + "\n"
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["arrays_sha256"] == checksum((folder / "arrays.npz").read_bytes())
    assert meta["versions"].keys() >= {"klearning", "numpy", "numba", "python"}


def test_putting_again_changes_nothing(store):
    """Not even where the second result differs, for the first may have been read already."""
    before = contents(store.path)
    store.put(spec(0), result(0))
    store.put(spec(0), result(1))
    assert contents(store.path) == before


def test_putting_drops_the_checkpoint(store):
    store.checkpoint(spec(5).name).write_bytes(b"under way")
    store.put(spec(5), result())
    assert not list((store.path / "checkpoints").iterdir())


kinds = st.sampled_from([np.dtype(t) for t in ("f8", "f4", "i8", "u1", "?")])
whatever = kinds.flatmap(lambda kind: arrays(kind, array_shapes(min_dims=0, min_side=0), elements=from_dtype(kind)))


@modest
@given(st.dictionaries(st.from_regex("[a-z_0-9]{1,9}", fullmatch=True), whatever, max_size=4))
def test_arrays_round_trip(given):
    back = arrays_from_bytes(arrays_to_bytes(given))
    assert back.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(back[name], array, strict=True)


def test_bytes_depend_on_the_arrays_alone(monkeypatch):
    """Not on the time, the order of names or the layout in memory."""
    given = {"b": np.arange(6.0).reshape(2, 3), "a": np.arange(10)}
    now = time.time()
    written = arrays_to_bytes(given)
    monkeypatch.setattr(time, "time", lambda: now + 86400.0)
    turned = {"a": np.arange(20)[::2] // 2, "b": np.asfortranarray(given["b"])}
    assert arrays_to_bytes(turned) == written
    assert arrays_to_bytes({**given, "a": np.arange(1, 11)}) != written


# Damage: (what is done to the folder of a run)


def rewrite(folder, data):
    """Other arrays with a checksum that fits."""
    (folder / "arrays.npz").write_bytes(data)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "arrays_sha256": checksum(data)}))


def cut(folder):
    return (folder / "arrays.npz").read_bytes()[:-30]


def flipped(folder):
    data = bytearray((folder / "arrays.npz").read_bytes())
    data[60] ^= 255
    return bytes(data)


def scrambled(folder):
    data = (folder / "arrays.npz").read_bytes()
    return data[:45] + b"\xff" * 20 + data[65:]


def with_objects():
    buffer = io.BytesIO()
    np.savez(buffer, hits=np.array([{}], dtype=object))
    return buffer.getvalue()


def without_hits(folder):
    return arrays_to_bytes({name: array for name, array in result().items() if name != "hits"})


def edit_seed(folder):
    text = (folder / "spec.json").read_text()
    (folder / "spec.json").write_text(text.replace('"seed":1', '"seed":8'))


DAMAGE = {
    "cut short": lambda folder: (folder / "arrays.npz").write_bytes(cut(folder)),
    "cut short, checksum fits": lambda folder: rewrite(folder, cut(folder)),
    "a bit flipped": lambda folder: (folder / "arrays.npz").write_bytes(flipped(folder)),
    "a bit flipped, checksum fits": lambda folder: rewrite(folder, flipped(folder)),
    "scrambled inside, checksum fits": lambda folder: rewrite(folder, scrambled(folder)),
    "empty": lambda folder: (folder / "arrays.npz").write_bytes(b""),
    "empty, checksum fits": lambda folder: rewrite(folder, b""),
    "no archive, checksum fits": lambda folder: rewrite(folder, b"PK\x03\x04 and no more"),
    "objects, checksum fits": lambda folder: rewrite(folder, with_objects()),
    "no hits, checksum fits": lambda folder: rewrite(folder, without_hits(folder)),
    "no arrays": lambda folder: (folder / "arrays.npz").unlink(),
    "spec edited": edit_seed,
    "spec laid out differently": lambda folder: (folder / "spec.json").write_text(
        json.dumps(json.loads((folder / "spec.json").read_text()), indent=1)
    ),
    "spec of another version": lambda folder: (folder / "spec.json").write_text('{"version":0}'),
    "spec is not JSON": lambda folder: (folder / "spec.json").write_text("seed = 1"),
    "spec is not text": lambda folder: (folder / "spec.json").write_bytes(b"\xff\xfe\x00"),
    "spec is deep": lambda folder: (folder / "spec.json").write_text("[" * 100_000),
    "no spec": lambda folder: (folder / "spec.json").unlink(),
    "checksum edited": lambda folder: (folder / "meta.json").write_text('{"arrays_sha256": "0"}'),
    "no checksum": lambda folder: (folder / "meta.json").write_text("{}"),
    "meta is a list": lambda folder: (folder / "meta.json").write_text("[]"),
    "meta is not JSON": lambda folder: (folder / "meta.json").write_text("{"),
    "no meta": lambda folder: (folder / "meta.json").unlink(),
    "nothing": lambda folder: [path.unlink() for path in folder.iterdir()],
    "folders for files": lambda folder: [(path.unlink(), path.mkdir()) for path in list(folder.iterdir())],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_broken_run_is_named_and_set_aside(store, damage):
    broken = store.folder(spec(1).name)
    damage(broken)
    with pytest.raises(ValueError, match=spec(1).name[:12]) as caught:
        store.get(spec(1))
    assert "\n" not in str(caught.value)
    assert seeds_of(store.results()) == [0, 2]
    assert [row["seed"] for row in store.rows()] == [0, 2]
    (said,) = store.verify()
    assert spec(1).name[:12] in said
    assert spec(1) not in store
    (aside,) = (store.path / "set-aside").iterdir()
    assert aside.name.startswith(spec(1).name)
    assert store.verify() == []
    store.put(spec(1), result(1))
    assert seeds_of(store.results()) == list(SEEDS)


class Payload:
    """Unpickled, it makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("inside", [False, True], ids=["as the file", "as an array"])
@pytest.mark.parametrize("fits", [False, True], ids=["checksum differs", "checksum fits"])
def test_a_pickle_is_not_executed(store, tmp_path, inside, fits):
    made = tmp_path / "made"
    evil = pickle.dumps(Payload(made))
    if inside:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as members:
            members.writestr("hits.npy", header.getvalue() + evil)
        evil = archive.getvalue()
        np.load(io.BytesIO(evil), allow_pickle=True)["hits"]
    else:
        pickle.loads(evil)
    made.rmdir()  # it works, where it is let
    folder = store.folder(spec(1).name)
    if fits:
        rewrite(folder, evil)
    else:
        (folder / "arrays.npz").write_bytes(evil)
    with pytest.raises(ValueError, match="is broken"):
        store.read(folder)
    assert seeds_of(store.results()) == [0, 2]
    assert len(store.verify()) == 1
    assert not made.exists()


FOREIGN = {
    "notes.txt": lambda path: path.write_text("mine"),
    "photos": lambda path: (path.mkdir(), (path / "cat.png").write_bytes(b"")),
    "{group}/notes.txt": lambda path: path.write_text("mine"),
    "{group}/photos": lambda path: (path.mkdir(), (path / "cat.png").write_bytes(b"")),
    "{group}/loose": lambda path: path.symlink_to("nowhere"),
    "{group} (copy)": lambda path: shutil.copytree(path.parent / spec().name[:2], path),
}


@pytest.mark.parametrize("where", FOREIGN)
def test_what_is_foreign_is_named_and_set_aside(store, where):
    path = store.path / "runs" / where.format(group=spec().name[:2])
    before = contents(store.path / "runs")
    FOREIGN[where](path)
    assert seeds_of(store.results()) == list(SEEDS)
    assert len(store.rows()) == len(SEEDS)
    (said,) = store.verify()
    assert "set aside" in said
    assert path.name in said or spec().name[:12] in said
    assert {k: v for k, v in contents(store.path / "runs").items() if k in before} == before
    assert not [k for k, v in contents(store.path / "runs").items() if k not in before and v is not None]
    assert store.verify() == []


def test_a_file_in_the_place_of_a_run(store):
    """The result is kept, or the caller is told: it is never lost without a word."""
    place = store.folder(spec(7).name)
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")
    told = None
    try:
        store.put(spec(7), result())
    except StoreError as error:
        told = str(error)
    assert spec(7) in store if told is None else str(store.path) in told


def test_gc_removes_what_nothing_will_use(store):
    checkpoints = store.path / "checkpoints"
    (store.path / "runs" / ".unfinished").mkdir()
    (store.path / "runs" / ".unfinished" / "spec.json").write_text("")
    (checkpoints / ".unfinished").write_text("")
    for old in (store.path / "runs" / ".unfinished", checkpoints / ".unfinished"):
        os.utime(old, (time.time() - 7200.0,) * 2)
    store.checkpoint(spec(0).name).write_text("finished since")
    store.checkpoint(spec(9).name).write_text("under way")
    before = contents(store.path / "runs")
    DAMAGE["no spec"](store.folder(spec(1).name))
    store.verify()
    (aside,) = (store.path / "set-aside").iterdir()
    expected = [
        "runs/.unfinished",
        "checkpoints/.unfinished",
        f"checkpoints/{spec(0).name}.npz",
        f"set-aside/{aside.name}",
    ]
    assert sorted(store.gc()) == sorted(expected)
    assert store.gc() == []
    assert list(checkpoints.iterdir()) == [store.checkpoint(spec(9).name)]
    assert seeds_of(store.results()) == [0, 2]
    assert contents(store.path / "runs").items() <= before.items()


def test_gc_leaves_alone_what_is_being_written(store):
    """By a living process of this machine, or by another machine within the hour."""
    runs = store.path / "runs"
    living, ended = unfinished_path(runs / "a"), subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = runs / living.name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    elsewhere = runs / ".a.00000000.1.00000000"
    for path in (living, dead, elsewhere):
        path.mkdir()
    assert store.gc() == [f"runs/{dead.name}"]
    os.utime(elsewhere, (time.time() - 7200.0,) * 2)
    assert store.gc() == [f"runs/{elsewhere.name}"]
    assert living.is_dir()


def test_writing_a_file_again_removes_what_a_killed_writer_left(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / unfinished_path(tmp_path / "x").name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    left.write_text("half")
    write_whole(tmp_path / "x", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


# The index


def test_the_index_is_what_the_records_say(store):
    store.put(make_spec({"name": "bandit"}, {"name": "Random"}, episodes=4, protocol="a"), result())
    rows = store.rows()
    assert [(row["protocol"], row["seed"]) for row in rows] == [("", 0), ("", 1), ("", 2), ("a", 0)]
    specs = [runs.spec for runs in store.results()]
    by_name = {spec.name: row_of(spec, facts(spec, store.arrays(spec))) for spec in specs}
    assert {row["name"]: row for row in rows} == by_name


def test_the_index_follows_the_folders(store):
    assert len(store.rows()) == 3
    store.put(spec(3), result(3))
    shutil.rmtree(store.folder(spec(0).name))
    assert [row["seed"] for row in store.rows()] == [1, 2, 3]


def line(row):
    """A line of the index, with its checksum."""
    text = json.dumps(row).encode()
    return checksum(text).encode() + b" " + text + b"\n"


def crafted(change):
    """Every row of the index changed, with checksums that fit."""

    def harm(path):
        rows = [json.loads(text[65:]) for text in path.read_text().splitlines()]
        path.write_bytes(b"".join(line(change(row)) for row in rows))

    return harm


HARM = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"not a database " * 1000),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:500]),
    "overwritten inside": lambda path: path.write_bytes(path.read_bytes()[:400] + b"\x07" * 8192),
    "one endless line": lambda path: path.write_bytes(b"x" * 10**6),
    "deep": lambda path: path.write_bytes(b"0" * 64 + b" " + b"[" * 10_000 + b"\n"),
    "lists for rows": crafted(lambda row: [row]),
    "numbers for rows": crafted(lambda row: 3),
    "no names": crafted(lambda row: {**row, "name": None}),
    "other names": crafted(lambda row: {**row, "name": "0" * 64}),
    "other columns": crafted(lambda row: {"name": row["name"], "colour": "red"}),
    "tables in columns": crafted(lambda row: {**row, "agent": {"name": "x"}}),
    "text for numbers": crafted(lambda row: {**row, "solved": "yes"}),
    "columns without end": crafted(lambda row: {**row, **{f"x{i}": i for i in range(1000)}}),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: [make(path) for make in (Path.unlink, os.mkfifo)],
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM.keys())
def test_the_index_is_rebuilt(store, harm):
    rows = store.rows()
    harm(store.path / INDEX)
    assert store.rows() == rows
    store.put(spec(3), result(3))
    assert [row["seed"] for row in store.rows()] == [0, 1, 2, 3]


def test_a_damaged_index_is_never_believed(store):
    """300 single bits flipped anywhere in the file: the rows stay those of the runs."""
    rows, path, rng = store.rows(), store.path / INDEX, np.random.default_rng(0)
    whole = path.read_bytes()
    for place in rng.integers(0, 8 * len(whole), 300):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        assert store.rows() == rows


@pytest.mark.parametrize("more", [0, 1])
def test_an_index_of_too_many_lines_is_read_up_to_a_line(store, monkeypatch, more):
    """Ten million empty ones would take a minute; what is behind them is read from the runs."""
    monkeypatch.setattr(index, "MORE_LINES", 10)
    rows, path = {row["name"]: row for row in store.rows()}, store.path / INDEX
    path.write_bytes(b"\n" * (10 + len(rows) + more) + path.read_bytes())
    read = []
    assert index.Index(path).rows(rows, lambda name: read.append(name) or rows[name]) == rows
    assert len(read) == more


def test_verify_compares_the_index_with_the_runs(store):
    rows = store.rows()
    crafted(lambda row: {**row, "regret": -1.0})(store.path / INDEX)
    (complaint,) = store.verify()
    assert "index" in complaint
    assert store.rows() == rows
    assert store.verify() == []


def test_any_seed_can_be_listed(store):
    store.put(spec(2**63), result())
    store.put(spec(2**200), result())
    assert [row["seed"] for row in store.rows()] == [*SEEDS, 2**63, 2**200]
    assert [row["seed"] for row in Store(store.path).rows()] == [*SEEDS, 2**63, 2**200]


def test_an_index_that_cannot_be_written_costs_only_time(store, monkeypatch):
    monkeypatch.setattr(index, "write_whole", refuse(errno.EROFS))
    assert [row["seed"] for row in store.rows()] == list(SEEDS)
    assert not (store.path / INDEX).exists()


ODD = {
    "values in two dimensions": {"values": np.zeros((4, 1))},
    "values as text": {"values": np.array(["a", "b", "c", "d"])},
    "hits as numbers": {"hits": np.zeros(4)},
    "more episodes than were asked for": {
        name: np.zeros(9, bool if name == "hits" else float) for name in ("values", "returns", "hits")
    },
    "an optimum that is not a number": {"optimal_value": np.zeros(3)},
}


@pytest.mark.parametrize("arrays", ODD.values(), ids=ODD.keys())
def test_a_crafted_record_is_broken_and_hides_no_other(store, arrays):
    """Checksums repaired: anyone who writes the file can compute them."""
    folder = store.folder(spec(0).name)
    data = arrays_to_bytes({**result(0), **arrays})
    (folder / "arrays.npz").write_bytes(data)
    (folder / "meta.json").write_bytes(page(provenance(data)))
    assert [row["seed"] for row in store.rows()] == [1, 2]
    (complaint,) = store.verify()
    assert spec(0).name[:12] in complaint


def test_an_index_may_be_written_by_many_at_once(store):
    """All list the same, whichever comes last; nothing is broken, and nothing is set aside."""
    listed = []
    threads = [threading.Thread(target=lambda: listed.append(Store(store.path).rows())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert listed == [store.rows()] * 8
    assert not (store.path / "set-aside").exists()
    assert not list(store.path.glob(".*"))


def test_export_to_csv(store, tmp_path):
    path = tmp_path / "table.csv"
    assert store.export(path) == 3
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {column: "" if value is None else str(value) for column, value in row.items()} for row in store.rows()
    ]
    assert [row["solved"] for row in rows] == ["3.0", "3.0", ""]


def test_export_to_parquet(store, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is missing: export to Parquet goes untested")
    path = tmp_path / "table.parquet"
    assert store.export(path) == 3
    assert parquet.read_table(path).to_pylist() == store.rows()


def test_export_to_something_else(store, tmp_path):
    with pytest.raises(ValueError, match=r"table\.xlsx.*\.csv nor \.parquet"):
        store.export(tmp_path / "table.xlsx")
    assert not (tmp_path / "table.xlsx").exists()


# Two at once

WRITER = """
import sys, time
from pathlib import Path
from klearning.lab.experiments.store import Store
from tests.lab.experiments.test_store import result, spec
store = Store(sys.argv[1])
(store.path / f"ready{sys.argv[2]}").touch()
while not (store.path / "go").exists():
    time.sleep(0.001)
for seed in range(30):
    store.put(spec(seed), result(seed))
"""


@pytest.mark.slow
def test_two_processes_write_the_same_runs(tmp_path):
    alone = Store(tmp_path / "alone")
    for seed in range(30):
        alone.put(spec(seed), result(seed))
    shared = Store(tmp_path / "shared")
    root = Path(__file__).parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(shared.path), str(i)], cwd=root, stderr=subprocess.PIPE)
        for i in range(2)
    ]
    while len(list(shared.path.glob("ready*"))) < 2:
        assert all(writer.poll() is None for writer in writers)
        time.sleep(0.01)
    (shared.path / "go").touch()
    for writer in writers:
        assert (writer.communicate(timeout=300)[1], writer.returncode) == (b"", 0)
    assert contents(shared.path / "runs") == contents(alone.path / "runs")


def test_who_comes_second_to_the_rename_finds_it_done(store, monkeypatch):
    """Between the look and the rename another process may have put the same run."""
    before = contents(store.path)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    store.put(spec(0), result(1))
    monkeypatch.undo()
    assert contents(store.path) == before


# Disks that will not


def refuse(number):
    def call(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return call


NO = {
    "full when flushing": (os, "fsync", errno.ENOSPC),
    "full when opening": (Path, "open", errno.ENOSPC),
    "read-only": (Path, "mkdir", errno.EROFS),
    "no renaming": (Path, "rename", errno.EACCES),
    "broken": (os, "fsync", errno.EIO),
}


@pytest.mark.parametrize(("owner", "call", "number"), NO.values(), ids=NO.keys())
def test_a_disk_that_refuses_is_one_clear_line(store, monkeypatch, owner, call, number):
    before = contents(store.path)
    store.checkpoint(spec(5).name).write_bytes(b"under way")
    monkeypatch.setattr(owner, call, refuse(number))
    with pytest.raises(StoreError) as caught:
        store.put(spec(5), result())
    monkeypatch.undo()
    assert str(caught.value) == f"cannot write to the store {store.path}: {os.strerror(number)}"
    assert store.checkpoint(spec(5).name).read_bytes() == b"under way"
    store.checkpoint(spec(5).name).unlink()
    groups = {spec(5).name[:2]: None}
    assert {k: v for k, v in contents(store.path).items() if k.removeprefix("runs/") not in groups} == before


@pytest.mark.parametrize("last", range(9))
def test_a_disk_that_fills_up_at_any_flush(store, monkeypatch, last):
    """A run is whole or not there, and nothing else is left behind."""
    left, real = [last], os.fsync

    def fsync(handle):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    try:
        store.put(spec(5), result(5))
        kept = True
    except StoreError:
        kept = False
    monkeypatch.undo()
    assert kept == (spec(5) in store) == (last >= 7)
    assert seeds_of(store.results()) == [*SEEDS, *([5] if kept else [])]
    assert store.gc() == []


def test_a_file_is_replaced_whole_or_left(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", refuse(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert contents(tmp_path) == {"file": b"old"}
    write_whole(path, b"new")
    assert contents(tmp_path) == {"file": b"new"}


def test_a_place_where_no_store_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"^cannot use the store .*file/store: Not a directory$"):
        Store(tmp_path / "file" / "store")


def test_a_folder_that_is_no_store_is_not_made_one(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(StoreError) as caught:
            Store(folder, create=False)
        assert str(caught.value) == f"{folder} is not a store, a folder with a folder `runs`: give the path of one"
    assert not list(tmp_path.iterdir())
