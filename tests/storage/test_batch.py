"""Batches: the numbers of single runs, kept whole, found again, and made again where broken."""

import json

import numpy as np
import pytest

import klearning as kl
from klearning.experiments import batch as batches
from klearning.experiments.batch import Batch, geometric_points, get, has, path_of, run_batches
from klearning.experiments.spec import make_spec
from klearning.experiments.store import Store
from klearning.experiments.sweep import sweep

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


def test_long_runs_are_played_in_pieces_to_the_same_numbers(store, monkeypatch):
    monkeypatch.setattr(batches, "EPISODES_A_CALL", 7)
    pieces = batches.play_batch(small(), 1)
    assert np.array_equal(pieces["regret"], get(store, small()).regret)


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
    with pytest.raises(ZeroDivisionError):
        run_batches([small()], store)
    assert not has(store, small())


def test_the_name_holds_everything():
    names = {small().name, small(kl.PSRL()).name, small(told="support").name, small(seeds=4).name}
    names |= {small(prior=kl.Prior(kl.Beta(2.0, 1.0), kl.Dirichlet(mass=1.0))).name}
    names |= {Batch(small().spec, 3, (2, 30)).name}
    assert len(names) == 6
    assert json.loads(small().canonical)["spec"]["world"]["seed"] == 0


@pytest.mark.parametrize("told", ["support", "transitions"])
def test_what_the_agent_is_told_of_transitions(told):
    """Told, it regrets what `run` with that prior regrets."""
    spec = make_spec({"name": "deep_sea", "depth": 4}, kl.KLearning(), episodes=30)
    world = kl.deep_sea(4)
    rows = kl.Known(world) if told == "transitions" else kl.Dirichlet(0.3, support=world)
    runs = kl.run(kl.KLearning(), world, prior=kl.Prior(transitions=rows), episodes=30, seeds=2)
    arrays = batches.play_batch(Batch(spec, 2, POINTS, told), 1)
    assert np.array_equal(arrays["regret"], runs.regret[:, np.array(POINTS) - 1])
    assert np.array_equal(arrays["first_hit"], runs.first_hit, equal_nan=True)
    assert np.array_equal(arrays["solved"], runs.solved, equal_nan=True)
    untold = batches.play_batch(Batch(spec, 2, POINTS), 1)
    assert not np.array_equal(arrays["regret"], untold["regret"])


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
        Batch(small().spec.with_seed(1), 3, POINTS)


def test_points_are_even_on_a_logarithmic_axis():
    points = geometric_points(1000)
    assert points[:2] == (1, 2)
    assert points[-11:] == (100, 126, 158, 200, 251, 316, 398, 501, 631, 794, 1000)
    assert geometric_points(1) == (1,)
