"""Looks: which seeds are run is a function of earlier seeds' results alone, and seldom too few."""

import os
from dataclasses import replace
from itertools import product
from math import comb

import pytest

from klearning.lab.experiments.interim_stopping import LOOKS, most_fail, seeds_to_run
from klearning.lab.experiments.spec import make_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import LocalExecutor, sweep
from klearning.tabular.agents.q_learning import QLearning
from tests.lab.experiments.test_store import contents


class Results:
    """A store as far as looks ask it."""

    def __init__(self, solved):
        self.solved = solved

    def rows(self):
        return [{"name": name, "solved_seeds": int(yes)} for name, yes in self.solved.items()]


def seeds(count, agent=None, stop="solved", depth=4, cap=12):
    spec = make_spec({"name": "deep_sea", "depth": depth}, agent or QLearning(), episodes=cap, stop=stop)
    return [replace(spec, seed=seed) for seed in range(count)]


def known(specs, outcomes):
    return Results({spec.name: yes for spec, yes in zip(specs, outcomes, strict=False)})


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], 5),  # nothing is known: up to the first look
        ([0, 0, 0, 0], 5),  # one is missing
        ([0] * 5, 5),  # none of 5: it ends
        ([0, 0, 1, 0, 0], 10),
        ([0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 10),  # 1 of 10: it ends
        ([0, 0, 1, 0, 0, 0, 0, 0, 0, 1], 20),
        ([0, 0, 1, 0, 1] * 2 + [0, 0, 0, 0, 1] + [0] * 5, 20),  # 5 of 20: it ends
        ([0, 0, 1, 0, 1] * 3 + [0] * 5, 30),
        ([1] * 20, 30),
        ([0] * 5 + [1] * 25, 5),  # later seeds, from an earlier call without looks, say nothing
    ],
)
def test_an_experiment_ends_at_a_look_at_which_most_fail(outcomes, expected):
    specs = seeds(30)
    chosen = seeds_to_run(reversed(specs), known(specs, outcomes))
    assert [spec.seed for spec in chosen] == list(range(expected))


def test_every_experiment_is_judged_by_itself():
    some, others, whole = seeds(8), seeds(8, depth=5), seeds(8, stop="never")
    failed = Results({spec.name: False for spec in [*some, *whole]})
    chosen = seeds_to_run([*some, *others, *whole], failed)
    assert chosen == [*some[:5], *others[:5], *whole]
    assert seeds_to_run(some, failed, looks=()) == some


def test_few_seeds_are_all_run():
    specs = seeds(5)
    assert seeds_to_run(specs, known(specs, [0] * 5)) == specs


def chance_to_end(p):
    """By the law of the counts: failing experiments that end at a look, where a run solves with probability p."""
    going, ended = {0: 1.0}, 0.0
    for last, look in zip((0, *LOOKS), LOOKS, strict=False):
        n, after = look - last, {}
        for (solved, chance), more in product(going.items(), range(n + 1)):
            after[solved + more] = after.get(solved + more, 0.0) + chance * comb(n, more) * p**more * (1 - p) ** (
                n - more
            )
        ended += sum(chance for solved, chance in after.items() if most_fail(solved, look))
        going = {solved: chance for solved, chance in after.items() if not most_fail(solved, look)}
    return ended


def test_an_agent_that_solves_is_seldom_ended():
    """What the module says of its errors, exactly."""
    assert chance_to_end(0.5) == pytest.approx(0.0503, abs=5e-5)
    assert chance_to_end(0.6) == pytest.approx(0.012, abs=5e-4)
    assert chance_to_end(0.9) < 2e-5
    assert chance_to_end(0.1) > 0.99


def run_in_stages(specs, store, executor):
    stage = []
    while len(wanted := seeds_to_run(specs, store)) > len(stage):
        stage = wanted
        assert not sweep(stage, store, executor=executor).failed
    return stage


def test_the_store_is_the_same_whatever_the_executor(tmp_path, monkeypatch):
    """Two experiments, one of which ends early: with one worker, with three, and gone on with from a part of it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    easy, hard = seeds(12, depth=2), seeds(12, depth=9)
    stores = [Store(tmp_path / name) for name in ("one", "three", "begun")]
    sweep([*hard[:3], *easy[4:7]], stores[2])
    for store, workers in zip(stores, (1, 3, 2), strict=True):
        assert run_in_stages([*easy, *hard], store, LocalExecutor(workers)) == [*easy, *hard[:5]]
    first, *others = (contents(store.path / "runs") for store in stores)
    assert len(first) > 0
    assert all(other == first for other in others)
