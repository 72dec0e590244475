"""Batches: the numbers of single runs, kept whole, found again, and made again where broken."""

import json
from dataclasses import replace

import numpy as np
import pytest

import klearning as kl
from klearning.lab.experiments import batch as batches
from klearning.lab.experiments.batch import Batch, geometric_points, get, has, part_from_json, path_of, play_part
from klearning.lab.experiments.checkpoints import Stopped, TimedOut
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import BatchFailed, run_batches, sweep
from klearning.tabular.trials import chunks

PRIOR = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(mass=1.0))
WORLD = {"name": "random_mdp", "states": 2, "actions": 2, "horizon": 2}
POINTS = (1, 4, 30)


K_LEARNING = kl.KLearning(bonus="paper")


def small(agent=K_LEARNING, told="nothing", seeds=3, **changes):
    given = {"world": WORLD, "agent": agent, "prior": PRIOR, "episodes": 30} | changes
    return Batch(make_spec(**given), seeds, POINTS, told)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("batches") / "store")
    assert run_batches([small(), small(kl.PSRL())], store, threads=2) == 2
    return store


@pytest.mark.parametrize("agent", [kl.KLearning(bonus="paper"), kl.PSRL()])
def test_a_batch_holds_what_its_runs_give(store, tmp_path, agent):
    """Run k of a batch is a spec of its own: the same regret, to the last bit, by the road of single runs."""
    batch, single = small(agent), Store(tmp_path)
    assert not sweep([batch.run_of(k) for k in range(3)], single).failed
    found = get(store, batch)
    for k in range(3):
        record = single.get(batch.run_of(k))
        assert found.optimal[k] == record.optimal_value
        assert np.array_equal(found.regret[k], record.regret[np.array(POINTS) - 1])
        if found.said is not None:
            said = record.arrays["diagnostic_bound"]
            assert np.array_equal(found.said[k], np.cumsum(said)[np.array(POINTS) - 1])
            assert np.array_equal(found.bound[k], said[np.array(POINTS) - 1])
            promised = np.cumsum(said - record.arrays["values"])[np.array(POINTS) - 1]
            assert found.promised[k] == pytest.approx(promised)
    assert len(set(found.optimal)) == 3  # each seed has a world of its own
    assert (found.said is None) == isinstance(agent, kl.PSRL)


def test_an_agent_without_a_bound_promises_nothing(store):
    with pytest.raises(ValueError, match="PSRL states no bound"):
        _ = get(store, small(kl.PSRL())).promised


def test_threads_and_company_change_nothing(store, tmp_path):
    alone = Store(tmp_path)
    run_batches([small()], alone, threads=1)
    one, two = (path_of(s, small()).with_suffix(".npz").read_bytes() for s in (alone, store))
    assert one == two


def test_long_runs_are_played_in_pieces_to_the_same_numbers(store, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(batches, "FIRST_CHUNK", 7)
    assert np.array_equal(played(small(), tmp_path).regret, get(store, small()).regret)


def played(batch, folder):
    """What came of one batch."""
    store = Store(folder)
    run_batches([batch], store, threads=1)
    return get(store, batch)


def test_what_is_there_is_not_run_again(store):
    told = []
    assert run_batches([small(), small()], store, progress=told.append) == 0
    assert told == []


def test_a_broken_batch_is_set_aside_and_run_again(tmp_path):
    store, batch = Store(tmp_path), small(seeds=2)
    run_batches([batch], store)
    whole = path_of(store, batch).with_suffix(".npz").read_bytes()
    path_of(store, batch).with_suffix(".npz").write_bytes(whole[:-9] + b"123456789")
    with pytest.raises(ValueError, match="checksum"):
        get(store, batch)
    assert run_batches([batch], store) == 1
    assert path_of(store, batch).with_suffix(".npz").read_bytes() == whole
    assert len(list((tmp_path / "set-aside").iterdir())) == 1
    assert store.verify() == []


def test_a_page_of_another_batch_is_no_page(tmp_path):
    store, batch, other = Store(tmp_path), small(seeds=1), small(seeds=2)
    run_batches([batch], store)
    path_of(store, other).write_bytes(path_of(store, batch).read_bytes())
    path_of(store, other).with_suffix(".npz").write_bytes(path_of(store, batch).with_suffix(".npz").read_bytes())
    with pytest.raises(ValueError, match="another batch"):
        get(store, other)


def test_arrays_without_their_page_count_as_missing(tmp_path):
    store, batch = Store(tmp_path), small(seeds=1)
    run_batches([batch], store)
    path_of(store, batch).unlink()
    assert not has(store, batch)
    with pytest.raises(KeyError, match="no batch"):
        get(store, batch)


def test_a_failure_stops_the_batch_and_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "build_world", lambda spec: 1 / 0)
    store = Store(tmp_path)
    with pytest.raises(BatchFailed, match="ZeroDivisionError"):
        run_batches([small()], store)
    assert not has(store, small())


@pytest.mark.parametrize("seeds", [1, 4, 5, 64, 100, 1000, 5000])
def test_parts_are_the_whole(seeds):
    parts = small(seeds=seeds).parts()
    assert [seed for part in parts for seed in part.seeds] == list(range(seeds))
    assert max(len(part.seeds) for part in parts) <= 64
    assert len(parts) <= max(16, seeds / 64 + 1)
    again = part_from_json(parts[-1].canonical)
    assert (again.name, again.seeds) == (parts[-1].name, parts[-1].seeds)


def stop_after(runs, part, store, how=Stopped, **limits):
    """Play a part until so many of its runs are finished."""
    finished = []
    ends = {"should_stop": lambda: len(finished) >= runs} if how is Stopped else {"timeout": 0.0}
    with pytest.raises(how):
        play_part(part, store, progress=finished.append, **ends)


@pytest.mark.parametrize("how", [Stopped, TimedOut])
def test_finished_runs_of_a_stopped_batch_are_not_run_again(tmp_path, monkeypatch, how):
    """Neither those of a finished part nor those of one under way; the bytes are those of a batch left in peace."""
    batch, store = small(seeds=6), Store(tmp_path / "store")
    first, second = batch.parts()
    play_part(second, store)
    if how is Stopped:
        stop_after(3, first, store)
    else:
        stop_after(0, first, store, TimedOut)
    assert not has(store, batch)
    seeds, real = [], batches._numbers
    monkeypatch.setattr(batches, "_numbers", lambda batch, seed, watch: seeds.append(seed) or real(batch, seed, watch))
    told = []
    assert run_batches([batch], store, threads=1, progress=told.append) == 1
    assert seeds == ([3] if how is Stopped else [0, 1, 2, 3])
    assert sum(told) == 6
    assert not list((store.path / "checkpoints").iterdir())
    whole = Store(tmp_path / "whole")
    run_batches([batch], whole)
    assert (
        path_of(store, batch).with_suffix(".npz").read_bytes() == path_of(whole, batch).with_suffix(".npz").read_bytes()
    )


def test_a_broken_part_is_played_again(tmp_path):
    batch, store = small(seeds=3), Store(tmp_path / "store")
    [part] = batch.parts()
    play_part(part, store)
    path = store.checkpoint(part.name)
    path.write_bytes(path.read_bytes()[:-9])
    told = []
    assert run_batches([batch], store, progress=told.append) == 1
    assert told == [1, 1, 1]


def test_parts_of_a_finished_batch_are_swept_up(tmp_path):
    batch, other, store = small(seeds=3), small(kl.PSRL()), Store(tmp_path / "store")
    run_batches([batch], store)
    for one in (batch, other):
        play_part(one.parts()[0], store)
    assert store.gc() == [f"checkpoints/{batch.name}.0.npz"]
    assert [path.stem for path in (store.path / "checkpoints").iterdir()] == [f"{other.name}.0"]


def test_the_name_holds_everything():
    names = {small().name, small(kl.PSRL()).name, small(told="support").name, small(seeds=4).name}
    names |= {small(prior=kl.Prior(kl.Beta(2.0, 1.0), kl.Dirichlet(mass=1.0))).name}
    names |= {Batch(small().spec, 3, (2, 30)).name}
    assert len(names) == 6
    assert json.loads(small().canonical)["spec"]["world"]["seed"] == 0


@pytest.mark.parametrize("told", ["support", "transitions"])
def test_what_the_agent_is_told_of_transitions(told, tmp_path):
    """Told, it regrets what `run` with that prior regrets."""
    spec = make_spec({"name": "deep_sea", "depth": 4}, kl.KLearning(), episodes=30)
    world = kl.deep_sea(4)
    rows = kl.Known(world) if told == "transitions" else kl.Dirichlet(0.3, support=world)
    runs = kl.run(kl.KLearning(), world, prior=kl.Prior(transitions=rows), episodes=30, seeds=2)
    result = played(Batch(spec, 2, POINTS, told), tmp_path)
    assert np.array_equal(result.regret, runs.regret[:, np.array(POINTS) - 1])
    assert np.array_equal(result.first_hit, runs.first_hit, equal_nan=True)
    assert np.array_equal(result.solved, runs.solved, equal_nan=True)
    assert not np.array_equal(result.regret, played(Batch(spec, 2, POINTS), tmp_path).regret)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": (1, 20)}, "points="),
        ({"points": (4, 4, 30)}, "does not rise"),
        ({"points": (0, 30)}, "points="),
        ({"points": ()}, "points="),
        ({"seeds": 0}, "seeds=0"),
        ({"told": "suport"}, "support"),
    ],
)
def test_bad_batches_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Batch(**{"spec": small().spec, "seeds": 3, "points": POINTS} | changes)


def test_the_seed_is_the_batchs_to_set():
    with pytest.raises(ValueError, match="seed=0"):
        Batch(replace(small().spec, seed=1), 3, POINTS)


def test_points_are_even_on_a_logarithmic_axis():
    points = geometric_points(1000)
    assert points[:2] == (1, 2)
    assert points[-11:] == (100, 126, 158, 200, 251, 316, 398, 501, 631, 794, 1000)
    assert geometric_points(1) == (1,)
