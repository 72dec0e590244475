"""Specs of several seeds, of which some episodes are kept: the numbers of single runs, in parts that survive."""

import json

import numpy as np
import pytest

import klearning as kl
from klearning import games
from klearning.lab.experiments import runnables
from klearning.lab.experiments.checkpoints import Stopped, TimedOut
from klearning.lab.experiments.runner import execute
from klearning.lab.experiments.spec import PART, make_spec, match_spec, spec_from_json
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from klearning.tabular.trials import chunks
from klearning.tabular.trials.runs import geometric_points
from tests.lab.experiments.test_store import contents

PRIOR = kl.Prior(kl.Beta(1.0, 1.0), kl.Dirichlet(mass=1.0))
WORLD = {"name": "random_mdp", "states": 2, "actions": 2, "horizon": 2}
POINTS = (1, 4, 30)
AT = np.array(POINTS) - 1
K_LEARNING = kl.KLearning(bonus="paper")


def small(agent=K_LEARNING, seeds=3, **changes):
    return make_spec(
        **{"world": WORLD, "agent": agent, "prior": PRIOR, "episodes": 30, "seeds": seeds, "keep": POINTS} | changes
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("many") / "store")
    assert sweep([small(), small(kl.PSRL())], store, executor=LocalExecutor(2)).done == 6
    return store


@pytest.mark.parametrize("agent", [K_LEARNING, kl.PSRL()])
def test_it_holds_what_its_runs_give(store, tmp_path, agent):
    """Run k of it is a spec of its own: the same regret, to the last bit, by the road of single runs."""
    spec, single = small(agent), Store(tmp_path)
    assert not sweep([spec.single(k) for k in range(3)], single).failed
    found = store.get(spec)
    for k in range(3):
        one = single.get(spec.single(k))
        assert found.optimal_values[k] == one.optimal_value
        for name in ("regret", "values", "returns", "hits"):
            assert np.array_equal(getattr(found, name)[k], getattr(one, name)[0, AT])
        assert np.array_equal([found.first_hit[k], found.solved[k]], [one.first_hit[0], one.solved[0]], equal_nan=True)
        for name, said in one.diagnostics.items():
            assert np.array_equal(found.diagnostics[name][k], said[0, AT])
        if "bound" in one.diagnostics:
            assert np.array_equal(found.cumulative_bound[k], np.cumsum(one.diagnostics["bound"][0])[AT])
            promised = np.cumsum(one.diagnostics["bound"][0] - one.values[0])[AT]
            assert found.promised_regret[k] == pytest.approx(promised)
        some = one.at(POINTS)
        assert np.array_equal(some.regret[0], found.regret[k])
        assert some.diagnostics.keys() == found.diagnostics.keys()
    assert len(set(found.optimal_values)) == 3  # each seed has a world of its own
    assert found.seeds == (0, 1, 2)
    assert found.points.tolist() == list(POINTS)


def test_an_agent_without_a_bound_promises_nothing(store):
    with pytest.raises(ValueError, match="PSRL states no bound"):
        _ = store.get(small(kl.PSRL())).promised_regret


def test_it_is_that_of_run(tmp_path):
    """What `run` keeps is what a store does."""
    spec = make_spec({"name": "deep_sea", "depth": 4}, kl.KLearning(), episodes=30, seeds=2, keep="points")
    runs = kl.run(kl.KLearning(), kl.deep_sea(4), episodes=30, seeds=2, keep="points")
    found = played(spec, tmp_path)
    assert spec.keep == geometric_points(30) == tuple(found.points)
    for name in ("values", "returns", "hits", "regret", "first_hit", "solved", "points"):
        assert np.array_equal(getattr(found, name), getattr(runs, name), equal_nan=True)
    assert found.diagnostics.keys() == runs.diagnostics.keys()
    assert found.summary().splitlines()[1:] == runs.summary().splitlines()[1:]
    assert found.frame()[list(runs.frame())].equals(runs.frame())


def test_games_of_several_seeds(tmp_path):
    spec = match_spec({"name": "random_game"}, games.UCB(), opponent="exp3", episodes=20, seeds=3, keep=[5, 20])
    found = played(spec, tmp_path)
    third = games.play(games.UCB(), games.random_game(5, 5, seed=2), "exp3", rounds=20, seeds=[2])
    assert np.array_equal(found.regret[2], third.regret[0, [4, 19]])


def test_all_episodes_of_several_seeds_are_single_runs(tmp_path):
    """Without points every run is a part of its own: more seeds later are more folders, and the names are theirs."""
    spec = small(keep="all")
    names = [part.name for part in spec.parts]
    assert names == [spec.single(k).name for k in range(3)]
    assert names[1] == make_spec(WORLD | {"seed": 1}, K_LEARNING, PRIOR, episodes=30, seeds=[1]).name
    store = Store(tmp_path)
    assert sweep([small(keep="all", seeds=2)], store).done == 2
    assert sweep([spec], store) == (1, 2, [])
    runs = store.get(spec)
    assert runs.regret.shape == (3, 30)
    assert runs.visits.shape == (3, 4, 2)
    assert np.array_equal(runs.at(POINTS).regret, played(small(), tmp_path / "other").regret)


def test_threads_and_company_change_nothing(store, tmp_path):
    alone = Store(tmp_path)
    sweep([small()], alone, executor=LocalExecutor(1))
    name = small().name
    assert contents(alone.folder(name)) == contents(store.folder(name))


def test_long_runs_are_played_in_pieces_to_the_same_numbers(store, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(runnables.ManyRuns.chunks, "__defaults__", ((), 7))
    assert np.array_equal(played(small(), tmp_path).regret, store.get(small()).regret)


def played(spec, folder):
    store = Store(folder)
    assert not sweep([spec], store).failed
    return store.get(spec)


def test_what_is_there_is_not_run_again(store):
    told = []
    assert sweep([small(), small()], store, progress=told.append) == (0, 3, [])
    assert told == []


def test_what_is_broken_is_set_aside_and_run_again(tmp_path):
    store, spec = Store(tmp_path), small(seeds=2)
    sweep([spec], store)
    path = store.folder(spec.name) / "arrays.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"123456789")
    with pytest.raises(ValueError, match="checksum"):
        store.get(spec)
    assert sweep([spec], store).done == 2
    assert path.read_bytes() == whole
    assert len(list((tmp_path / "set-aside").iterdir())) == 1
    assert store.verify() == []


def test_arrays_of_another_form_are_refused(store, tmp_path):
    arrays = store.arrays(small())
    for name, wrong in (("returns", arrays["returns"][:2]), ("solved", arrays["solved"][:, None])):
        other = Store(tmp_path / name)
        other.put(small(), {**arrays, name: wrong})
        with pytest.raises(ValueError, match="is broken"):
            other.get(small())


@pytest.mark.parametrize("seeds", [1, 4, 5, 64, 100, 1000])
def test_parts_are_the_whole(seeds):
    parts = small(seeds=seeds).parts
    assert [seed for part in parts for seed in range(part.seed, part.seed + part.seeds)] == list(range(seeds))
    assert all(part.seeds == PART for part in parts[:-1])
    again = spec_from_json(parts[-1].canonical)
    assert (again.name, again.seeds) == (parts[-1].name, parts[-1].seeds)
    more = small(seeds=seeds + PART).parts
    assert [part.name for part in more][: seeds // PART] == [part.name for part in parts][: seeds // PART]
    assert len(small(seeds=seeds, device="gpu").parts) == 1


@pytest.mark.parametrize("how", [Stopped, TimedOut])
def test_finished_runs_are_not_run_again(tmp_path, monkeypatch, how):
    """The bytes are those of runs left in peace."""
    spec, store = small(seeds=6), Store(tmp_path / "store")
    seen = []
    limits = {"should_stop": lambda: len(seen) >= 3} if how is Stopped else {"timeout": 0.0}
    with pytest.raises(how):
        execute(spec, store, progress=seen.append, **limits)
    assert spec not in store
    seeds, real = [], runnables.single_run
    monkeypatch.setattr(runnables, "single_run", lambda spec: seeds.append(spec.seed) or real(spec))
    told = []
    assert sweep([spec], store, progress=told.append).done == 6
    assert seeds == ([3, 4, 5] if how is Stopped else [1, 2, 3, 4, 5])
    assert sum(told) == 6 * 30
    assert not list((store.path / "checkpoints").iterdir())
    whole = Store(tmp_path / "whole")
    sweep([spec], whole)
    assert contents(store.path / "runs") == contents(whole.path / "runs")


def test_a_broken_checkpoint_is_dropped(tmp_path):
    spec, store = small(), Store(tmp_path / "store")
    with pytest.raises(TimedOut):
        execute(spec, store, timeout=0.0)
    path = store.checkpoint(spec.name)
    path.write_bytes(path.read_bytes()[:-9])
    told = []
    assert sweep([spec], store, progress=told.append).done == 3
    assert told == [30, 30, 30]


def test_a_failure_is_one_of_its_part(tmp_path, monkeypatch):
    monkeypatch.setattr(runnables, "build_world", lambda spec: 1 / 0)
    store = Store(tmp_path)
    result = sweep([small()], store)
    assert [outcome.error for outcome in result.failed] == ["ZeroDivisionError: division by zero"]
    assert small() not in store


def test_the_name_holds_everything():
    names = {small().name, small(kl.PSRL()).name, small(hint="support").name, small(seeds=4).name}
    names |= {small(prior=kl.Prior(kl.Beta(2.0, 1.0), kl.Dirichlet(mass=1.0))).name}
    names |= {small(keep=(2, 30)).name, small(keep="all").name, small(seeds=range(3, 6)).name, small(device="gpu").name}
    assert len(names) == 9
    assert json.loads(small(seeds=range(3, 6)).canonical)["world"]["seed"] == 3


@pytest.mark.parametrize("hint", ["support", "transitions"])
def test_what_the_agent_is_told_of_transitions(hint, tmp_path):
    """With a hint it regrets what `run` with that prior regrets."""
    world = kl.deep_sea(4)
    rows = kl.Known(world) if hint == "transitions" else kl.Dirichlet(0.3, support=world)
    runs = kl.run(kl.KLearning(), world, prior=kl.Prior(transitions=rows), episodes=30, seeds=2)
    given = {"world": {"name": "deep_sea", "depth": 4}, "agent": kl.KLearning(), "episodes": 30, "seeds": 2}
    result = played(make_spec(**given, keep=POINTS, hint=hint), tmp_path)
    assert np.array_equal(result.regret, runs.regret[:, AT])
    assert np.array_equal(result.first_hit, runs.first_hit, equal_nan=True)
    assert np.array_equal(result.solved, runs.solved, equal_nan=True)
    assert not np.array_equal(result.regret, played(make_spec(**given, keep=POINTS), tmp_path).regret)


def test_runs_that_end_when_solved_have_nan_after(tmp_path):
    given = {"world": {"name": "deep_sea", "depth": 3}, "agent": kl.KLearning(), "episodes": 200, "seeds": 3}
    ended, free = (played(make_spec(**given, stop=stop), tmp_path) for stop in ("solved", "never"))
    assert np.array_equal(ended.ran, ended.solved)
    assert np.array_equal(ended.solved, free.solved)
    for k, t in enumerate(ended.ran):
        assert np.array_equal(ended.regret[k, :t], free.regret[k, :t])
        assert np.isnan(ended.regret[k, t:]).all()
    some = played(make_spec(**given, stop="solved", keep=[1, 200]), tmp_path)
    assert np.array_equal(some.solved, free.solved)
    assert np.array_equal(some.regret[:, 0], free.regret[:, 0])
    assert np.isnan(some.regret[:, 1]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keep": (1, 20)}, "keep="),
        ({"keep": (4, 4, 30)}, "must rise"),
        ({"keep": (0, 30)}, "keep=0"),
        ({"keep": ()}, "keep="),
        ({"keep": "some"}, "keep='some'"),
        ({"seeds": 0}, "seeds=0"),
        ({"hint": "suport"}, "support"),
        ({"snapshots": [3]}, "snapshots are of single runs"),
        ({"device": "gpu", "evaluate_every": 2}, "leave out"),
        ({"hint": "support", "prior": kl.Prior(transitions=kl.Dirichlet(support=kl.deep_sea(2)))}, "say it once"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_points_are_even_on_a_logarithmic_axis():
    points = geometric_points(1000)
    assert points[:2] == (1, 2)
    assert points[-11:] == (100, 126, 158, 200, 251, 316, 398, 501, 631, 794, 1000)
    assert geometric_points(1) == (1,)
