"""Folders that cannot be written, and no shared memory: real mounts, in a namespace of their own, if that may be."""

import shutil
import subprocess
import sys

import pytest

from tests.support.strange_stores import contents, filled, spec

NAMESPACE = ["unshare", "--mount", "--propagation", "private"]
KLEARNING = f"{sys.executable} -m klearning"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def mounts_there():
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("needs a namespace for mounts")


def answers(lines, folder, mounts):
    """The exit code and the last complaint of every command, where these mounts are."""
    script = [f"set -e; {mounts}; set +e"]
    script += [f"{line} >>out 2>err; echo $? $(tail -n 1 err); cat err >>out" for line in lines]
    work = folder / "work"
    command = [*NAMESPACE, "bash", "-c", "\n".join(script)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
    assert "Traceback" not in (work / "out").read_text()
    return [line.partition(" ")[::2] for line in done.stdout.splitlines()]


SWEEP = '[[sweep]]\nworld = {name = "deep_sea", depth = 3}\nagent = {name = "Random"}\nepisodes = 4\nseeds = %s\n'
READ = {
    "store ls --store STORE": "",
    f"store show {spec().name[:12]} --store STORE": "",
    "store verify --store STORE": "",
    "store gc --store STORE": "",
    "store export runs.csv --store STORE": "",
    "report STORE -o report.html": "",
    "sweep there.toml --store STORE": "",
    "sweep more.toml --store STORE": "klearning: cannot write to the store STORE: Read-only file system",
    "store export STORE/runs.csv --store STORE": "klearning: cannot write STORE/runs.csv: Read-only file system",
    "report STORE -o STORE/x.html": "klearning: cannot write STORE/x.html: Read-only file system",
    "run bandit Random -n 3 --out STORE/x.png": "klearning: cannot write STORE/x.png: Read-only file system",
    "learn FrozenLake-v1 Random -n 3 --horizon 5 --save STORE/x.npz": (
        "klearning: cannot write STORE/x.npz: Read-only file system"
    ),
}


@pytest.mark.parametrize("index", [True, False], ids=["with an index", "without"])
def test_a_store_that_cannot_be_written_can_be_read(index, tmp_path):
    store = filled(tmp_path / "store")
    if not index:
        (store.path / "index.jsonl").unlink()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "there.toml").write_text(SWEEP % 3)
    (tmp_path / "work" / "more.toml").write_text(SWEEP % 4)
    before = contents(store.path)
    mounts = f"mount --bind {store.path} {store.path}; mount -o remount,bind,ro {store.path}"
    wanted = READ if index else dict(list(READ.items())[:3])
    lines = [f"{KLEARNING} {line.replace('STORE', str(store.path))}" for line in wanted]
    for words, complaint, (code, said) in zip(wanted, wanted.values(), answers(lines, tmp_path, mounts), strict=True):
        assert code == ("1" if complaint else "0"), (words, said)
        assert said == complaint.replace("STORE", str(store.path)) or not complaint
    assert contents(store.path) == before


def test_without_shared_memory(tmp_path):
    """Copies of an environment need it, and say so; nothing else does."""
    filled(tmp_path / "store")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "more.toml").write_text(SWEEP % 4)
    lake = "learn FrozenLake-v1 Random -n 3 --horizon 5"
    lines = [lake, f"{lake} --envs 2", "sweep more.toml --store ../store", "report ../store -o report.html"]
    mounts = "mount -t tmpfs -o ro none /dev/shm"
    [alone, (code, said), *rest] = answers([f"{KLEARNING} {line}" for line in lines], tmp_path, mounts)
    assert (code, said) == (
        "1",
        "klearning: --envs 2: processes cannot share memory here ([Errno 30] Read-only file system): "
        "let /dev/shm be written, or leave --envs out",
    )
    assert [alone[0], *(code for code, _ in rest)] == ["0"] * 3
