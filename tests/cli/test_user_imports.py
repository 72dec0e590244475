"""Your own agents, worlds and environments, from a plain file, on the command line."""

import json
import re
import signal
import subprocess
import time

import pytest

from tests.lab.experiments.test_store import contents
from tests.support.commands import COMMAND, klearning

OWN = '''
import time
from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

import klearning as kl


class Memory(NamedTuple):
    policy: np.ndarray
    counts: np.ndarray


@kl.register_agent
@dataclass(frozen=True)
class Stubborn(kl.Random):
    """Always the same action; thinks long about it."""

    action: int = 1
    seconds: float = 0.0

    def begin(self, belief):
        policy = np.zeros((belief.actions, belief.states))
        policy[self.action] = 1.0
        return Memory(policy, np.zeros(belief.states, np.int64))

    def advance(self, memory, task, first, count):
        for t in range(first, first + count):
            time.sleep(self.seconds)
            memory = super().advance(memory, task, t, 1)
        return memory

    def update(self, memory, episode, t):
        np.add.at(memory.counts, episode.states[: len(episode.actions)], 1)
        return memory


@kl.register_world
def ladder(rungs: int = 3, noise: float = 0.1):
    """Up pays at the top."""
    P, R = np.zeros((rungs, 2, rungs)), np.zeros((rungs, 2))
    for s in range(rungs):
        P[s, 0, max(s - 1, 0)] = P[s, 1, min(s + 1, rungs - 1)] = 1.0
    R[-1, 1] = 1.0
    return kl.MDP.from_stationary(R, P, np.eye(rungs)[0], rungs, noise, name=f"ladder({rungs})")


class Stairs(gymnasium.Env):
    observation_space, action_space = spaces.Discrete(4), spaces.Discrete(2)

    def __init__(self, top=3):
        self.top = top

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        self.at = self.at + 1 if action else 0
        return self.at, float(self.at == self.top), self.at == self.top, False, {}


def low_stairs():
    return Stairs(top=2)


class Nobody:
    pass


number = 3
'''
SWEEP = """
[[sweep]]
world = {name = "ladder", rungs = 4}
agent = [{name = "Stubborn", seconds = 0.01}, {name = "Random"}]
episodes = 100
seeds = 3
snapshots = [1, 10, 100]
prior = {transitions = {kind = "known", transitions = "world"}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    (place / "own.py").write_text(OWN)
    (place / "sweep.toml").write_text(SWEEP)
    (place / "broken.py").write_text("import klearning\n1 / 0\n")
    (place / "leaving.py").write_text("raise SystemExit(3)\n")
    (place / "below").mkdir()
    (place / "below" / "json.py").write_text("")
    return place


def succeeds(*words, cwd):
    done = klearning(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


SHORT = ("-n", "5", "-s", "1", "--no-figure", "--json")


@pytest.mark.parametrize(
    "words",
    [
        ("ladder", "Stubborn", "--import", "own.py"),
        ("--import", "own", "ladder", "Stubborn", "-w", "rungs=4", "-a", "action=1", "-p", "support=world"),
        ("own.py:ladder", "own.py:Stubborn"),
        ("own:ladder", "klearning.tabular.agents.psrl:PSRL", "-p", "transitions=world"),
    ],
    ids=" ".join,
)
def test_run(words, folder):
    assert "ladder" in json.loads(succeeds("run", *words, *SHORT, cwd=folder))["world"]


def test_from_another_folder(folder, tmp_path):
    path = f"{folder / 'own.py'}:ladder"
    assert json.loads(succeeds("run", path, "Random", *SHORT, cwd=tmp_path))["world"] == "ladder(3)"


@pytest.mark.parametrize("environment", ["own.py:Stairs", "own:low_stairs", "gymnasium.envs.toy_text:FrozenLake-v1"])
def test_learn(environment, folder):
    words = (environment, "own.py:Stubborn", "--horizon", "4", "-n", "5", "--json")
    assert json.loads(succeeds("learn", *words, cwd=folder))["episodes"] == 5


def test_lists(folder):
    rows = json.loads(succeeds("worlds", "--import", "own.py", "--json", cwd=folder))
    assert rows[-1]["world"] == "ladder"
    assert rows[-1]["source"] == "registered by own"
    assert "Stubborn" in succeeds("agents", "--import", "own.py", cwd=folder)


WRONG = {
    "not imported": (["run", "ladder"], "world='ladder' is unknown"),
    "sweep": (["sweep", "sweep.toml"], "--import the file that registers it"),
    "no file": (["run", "--import", "none.py"], "import='none.py' is not a file"),
    "no module": (["run", "--import", "none"], "No module named 'none'"),
    "no name": (["run", "own.py:lader"], "did you mean 'ladder'"),
    "no agent": (["run", "own.py:ladder", "own.py:Nobody"], "agent='Nobody' has no method 'begin'"),
    "no class": (["run", "deep_sea", "own.py:number"], "agent=3 is not a class"),
    "no world": (["run", "own.py:number"], "world=3 is not a function"),
    "no environment": (["learn", "own.py:Nobody"], "made a Nobody: give a gymnasium.Env"),
    "raises": (["run", "--import", "broken.py"], "import='broken.py' failed: ZeroDivisionError"),
    "leaves": (["run", "leaving.py:x"], "import='leaving.py' failed: SystemExit: 3"),
    "name of another module": (["run", "--import", "below/json.py"], "a module 'json' is already imported"),
    "no support": (["learn", "own.py:Stairs", "-p", "support=world"], "needs one of our worlds"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_line(words, message, folder):
    done = klearning(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "out" / "run.png").exists()


def test_every_command_takes_imports():
    from tests.cli.test_help import all_commands  # not at the top: its tests would be collected here

    for path, command in all_commands():
        if not hasattr(command, "commands"):
            assert any("--import" in option.opts for option in command.params), path


def test_a_shell_that_completes_runs_nothing(folder, monkeypatch):
    from tests.cli.test_completion import offered

    monkeypatch.chdir(folder)
    assert offered("run", "--import", "broken.py", "deep") == ["deep_sea"]
    assert offered("run", "broken.py:w", "own.py:A", "-a", "") == []


@pytest.mark.slow
def test_a_sweep_is_killed_and_goes_on_and_is_in_the_report_with_film(folder, tmp_path):
    sweep = ["sweep", "sweep.toml", "--import", "own.py", "--threads", "1", "--store"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    succeeds(*sweep, str(whole), cwd=folder)
    process = subprocess.Popen([*COMMAND, *sweep, str(killed)], cwd=folder, stderr=subprocess.PIPE, text=True)
    while len(list(killed.glob("runs/??/*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = klearning(*sweep, str(killed), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\b[1-5] runs done, [1-5] were there already, 0 failed", done.stderr)
    assert contents(killed / "runs") == contents(whole / "runs")

    # what lies in a store can be read without the code behind it
    rows = json.loads(succeeds("store", "ls", "--json", "--store", str(killed), cwd=tmp_path))
    assert len(rows) == 6
    row = next(row for row in rows if row["agent"] == "Stubborn")
    shown = json.loads(succeeds("store", "show", row["name"], "--store", str(killed), cwd=tmp_path))
    assert shown["spec"]["world"]["code"] == row["agent.code"] == row["world.code"]
    assert row["agent.module"] == "own"
    assert "all sound" in succeeds("store", "verify", "--store", str(killed), cwd=tmp_path)

    # a film needs the world
    def page(*more, cwd):
        succeeds("report", str(killed), "-o", str(tmp_path / "report.html"), *more, cwd=cwd)
        text = (tmp_path / "report.html").read_text()
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
        return text, {film["family"] for film in json.loads(data)["films"]}

    _, films = page("--import", "own.py", cwd=folder)
    assert films == {"Stubborn", "Random"}
    text, films = page(cwd=tmp_path)
    assert films == set()
    assert "is not registered: import own" in text
    assert "Stubborn" in text

    # other code is another run
    (tmp_path / "own.py").write_text(OWN + "\n# changed\n")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = klearning(*sweep, str(killed), cwd=tmp_path)
    assert "6 runs done, 0 were there already" in done.stderr


LOAD = """
import sys
import klearning as kl
if len(sys.argv) > 2:
    sys.path.append(sys.argv[2])
    import own
learner = kl.load(sys.argv[1])
print(learner.episodes_done, learner.agent.action, int(learner.memory.counts.sum()))
"""


@pytest.mark.slow
def test_a_learner_is_saved_and_loaded_in_another_process(folder, tmp_path):
    file = tmp_path / "learner.npz"
    words = ("own.py:Stairs", "Stubborn", "--import", "own.py", "--horizon", "4", "-n", "7", "--save", str(file))
    succeeds("learn", *words, cwd=folder)

    def load(*more):
        command = [COMMAND[0], "-c", LOAD, str(file), *more]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)

    assert load(str(folder)).stdout.split()[:2] == ["7", "1"]
    done = load()
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith(f"ValueError: {file} cannot be read here: agent='Stubborn'")
    assert "import own" in done.stderr


@pytest.mark.slow
def test_records_of_ones_own_do_not_spoil_the_cache_of_kernels(folder, tmp_path):
    """Numba cannot read a cache that names a type of a module that is not there."""
    succeeds("run", "own.py:ladder", "own.py:Stubborn", *SHORT, cwd=folder)  # Random's kernel, with a memory of its own
    succeeds("run", "bandit", "Random", *SHORT, cwd=tmp_path)
