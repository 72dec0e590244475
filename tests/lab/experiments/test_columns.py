"""A store as data: every setting is a column, two priors are two experiments, and old indices are read again."""

import csv
import json
from dataclasses import fields, replace

import numpy as np
import pytest

import klearning as kl
from klearning.lab.experiments.columns import NO_SETTINGS, column_names, columns, differences, experiment, settings
from klearning.lab.experiments.spec import OPTIONAL, Spec, make_spec, match_spec
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from tests.cli.test_cli import klearning

SEA = {"name": "deep_sea", "depth": 4}
WIDE = {"reward": {"kind": "gaussian", "sd": 3.0}}


def spec(seed=0, prior=None, agent="KLearning", **changes):
    return make_spec(SEA, {"name": agent}, prior, **{"episodes": 20, "seeds": [seed], **changes})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("columns") / "store")
    specs = [spec(seed, prior) for prior in (None, WIDE) for seed in (0, 1)]
    specs += [
        make_spec({"name": "bandit", "means": [0.1, 0.9]}, {"name": "PSRL"}, {"reward": {"kind": "beta"}}, episodes=5)
    ]
    assert not sweep(specs, store).failed
    return store


def test_an_opponent_is_a_column_where_there_is_one():
    match = match_spec({"name": "rock_paper_scissors"}, {"name": "UCB"}, opponent={"name": "EXP3"}, episodes=3)
    assert settings(match)["opponent"] == "EXP3"
    assert settings(match)["opponent.unit"] == 1.0
    assert "opponent" not in settings(spec())


def test_every_setting_is_a_column():
    """Whatever is in the canonical JSON of a spec is in its row, under a name that says where."""
    data = json.loads(spec(prior=WIDE, protocol="mine", snapshots=(3,)).canonical)
    row = settings(spec(prior=WIDE, protocol="mine", snapshots=(3,)))
    assert row["world"] == "deep_sea"
    assert row["world.depth"] == 4
    assert row["agent.bonus"] == data["agent"]["bonus"]
    assert row["prior.reward"] == "gaussian"
    assert row["prior.reward.sd"] == 3.0
    assert row["prior.transitions.mass"] == 0.3
    assert row["prior.stationary"] is False
    assert row["snapshots"] == "[3]"
    for field in fields(Spec):
        assert field.name in ("version", *OPTIONAL) or any(name.partition(".")[0] == field.name for name in row)


@pytest.mark.parametrize(
    "change",
    [
        {"prior": WIDE}, {"prior": {"transitions": {"mass": 1.0}}}, {"prior": {"stationary": True}},
        {"prior": {"span": 2.0}}, {"prior": {"transitions": {"support": "world"}}},
        {"prior": {"reward": {"kind": "beta"}}},
        {"stop": "solved"}, {"evaluate_every": 2}, {"protocol": "a"}, {"episodes": 21}, {"agent": "PSRL"},
        {"snapshots": (2,)},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_differs_makes_another_experiment(change):
    one, other = settings(spec()), settings(spec(**change))
    assert experiment(one) != experiment(other)
    assert differences([one, other])[0] or differences([one, other])[1]


def test_seeds_do_not():
    assert experiment(settings(spec(0))) == experiment(settings(spec(1)))


def test_only_what_differs_is_told():
    rows = [settings(spec()), settings(spec(prior=WIDE)), settings(spec(agent="PSRL"))]
    told = differences(rows)
    assert told[0] == {"agent": "KLearning", "prior.reward.sd": 1.0}
    assert told[1] == {"agent": "KLearning", "prior.reward.sd": 3.0}
    assert told[2] == {"agent": "PSRL", "prior.reward.sd": 1.0}  # no bonus: no other PSRL has one


def test_columns_stand_beside_what_they_belong_to(store):
    names = column_names(store.rows())
    assert names[:3] == ["name", "protocol", "world"]
    assert names.index("world") < names.index("world.depth") < names.index("agent") < names.index("agent.bonus")
    assert names.index("agent.bonus") < names.index("prior.reward") < names.index("prior.reward.sd")
    assert set(NO_SETTINGS) <= set(names)
    assert len(names) == len(set(names))


def test_one_type_per_column():
    mixed = columns([{"name": "a", "agent.t": 0.5, "seed": 1}, {"name": "b", "agent.t": "optimal", "seed": 2**70}])
    assert mixed["agent.t"] == ["0.5", "optimal"]
    assert mixed["seed"] == ["1", str(2**70)]
    assert mixed["world"] == [None, None]


def test_long_lists_are_named_by_their_checksum():
    support = [np.full((1, 2, 2), 1.0), *([np.full((2, 2, 2), 1.0)] * 20)]
    prior = {"transitions": {"kind": "dirichlet", "mass": 1.0, "support": [block.tolist() for block in support]}}
    one = settings(replace(spec(), prior={**spec().prior, **prior}))["prior.transitions.support"]
    assert len(one) < 60
    prior["transitions"]["support"][3][0][0][0] = 0.0
    assert settings(replace(spec(), prior={**spec().prior, **prior}))["prior.transitions.support"] != one


def test_the_frame_groups_as_it_should(store):
    pytest.importorskip("pandas")
    frame = store.frame()
    assert len(frame) == 5
    means = frame[frame.world == "deep_sea"].groupby("prior.reward.sd")["regret"].mean()
    assert list(means.index) == [1.0, 3.0]
    wide = [store.get(spec(seed, WIDE)).regret[0, -1] for seed in (0, 1)]
    assert means[3.0] == pytest.approx(np.mean(wide))


def test_csv_and_parquet_have_the_same_columns(store, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("runs.csv", "runs.parquet"):
        assert store.export(tmp_path / name) == 5
    with (tmp_path / "runs.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        lines = list(reader)
    assert reader.fieldnames == parquet.read_table(tmp_path / "runs.parquet").column_names == column_names(store.rows())
    assert {line["prior.reward.sd"] for line in lines} == {"1.0", "3.0", ""}
    assert {line["world.means"] for line in lines} == {"[0.1, 0.9]", ""}


def test_the_list_keeps_priors_apart(store):
    done = klearning("store", "ls", "--store", str(store.path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert sum("2 seeds" in line for line in lines) == 2
    assert sum("prior.reward.sd=3.0" in line for line in lines) == 1
    assert all("deep_sea(depth=4)" in line for line in lines if "2 seeds" in line)
    assert "the same in all" in done.stderr


def test_an_index_of_an_earlier_version_is_neither_read_nor_touched(store):
    rows, path = store.rows(), store.path / "index.sqlite"
    path.write_bytes(b"SQLite format 3\0, of long ago")
    assert store.verify() == []
    assert store.rows() == rows
    store.gc()
    assert path.read_bytes() == b"SQLite format 3\0, of long ago"


def test_runs_come_back_as_they_were(store):
    """Those of the store are those of `run`, and can be compared like them."""
    back, fresh = store.runs([spec(0), spec(1)]), kl.run(kl.KLearning(), kl.deep_sea(4), episodes=20, seeds=2)
    for name in ("values", "returns", "hits", "visits", "regret", "solved"):
        np.testing.assert_array_equal(getattr(back, name), getattr(fresh, name))
    assert back.seeds == fresh.seeds
    assert back.diagnostics.keys() == fresh.diagnostics.keys()
    (pair,) = kl.compare({"narrow": back, "wide": store.runs([spec(s, WIDE) for s in (0, 1)])}).pairs
    assert pair.test == "sign flips, paired by seed"


def test_runs_that_differ_are_no_batch(store):
    with pytest.raises(ValueError, match="more than its seed"):
        store.runs([spec(0), spec(1, WIDE)])
    with pytest.raises(ValueError, match="is empty"):
        store.runs([])
    with pytest.raises(KeyError):
        store.runs([spec(77)])
