"""Killed at any instant and started again, a sweep ends in the same bytes."""

import itertools
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.lab.experiments.test_store import contents
from tests.support.strange_stores import filled

pytestmark = pytest.mark.slow

KILLS = 12
PATIENCE = 300  # seconds, for one process
LONG, SHORT = 2, 12  # how many runs of some tenths of a second each, and of some thousandths

CHILD = """
import faulthandler
import signal
import sys
import klearning as kl
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is born deaf to it
long, short, patience = map(int, sys.argv[2:])
faulthandler.dump_traceback_later(patience, exit=True)
agents = [kl.KLearning(), kl.PSRL(), kl.UCRL2()]
specs = [
    make_spec({"name": "deep_sea", "depth": 12}, agent, episodes=12_000, seeds=[seed], snapshots=[10, 3000, 9000])
    for agent in agents
    for seed in range(long)
]
specs += [
    make_spec({"name": "deep_sea", "depth": 5}, agent, episodes=300, seeds=[seed], stop="solved")
    for agent in agents
    for seed in range(short)
]
specs = [*specs[0::2], *specs[1::2]]  # some short ones early
told = []


def progress(episodes):
    if not told:
        told.append(True)
        print("running", flush=True)


try:
    result = sweep(specs, Store(sys.argv[1]), executor=LocalExecutor(2), checkpoint_seconds=0.02, progress=progress)
except KeyboardInterrupt:
    sys.exit(130)
print("done", result.done, "skipped", result.skipped)
sys.exit(len(result.failed))
"""


def start(store, long=LONG, short=SHORT, patience=PATIENCE):
    """A sweep in a process of its own, which gives up where it hangs."""
    command = [sys.executable, "-c", CHILD, *map(str, (store, long, short, patience))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Let it end, well; what it said."""
    said, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    return said


def until_running(process):
    """Wait for the first episode; False if there was nothing left to run."""
    return process.stdout.readline() == "running\n"


def end(process, how):
    """Send a signal (0: none) and see how it ends."""
    process.send_signal(how)
    process.communicate()
    return process.returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The runs of a sweep that nothing disturbed, and how long it ran; kernels are compiled before the clock."""
    folder = tmp_path_factory.mktemp("whole")
    assert end(start(folder / "compiled", 1, 1, patience=300), 0) == 0
    process = start(folder / "store")
    assert until_running(process)
    began = time.monotonic()
    assert finish(process) == f"done {3 * (LONG + SHORT)} skipped 0\n"
    seconds = time.monotonic() - began
    assert not list((folder / "store" / "checkpoints").iterdir())
    return contents(folder / "store" / "runs"), seconds


def runs_of(store):
    """What is under ``runs``, but for what a kill left unfinished."""
    return {name: data for name, data in contents(store / "runs").items() if not name.startswith(".")}


def test_killed_at_any_instant(whole, tmp_path):
    """At least 12 SIGKILLs, none of them before the first episode, in as many sweeps as that takes."""
    runs, seconds = whole
    rng = np.random.default_rng(0)
    kills = resumed = 0
    for number in itertools.count():
        store = tmp_path / str(number)
        while True:
            process = start(store)
            if not until_running(process):
                finish(process)
                break
            time.sleep(rng.uniform(0.0, 0.15 * seconds))
            if end(process, signal.SIGKILL) == 0:
                break
            kills += 1
            resumed += any((store / "checkpoints").glob("*.npz"))
            assert runs_of(store).items() <= runs.items()  # what is there is whole
            if kills >= KILLS:
                finish(start(store))
                break
        assert runs_of(store) == runs
        if kills >= KILLS:
            break
        shutil.rmtree(store)
    assert resumed >= KILLS // 2  # else nothing was tested


MANY = """
import faulthandler
import os
import sys
import klearning as kl
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep

faulthandler.dump_traceback_later(300, exit=True)
spec = make_spec({"name": "deep_sea", "depth": 6}, kl.PSRL(), episodes=500, seeds=300, keep=[10, 500])
sweep(
    [spec], Store(sys.argv[1]), checkpoint_seconds=0.01,
    progress=lambda episodes: os.write(1, f"{episodes}\\n".encode()),
)
"""


def play_many(store, kill_after=None):
    """300 runs in a process of their own, killed after N; the episodes that it told of."""
    command = [sys.executable, "-c", MANY, str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []
    for line in process.stdout:
        told.append(int(line))
        if kill_after is not None and sum(told) >= 500 * kill_after:
            process.kill()
            break
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0 if kill_after is None else -signal.SIGKILL, "")
    return told


def test_finished_runs_of_a_killed_part_survive(tmp_path):
    """They are told of at once, and the bytes are those of runs in peace."""
    assert sum(play_many(tmp_path / "whole")) == 300 * 500
    for runs in (40, 20):
        play_many(tmp_path / "store", kill_after=runs)
    told = play_many(tmp_path / "store")
    assert sum(told) <= 300 * 500  # finished parts are not told of
    assert max(told) > 500  # those of a checkpoint together
    assert runs_of(tmp_path / "store") == runs_of(tmp_path / "whole")
    assert not list((tmp_path / "store" / "checkpoints").glob("*.npz"))


def test_two_sweeps_share_a_store(whole, tmp_path):
    runs, _ = whole
    for process in [start(tmp_path / "store") for _ in range(2)]:
        finish(process)
    assert contents(tmp_path / "store" / "runs") == runs
    assert not list((tmp_path / "store" / "checkpoints").iterdir())


def test_two_sweeps_of_which_one_is_killed(whole, tmp_path):
    runs, _ = whole
    lucky, unlucky = start(tmp_path / "store"), start(tmp_path / "store")
    assert until_running(unlucky)
    while not list((tmp_path / "store" / "runs").glob("*/*")):  # some are done, and others under way
        time.sleep(0.01)
    assert end(unlucky, signal.SIGKILL) == -signal.SIGKILL
    finish(lucky)
    assert runs_of(tmp_path / "store") == runs


def test_interrupted_it_stops_at_once_and_leaves_nothing_unfinished(whole, tmp_path):
    runs, _ = whole
    store = tmp_path / "store"
    process = start(store)
    assert until_running(process)
    seen: set[str] = set()
    while not seen & (seen := {path.name for path in (store / "checkpoints").iterdir()}):
        time.sleep(0.03)  # those of long runs are there twice
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")
    assert any((store / "checkpoints").iterdir())
    assert not [path for path in store.rglob("*") if path.name.startswith(".")]
    assert contents(store / "runs").items() < runs.items()
    finish(start(store))
    assert contents(store / "runs") == runs


REPORT = """
import os, signal, sys
store, path, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
from klearning.cli import main

touched = []
def hook(event, arguments):  # Python tells of a step before it is done
    if event in ("open", "os.rename", "os.remove") and str(arguments[0]).startswith(os.path.dirname(path)):
        touched.append(event)
        if len(touched) == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
os.fsync = lambda handle, sync=os.fsync: (hook("open", [path]), sync(handle))
try:
    main(["report", store, "-o", path])
finally:
    print(len(touched))
"""


def test_a_report_that_is_killed_leaves_the_old_one_or_the_new(tmp_path):
    """At every step of its write."""
    store, path = filled(tmp_path / "store").path, tmp_path / "out" / "report.html"
    path.parent.mkdir()

    def report(last):
        command = [sys.executable, "-c", REPORT, str(store), str(path), str(last)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    steps = int(report(0).stdout.splitlines()[-1])
    new = path.read_bytes()
    assert steps > 2
    left = []
    for last in range(1, steps + 1):
        path.write_bytes(b"old")
        assert report(last).returncode == -signal.SIGKILL
        left.append(path.read_bytes())
        assert len(list(path.parent.iterdir())) <= 2  # what was under way, of this one alone
    assert set(left) == {b"old", new}
    assert report(0).returncode == 0
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
