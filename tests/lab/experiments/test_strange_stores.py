"""Stores from strangers: nothing outside is touched, nothing hangs or takes much memory, each fault is a line."""

import json
import time

import numpy as np
import pytest

from klearning.lab.experiments.checkpoints import read_checkpoint, write_checkpoint
from klearning.lab.experiments.store import Store, StoreError
from klearning.numerics.files import unfinished_path
from tests.support.commands import klearning
from tests.support.strange_stores import REFUSED, STORES, contents, filled, spec, strange, thesis

SECONDS = 10.0
PATIENCE = 100.0  # seconds for a command on a machine with much else to do
GIGABYTE = 10**9


@pytest.mark.parametrize("name", STORES)
def test_nothing_outside_is_touched(name, tmp_path):
    """By whatever a store can be asked to do."""
    path, outside = strange(name, tmp_path)
    before, began = contents(outside), time.process_time()
    if name in REFUSED:
        with pytest.raises(StoreError, match=r"^[^\n]*is a symbolic link[^\n]*$"):
            Store(path, create=False)
    else:
        store = Store(path, create=False)
        assert {1, 2} <= {row["seed"] for row in store.rows()}
        store.missing([spec(seed) for seed in range(4)])
        store.verify()
        store.gc()
        assert store.verify() == []
    assert contents(outside) == before
    assert time.process_time() - began < SECONDS


COMMANDS = {
    "ls": ("store", "ls", "--store", "STORE"),
    "show": ("store", "show", spec(1).name[:12], "--store", "STORE"),
    "report": ("report", "STORE", "-o", "OUT/report.html"),
    "export": ("store", "export", "OUT/runs.csv", "--store", "STORE"),
    "verify": ("store", "verify", "--store", "STORE"),
    "gc": ("store", "gc", "--store", "STORE"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STORES)
def test_every_command_on_every_store(name, tmp_path):
    """One line a fault, no traceback, in seconds and within a gigabyte."""
    path, outside = strange(name, tmp_path)
    (tmp_path / "out").mkdir()
    before = contents(outside)
    for command, words in COMMANDS.items():
        arguments = [word.replace("STORE", str(path)).replace("OUT", str(tmp_path / "out")) for word in words]
        began = time.monotonic()
        done = klearning(*arguments, memory=GIGABYTE)
        assert time.monotonic() - began < PATIENCE, command
        assert "Traceback" not in done.stderr, done.stderr
        assert "not enough memory" not in done.stderr, done.stderr
        if name in REFUSED:
            assert done.returncode == 1, command
            assert done.stderr.count("\n") == 1, done.stderr
        else:
            assert done.returncode in (0, 1), done.stderr
            assert " seeds " in done.stdout or command != "ls"
        assert contents(outside) == before, command


def test_what_is_broken_is_named_by_lists_and_tables(tmp_path):
    path, _ = strange("a spec is a pipe", tmp_path)
    for words in (("ls",), ("export", str(tmp_path / "x.csv"))):
        done = klearning("store", *words, "--store", str(path))
        assert done.returncode == 0
        assert f"run {spec().name[:12]} in {path} is broken: it is a pipe, not a regular file" in done.stderr
    assert (tmp_path / "x.csv").read_text().count("\n") == 3
    done = klearning("report", str(path), "-o", str(tmp_path / "x.html"), "--json")
    assert json.loads(done.stdout)["runs"] == 2
    assert spec().name[:12] in done.stderr
    assert spec().name[:12] in (tmp_path / "x.html").read_text()


def test_a_run_is_not_written_through_a_link(tmp_path):
    store, outside = filled(tmp_path / "store"), thesis(tmp_path / "outside")
    before = contents(outside)
    group = store.folder(spec(7).name).parent
    assert not group.exists()
    group.symlink_to(outside)
    assert spec(7) not in store
    with pytest.raises(StoreError, match="is not a folder"):
        store.put(spec(7), store.arrays(spec(0)))
    assert contents(outside) == before


def test_a_checkpoint_is_not_written_through_a_link(tmp_path):
    store, outside = filled(tmp_path / "store"), thesis(tmp_path / "outside")
    path = store.checkpoint(spec(7).name)
    path.symlink_to(outside / "thesis.tex")
    with pytest.raises(StoreError, match="it is a symbolic link"):
        write_checkpoint(path, spec(7).name, {"x": np.zeros(3)})
    with pytest.raises(ValueError, match="it is a symbolic link"):
        read_checkpoint(path, spec(7).name)
    assert (outside / "thesis.tex").read_text() == "all of it"


def test_a_store_may_be_reached_by_a_link(tmp_path):
    store = filled(tmp_path / "store")
    (tmp_path / "link").symlink_to(store.path)
    linked = Store(tmp_path / "link", create=False)
    assert len(linked.rows()) == 3
    linked.put(spec(5), store.arrays(spec(0)))
    assert spec(5) in store


def test_what_cannot_be_removed_keeps_nothing_else_from_being_collected(tmp_path, monkeypatch):
    store = filled(tmp_path / "store")
    (store.path / "set-aside").mkdir()
    for name in ("a", "b", "c"):
        (store.path / "set-aside" / name).write_text("")
    real = type(tmp_path).unlink

    def unlink(path, missing_ok=False):
        if path.name == "b":
            raise PermissionError(13, "Permission denied")
        real(path, missing_ok)

    monkeypatch.setattr(type(tmp_path), "unlink", unlink)
    assert sorted(store.gc()) == ["set-aside/a", "set-aside/c"]


def test_too_many_bytes_are_refused_when_they_are_written(tmp_path, monkeypatch):
    """What a store keeps it can read."""
    store = filled(tmp_path / "store")
    arrays = store.arrays(spec(0))
    monkeypatch.setattr("klearning.lab.experiments.store.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"and a store keeps at most 1,000 of a run: give fewer episodes"):
        store.put(spec(5), arrays)
    with pytest.raises(ValueError, match=r"a store keeps at most"):
        write_checkpoint(store.checkpoint(spec(5).name), spec(5).name, arrays)
    assert spec(5) not in store


def test_names_of_processes_that_cannot_be_are_left_for_an_hour(tmp_path):
    store = filled(tmp_path / "store")
    odd = store.path / "runs" / unfinished_path(store.path / "x").name
    odd = odd.with_name(odd.name.rsplit(".", 2)[0] + ".99999999999999999999.abcdef01")
    odd.mkdir()
    assert store.gc() == []
