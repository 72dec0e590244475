"""Sweeps and the runs in them: whatever happens on the way, the same spec ends in the same bytes."""

import errno
import itertools
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner

import klearning as kl
from klearning.cli import commands
from klearning.lab.experiments import checkpoints
from klearning.lab.experiments.checkpoints import Stopped, TimedOut
from klearning.lab.experiments.executors import EXECUTORS, Job, Outcome, do
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import build_agent, build_prior, build_world, make_spec, spec_from_json
from klearning.lab.experiments.store import Store, StoreError, versions
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from klearning.lab.experiments.transfer import pack, unpack
from klearning.numerics.files import arrays_from_bytes, arrays_to_bytes
from klearning.numerics.records.fields import leaves, unflatten
from klearning.tabular.agents import AGENTS
from klearning.tabular.agents.baselines import Random
from klearning.tabular.beliefs.belief import Belief
from klearning.tabular.trials import chunks, regret
from klearning.tabular.trials.trial import new_task
from tests.lab.experiments.test_store import contents

EVERY_AGENT = [
    *(cls() for cls in AGENTS.values()),
    kl.KLearning("schedule"),
    kl.KLearning(0.3, "sharp"),
    kl.UCBVI("bernstein", 0.01),
    kl.UCRL2(0.05),
    kl.UCFH(0.05, least_visits=1),
    kl.SoftQLearning(form="model"),
    kl.OptimisticQLearning("bernstein", 0.02),
]
SWIM = {"name": "river_swim", "states": 3, "horizon": 4}
COINS = {"name": "random_mdp", "states": [2, 3, 2], "actions": 2, "seed": 2}
BETA = kl.Prior(kl.Beta(), kl.Dirichlet(1.0))
ARMS = {"name": "bandit", "means": [0.1, 0.5, 0.3]}
SNAPSHOTS = (1, 2, 9, 20)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """Thousands of checkpoints are written here; that they survive a power cut is not what is tested."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def sea(seed=0, agent=None, depth=4, episodes=40, **rest):
    world, seeds = {"name": "deep_sea", "depth": depth}, rest.pop("seeds", [seed])
    return make_spec(world, agent or kl.KLearning(), episodes=episodes, seeds=seeds, **rest)


def specs_of(agent):
    """Three small runs: noisy moves, coins for rewards, and a goal at which the run stops."""
    if agent.longest_horizon == 1:
        return [make_spec(ARMS, agent, episodes=30, snapshots=SNAPSHOTS)]
    return [
        make_spec(SWIM, agent, episodes=30, snapshots=SNAPSHOTS),
        make_spec(COINS, agent, BETA, episodes=30, seeds=[1], evaluate_every=3),
        sea(agent=agent, depth=3, stop="solved", snapshots=SNAPSHOTS),
    ]


def stored(path, specs):
    """The bytes of a store in which these were run one after another, undisturbed."""
    store = Store(path)
    for one in specs:
        execute(one, store)
    return contents(store.path)


def after(chunks):
    """Asks a run to stop after N chunks."""
    asked = itertools.count(1)
    return lambda: next(asked) >= chunks


def run_in_pieces(spec, store, chunks):
    """Stop a run after N chunks, over and over; how often it was stopped."""
    times = 0
    while spec not in store:
        assert times < spec.episodes  # it gets on
        try:
            execute(spec, store, should_stop=after(chunks))
        except Stopped:
            assert store.checkpoint(spec.name).exists()
            times += 1
    return times


# Memories


@pytest.mark.thin(6)
@pytest.mark.parametrize("agent", EVERY_AGENT, ids=str)
def test_a_memory_taken_apart_and_put_together_goes_on_as_before(agent):
    for one in specs_of(agent):
        world = build_world(one)
        belief = Belief.before(build_prior(one), world)
        whole, broken = (new_task(agent, world, 40, 0) for _ in range(2))
        kept = agent.advance(agent.begin(belief), whole, 0, 15)
        memory = agent.advance(agent.begin(belief), broken, 0, 15)
        again = unflatten(agent.begin(belief), arrays_from_bytes(arrays_to_bytes(leaves(memory))))
        assert form(again) == form(memory)
        for x, y in zip(leaves(again).values(), leaves(memory).values(), strict=True):
            np.testing.assert_array_equal(x, y, strict=True)
        kept, again = agent.advance(kept, whole, 15, 25), agent.advance(again, broken, 15, 25)
        for x, y in zip(leaves((whole.log, kept)).values(), leaves((broken.log, again)).values(), strict=True):
            np.testing.assert_array_equal(x, y, strict=True)


def form(memory):
    """Nested types."""
    return (type(memory), *map(form, memory)) if isinstance(memory, tuple) else type(memory)


def test_a_memory_of_another_form_is_refused():
    template = (np.zeros(3), 1, (True, np.zeros((2, 2))))
    arrays = leaves(template)
    first, *_, last = arrays
    for name, wrong in [(first, np.zeros((3, 1))), (first, np.zeros(3, int)), (last, np.zeros(4))]:
        with pytest.raises(ValueError, match="not float64"):
            unflatten(template, arrays | {name: wrong})
    with pytest.raises(ValueError, match="shape"):
        unflatten(template, arrays | {first: np.zeros(4)})
    with pytest.raises(ValueError, match="not a part"):
        unflatten(template, arrays | {"memory.7": np.zeros(4)})
    del arrays[last]
    with pytest.raises(KeyError):
        unflatten(template, arrays)


# Checkpoints


@pytest.mark.thin(8)
@pytest.mark.parametrize("agent", EVERY_AGENT, ids=str)
def test_a_run_in_pieces_gives_the_same_bytes(agent, tmp_path):
    """Stopped and taken up after every episode, and after every 4 chunks of 1, 2, 4, … episodes."""
    specs = specs_of(agent)
    whole = stored(tmp_path / "whole", specs)
    for pieces in (1, 4):
        store = Store(tmp_path / str(pieces))
        times = [run_in_pieces(one, store, pieces) for one in specs]
        assert times[0] == 29 if pieces == 1 else times[0] > 1
        assert contents(store.path) == whole


@pytest.mark.parametrize("seconds", [0.0, np.inf], ids=["chunks of one episode", "chunks that double"])
def test_how_long_chunks_take_does_not_matter(tmp_path, monkeypatch, seconds):
    """Nor does it where a run stops when solved, somewhere within a chunk, with snapshots before and after."""
    specs = [
        sea(seed, agent, depth=3, episodes=60, stop=stop, snapshots=range(4, 60, 4))
        for seed in range(4)
        for agent in (kl.KLearning(), kl.PSRL())
        for stop in ("never", "solved")
    ]
    whole = stored(tmp_path / "whole", specs)
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", seconds)
    assert stored(tmp_path / "other", specs) == whole


def test_snapshots_are_what_the_agent_held_then(tmp_path):
    """The visits of a snapshot are those of a run that ends there, and so are the values and the policy."""
    store = Store(tmp_path)
    snapshots = (3, 8, 20)
    execute(sea(episodes=30, snapshots=snapshots), store)
    arrays = store.arrays(sea(episodes=30, snapshots=snapshots))
    for i, t in enumerate(snapshots):
        short = sea(episodes=t, snapshots=[t])
        execute(short, store)
        np.testing.assert_array_equal(arrays["snapshot_visits"][i], store.arrays(short)["visits"])
        for part in ("values", "policy"):
            there = store.arrays(short)[f"snapshot_{part}"]
            np.testing.assert_array_equal(arrays[f"snapshot_{part}"][i], there[0])
    np.testing.assert_allclose(arrays["snapshot_policy"].sum(axis=1), 1.0)
    assert arrays["snapshot_visits"].sum(axis=(1, 2)).tolist() == [4 * t for t in snapshots]


def test_a_result_is_that_of_run(tmp_path):
    store, spec = Store(tmp_path), sea(3, evaluate_every=7)
    execute(spec, store)
    runs = kl.run(kl.KLearning(), kl.deep_sea(4), episodes=40, seeds=[3], evaluate_every=7)
    record = store.get(spec)
    for name in ("values", "returns", "hits"):
        np.testing.assert_array_equal(store.arrays(spec)[name], getattr(runs, name)[0], strict=True)
    np.testing.assert_array_equal(record.visits, runs.visits)
    for name, values in runs.diagnostics.items():
        np.testing.assert_array_equal(record.diagnostics[name], values)
    np.testing.assert_array_equal(record.regret, runs.regret)


def test_stopping_when_solved_cuts_the_run_there(tmp_path):
    """At the very episode, whatever the chunks; what came before is untouched."""
    store = Store(tmp_path)
    for seed in range(5):
        free, stopping = (sea(seed, episodes=200, stop=stop) for stop in ("never", "solved"))
        execute(free, store)
        execute(stopping, store)
        solved = int(regret.time_to_solve(store.arrays(free)["hits"]))
        record = store.get(stopping)
        assert record.ran[0] == record.solved[0] == solved < 200
        for name in ("values", "returns", "hits", "diagnostic_temperature"):
            np.testing.assert_array_equal(store.arrays(stopping)[name], store.arrays(free)[name][:solved])


def test_checkpoints_come_as_often_as_asked(tmp_path, monkeypatch):
    """After every chunk but perhaps the last, or not at all."""
    saved, spec = [], sea(episodes=5)
    monkeypatch.setattr(checkpoints, "write_whole", lambda path, data, links: saved.append(path.name))
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    execute(spec, Store(tmp_path / "never"), checkpoint_seconds=np.inf)
    assert saved == []
    execute(spec, Store(tmp_path / "often"), checkpoint_seconds=0.0)
    assert saved[:4] == [f"{spec.name}.npz"] * 4


def left_by(spec, store, chunks=4):
    """The checkpoint of a run that was stopped."""
    with pytest.raises(Stopped):
        execute(spec, store, should_stop=after(chunks))
    return store.checkpoint(spec.name)


CORRUPT = {
    "cut short": lambda data: data[:-100],
    "empty": lambda data: b"",
    "shorter than a checksum": lambda data: data[:20],
    "garbage": lambda data: bytes(range(256)) * 20,
    "a bit flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "checksum flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "without its checksum": lambda data: data[32:],
}


@pytest.mark.parametrize("corrupt", CORRUPT.values(), ids=CORRUPT.keys())
def test_a_corrupt_checkpoint_is_dropped(tmp_path, corrupt):
    spec, store = sea(snapshots=SNAPSHOTS), Store(tmp_path / "store")
    path = left_by(spec, store)
    path.write_bytes(corrupt(path.read_bytes()))
    played = []
    execute(spec, store, progress=played.append)
    assert (played[0], sum(played)) == (1, spec.episodes)  # from the start
    assert contents(store.path) == stored(tmp_path / "whole", [spec])


def test_a_sound_checkpoint_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 60.0)  # chunks of 1, 2, 4 and 8 episodes, however slow the machine is
    spec, store = sea(), Store(tmp_path)
    left_by(spec, store)
    played = []
    execute(spec, store, progress=played.append)
    assert (played[0], sum(played)) == (15, spec.episodes)


def test_a_checkpoint_of_another_run_is_not_used(tmp_path):
    """Same world and agent, another seed: it fits in form, and would give another run's results."""
    spec, store = sea(0), Store(tmp_path / "store")
    left_by(sea(1), store).rename(store.checkpoint(spec.name))
    execute(spec, store)
    assert contents(store.path) == stored(tmp_path / "whole", [spec])


def test_numba_is_there_before_threads_are():
    """Two that took up a checkpoint each, in a fresh process, imported it from two sides at once: every run failed."""
    code = (
        "import sys; import klearning; from klearning.tabular.trials.threads import on_threads\n"
        "assert 'numba' not in sys.modules\n"
        "print(*on_threads(lambda item, stop: 'klearning.numerics.compile.linking' in sys.modules, [0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(0, True)\n"


@pytest.mark.parametrize("other", [{"numpy": "0.1"}, {"cpu": "generic (00000000)"}], ids=["numpy", "cpu"])
def test_a_checkpoint_by_other_versions_is_not_used_and_it_is_told(tmp_path, monkeypatch, other):
    spec, store = sea(), Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "versions", lambda: versions() | other)
        left_by(spec, store)
    played = []
    [(name, value)] = other.items()
    with pytest.warns(
        RuntimeWarning,
        match=re.escape(f"{spec.name[:12]} starts again: its checkpoint was written with {name} {value}, not"),
    ):
        execute(spec, store, progress=played.append)
    assert (played[0], sum(played)) == (1, spec.episodes)


@pytest.mark.slow
def test_kernels_for_another_type_of_cpu_are_another_version():
    """Its name, which Numba takes from the environment as well, and what it can do."""
    code = "from klearning.lab.experiments.store import versions; print(versions()['cpu'])"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | other, capture_output=True, text=True, check=True
        ).stdout
        for other in ({}, {"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"})
    }
    assert len(told) == 3


@pytest.mark.slow
def test_a_run_that_moves_to_another_type_of_cpu_ends_as_one_that_was_always_there(tmp_path):
    spec, store = sea(), Store(tmp_path / "moved")
    left_by(spec, store)
    code = (
        "import sys; from klearning.lab.experiments.runner import execute\n"
        "from klearning.lab.experiments.store import Store\n"
        "from klearning.lab.experiments.spec import spec_from_json\n"
        "execute(spec_from_json(sys.argv[1]), Store(sys.argv[2]))"
    )
    said = {}
    for name in ("moved", "whole"):
        command = [sys.executable, "-c", code, spec.canonical, tmp_path / name]
        generic = os.environ | {"NUMBA_CPU_NAME": "generic"}
        said[name] = subprocess.run(command, env=generic, capture_output=True, text=True, check=True).stderr
    assert "starts again: its checkpoint was written with cpu " in said["moved"]
    assert "generic" in said["moved"]
    assert "starts again" not in said["whole"]
    assert contents(tmp_path / "moved") == contents(tmp_path / "whole")


MEMORIES = {
    "a part is missing": lambda arrays, name: {key: x for key, x in arrays.items() if key != name},
    "another shape": lambda arrays, name: arrays | {name: arrays[name][..., :-1]},
    "another type": lambda arrays, name: arrays | {name: arrays[name].astype(np.int8)},
    "a part too many": lambda arrays, name: arrays | {"memory.more": np.zeros(3)},
}


@pytest.mark.parametrize("name", ["memory.policy", "log.values", "log.visits", "snapshot_policy"])
@pytest.mark.parametrize("change", MEMORIES.values(), ids=MEMORIES.keys())
def test_a_checkpoint_of_another_form_is_not_used(tmp_path, change, name):
    spec, store = sea(snapshots=SNAPSHOTS), Store(tmp_path / "store")
    path = left_by(spec, store)
    checkpoints.write_checkpoint(path, spec.name, change(checkpoints.read_checkpoint(path, spec.name), name))
    execute(spec, store)
    assert contents(store.path) == stored(tmp_path / "whole", [spec])


# Sweeps


@dataclass(frozen=True)
class Fragile(Random):
    """Fails with one seed, in its third episode."""

    seed: int = 1

    def advance(self, memory, task, first, count):
        if task.world_stream.bit_generator.seed_seq.entropy == self.seed and first + count > 2:
            raise RuntimeError("lost a screw")
        return super().advance(memory, task, first, count)


@pytest.fixture
def fragile(monkeypatch):
    monkeypatch.setitem(AGENTS, "Fragile", Fragile)
    return Fragile()


def test_what_is_there_is_skipped(tmp_path):
    store, specs = Store(tmp_path), [sea(seed) for seed in range(4)]
    played, outcomes = [], []
    assert sweep([*specs[:2], specs[0]], store, progress=played.append, finished=outcomes.append) == (2, 0, [])
    assert sum(played) == 80
    assert {outcome.spec.seed for outcome in outcomes} == {0, 1}
    assert not any(outcome.error for outcome in outcomes)
    before = contents(tmp_path)
    assert sweep(specs, store, progress=played.append) == (2, 2, [])
    assert sum(played) == 160
    assert before.items() <= contents(tmp_path).items()
    assert sweep(specs, store, progress=played.append) == (0, 4, [])
    assert sum(played) == 160


def test_nothing_to_do(tmp_path):
    assert sweep([], Store(tmp_path)) == (0, 0, [])


@pytest.mark.parametrize("workers", [1, 3])
def test_one_failure_leaves_the_others_alone(tmp_path, fragile, workers):
    store, specs = Store(tmp_path / "store"), [sea(seed, fragile) for seed in range(4)]
    outcomes = []
    done, skipped, failed = sweep(specs, store, executor=LocalExecutor(workers), finished=outcomes.append)
    assert (done, skipped) == (3, 0)
    assert [(outcome.spec.seed, outcome.error) for outcome in failed] == [(1, "RuntimeError: lost a screw")]
    assert sorted(outcome.spec.seed for outcome in outcomes) == [0, 1, 2, 3]
    others = [one for one in specs if one.seed != 1]
    assert contents(store.path) == stored(tmp_path / "whole", others)


def test_a_failed_run_is_tried_again(tmp_path, fragile, monkeypatch):
    store, spec = Store(tmp_path), sea(1, fragile)
    assert [outcome.error for outcome in sweep([spec], store).failed] == ["RuntimeError: lost a screw"]
    monkeypatch.setattr(Fragile, "advance", Random.advance)
    assert sweep([spec], store) == (1, 0, [])


def test_a_world_that_cannot_be_built_is_a_failure_too(tmp_path, monkeypatch):
    """Say, a spec made where another agent was known."""
    monkeypatch.setitem(AGENTS, "Fragile", Fragile)
    foreign = sea(0, Fragile())
    monkeypatch.undo()
    done, _, failed = sweep([foreign, sea(1)], Store(tmp_path))
    assert (done, len(failed)) == (1, 1)
    assert "Fragile" in failed[0].error


def test_a_run_out_of_time_goes_on_in_the_next_sweep(tmp_path):
    store, specs = Store(tmp_path / "store"), [sea(seed, snapshots=SNAPSHOTS) for seed in range(2)]
    for times in (1, 2):
        done, _, failed = sweep(specs, store, timeout=0.0)
        assert done == 0
        messages = {outcome.error for outcome in failed}
        assert messages == {f"TimedOut: not done after 0 s, at episode {times} of 40"}
        assert {store.checkpoint(one.name) for one in specs} == set((store.path / "checkpoints").iterdir())
        assert not list((store.path / "runs").iterdir())
    played = []
    assert sweep(specs, store, progress=played.append) == (2, 0, [])
    assert sum(played) == 2 * 40
    assert contents(store.path) == stored(tmp_path / "whole", specs)


def test_time_enough_is_no_failure(tmp_path):
    """A run that ends with its last chunk ends well, however late."""
    execute(sea(episodes=1), Store(tmp_path), timeout=0.0)
    assert sea(episodes=1) in Store(tmp_path)
    with pytest.raises(TimedOut):
        execute(sea(episodes=2), Store(tmp_path), timeout=0.0)


def test_workers_and_order_do_not_matter(tmp_path):
    agents = [kl.KLearning(), kl.PSRL(), kl.UCRL2(), kl.QLearning(), kl.UCFH(0.05, least_visits=1)]
    specs = [one for agent in agents for one in specs_of(agent)]
    specs += [sea(seed, agent) for seed in range(3) for agent in agents]
    whole = stored(tmp_path / "whole", specs)
    mixed = [specs[i] for i in np.random.default_rng(0).permutation(len(specs))]
    for i, (workers, order) in enumerate([(1, specs[::-1]), (2, mixed), (5, specs)]):
        store = Store(tmp_path / str(i))
        assert sweep(order, store, executor=LocalExecutor(workers)) == (len(specs), 0, [])
        assert contents(store.path) == whole


class Serial:
    """All that the interface asks of an executor."""

    def run(self, jobs, progress):
        for job in jobs:
            yield do(job, progress=progress)


def test_another_executor_can_take_the_work(tmp_path):
    specs = [sea(seed) for seed in range(2)]
    assert sweep(specs, Store(tmp_path / "store"), executor=Serial()) == (2, 0, [])
    assert contents(tmp_path / "store") == stored(tmp_path / "whole", specs)


class Elsewhere:
    """Every job in a process of its own, which is given nothing but the job as JSON."""

    CODE = """
import json, sys
from klearning.lab.experiments.executors import Job, do
outcome = do(Job(**json.loads(sys.argv[1])))
print(json.dumps([outcome.end, outcome.error]))
"""

    def __init__(self, workers=None):
        pass

    def run(self, jobs, progress):
        for job in jobs:
            command = [sys.executable, "-c", self.CODE, json.dumps(job._asdict())]
            said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
            yield Outcome(job, *json.loads(said))


@pytest.fixture(scope="module")
def elsewhere():
    """Added from outside, under a name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXECUTORS, "elsewhere", Elsewhere)
        yield EXECUTORS["elsewhere"](1)


@pytest.mark.slow
def test_another_process_can_take_the_work(elsewhere, tmp_path):
    """The same bytes as by threads: of runs, and of many runs in one file."""
    specs = [sea(0), make_spec(COINS, kl.PSRL(), BETA, episodes=30), sea(episodes=20, seeds=6, keep=[5, 20])]
    store, here = Store(tmp_path / "store"), Store(tmp_path / "here")
    for place, executor in ((store, elsewhere), (here, LocalExecutor(2))):
        assert sweep(specs, place, executor=executor) == (8, 0, [])
    assert contents(store.path) == contents(here.path)


@pytest.mark.slow
def test_another_process_says_what_went_wrong(elsewhere, fragile, tmp_path):
    """An agent that it does not know, and a time limit."""
    [outcome] = sweep([sea(1, fragile)], Store(tmp_path), executor=elsewhere).failed
    assert "Fragile" in outcome.error
    [outcome] = sweep([sea(1)], Store(tmp_path), executor=elsewhere, timeout=0.0).failed
    assert outcome.error == "TimedOut: not done after 0 s, at episode 1 of 40"
    assert outcome.spec.seed == 1


@pytest.mark.slow
def test_an_executor_is_chosen_by_name_on_the_command_line(elsewhere, tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        '[[sweep]]\nworld = {name = "deep_sea", depth = 4}\nagent = {name = "Random"}\nepisodes = 5\nseeds = 1\n'
    )
    done = CliRunner().invoke(commands, ["sweep", str(file), "--store", str(tmp_path / "a"), "--executor", "elsewhere"])
    assert (done.exit_code, done.exception) == (0, None)
    assert CliRunner().invoke(commands, ["sweep", str(file), "--store", str(tmp_path / "b")]).exit_code == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    wrong = CliRunner().invoke(commands, ["sweep", str(file), "--executor", "elswhere"])
    assert "did you mean 'elsewhere'?" in str(wrong.exception)


def test_a_store_that_cannot_be_written_elsewhere_ends_the_sweep(tmp_path):
    class Full(Serial):
        def run(self, jobs, progress):
            yield from (Outcome(job, "no store", "cannot write: full") for job in jobs)

    outcomes = []
    with pytest.raises(StoreError, match=r"^cannot write: full$"):
        sweep([sea(0), sea(1)], Store(tmp_path), executor=Full(), finished=outcomes.append)
    assert outcomes == []


def test_a_job_is_plain_data():
    job = Job(sea().canonical, "store", 3.5, 0.1)
    assert Job(**json.loads(json.dumps(job._asdict()))) == job


class Late(Serial):
    """Comes to every run when another process has finished it."""

    def __init__(self, store):
        self.store = store

    def run(self, jobs, progress):
        for job in jobs:
            execute(spec_from_json(job.work), self.store)
            yield do(job, progress=progress)


def test_what_another_process_finished_meanwhile_is_not_run_again(tmp_path):
    played = []
    assert sweep([sea(0), sea(1)], Store(tmp_path), executor=Late(Store(tmp_path)), progress=played.append) == (
        2,
        0,
        [],
    )
    assert played == [sea().episodes] * 2  # told of at once


@dataclass(frozen=True)
class Slow(Random):
    """Takes its time."""

    def advance(self, memory, task, first, count):
        time.sleep(0.005)
        return super().advance(memory, task, first, count)


def test_interrupted(tmp_path, monkeypatch):
    """Ctrl-C arrives anywhere in the main thread; here, when it is told of the quick run while a slow one is on."""
    monkeypatch.setitem(AGENTS, "Slow", Slow)
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    slow, quick, waiting = sea(0, Slow(), episodes=300), sea(0, episodes=1), sea(1, Slow(), episodes=300)
    store = Store(tmp_path / "store")

    def interrupt(outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep([slow, quick, waiting], store, executor=LocalExecutor(2), finished=interrupt)
    assert [one in store for one in (slow, quick, waiting)] == [False, True, False]
    assert store.checkpoint(slow.name).exists()
    assert not [path for path in store.path.rglob("*") if path.name.startswith(".")]
    monkeypatch.setattr(Slow, "advance", Random.advance)
    sweep([slow, quick, waiting], store)
    assert contents(store.path) == stored(tmp_path / "whole", [slow, quick, waiting])


FLUSHES = {"when it is put": np.inf, "when a checkpoint is written": 0.0}


@pytest.mark.parametrize("checkpoint_seconds", FLUSHES.values(), ids=FLUSHES.keys())
def test_a_full_disk_stops_the_sweep_with_one_line(tmp_path, monkeypatch, checkpoint_seconds):
    """It is not the fault of one run, and would be the end of every other."""
    store, specs = Store(tmp_path / "store"), [sea(seed) for seed in range(4)]

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError) as caught:
        sweep(specs, store, executor=LocalExecutor(1), checkpoint_seconds=checkpoint_seconds)
    assert str(caught.value) == f"cannot write to the store {store.path}: No space left on device"
    monkeypatch.undo()
    assert not [path for path in store.path.rglob("*") if path.is_file()]
    sweep(specs, store)
    assert contents(store.path) == stored(tmp_path / "whole", specs)


def test_agents_of_specs_are_those_given():
    """The runs above are of the agents they name."""
    for agent in EVERY_AGENT:
        assert all(build_agent(one) == agent for one in specs_of(agent))


@pytest.mark.parametrize("file", ["spec.json", "arrays.npz", "meta.json"])
def test_a_broken_run_is_set_aside_and_run_again(file, tmp_path):
    specs = [
        make_spec({"name": "deep_sea", "depth": 3}, {"name": "Random"}, episodes=4, seeds=[seed]) for seed in (0, 1)
    ]
    store = Store(tmp_path / "store")
    assert sweep(specs, store).done == 2
    before = contents(store.path / "runs")
    broken = store.folder(specs[0].name) / file
    broken.write_bytes(broken.read_bytes()[:-3])
    tally = sweep(specs, store)
    assert (tally.done, tally.skipped, tally.failed) == (1, 1, [])
    assert contents(store.path / "runs") == before
    assert len(list((store.path / "set-aside").iterdir())) == 1


# Other machines


def test_what_a_store_has_of_a_job_can_be_carried_to_another(tmp_path):
    """Half of a run from here to there, the rest done there, the result back: the same bytes."""
    spec, here, there = sea(), Store(tmp_path / "here"), Store(tmp_path / "there")
    job = Job(spec.canonical, str(here.path))
    assert pack(job, job.name) == (spec.name, {}, b"")
    left_by(spec, here)
    unpack(pack(job, job.name), there)
    played = []
    do(job._replace(store=str(there.path)), progress=played.append)
    assert (played[0], sum(played)) == (15, spec.episodes)
    unpack(pack(job._replace(store=str(there.path)), job.name), here)
    assert contents(here.path) == contents(there.path) == stored(tmp_path / "whole", [spec])


def test_without_ray_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"^the executor 'ray' needs Ray: pip install ray$"):
        EXECUTORS["ray"](1)


def test_a_setting_that_an_executor_does_not_take_is_an_error(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text('[[sweep]]\nworld = {name = "river_swim"}\nagent = {name = "Random"}\nepisodes = 5\nseeds = 1\n')
    wrong = CliRunner().invoke(commands, ["sweep", str(file), "--store", str(tmp_path / "a"), "--address", "auto"])
    assert "address='auto' means nothing to --executor threads" in str(wrong.exception)
