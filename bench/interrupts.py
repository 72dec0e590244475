"""Ctrl-C at random instants, counted: `python -m bench.interrupts [N]`. Writes docs/evidence/data/reliability.*.json.

N interrupts of every public function that computes for long, in a process of its own each, so that a crash is seen and
counted; then N commands `klearning learn --save`, stopped while they import and while they learn.

`python -m bench.interrupts every [CASE]…` interrupts every command, at instants spread over the time that it takes:
from its start, among imports, while it compiles, computes and writes.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

import klearning as kl
from bench.record import record
from klearning.lab.theory import duality

AGENTS = ("KLearning", "PSRL", "UCRL2", "QLearning")
LONG = 10**9  # episodes: nobody waits for them
HORIZON = 20
SECONDS = 2.0  # in which a command is interrupted: after its start, or after its first episode


HEADINGS = ("interrupted", "times", "crashes", "other errors", "episodes lost", "same as undisturbed")


def main(count: int = 60) -> None:
    for name in [*AGENTS, *(f"Learner, {agent}" for agent in AGENTS), *COMPUTATIONS]:
        done = subprocess.run(
            [sys.executable, "-m", "bench.interrupts", "inside", name, str(count)], capture_output=True, text=True
        )
        crash = f"| {name} | ? | 1 ({done.returncode}) | – | – | – |"
        keep(crash if done.returncode else done.stdout.strip())
    stopped_commands(count)


def keep(row: str) -> None:
    cells = row.strip("| ").split(" | ")
    record("reliability.interrupts", "python -m bench.interrupts", HEADINGS, [cells], keep=True)
    print(row, flush=True)


def stopped_commands(count: int) -> None:
    for command in ([sys.executable, "-m", "klearning"], [str(Path(sys.executable).with_name("klearning"))]):
        keep(commands(command, count))


def inside(name: str, count: int) -> str:
    """N interrupts of one function; a crash ends this process."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    if name in COMPUTATIONS:
        errors = interrupted_computations(COMPUTATIONS[name](), count)
        return f"| {name} | {count} | 0 | {errors} | – | – |"
    loop = own_loop if name.startswith("Learner") else kl.learn
    errors, lost, same = interrupted_learning(loop, getattr(kl, name.split()[-1])(), count)
    return f"| {'own loop: ' if loop is own_loop else 'learn: '}{name} | {count} | 0 | {errors} | {lost} | {same} |"


def interrupted_computations(work: Callable[[], Any], count: int) -> int:
    rng, errors, caught = random.Random(1), 0, 0
    work()  # compile
    while caught < count:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.01))
            while True:
                work()
        except KeyboardInterrupt:
            caught += 1
        except Exception:
            errors += 1
    return errors


def interrupted_learning(loop: Callable[..., Any], agent: Any, count: int) -> tuple[int, int, str]:
    """Other errors, episodes that were reported and then not there, and whether the end is that of nobody disturbed."""
    env, rng = gymnasium.make("FrozenLake-v1"), random.Random(1)
    learner = kl.learn(agent, env, episodes=5, horizon=HORIZON)
    errors = lost = caught = 0
    seen = [5]
    while caught < count:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.01))
            loop(learner, env, episodes=LONG, callbacks=[lambda report: seen.append(report.episode)])
        except KeyboardInterrupt as stop:
            caught += 1
            learner = getattr(stop, "learner", learner)
        except Exception:
            errors += 1
        lost += max(seen[-1] - learner.episodes_done, 0) + learner.under_way
    kl.learn(learner, env, episodes=1)  # what was planned for an episode that was given up is planned again
    calm = kl.learn(agent, env, episodes=learner.episodes_done, horizon=HORIZON)
    return errors, lost, "yes" if content(calm) == content(learner) else "no"


def own_loop(learner: Any, env: Any, episodes: int, callbacks: Any) -> None:
    """A reader's own, over the methods of `Learner`, with the seeds that `learn` would give."""
    try:
        _own_episodes(learner, env, episodes)
    except KeyboardInterrupt:
        learner.abandon_episode()
        raise


def _own_episodes(learner: Any, env: Any, episodes: int) -> None:
    from klearning.tabular.trials.streams import whole_number

    for _ in range(episodes):
        observation, _ = env.reset(seed=whole_number(learner.seed, "environment", number=learner.episodes_done))
        while not learner.over:
            observation, reward, terminated, truncated, _ = env.step(learner.act(observation))
            learner.observe(reward, observation, terminated, truncated)
        learner.end_episode()


def content(learner: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "learner.npz")
        return (Path(folder) / "learner.npz").read_bytes()


def _solve() -> Callable[[], Any]:
    belief = kl.Belief.empty(kl.Prior(), [3] * 4, 2, [1 / 3] * 3)
    return lambda: kl.solve(belief)


def _theory() -> Callable[[], Any]:
    belief = kl.Belief.empty(kl.Prior(), [3] * 4, 2, [1 / 3] * 3)
    return lambda: duality.strong_duality(belief)


def _evaluate() -> Callable[[], Any]:
    world = kl.deep_sea(6)
    policy = kl.optimal(world).policy
    return lambda: kl.evaluate(world, policy)


COMPUTATIONS: dict[str, Callable[[], Callable[[], Any]]] = {
    "solve": _solve,
    "optimal": lambda: lambda: kl.optimal(kl.deep_sea(6)),
    "evaluate": _evaluate,
    "run": lambda: lambda: kl.run(kl.KLearning(), kl.deep_sea(4), episodes=3, seeds=1),
    "theory": _theory,
}


def commands(command: list[str], count: int) -> str:
    """Commands stopped at any time: how many did not exit with 130, or with a traceback, and what their files hold."""
    rng, crashes, tracebacks, lost, early = random.Random(2), 0, 0, 0, 0
    learners = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            path, log = Path(folder) / f"{i}.npz", Path(folder) / f"{i}.csv"
            options = ["-n", str(LONG), "--horizon", str(HORIZON), "--save", str(path), "--csv", str(log)]
            process = subprocess.Popen(
                [*command, "learn", "FrozenLake-v1", *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            while i % 2 and not log.exists():
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, SECONDS))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            if "klearning/" in errors or "klearning: " in errors:
                crashes += process.returncode != 130
                tracebacks += "Traceback" in errors
            else:  # Python itself was starting
                early += 1
            episodes = kl.load(path).episodes_done if path.exists() else 0
            rows = max(log.read_text().count("\n") - 1, 0) if log.exists() else 0
            lost += max(rows - episodes, 0)
            learners += [kl.load(path, kl.Learner)] if path.exists() else []
    env = gymnasium.make("FrozenLake-v1")
    end = max((learner.episodes_done for learner in learners), default=0) + 1
    prior = learners[0].prior if learners else None  # that random play suggested
    calm = content(kl.learn(kl.KLearning(), env, episodes=end, horizon=HORIZON, prior=prior)) if learners else b""
    same = sum(content(kl.learn(learner, env, episodes=end - learner.episodes_done)) == calm for learner in learners)
    name = "python -m klearning learn" if "-m" in command else "klearning learn"
    end_like = f"{same} of {len(learners)} that had learned"
    end_like += f"; {early} were stopped before Python read any of it" if early else ""
    return f"| {name} | {count} | {crashes} | {tracebacks} | {lost} | {end_like} |"


# Every command


SWEEP = """[[sweep]]
world = {name = "deep_sea", depth = [4, 6]}
agent = [{name = "KLearning"}, {name = "PSRL"}]
episodes = %s
seeds = 20
"""
LAKE = ("learn", "FrozenLake-v1", "--horizon", "20")
# words after `klearning`, in a folder with two sweep files and a store
EVERY: dict[str, tuple[str, ...]] = {
    "agents": ("agents",),
    "worlds": ("worlds",),
    "games": ("games", "--json"),
    "completion": ("completion", "bash"),
    "run": ("run", "-n", "1000000"),
    "compare": ("compare", "deep_sea", "KLearning", "PSRL", "-n", "100000", "-s", "5"),
    "learn": (*LAKE, "-n", "10000000", "--save", "x.npz", "--csv", "x.csv"),
    "learn, --envs 2": (*LAKE, "-n", "10000000", "--envs", "2"),
    "learn, DeepKLearning": ("learn", "CartPole-v1", "DeepKLearning", "-n", "1000000", "--save", "y.npz"),
    "sweep": ("sweep", "long.toml", "--store", "new"),
    "store ls": ("store", "ls", "--store", "store"),
    "store show": ("store", "show", "RUN", "--store", "store"),
    "store verify": ("store", "verify", "--store", "store"),
    "store export": ("store", "export", "x.csv", "--store", "store"),
    "store gc": ("store", "gc", "--store", "store"),
    "report": ("report", "store", "-o", "x.html"),
    "reproduce": ("reproduce", "--quick", "--store", "paper", "--out", "paper"),
    "warm-up": ("warm-up",),
    "benchmark": ("benchmark", "gymnasium", "CliffWalking", "--agents", "K-learning"),
}
OFTEN = {"learn, DeepKLearning": 70}
TIMES = 24
LONGEST = 8.0  # seconds over which interrupts are spread, if a command takes longer
EVERY_HEADINGS = (
    "klearning", "tried", "finished before", "Python was starting", "interrupted", "crashes", "other exit codes",
    "tracebacks", "processes left",
)  # fmt: skip


def every(cases: list[str]) -> None:
    """Every command, interrupted at instants spread over the time that it takes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background is born deaf to it
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, episodes in (("short.toml", 50), ("long.toml", 100_000)):
            (folder / file).write_text(SWEEP % episodes)
        subprocess.run(_klearning("sweep", "short.toml", "--store", "store"), cwd=folder, check=True)
        run = next((folder / "store" / "runs").glob("*/*")).name
        for case in cases or EVERY:
            words = [run if word == "RUN" else word for word in EVERY[case]]
            row = interrupted_command(words, folder, OFTEN.get(case, TIMES))
            record(
                "reliability.commands", "python -m bench.interrupts every", EVERY_HEADINGS, [[case, *row]], keep=True
            )
            print(case, row, flush=True)


def _klearning(*words: str) -> list[str]:
    return [str(Path(sys.executable).with_name("klearning")), *words]


def interrupted_command(words: list[str], folder: Path, count: int) -> list[int]:
    rng, tally = random.Random(3), Counter[str]()
    took = _seconds(words, folder)
    for i in range(count):
        process = _start(words, folder)
        time.sleep(took * (i + rng.random()) / count)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate()
        code, ours = process.returncode, "klearning/" in said or "klearning: " in said
        tally["processes left"] += _is_alive(process.pid)
        tally["tracebacks"] += ours and "Traceback" in said
        if code == 0:
            tally["over before"] += 1
        elif code == -signal.SIGINT or ("KeyboardInterrupt" in said and not ours):
            tally["Python was starting"] += 1
        else:
            tally["interrupted"] += 1
            tally["crashes"] += code < 0
            tally["other exit codes"] += code not in (130, *range(-64, 0))
        if code not in (0, 130, -signal.SIGINT) or (ours and "Traceback" in said):
            print(words, code, said[-3000:], file=sys.stderr)
    return [count, *(tally[heading] for heading in EVERY_HEADINGS[2:])]


def _start(words: list[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        _klearning(*words),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _seconds(words: list[str], folder: Path) -> float:
    """Its time without interrupts, up to the longest."""
    began, process = time.monotonic(), _start(words, folder)
    try:
        process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.communicate()
        return LONGEST
    return time.monotonic() - began


def _is_alive(group: int) -> bool:
    """Whether a process of this group goes on, ten seconds after the first of them has ended."""
    for _ in range(1000):
        table = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in table.splitlines()]
        if not any(int(number) == group and not status.startswith("Z") for number, status in rows):
            return False
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        print(inside(sys.argv[2], int(sys.argv[3])))
    elif sys.argv[1:2] == ["every"]:
        every(sys.argv[2:])
    elif sys.argv[1:2] == ["commands"]:
        stopped_commands(int(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:2]))
