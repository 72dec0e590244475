"""Files made to do harm, counted: `python -m bench.crafted [KIND]…`.

Writes docs/evidence/data/reliability.crafted.json.

Every array of saved learners and of checkpoints is changed in every way of `tests/support/crafted.py`, so are headers
and archives; checksums are repaired, unless the kind says otherwise. A file that loads is used: it predicts and goes on
for some episodes, and learners of networks are saved and loaded again. Records and indices of stores are given to
`klearning store ls`, `show`, `export`, `verify` and `report`.

All that happens in processes of their own, so that a crash is seen and counted. A file has ten seconds, and its process
a gigabyte beyond what it begins with; kinds whose contents kernels read are tried once more with bounds checked.
"""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

import klearning as kl
from bench.record import record
from klearning.cli import _call
from klearning.lab.experiments.checkpoints import CHECKSUM_BYTES, write_checkpoint
from klearning.lab.experiments.runnables import runnable
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import INDEX, Store
from klearning.numerics.files import checksum
from klearning.simulators.saving import arrays_of, settings_of
from tests.support import crafted, crafted_records
from tests.support.commands import limit_memory
from tests.support.make_corpus import Clockwork, follow
from tests.support.strange_stores import STORES, contents, strange

OUTCOMES = ("a line", "identical", "other content", "traceback", "over 10 s", "over 1 GB", "crash")
FAULTS = OUTCOMES[3:]
HEADINGS = ("files", "count", "refused", *OUTCOMES[1:])
MEMORY = 10**9  # bytes that a process may have beyond what it begins with
SECONDS = 10  # that a file may take
LINES = (ValueError, OverflowError, OSError, ImportError, click.ClickException)  # what the command says in a line


class Late(BaseException):
    """Not done in time; nobody catches it by accident."""


def main(kinds: list[str]) -> None:
    for kind in kinds or KINDS:
        for checked in ("0", "1") if kind in OF_KERNELS else ("0",):
            count = counted(kind, {**os.environ, "NUMBA_BOUNDSCHECK": checked})
            name = f"{kind}; bounds checked" if checked == "1" else kind
            row = [count.total(), *(count[outcome] for outcome in OUTCOMES)]
            record("reliability.crafted", "python -m bench.crafted", HEADINGS, [[name, *row]], keep=True)
            print(name, row, flush=True)


def counted(kind: str, environment: dict[str, str]) -> Counter[str]:
    """Results of all files of a kind; a process that dies is followed by one for the remaining files."""
    count, done, over = Counter[str](), 0, False
    while not over:
        command = [sys.executable, "-m", "bench.crafted", "--worker", kind, str(done)]
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
        lines = process.stdout.splitlines()
        over = bool(lines) and lines[-1] == "end"
        outcomes = [line.split("\t", 1) for line in lines if "\t" in line]
        if not over:
            if process.returncode > 0:
                raise RuntimeError(process.stderr)
            outcomes.append(["crash", f"file {done + len(outcomes)}, signal {-process.returncode}"])
        done += len(outcomes)
        for outcome, what in outcomes:
            count[outcome] += 1
            if outcome in FAULTS or "-v" in sys.argv:
                print(f"{kind}: {outcome}: {what}", file=sys.stderr)
    return count


def worker(kind: str, first: int) -> None:
    """Try one file after the other, and say what became of it."""
    out = os.fdopen(os.dup(1), "w")
    signal.signal(signal.SIGALRM, _late)
    for i, (name, attempt) in enumerate(KINDS[kind]()):
        if i < first:
            continue
        if i == first:
            limit_memory(MEMORY)
        try:
            outcome = in_time(attempt)
        except Late:
            outcome = "over 10 s"
        except LINES as error:
            outcome, name = "a line", f"{name}: {error}"
        except MemoryError:
            outcome = "over 1 GB"
        except Exception as error:
            scarce = "RESOURCE_EXHAUSTED" in str(error) or "bad_alloc" in str(error)
            outcome, name = "over 1 GB" if scarce else "traceback", f"{name}: {error!r}"
        print(f"{outcome}\t{name!a}", file=out, flush=True)
    print("end", file=out, flush=True)


def in_time(attempt: Callable[[], str]) -> str:
    """Late is only what is late twice in a row: a busy machine may have stopped the process for a while."""
    for last in (False, True):
        signal.alarm(SECONDS)
        try:
            return attempt()
        except Late:
            if last:
                raise
        finally:
            signal.alarm(0)
    raise AssertionError


def _late(*_: Any) -> None:
    raise Late


Attempts = Iterator[tuple[str, Callable[[], str]]]


# Learners


def learners() -> Attempts:
    for case in crafted.LEARNERS:
        yield from _files(case, crafted.crafted_learners(case))


def unrepaired() -> Attempts:
    for case in crafted.LEARNERS:
        yield from _files(case, crafted.changed_learners(case))


def flipped() -> Attempts:
    case = crafted.LEARNERS[0]
    yield from _files(case, crafted.flipped_learners(case))


def archives() -> Attempts:
    for case in crafted.LEARNERS:
        yield from _files(case, crafted.crafted_archives(case))


def _files(case: str, files: Iterator[tuple[str, bytes]]) -> Attempts:
    _, sound = crafted.learner_parts(case)
    for name, data in files:
        yield f"{case}: {name}", partial(used_learner, data, sound)


@contextlib.contextmanager
def written(data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        path.write_bytes(data)
        yield path


def used_learner(data: bytes, sound: dict[str, Any]) -> str:
    with written(data) as path:
        learner = kl.load(path, kl.Learner)
    outcome = "identical" if same(arrays_of(learner) | _prior(learner), sound) else "other content"
    simulator = Clockwork(learner.observations.space)
    for step in range(learner.horizon):
        learner.predict(simulator.observation(), step)
    learner.abandon_episode()
    end = learner.episodes_done + 3
    try:
        while learner.episodes_done < end:
            follow(learner, simulator, 1)
    except (ValueError, RuntimeError) as error:
        raise AssertionError(f"it was loaded, and then: {error}") from None
    return outcome


def _prior(learner: kl.Learner) -> dict[str, Any]:
    beside: dict[str, Any] = {}
    settings_of(learner, beside)
    return beside


# Learners of networks


def deep_learners() -> Attempts:
    from tests.support import crafted_deep

    for case in crafted_deep.AGENTS:
        sound = {name: np.asarray(x) for name, x in crafted_deep.deep_parts(case)[1].items()}
        for i, (name, data) in enumerate(crafted_deep.crafted_deep(case)):
            if i == 0:
                used_deep(data, sound)  # compiles
            yield f"{case}: {name}", partial(used_deep, data, sound)


def used_deep(data: bytes, sound: dict[str, Any]) -> str:
    from klearning.deep.learner import DeepLearner
    from klearning.deep.saving import arrays_of
    from klearning.simulators.actor import Spaces
    from tests.support.crafted_deep import slope

    with written(data) as path:
        learner = kl.load(path, DeepLearner)
        outcome = "identical" if same(arrays_of(learner), sound) else "other content"
        for point in ([0.0, 0.0], [1.0, -1.0]):
            learner.predict(np.array(point, np.float32))
            learner.predict(np.array(point, np.float32), how="soft")
        learner.abandon_episode()
        learner.check_spaces(Spaces(slope().observation_space, slope().action_space))  # else it cannot go on here
        kl.learn(learner, slope(), episodes=2)
        with contextlib.suppress(ValueError):  # networks that went to nothing in learning are not saved
            learner.save(path)
        kl.load(path)
    return outcome


# Checkpoints


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


SPEC = make_spec({"name": "river_swim", "states": 4, "horizon": 5}, {"name": "PSRL"}, episodes=crafted.EPISODES)


def checkpoint_files() -> Attempts:
    """Files in the place of a checkpoint, for a sweep to take up."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        begun = runnable(SPEC)
        next(begun.chunks(()))
        write_checkpoint(store.checkpoint(SPEC.name), SPEC.name, begun.state())
        sound = store.checkpoint(SPEC.name).read_bytes()
        execute(SPEC, store)
        whole = store.arrays(SPEC)
    rng, archive = np.random.default_rng(0), sound[CHECKSUM_BYTES:]
    files = {"nothing": b"", "text": b"x" * 1000, "zeros": bytes(10**6)}
    for place in rng.integers(0, 8 * len(archive), 200):
        files[f"bit {place} flipped"] = sound[:CHECKSUM_BYTES] + with_flipped(archive, place)
        files[f"bit {place} flipped, checksum repaired"] = repaired(with_flipped(archive, place))
    for length in range(0, len(sound), max(len(sound) // 50, 1)):
        files[f"cut at {length}"] = sound[:length]
    header, arrays = crafted.learner_parts(crafted.LEARNERS[0])
    for name, make in crafted.ARCHIVES.items():
        files[f"{name}, checksum repaired"] = repaired(make(header, arrays))
    for name, data in files.items():
        yield name, partial(used_checkpoint, data, whole)


def with_flipped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place // 8] ^= 1 << (place % 8)
    return bytes(changed)


def repaired(archive: bytes) -> bytes:
    return bytes.fromhex(checksum(archive)) + archive


def used_checkpoint(data: bytes, whole: dict[str, Any]) -> str:
    """A sweep takes it up, or begins again: either way it ends."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        store.checkpoint(SPEC.name).write_bytes(data)
        execute(SPEC, store)
        return "identical" if same(store.arrays(SPEC), whole) else "other content"


# Stores


def commands(store: Path, out: Path, name: str) -> list[list[str]]:
    place = ["--store", str(store)]
    return [
        ["store", "ls", *place], ["store", "ls", "--json", *place], ["store", "show", name, *place],
        ["report", str(store), "-o", str(out / "report.html")], ["store", "export", str(out / "x.csv"), *place],
        ["store", "verify", *place], ["store", "gc", *place],
    ]  # fmt: skip


def commanded(words: list[str]) -> tuple[str, str]:
    """The stdout and stderr of a command; an error of more than a line is a failure."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            _call(words)
        except LINES as error:
            err.write(f"{' '.join(str(error).split())}\n")
    for text in (out.getvalue(), err.getvalue()):
        if not text.replace("\n", "").isprintable():
            raise AssertionError(f"{words[:2]} steers the terminal")
    return out.getvalue(), err.getvalue()


def records() -> Attempts:
    with tempfile.TemporaryDirectory() as folder:
        whole = crafted_records.played(Path(folder) / "whole").path
        crafted_records.arrays()
        for name, write in crafted_records.crafted_records():
            yield name, partial(used_record, whole, write)


def used_record(whole: Path, write: Callable[[Store], str | None]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(shutil.copytree(whole, Path(folder) / "store"))
        sound = {row["name"] for row in store.rows()}
        name = write(store)
        if name is None:
            raise ValueError("no file can say this")
        for words in commands(store.path, Path(folder), name):
            _, complaints = commanded(words)
            if words[1] == "ls" and "--json" not in words:
                broken = f"run {name[:12]}" in complaints
                if len({row["name"] for row in store.rows()} & sound) < len(sound - {name}):
                    raise AssertionError("it hides others")
        if broken:
            raise ValueError("it is named as broken")
        return "other content"


def indices() -> Attempts:
    with tempfile.TemporaryDirectory() as folder:
        store = crafted_records.played(Path(folder) / "whole")
        rows = store.rows()
        data = (store.path / INDEX).read_bytes()
        for name, changed in crafted_records.crafted_indices(data):
            yield name, partial(used_index, store.path, rows, changed)


def used_index(whole: Path, rows: list[Any], data: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(shutil.copytree(whole, Path(folder) / "store"))
        (store.path / INDEX).write_bytes(data)
        listed = store.rows()
        for words in commands(store.path, Path(folder), rows[0]["name"]):
            commanded(words)
        if store.rows() != rows:
            raise AssertionError("verify did not make it again")
        return "identical" if listed == rows else "other content"


def strange_stores() -> Attempts:
    for name in STORES:
        yield name, partial(used_store, name)


def used_store(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        store, outside = strange(name, Path(folder))
        before = contents(outside)
        for words in commands(store, Path(folder), "64931e0a89f7"):
            commanded(words)
        if contents(outside) != before:
            raise AssertionError("it changed what is outside")
        Store(store, create=False)
        return "other content"


def same(x: dict[str, Any], y: dict[str, Any]) -> bool:
    return x.keys() == y.keys() and all(
        x[name].dtype == y[name].dtype and x[name].shape == y[name].shape and equal(x[name], y[name]) for name in x
    )


def equal(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind == "f"))


KINDS: dict[str, Callable[[], Attempts]] = {
    "learners, checksums left": unrepaired,
    "learners, bits flipped or cut": flipped,
    "learners": learners,
    "archives": archives,
    "learners of networks": deep_learners,
    "checkpoints": checkpoints,
    "checkpoint files": checkpoint_files,
    "run records": records,
    "indices": indices,
    "stores": strange_stores,
}
OF_KERNELS = ("learners, checksums left", "learners", "archives", "checkpoints")

if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]))
    else:
        main([word for word in sys.argv[1:] if word != "-v"])
