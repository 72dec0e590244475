"""`klearning learn`: saved whatever happens, resumed to the same bytes, stopped by Ctrl-C with 130 at any instant."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import klearning as kl
from klearning.cli import commands
from klearning.cli.environment import bin_counts, binned, children_ignoring_ctrl_c
from tests.support.commands import COMMAND, HEAR, klearning
from tests.support.doc_blocks import ALL

LAKE = ("learn", "FrozenLake-v1", "PSRL", "--horizon", "20", "-s", "3")


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "klearning", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=300)[1]
    return process.returncode, errors


def test_a_resumed_learner_ends_as_one_that_never_stopped(tmp_path):
    whole, parts = tmp_path / "whole.npz", tmp_path / "parts.npz"
    seldom = (*LAKE, "--replan-every", "7")
    assert klearning(*seldom, "-n", "60", "--save", str(whole)).returncode == 0
    assert kl.load(whole).replan_every == 7
    assert klearning(*seldom, "-n", "25", "--save", str(parts)).returncode == 0
    assert parts.read_bytes() != whole.read_bytes()
    done = klearning("learn", "FrozenLake-v1", "-n", "60", "--resume", str(parts))  # saved there again
    assert f"saved: {parts}" in done.stdout
    assert "over 60 episodes" in done.stdout
    assert parts.read_bytes() == whole.read_bytes()
    done = klearning(*LAKE, "-n", "60", "--resume", str(parts))
    assert "has 60 episodes already" in done.stderr
    assert (done.returncode, parts.read_bytes()) == (0, whole.read_bytes())


def test_what_the_line_says_of_a_resumed_learner_must_be_true(tmp_path):
    path = tmp_path / "x.npz"
    assert klearning(*LAKE, "-n", "5", "-p", "sd=2", "--save", str(path)).returncode == 0
    before = path.read_bytes()
    for more, complaint in {
        ("UCRL2",): "agent=UCRL2(",
        ("-s", "4"): "seed=4 is not that of",
        ("--horizon", "9"): "horizon=9 is not that of",
        ("--replan-every", "3"): "replan_every=3 is not that of",
        ("--discount", "0.9"): "discount=0.9 is not that of",
        ("--continuing",): "continuing=True is not that of",
        ("--decay", "0.5"): "decay=0.5 is not that of",
        ("-p", "sd=3"): "prior=Prior(",
    }.items():
        done = klearning("learn", "FrozenLake-v1", *more, "-n", "9", "--resume", str(path))
        assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr
    for episodes in ("9", "5"):  # also if there is nothing left to learn
        done = klearning("learn", "CliffWalking-v1", "-n", episodes, "--resume", str(path))
        assert "observation space Discrete(48) is not the learner's" in done.stderr
    assert klearning("learn", "FrozenLake-v1", "-n", "9", "--resume", str(tmp_path / "none")).returncode == 2
    assert path.read_bytes() == before
    assert klearning(*LAKE, "-n", "9", "-p", "sd=2", "--resume", str(path)).returncode == 0
    assert kl.load(path).episodes_done == 9


def test_ctrl_c_saves_and_the_rest_is_learnt_later(tmp_path):
    path, whole, log = (tmp_path / name for name in ("cut.npz", "whole.npz", "log.csv"))
    process = started(*LAKE, "-n", "100000", "--save", str(path), "--csv", str(log))
    while not log.exists() or len(log.read_bytes().splitlines()) < 50:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    code, errors = interrupted(process)
    episode = kl.load(path).episodes_done
    assert code == 130
    assert f"{episode} episodes done: continue with --resume {path}\nklearning: stopped\n" in errors
    assert episode >= len(log.read_bytes().splitlines()) - 1
    assert klearning(*LAKE, "-n", str(episode + 20), "--resume", str(path)).returncode == 0
    assert klearning(*LAKE, "-n", str(episode + 20), "--save", str(whole)).returncode == 0
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.thin(3)
@pytest.mark.parametrize("library", ["_ctypes", "_multiarray_umath", "libllvmlite"])
def test_ctrl_c_while_importing_is_no_traceback(library):
    process = started("learn", "FrozenLake-v1", "-n", "10000000")
    while not is_importing(process, library):
        time.sleep(0.001)
    code, errors = interrupted(process)
    assert (code, errors.splitlines()[-1]) == (130, "klearning: stopped")
    assert "Traceback" not in errors


def is_importing(process: subprocess.Popen[str], library: str) -> bool:
    """Whether Ctrl-C is ours and a library is there; before that Python is starting, and knows nothing of klearning."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("needs /proc")
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGINT - 1)) and library in maps


def test_ctrl_c_is_heard_before_anything_else_is_imported():
    code = """
import sys
from _signal import SIGINT, default_int_handler, getsignal
before, early = set(sys.modules), []
def hook(event, arguments):
    if event == "import" and getsignal(SIGINT) is default_int_handler:
        early.append(arguments[0])
sys.argv[0] = "/bin/klearning"
sys.addaudithook(hook)
import klearning
print(sorted(set(early) - before - set(sys.builtin_module_names)))
"""
    done = subprocess.run([sys.executable, "-c", HEAR + code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "['klearning', 'klearning.numerics', 'klearning.numerics.cli_signals']\n", done.stderr


def test_an_interrupt_that_python_drops_comes_again():
    """As in the callback of a weak reference, with which every import ends."""
    code = """
import sys, time
sys.argv[0] = "/bin/klearning"  # a command
from klearning.cli.interrupts import Interruptible

class Dropping:
    def __del__(self):
        raise KeyboardInterrupt

try:
    with Interruptible():
        del (dropping := [Dropping()])[0]
        time.sleep(20)
        print("lost")
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_an_interrupt_among_the_imports_of_an_extension_is_one():
    """An extension says ImportError, and what it left by half crashes when Python takes modules apart: nobody does."""
    code = """
import atexit, os, signal, sys, time
sys.argv[0] = "/bin/klearning"
from klearning.cli.interrupts import Interruptible, finish

class Half:
    def __del__(self):
        os.write(1, b"taken apart")

half = Half()
atexit.register(os.write, 1, b"tidied up")
try:
    with Interruptible():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        except KeyboardInterrupt:
            raise ImportError("an extension") from None
except KeyboardInterrupt:
    finish(130)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (130, "tidied up", "")


def test_copies_are_born_deaf_to_ctrl_c_and_their_caller_hears_it_afterwards():
    """A terminal interrupts them all, those too that have not begun to read klearning."""
    code, said = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('goes on')", []

    def start():
        with children_ignoring_ctrl_c():
            os.kill(os.getpid(), signal.SIGINT)
            said.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)

    with pytest.raises(KeyboardInterrupt):
        start()
    assert said == ["goes on\n"]


def test_a_library_leaves_ctrl_c_alone():
    code = "import signal, klearning; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout == "True\n", done.stderr


def test_an_ignored_ctrl_c_stays_ignored():
    """As in a background job of a shell without job control."""
    code = (
        "import signal, sys; sys.argv[0] = '/bin/klearning'; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import klearning; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize(
    ("options", "is_proved"),
    [((), False), (("-p", "stationary=no"), True), (("-p", "sd=1"), True)],
    ids=["suggested, of unknown noise", "layered", "stationary"],
)
def test_the_last_lines_begin_with_what_was_played(options, is_proved, tmp_path):
    words = ("learn", "FrozenLake-v1", "-n", "3", "--horizon", "5", *options)
    done, data = klearning(*words, cwd=tmp_path), json.loads(klearning(*words, "--json", cwd=tmp_path).stdout)
    _, played, *certified = done.stdout.splitlines()
    greedy = data["greedy"]
    assert played == f"greedy play returns {greedy['mean']:.4g} ± {greedy['error']:.2g} per episode (20 episodes)"
    assert [line.partition(":")[0] for line in certified] == ["proved"] * is_proved + ["estimated"]
    assert "on average over 100 draws from the belief, given the states met" in certified[-1]
    assert (data["certificate"]["bound"] is not None) == is_proved
    assert ("the prior dominates" in certified[-1]) == data["certificate"]["mostly_prior"]
    none = klearning(*words, "--greedy-episodes", "0", "--json", cwd=tmp_path)
    assert json.loads(none.stdout)["greedy"] is None


COLD = """
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

class ColdStore(gym.Env):
    observation_space = Dict({"temp": Box(-20.0, 20.0, (1,)), "price": Box(0.0, np.inf, (1,)), "door": Discrete(2)})
    action_space = Discrete(2)

    def see(self):
        price = np.array([self.np_random.lognormal(0.0, 0.5)], np.float32)
        return {"temp": np.array([self.temp], np.float32), "price": price, "door": int(self.np_random.integers(2))}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.temp, self.clock = 5.0, 0
        return self.see(), {}

    def step(self, cool):
        self.temp += (-3.0 if cool else 1.5) + 0.3 * self.np_random.normal()
        self.clock += 1
        return self.see(), -0.2 * cool - abs(self.temp - 4.0) / 8.0, False, self.clock == 12, {}
"""


@pytest.mark.slow
def test_bins_are_kept_exported_and_resumed(tmp_path):
    """Pain 1 of the user study, by its commands: edges lost, raw observations refused, other bins taken in silence."""
    (tmp_path / "cold.py").write_text(COLD)
    learn = ("learn", "cold.py:ColdStore", "--horizon", "12", "-p", "sd=1")
    cut = ("--bins", "temp=10", "--bins", "price=4", "--quantiles")
    done = klearning(*learn, *cut, "-n", "40", "--save", "cold.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    space: dict = {}
    exec(COLD, space)
    raw, _ = space["ColdStore"]().reset(seed=1)
    learner = kl.load(tmp_path / "cold.npz")
    assert learner.predict(raw) in (0, 1)
    assert learner.about(raw).best == learner.predict(raw)
    edges = learner.observations.bins.edges
    assert [len(edges["price"][0]), len(edges["temp"][0])] == [3, 9]
    learner.export(tmp_path / "cold.json")
    assert [e for e in json.loads((tmp_path / "cold.json").read_text())["edges"] if e] == [
        edges["price"][0],
        edges["temp"][0],
    ]
    before = (tmp_path / "cold.npz").read_bytes()
    other = klearning(
        *learn,
        "--bins",
        "temp=10",
        "--bins",
        "price=3",
        "--quantiles",
        "-n",
        "50",
        "--resume",
        "cold.npz",
        cwd=tmp_path,
    )
    assert other.returncode == 2
    assert re.search(
        r"bins of observation\['price'\] have edges \[\[.*\]\], and the learner's have \[\[", other.stderr
    ), other.stderr
    assert (tmp_path / "cold.npz").read_bytes() == before
    for bins in (cut, ()):  # the same bins, or those of the file alone
        more = klearning(*learn, *bins, "-n", "45", "--resume", "cold.npz", "--save", f"{len(bins)}.npz", cwd=tmp_path)
        assert more.returncode == 0, more.stderr
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / f"{len(cut)}.npz").read_bytes()


def test_where_no_prior_is_given_random_play_suggests_one_and_it_is_told(tmp_path):
    told, typed = tmp_path / "told.npz", tmp_path / "typed.npz"
    done = klearning(*LAKE, "-n", "3", "--save", str(told))
    line = next(line for line in done.stderr.splitlines() if line.startswith("no prior is given"))
    options = line.partition("random play suggests ")[2].split()
    assert options[:2] == ["-p", "reward=unknown_noise"]
    again = klearning(*LAKE, "-n", "3", "--save", str(typed), *options)
    assert "no prior is given" not in again.stderr
    assert told.read_bytes() == typed.read_bytes()


# -- several seeds, and bins ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_seeds_are_as_each_of_them_alone(tmp_path):
    words = ("learn", "FrozenLake-v1", "PSRL", "--horizon", "20", "--json")
    several = ("--seeds", "3,5", "--save", "out/x_{seed}.npz", "--csv", "log_{seed}.csv")
    done = klearning(*words, "-n", "20", *several, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    alone = json.loads(klearning(*words, "-n", "20", "-s", "5", "--save", "alone_{seed}.npz", cwd=tmp_path).stdout)
    assert (shown["seeds"], shown["episodes"]) == ([3, 5], [20, 20])
    assert shown["steps"][1] == alone["steps"]
    assert shown["mean_return"][1] == alone["mean_return"]
    assert shown["mean"]["mean_return"] == {"estimate": sum(shown["mean_return"]) / 2, "low": None, "high": None}
    assert shown["saved"] == ["out/x_3.npz", "out/x_5.npz"]
    assert (tmp_path / "out" / "x_5.npz").read_bytes() == (tmp_path / "alone_5.npz").read_bytes()
    assert len((tmp_path / "log_3.csv").read_text().splitlines()) == 21
    # going on: those that are there to the end, others from the beginning
    again = klearning(*words[:-1], "-n", "25", "--seeds", "3,4", "--resume", "out/x_{seed}.npz", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "saved: out/x_{seed}.npz" in again.stdout
    assert {kl.load(tmp_path / "out" / f"x_{seed}.npz").episodes_done for seed in (3, 4)} == {25}


def test_ten_seeds_have_an_interval(tmp_path):
    done = klearning("learn", "FrozenLake-v1", "Random", "--horizon", "20", "-n", "30", "--seeds", "10", cwd=tmp_path)
    assert "95% intervals of the means" in " ".join(done.stdout.split())
    rows = [line for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 11
    assert "mean" in rows[-1]


def test_tasks_on_the_line_are_those_of_learn(tmp_path, monkeypatch):
    """And a line that resumes the file need not repeat them."""
    monkeypatch.chdir(tmp_path)
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 1.0), kl.Dirichlet(0.5), stationary=True)
    line = ("learn", "FrozenLake-v1", "PSRL", "-p", "mass=0.5", "-p", "noise=1")
    task = ("--discount", "0.8", "--continuing", "--decay", "0.9")
    commands([*line, *task, "--steps", "100", "--save", "x.npz"], standalone_mode=False)
    half = kl.load("x.npz")
    assert (half.discount, half.continuing, half.decay, half.horizon) == (0.8, True, 0.9, 21)
    assert 100 <= half.steps < 121
    commands([*line[:3], "--steps", "200", "--resume", "x.npz"], standalone_mode=False)
    settings = kl.LearnSettings(discount=0.8, continuing=True, decay=0.9)
    alone = kl.learn(kl.PSRL(), "FrozenLake-v1", steps=100, prior=prior, settings=settings)
    assert alone.returns == half.returns
    alone = kl.learn(alone, gymnasium.make("FrozenLake-v1"), steps=200 - alone.steps)
    assert kl.load("x.npz").returns == alone.returns


@pytest.mark.slow
def test_masks_on_the_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, masked in {"--action-masks": True, "--no-action-masks": False}.items():
        commands(
            ["learn", "Taxi-v4", "Random", option, "--steps", "300", "--save", f"{masked}.npz"], standalone_mode=False
        )
        assert bool(kl.load(f"{masked}.npz").masks.known) == masked


def test_stopping_on_the_line_says_why(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bandit = ("learn", "klearning/Bandit-v0", "-p", "stationary=no", "-p", "noise=1")
    commands([*bandit, "--stop-when-sure", "0.5", "-n", "5000"], standalone_mode=False)
    told = capsys.readouterr()
    assert re.search(r"stopped after \d+ episodes; greedy episodes lose at most 0\.\d+ on average", told.err)
    assert "over 5000 episodes" not in told.out
    sure = ("learn", "FrozenLake-v1", "Random", "--stop-at-return", "-1", "--save", "x.npz")
    commands([*sure, "-n", "300"], standalone_mode=False)
    assert "stopped after 100 episodes; the last 100 episodes returned" in capsys.readouterr().err
    commands([*sure, "-n", "300", "--resume", "x.npz"], standalone_mode=False)  # the episodes before count
    assert kl.load("x.npz").episodes_done == 101


SEEDS = ("learn", "FrozenLake-v1", "Random", "-n", "2", "--seeds")
CART = ("learn", "CartPole-v1", "Random", "-n", "2")
WRONG = {
    "one file": (
        (*SEEDS, "3", "--save", "x.npz"),
        "--save x.npz is one name for 3 seeds: write {seed} into it, x_{seed}",
    ),
    "one log": ((*SEEDS, "3", "--csv", "x.csv"), "--csv x.csv is one name for 3 seeds"),
    "both": ((*SEEDS, "3", "-s", "1"), "--seed and --seeds 3 are both there"),
    "none": ((*SEEDS, "0"), "seeds=0 is too small"),
    "no number": ((*SEEDS, "a"), "seeds='a' is not a whole number"),
    "twice": ((*SEEDS, "1,1"), "seeds=[1, 1] is empty or has repeats"),
    "no steps": (("learn", "FrozenLake-v1", "--steps", "0"), "steps=0 is too small"),
    "discount": (("learn", "FrozenLake-v1", "Random", "--discount", "2"), "discount=2.0 is out of range"),
    "no belief": (("learn", "FrozenLake-v1", "QLearning", "--stop-when-sure", "1"), "holds no belief"),
    "no loss": (("learn", "FrozenLake-v1", "PSRL", "--stop-when-sure", "-1"), "loss=-1.0 is out of range"),
    "no bins": (CART, "bin it first: env = kl.Binned.from_quantiles"),
    "no ends": ((*CART, "--bins", "4"), "low[1]=-inf is unbounded"),
    "half": ((*CART, "--bins", "4", "--bins", "x=3"), "--bins 4 has no name beside others"),
    "two": ((*CART, "--bins", "4", "--bins", "3"), "--bins 4 --bins 3: give one, or names"),
    "of no name": ((*CART, "--bins", "x=3", "--quantiles"), "bins={'x': 3} has names"),
    "of discrete": (("learn", "FrozenLake-v1", "--bins", "3"), "observation_space=Discrete(16) cannot be binned"),
    "word": ((*CART, "--bins", "many"), "bins='many' is not a whole number"),
}


@pytest.mark.parametrize(("words", "complaint"), WRONG.values(), ids=WRONG)
def test_a_mistake_names_the_fix_and_writes_nothing(words, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        commands(list(words), standalone_mode=False)
    assert not list(tmp_path.iterdir())


def test_bins_on_the_line(tmp_path):
    words = (*CART, "--bins", "2,1,3,3", "--quantiles", "--save", "x.npz")
    assert klearning(*words, cwd=tmp_path).returncode == 0
    assert kl.load(tmp_path / "x.npz", kl.Learner).observations.sizes == [2, 1, 3, 3]
    assert bin_counts(["4"]) == 4
    assert bin_counts(["arm.angle=8", "arm.speed=2,3", "0=5"]) == {"arm": {"angle": 8, "speed": [2, 3]}, 0: 5}


TANK = ("learn", "simulator.py:Tank", "PSRL", "--horizon", "9", "-p", "sd=1", "-n", "12")


@pytest.fixture
def simulator(tmp_path):
    """A folder with the simulator of the docs."""
    [block] = [block for block in ALL if block.remark("file") == "simulator.py"]
    (tmp_path / "simulator.py").write_text(block.text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("cut", [("--bins", "level=4"), ("--bins", "4", "--quantiles")], ids=["bins", "quantiles"])
def test_copies_are_a_vector(cut, simulator):
    """What processes teach is what `kl.learn` learns from a vector in one process."""
    done = klearning(*TANK, *cut, "--envs", "2", "--save", "tank.npz", cwd=simulator)
    assert done.returncode == 0, done.stderr
    tank = runpy.run_path(str(simulator / "simulator.py"))["Tank"]
    edges = binned(tank(), cut[1:2], "--quantiles" in cut, 9).edges
    envs = SyncVectorEnv([lambda: kl.Binned(tank(), edges=edges)] * 2, autoreset_mode=AutoresetMode.DISABLED)
    learner = kl.learn(kl.PSRL(), envs, episodes=12, horizon=9, prior=kl.Prior(kl.Gaussian(sd=1), stationary=True))
    learner.save(simulator / "own.npz")
    assert (simulator / "own.npz").read_bytes() == (simulator / "tank.npz").read_bytes()


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--envs", "0"), "envs=0 is too small"),
        (("--envs", "2", "--evaluate-every", "5"), "--evaluate-every 5 follows one environment"),
    ],
)
def test_copies_that_cannot_be(more, complaint, tmp_path):
    done = klearning(*LAKE, "-n", "5", *more, "--save", str(tmp_path / "x.npz"))
    assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.slow
def test_a_copy_that_dies_is_one_line(simulator):
    with (simulator / "simulator.py").open("a") as file:
        file.write("\n\nclass Dies(Tank):\n    def step(self, action):\n        __import__('os')._exit(3)\n")
    done = klearning(TANK[0], "simulator.py:Dies", *TANK[2:], "--bins", "4", "--envs", "2", cwd=simulator)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "the process of one of 2 is gone" in done.stderr


@pytest.mark.slow
def test_ctrl_c_stops_copies_too(tmp_path):
    """A terminal sends it to all processes of a command: those of the environments say nothing, and are gone."""
    path, log = tmp_path / "cut.npz", tmp_path / "log.csv"
    command = [*COMMAND, *LAKE, "-n", "100000", "--envs", "2", "--save", str(path), "--csv", str(log), "-p", "sd=1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not log.exists() or len(log.read_bytes().splitlines()) < 10:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=300)[1]  # ends when all who could write there have
    assert errors == f"{kl.load(path).episodes_done} episodes done: continue with --resume {path}\nklearning: stopped\n"
    assert process.returncode == 130


@pytest.mark.thin(3)
@pytest.mark.parametrize(("agent", "stationary", "sentence"), [
    ("PSRL", "no", "a greedy episode costs at most"),
    ("KLearning", "yes", "greedy episode costs"),
    ("QLearning", "no", ""),
])  # fmt: skip
def test_what_a_greedy_episode_costs(agent, stationary, sentence):
    """In words and as JSON, as `kl.certify` has it; nothing of an agent that believes nothing."""
    words = ("learn", "klearning/DeepSea-v0", agent, "-e", "depth=3", "-p", f"stationary={stationary}", "-n", "8")
    said, data = klearning(*words), json.loads(klearning(*words, "--json").stdout)["certificate"]
    assert (said.returncode, sentence in said.stdout) == (0, True)
    if not sentence:
        assert data is None
        assert "greedy episode" not in said.stdout
        return
    assert data["draws"] == 100
    assert 0.0 <= data["regret"] < 3.0
    assert data["bound"] is None or data["bound"] > data["regret"]
