"""`klearning warm-up`: what it names is compiled afterwards, and whatever stops it leaves a cache that is whole."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.numerics.test_cache import REFUSE, python
from tests.support.commands import COMMAND, klearning

RUN = "import klearning as kl; kl.run(kl.Random(), kl.river_swim(), episodes=5, seeds=2)"
LEARN = "import klearning as kl; kl.learn(kl.Random(), kl.WorldEnv(kl.river_swim()), episodes=5)"


def warm_up(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([*COMMAND, "warm-up", *words], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.slow
def test_what_was_warmed_up_is_not_compiled_again(tmp_path):
    done = warm_up(tmp_path, "Random", "-j", "1")
    assert done.stdout.startswith("compiled "), done.stderr
    assert "klearning:" not in done.stderr
    for code in (RUN, LEARN):
        python(REFUSE + code, NUMBA_CACHE_DIR=str(tmp_path))
    again = warm_up(tmp_path, "Random", "Random", "-j", "2", "--json")
    assert json.loads(again.stdout)["kernels"] == 0, again.stderr


@pytest.mark.slow
def test_it_can_be_stopped(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [*COMMAND, "warm-up", "KLearning", "PSRL", "-j", "2"], stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    while not list(tmp_path.rglob("*.kernel")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: to all of them
    _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (130, "klearning: stopped\n")
    while is_there(process.pid):  # none of them is left for long
        time.sleep(0.01)


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("NoSuchAgent",), "agent='NoSuchAgent'"),
        (("DeepKLearning",), "agent='DeepKLearning' is compiled by JAX, which has no cache here: leave it out"),
        (("Random", "-j", "0"), "jobs=0 is too small: give an integer of at least 1"),
        (("KLearning,bonus=none",), "bonus='none'"),
    ],
    ids=["no agent", "networks", "no jobs", "no setting"],
)
def test_one_line_says_what_is_wrong(words, message):
    done = klearning("warm-up", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a folder that nobody can write")
def test_without_a_folder_nothing_is_compiled():
    done = warm_up(Path("/proc/nowhere"), "Random")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "set NUMBA_CACHE_DIR" in done.stderr
