"""Machines without a home, a cache, streams, a working folder: nothing ends in a traceback."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import klearning

# imports everything, and compiles or loads one small kernel
TINY = "import klearning; from klearning.numerics.elementary import log1p_unit; print(round(log1p_unit(0.5), 6))"
ANSWER = "0.405465"
SOURCES = str(Path(klearning.__file__).parents[1])


def call(code: list[str], folder: Path, shell: str = "", **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; ``shell`` goes before or, where it begins with > or <, behind the command."""
    ours = {"PYTHONPATH": SOURCES, "XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": None}
    variables: dict[str, str | None] = {**os.environ, **ours, **environment}
    known = {name: value for name, value in variables.items() if value is not None}
    words = " ".join(f"'{word}'" for word in [sys.executable, *code])
    line = f"{words} {shell}" if shell[:1] in ("<", ">", "2") else f"{shell} {words}"
    return subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, env=known, cwd=folder, timeout=300)


def cache_files(folder: Path) -> list[Path]:
    return list((folder / "cache").rglob("*.kernel"))


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


HARM: dict[str, Callable[[Path], object]] = {
    "garbled": lambda file: file.write_bytes(b"garbage"),
    "empty": lambda file: file.write_bytes(b""),
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:50]),
    "one bit flipped": lambda file: file.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1])),
    "deleted": Path.unlink,
    "a folder": make_folder,
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with a cache that is whole."""
    folder = tmp_path_factory.mktemp("compiled")
    assert call(["-c", TINY], folder).stdout.strip() == ANSWER
    assert cache_files(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_damaged_cache_is_compiled_again(harm, compiled, tmp_path):
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    for file in cache_files(tmp_path):
        harm(file)
    for _ in range(2):
        again = call(["-c", TINY], tmp_path)
        assert (again.stdout.strip(), again.stderr) == (ANSWER, "")


@pytest.mark.slow
def test_several_cold_starts_at_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": SOURCES, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    begun = [
        subprocess.Popen([sys.executable, "-c", TINY], stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(4)
    ]
    assert {process.communicate(timeout=300)[0].strip() for process in begun} == {ANSWER}


ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None, "XDG_CACHE_HOME": None},
    "a home that is not there": {"HOME": "/nowhere", "XDG_CACHE_HOME": None},
    "a cache that cannot be made": {"XDG_CACHE_HOME": "/proc/nowhere"},
    "a cache that is a file": {"XDG_CACHE_HOME": "/dev/null"},
    "an empty cache variable": {"XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": ""},
    "a relative cache": {"XDG_CACHE_HOME": "relative"},
    "Numba's own variable": {"NUMBA_CACHE_DIR": "/proc/nowhere"},
    "no path": {"PATH": ""},
    "no language": {"LANG": None, "LC_ALL": None},
    "ASCII": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    "a dumb terminal": {"TERM": "dumb"},
    "a terminal without columns": {"COLUMNS": "0"},
    "one column": {"COLUMNS": "1"},
    "no temporary folder": {"TMPDIR": "/nowhere"},
    "one thread": {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "optimised away": {"PYTHONOPTIMIZE": "2"},
    "no bytecode": {"PYTHONDONTWRITEBYTECODE": "1"},
    "warnings are errors": {"PYTHONWARNINGS": "error"},
    "developer mode": {"PYTHONDEVMODE": "1"},
    "hashes at random": {"PYTHONHASHSEED": "random"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "no colour": {"NO_COLOR": "1"},
}
STREAMS = [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-", "> /dev/null", "2> /dev/null"]
LIMITS = [
    "ulimit -n 40;",
    "ulimit -c 0;",
    "umask 777;",
    "umask 000;",
    "nice -n 19",
    "cd / &&",
    "mkdir x; cd x; rmdir ../x;",
]


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_odd_environments(environment, tmp_path):
    done = call(["-c", f'{TINY}; from klearning.cli import main; main(["agents"])'], tmp_path, **environment)
    assert (done.returncode, done.stdout.startswith(ANSWER)) == (0, True), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shell", [*STREAMS, *LIMITS])
def test_odd_streams_and_limits(shell, tmp_path):
    done = call(["-m", "klearning", "agents"], tmp_path, shell)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setpriv") is None or os.getuid() != 0, reason="only root can be somebody else")
def test_a_user_who_is_in_no_table(tmp_path):
    tmp_path.chmod(0o755)
    shell = "setpriv --reuid=54321 --clear-groups"
    done = call(["-c", TINY], tmp_path, shell, HOME=None, XDG_CACHE_HOME=None)
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
