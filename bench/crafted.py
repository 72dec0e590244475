"""Files made to do harm, counted: `python -m bench.crafted`. Prints the table of docs/evidence/reliability.md.

Every array of saved learners and of checkpoints is changed in every way of `tests/support/crafted.py`, so are headers
and archives; checksums are repaired, except in the first kind. What loads is used: it predicts and goes on for three
episodes. All that happens in processes of their own, so that a crash is seen and counted; once as usual, once with
bounds checked.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import klearning as kl
from klearning.environments.learner_state import arrays_of, settings_of
from tests.support import crafted
from tests.support.make_corpus import Clockwork, follow

OUTCOMES = ("ValueError", "identical", "other content", "other error", "crash")
MEMORY = 3 * 2**30  # bytes that a process may have beyond what it begins with
SECONDS = 20  # that a file may take


def main() -> None:
    print("| files | bounds checked | how many | " + " | ".join(OUTCOMES) + " |")
    print("|---|---|" + "---|" * (1 + len(OUTCOMES)))
    for checked in ("", "1"):
        for kind in KINDS:
            count = counted(kind, {**os.environ, "NUMBA_BOUNDSCHECK": checked or "0"})
            numbers = " | ".join(str(count[outcome]) for outcome in OUTCOMES)
            print(f"| {kind} | {'yes' if checked else 'no'} | {count.total()} | {numbers} |", flush=True)


def counted(kind: str, environment: dict[str, str]) -> Counter[str]:
    """What became of all files of a kind; a process that dies is followed by one for the files behind."""
    count, done, over = Counter[str](), 0, False
    while not over:
        command = [sys.executable, "-m", "bench.crafted", kind, str(done)]
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
        lines = process.stdout.splitlines()
        over = bool(lines) and lines[-1] == "end"
        outcomes = [line.split("\t") for line in lines if "\t" in line]
        if not over:
            if process.returncode > 0:
                raise RuntimeError(process.stderr)
            outcomes.append(["crash", f"file {done + len(outcomes)}, signal {-process.returncode}"])
        done += len(outcomes)
        for outcome, what in outcomes:
            count[outcome] += 1
            if outcome in ("other error", "crash") or "-v" in sys.argv:
                print(f"{kind}: {outcome}: {what}", file=sys.stderr)
    return count


def worker(kind: str, first: int) -> None:
    """Try one file after the other, and say what became of it."""
    signal.signal(signal.SIGALRM, _late)
    for i, (name, attempt) in enumerate(KINDS[kind]()):
        if i < first:
            continue
        if i == first:
            attempt_limit()
        signal.alarm(SECONDS)
        try:
            outcome = attempt()
        except ValueError as error:
            outcome, name = "ValueError", f"{name}: {error}"
        except (Exception, MemoryError) as error:
            outcome, name = "other error", f"{name}: {error!r}"
        signal.alarm(0)
        print(f"{outcome}\t{name}".replace("\n", " "), flush=True)
    print("end")


def attempt_limit() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def _late(*_: Any) -> None:
    raise TimeoutError(f"not done after {SECONDS} s")


Attempts = Iterator[tuple[str, Callable[[], str]]]


def learners() -> Attempts:
    for case in crafted.LEARNERS:
        yield from _files(case, crafted.crafted_learners(case))


def unrepaired() -> Attempts:
    for case in crafted.LEARNERS:
        yield from _files(case, crafted.changed_learners(case))


def archives() -> Attempts:
    case = crafted.LEARNERS[0]
    yield from _files(case, crafted.crafted_archives(case))


def _files(case: str, files: Iterator[tuple[str, bytes]]) -> Attempts:
    _, sound = crafted.learner_parts(case)
    for name, data in files:
        yield f"{case}: {name}", partial(used_learner, data, sound)


def used_learner(data: bytes, sound: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        path.write_bytes(data)
        learner = kl.load(path)
    outcome = "identical" if same(arrays_of(learner) | _prior(learner), sound) else "other content"
    simulator = Clockwork(learner.observations.space)
    for step in range(learner.horizon):
        learner.predict(simulator.observation(), step)
    learner.abandon_episode()
    end = learner.episode + 3
    try:
        while learner.episode < end:
            follow(learner, simulator, 1)
    except (ValueError, RuntimeError) as error:
        raise AssertionError(f"it was loaded, and then: {error}") from None
    return outcome


def _prior(learner: kl.Learner) -> dict[str, Any]:
    beside: dict[str, Any] = {}
    settings_of(learner, beside)
    return beside


def checkpoints() -> Attempts:
    for case in crafted.TRIALS:
        whole = crafted.trial_of(case)
        whole.advance(crafted.EPISODES)
        for name, state in crafted.crafted_trials(case):
            yield f"{case}: {name}", partial(used_trial, case, state, whole.state())


def used_trial(case: str, state: dict[str, Any], whole: dict[str, Any]) -> str:
    trial = crafted.trial_of(case)
    trial.restore(state)
    try:
        trial.advance(crafted.EPISODES - trial.played)
    except ValueError as error:
        raise AssertionError(f"it was restored, and then: {error}") from None
    return "identical" if same(trial.state(), whole) else "other content"


def same(x: dict[str, Any], y: dict[str, Any]) -> bool:
    return x.keys() == y.keys() and all(
        x[name].dtype == y[name].dtype and np.array_equal(x[name], y[name], equal_nan=x[name].dtype.kind == "f")
        for name in x
    )


KINDS: dict[str, Callable[[], Attempts]] = {
    "learners, checksums left": unrepaired,
    "learners": learners,
    "archives": archives,
    "checkpoints": checkpoints,
}

if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in KINDS:
        worker(sys.argv[1], int(sys.argv[2]))
    else:
        main()
