"""Only regular files are written: a link stays and what it leads to is replaced, all else is refused in one line."""

import os
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import klearning as kl
from klearning.lab.report import write as write_report
from klearning.numerics import files
from klearning.numerics.display import canvas
from klearning.numerics.files import check_regular, check_writable, opened, read_bytes, write_file, write_whole
from klearning.simulators.episode_report import EpisodeReport
from tests.support.commands import COMMAND, klearning
from tests.support.strange_stores import filled


def fifo(folder):
    os.mkfifo(folder / "x")
    return folder / "x"


def folder_there(folder):
    (folder / "x").mkdir()
    return folder / "x"


def link_to_fifo(folder):
    os.mkfifo(folder / "pipe")
    (folder / "x").symlink_to("pipe")
    return folder / "x"


def link_to_folder(folder):
    (folder / "inner").mkdir()
    (folder / "x").symlink_to("inner")
    return folder / "x"


def link_to_itself(folder):
    (folder / "x").symlink_to("x")
    return folder / "x"


def terminal(folder):
    """A character device that takes no harm: one end of a terminal."""
    _, end = os.openpty()
    return Path(os.ttyname(end))


def link_to_terminal(folder):
    (folder / "x").symlink_to(terminal(folder))
    return folder / "x"


NO_FILES = {
    "a pipe": (fifo, "it is a pipe, not a regular file"),
    "a folder": (folder_there, "it is a folder, not a regular file"),
    "a link to a pipe": (link_to_fifo, "it is a pipe"),
    "a link to a folder": (link_to_folder, "it is a folder"),
    "a link to itself": (link_to_itself, "Too many levels of symbolic links"),
    "a device": (terminal, "it is a device"),
    "a link to a device": (link_to_terminal, "it is a device"),
}


def state(folder):
    """Names, kinds and bytes below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        found[path.name] = (stat.S_IFMT(mode), path.read_bytes() if stat.S_ISREG(mode) else None)
    return found


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_refused_and_stays(kind, tmp_path):
    make, complaint = NO_FILES[kind]
    path = make(tmp_path)
    before, mode = state(tmp_path), path.lstat().st_mode
    for refuse in (lambda: write_file(path, b"new"), lambda: check_writable(path)):
        with pytest.raises(OSError, match=f"cannot write {path}: {complaint}") as caught:
            refuse()
        assert "\n" not in str(caught.value)
    with pytest.raises(OSError, match=complaint):
        opened(path, links=True)
    assert (state(tmp_path), path.lstat().st_mode) == (before, mode)


@pytest.mark.parametrize(
    ("kind", "word"),
    [(stat.S_IFCHR, "a device"), (stat.S_IFBLK, "a device"), (stat.S_IFSOCK, "a socket"), (stat.S_IFIFO, "a pipe")],
)
def test_every_kind_has_a_name(kind, word):
    with pytest.raises(OSError, match=f"it is {word}, not a regular file"):
        check_regular(os.stat_result([kind | 0o666] + [0] * 9))
    check_regular(os.stat_result([stat.S_IFREG | 0o644] + [0] * 9))


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    target, link, chain = tmp_path / "far" / "target", tmp_path / "link", tmp_path / "chain"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to("far/target")
    chain.symlink_to("link")
    for path in (link, chain):
        write_whole(path, path.name.encode())
        assert target.read_bytes() == path.name.encode()
    assert (str(link.readlink()), str(chain.readlink())) == ("far/target", "link")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["chain", "far", "link", "target"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    write_whole(link, b"new")
    assert (str(link.readlink()), (tmp_path / "target").read_bytes()) == ("target", b"new")


def test_a_full_disk_leaves_link_and_target(tmp_path, monkeypatch):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    before = state(tmp_path)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "link", b"new")
    assert state(tmp_path) == before


def test_without_links_a_link_is_refused(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(OSError, match="it is a symbolic link"):
        write_whole(tmp_path / "link", b"new", links=False)
    with pytest.raises(OSError, match="it is a symbolic link"):
        read_bytes(tmp_path / "link")
    with opened(tmp_path / "link", links=True) as file:
        assert file.read() == b"old"


def test_a_link_that_is_swapped_while_a_file_is_opened_is_not_followed(tmp_path, monkeypatch):
    """The look and the opening are two steps."""
    (tmp_path / "file").write_bytes(b"sound")
    (tmp_path / "link").symlink_to("file")
    sound = (tmp_path / "file").lstat()
    monkeypatch.setattr(os, "lstat", lambda path: sound)
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(tmp_path / "link")


def test_a_file_is_read_up_to_a_size(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert read_bytes(tmp_path / "file", 100) == b"x" * 100
    with pytest.raises(OSError, match="it has 100 bytes, more than 99"):
        read_bytes(tmp_path / "file", 99)


def test_leftovers_that_cannot_be_removed_do_not_stop_a_write(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / files.unfinished_path(tmp_path / "x").name.replace(f".{os.getpid()}.", f".{ended.pid}.")
    left.mkdir()
    write_whole(tmp_path / "x", b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"


# -- everything that writes -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learner():
    made = kl.Learner(kl.QLearning(), Discrete(3), Discrete(2), 4)
    made.act(0)
    made.observe(1.0, 1, terminated=True)
    made.end_episode()
    return made


def draw(path):
    figure, axes = canvas.new_figure()
    axes.plot([0, 1])
    canvas.save(figure, path)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("filled") / "store")


WRITERS = {
    "learner.npz": lambda path, learner, store: learner.save(path),
    "policy.npz": lambda path, learner, store: learner.export(path),
    "policy.json": lambda path, learner, store: learner.export(path),
    "runs.csv": lambda path, learner, store: store.export(path),
    "runs.parquet": lambda path, learner, store: store.export(path),
    "report.html": lambda path, learner, store: write_report(store, path),
    "picture.png": lambda path, learner, store: draw(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_refuses_a_pipe_and_follows_a_link(name, learner, store, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match=f"cannot write .*{name}: it is a pipe, not a regular file"):
        WRITERS[name](tmp_path / name, learner, store)
    assert stat.S_ISFIFO((tmp_path / name).lstat().st_mode)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("target")
    WRITERS[name](tmp_path / name, learner, store)
    assert (tmp_path / name).readlink().name == "target"
    assert (tmp_path / "target").stat().st_size > 10
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "target"])


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_an_export_is_whole_or_leaves_the_old_one(name, store, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=f"cannot write .*{name}: No space left on device"):
        store.export(tmp_path / name)
    assert state(tmp_path) == {name: (stat.S_IFREG, b"old")}


def test_lines_are_added_to_a_file_behind_a_link(tmp_path):
    (tmp_path / "link").symlink_to("target.csv")
    writer = kl.callbacks.CSVWriter(tmp_path / "link")
    report = EpisodeReport(1, 2.0, 3, True, {})
    writer(report)
    writer(report)
    kl.callbacks.CSVWriter(tmp_path / "link")(report)
    lines = (tmp_path / "target.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("episode,return,steps,value,regret", 4)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe"):
        kl.callbacks.CSVWriter(tmp_path / "pipe")(report)


# -- on the command line ----------------------------------------------------------------------------------------------

LEARN = ("learn", "FrozenLake-v1", "QLearning", "-n", "3", "--horizon", "5")
COMMANDS = {
    "learn --save": (*LEARN, "--save", "X"),
    "learn --csv": (*LEARN, "--csv", "X"),
    "learn --film": (*LEARN, "--film", "X"),
    "run --out": ("run", "bandit", "Random", "-n", "3", "--out", "X"),
    "compare --out": ("compare", "bandit", "Random", "PSRL", "-n", "3", "-s", "2", "--out", "X"),
    "report -o": ("report", "STORE", "-o", "X"),
    "store export": ("store", "export", "X.csv", "--store", "STORE"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_on_the_command_line(command, store, tmp_path):
    """It is said before anything is played."""
    words = [word.replace("STORE", str(store.path)) for word in COMMANDS[command]]
    name = "X.csv" if "X.csv" in words else "X"
    os.mkfifo(tmp_path / name)
    done = klearning(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"klearning: cannot write {name}: it is a pipe, not a regular file\n"
    assert stat.S_ISFIFO((tmp_path / name).lstat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_learner_saved_through_a_link(tmp_path):
    (tmp_path / "link.npz").symlink_to("target.npz")
    assert klearning(*LEARN, "--save", "link.npz", cwd=tmp_path).returncode == 0
    assert kl.load(tmp_path / "target.npz").episodes_done == 3
    assert klearning(*LEARN[:4], "5", "--resume", "link.npz", cwd=tmp_path).returncode == 0
    assert kl.load(tmp_path / "target.npz").episodes_done == 5
    assert (tmp_path / "link.npz").readlink().name == "target.npz"


@pytest.mark.parametrize("option", ["--save", "--film"])
def test_stdout_is_no_place_for_a_learner(option, tmp_path):
    for name in ("-", "/dev/stdout"):
        done = klearning(*LEARN, option, name, cwd=tmp_path)
        assert done.stderr == f"klearning: cannot write {name}: it is the standard output; give the path of a file\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_report_and_a_log_may_go_to_stdout(name, store, tmp_path):
    """A pipe: of its end nothing is known."""
    page = subprocess.run([*COMMAND, "report", str(store.path), "-o", name], capture_output=True, cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith(b"<!")
    assert page.stdout.rstrip().endswith(b"</html>")
    assert b"3 runs" in page.stderr
    lines = klearning(*LEARN, "--csv", name, cwd=tmp_path).stdout.splitlines()
    assert lines[0].startswith("episode,return")
    assert lines[3].startswith("3,")
    assert not list(tmp_path.iterdir())
    done = klearning("report", str(store.path), "-o", name, "--json")
    assert (done.returncode, "leave --json out" in done.stderr) == (2, True)


def test_arrays_are_as_they_were(learner, tmp_path):
    """What is read back is writable, contiguous, and of the same bytes."""
    arrays = {"a": np.arange(12.0).reshape(3, 4), "b": np.asfortranarray(np.ones((2, 3))), "c": np.array(["é"])}
    back = files.arrays_from_bytes(files.arrays_to_bytes(arrays))
    for name, x in arrays.items():
        np.testing.assert_array_equal(back[name], x, strict=True)
        assert back[name].flags.writeable
        assert back[name].flags.aligned
