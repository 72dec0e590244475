"""Ctrl-C at random instants, counted: `python -m bench.interrupts [N]`. Prints the table of reliability.md.

N interrupts of every public function that computes for long, in a process of its own each, so that a crash is seen and
counted; then N commands `klearning learn --save`, stopped while they import and while they learn.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

import klearning as kl
from klearning.theory import duality

AGENTS = ("KLearning", "PSRL", "UCRL2", "QLearning")
LONG = 10**9  # episodes: nobody waits for them
HORIZON = 20
SECONDS = 2.0  # in which a command is interrupted: after its start, or after its first episode


def main(count: int = 60) -> None:
    print("| interrupted | times | crashes | other errors | episodes lost | like the undisturbed one |")
    print("|---|---|---|---|---|---|")
    for name in [*AGENTS, *(f"Learner, {agent}" for agent in AGENTS), *COMPUTATIONS]:
        done = subprocess.run(
            [sys.executable, "-m", "bench.interrupts", "inside", name, str(count)], capture_output=True, text=True
        )
        crash = f"| {name} | ? | 1 ({done.returncode}) | – | – | – |"
        print(crash if done.returncode else done.stdout.strip(), flush=True)
    stopped_commands(count)


def stopped_commands(count: int) -> None:
    for command in ([sys.executable, "-m", "klearning"], [str(Path(sys.executable).with_name("klearning"))]):
        print(commands(command, count), flush=True)


def inside(name: str, count: int) -> str:
    """So many interrupts of one function; a crash ends this process."""
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
        lost += max(seen[-1] - learner.episode, 0) + learner.under_way
    kl.learn(learner, env, episodes=1)  # what was planned for an episode that was given up is planned again
    calm = kl.learn(agent, env, episodes=learner.episode, horizon=HORIZON)
    return errors, lost, "yes" if content(calm) == content(learner) else "no"


def own_loop(learner: Any, env: Any, episodes: int, callbacks: Any) -> None:
    """A reader's own, over the methods of `Learner`, with the seeds that `learn` would give."""
    try:
        _own_episodes(learner, env, episodes)
    except KeyboardInterrupt:
        learner.abandon_episode()
        raise


def _own_episodes(learner: Any, env: Any, episodes: int) -> None:
    from klearning.trials.streams import whole_number

    for _ in range(episodes):
        observation, _ = env.reset(seed=whole_number(learner.seed, "environment", number=learner.episode))
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
            episodes = kl.load(path).episode if path.exists() else 0
            rows = max(log.read_text().count("\n") - 1, 0) if log.exists() else 0
            lost += max(rows - episodes, 0)
            learners += [kl.load(path)] if path.exists() else []
    env = gymnasium.make("FrozenLake-v1")
    end = max((learner.episode for learner in learners), default=0) + 1
    prior = learners[0].prior if learners else None  # that random play suggested
    calm = content(kl.learn(kl.KLearning(), env, episodes=end, horizon=HORIZON, prior=prior)) if learners else b""
    same = sum(content(kl.learn(learner, env, episodes=end - learner.episode)) == calm for learner in learners)
    name = "python -m klearning learn" if "-m" in command else "klearning learn"
    name += f", {early} times before Python read any of it" if early else ""
    return f"| {name} | {count} | {crashes} | {tracebacks} | {lost} | {same} of {len(learners)} that had learnt |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        print(inside(sys.argv[2], int(sys.argv[3])))
    elif sys.argv[1:2] == ["commands"]:
        stopped_commands(int(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:2]))
