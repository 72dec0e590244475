"""The command line as a person meets it, in a process of its own."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import klearning as kl
from klearning.cli.options import build
from tests.support.commands import COMMAND as COMMAND
from tests.support.commands import klearning as klearning


def test_run_prints_a_table_and_draws(tmp_path):
    picture = tmp_path / "deep" / "run.png"
    done = klearning("run", "deep_sea", "KLearning", "-w", "depth=5", "-n", "50", "-s", "2", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "first hit" in done.stdout
    assert "regret" in done.stdout
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert list(picture.parent.iterdir()) == [picture]
    again = picture.read_bytes()
    klearning("run", "deep_sea", "KLearning", "-w", "depth=5", "-n", "50", "-s", "2", "--out", str(picture))
    assert picture.read_bytes() == again


FILMED = {
    "a world": (("deep_sea", "KLearning", "-w", "depth=4"), "K-learning in DeepSea of depth 4", 1, 0),
    "a game": (
        ("rock_paper_scissors", "--opponent", "best_response"),
        "K-learning in ",
        0,
        1,
    ),
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", FILMED)
def test_a_run_is_filmed(name, tmp_path):
    """Its first seed, in one file; it is the run that the table shows."""
    words, title, films, matches = FILMED[name]
    page = tmp_path / "film.html"
    done = klearning("run", *words, "-n", "30", "-s", "3,5", "--no-figure", "--json", "--film", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert f"<h1>{title}" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    reels = data["films"], data.get("matches", {"films": []})["films"]
    assert tuple(map(len, reels)) == (films, matches)
    film = next(film for reel in reels for film in reel)
    assert (film["seed"], film["t"][0], film["t"][-1]) == (3, 1, 30)
    assert film["regret"][-1] == pytest.approx(json.loads(done.stdout)["regret"][0], abs=1e-3)


def test_what_cannot_be_filmed_is_said(tmp_path):
    page = str(tmp_path / "film.html")
    for words, why in (
        (("bandit", "-n", "1"), "a single episode"),
        (("bandit", "-w", "means=1,2,3,4,5,6,7,8,9"), "too large to draw"),
    ):
        done = klearning("run", *words, "-s", "1", "--no-figure", "--film", page)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert why in done.stderr


def test_json_is_alone_on_stdout(tmp_path):
    done = klearning("run", "bandit", "-w", "means=0.1,0.9", "-n", "20", "-s", "0,3", "--json", "--no-figure")
    numbers = json.loads(done.stdout)
    assert numbers["seeds"] == [0, 3]
    assert "first_hit" not in numbers  # a bandit has no goal
    assert len(numbers["regret"]) == 2


def test_beta_bandit():
    done = klearning("run", "bandit", "-w", "noise=bernoulli", "-p", "reward=beta", "-n", "20", "--no-figure")
    assert done.returncode == 0, done.stderr


WRONG = {
    "command": (["reproduc"], "reproduc"),
    "no number": (["run", "-n", "ten"], "'ten' is not a valid integer"),
    "no such option": (["run", "--epsiodes", "10"], "--epsiodes"),
    "no such file": (["sweep", "nowhere.toml"], "nowhere.toml"),
    "world": (["run", "deep_see"], "did you mean 'deep_sea'"),
    "agent": (["run", "deep_sea", "KLerning"], "did you mean 'KLearning'"),
    "option": (["run", "-w", "depht=3"], "did you mean 'depth'"),
    "value": (["run", "-w", "depth=shallow"], "depth='shallow' is not a whole number"),
    "no value": (["run", "-w", "depth"], "write NAME=VALUE"),
    "temperature": (["run", "-a", "temperature=-1"], "temperature=-1"),
    "prior": (["run", "-p", "mas=1"], "did you mean 'mass'"),
    "each name once": (["run", "-p", "foo=1"], "'reward', 'mean', 'sd', 'noise', 'a', 'b', 'strength', 'mass'"),
    "other prior": (["run", "-p", "reward=beta", "-p", "sd=1"], "'sd' is unknown"),
    "episodes": (["run", "-n", "0"], "episodes=0"),
    "half an episode": (["run", "-n", "0.5"], "'0.5' is not a valid integer"),
    "a file": (["learn", "simulator.py"], "'simulator.py' is a file: write simulator.py:NAME"),
    "a version": (["learn", "FrozenLake-v9"], "did you mean 'FrozenLake-v1'"),
    "many names": (["learn", "Pong"], "more"),
    "seeds": (["run", "-s", "0,0"], "repeats"),
    "depths": (["reproduce", "--depths", "9:3"], "is empty"),
    "no depths": (["reproduce", "--depths", "4-6"], "write 4,6 or FROM:TO:STEP, as 4:6:2"),
    "figure": (["reproduce", "figur2"], "did you mean 'figure2'"),
    "no such figure": (["reproduce", "figure9"], "give one of 'bayes_regret', 'figure1', 'figure2'"),
    "protocol": (["reproduce", "--protocol", "txt"], "did you mean 'text'"),
}


@pytest.mark.parametrize(("args", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_one_line_and_exit_code_2(args, message, tmp_path):
    done = klearning(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = klearning("run", "-w", "depth=3", "-n", "5", "-s", "1", "--out", str(tmp_path / "file" / "run.png"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def wait_for_work(process: subprocess.Popen[str], seconds: float) -> None:
    """Until it has computed for so long, however busy the machine is: importing takes less."""
    stat, ticks = Path(f"/proc/{process.pid}/stat"), os.sysconf("SC_CLK_TCK")
    if not stat.exists():
        pytest.skip("needs /proc")
    while sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) < seconds * ticks:
        time.sleep(0.05)


@pytest.mark.slow
def test_interrupted(tmp_path):
    """Within a run, not within the compilation that may come before the first: that is waited for."""
    assert klearning("run", "-w", "depth=3", "-n", "5", "-s", "1", "--no-figure").returncode == 0
    command = [*COMMAND, "run", "-w", "depth=50", "-n", "10000000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    wait_for_work(process, 3.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_kernels_are_compiled_although_numba_is_told_to_compile_nothing():
    """NUMBA_DISABLE_JIT=1 makes Numba run its own kernels as Python, which ours cannot be."""
    words = [*COMMAND, "run", "deep_sea", "KLearning", "-n", "3", "--no-figure"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert (done.returncode, "mean" in done.stdout) == (0, True), done.stderr


def test_whole_floats_count_and_colours_of_warnings_do_not(tmp_path):
    done = klearning("learn", "FrozenLake", "-n", "1e1", "--steps", "1e5", "-p", "sd=1", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["episodes"] == 10
    assert done.stderr.startswith("klearning: warning: WARN: Using the latest versioned environment"), done.stderr


def test_parts_of_a_record_are_options_after_a_dot():
    """A calibration on the command line: its parts by name, checked like other options."""
    agent = build(kl.KLearning, "agent", ["optimism.draws=2", "optimism.thompson_fraction=informed"])
    assert agent == kl.KLearning(optimism=kl.Calibration(2, thompson_fraction="informed"))
    assert build(kl.VAPOR, "agent", ["optimism=calibrated"]) == kl.VAPOR(optimism="calibrated")
    for options, advice in ((["optimism.drws=2"], "did you mean 'optimism.draws'"), (["optimism.draws=0"], "draws=0")):
        with pytest.raises(ValueError, match=advice):
            build(kl.KLearning, "agent", options)
