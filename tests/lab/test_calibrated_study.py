"""The study of docs/evidence/calibrated.md: jobs are resumed, numbers are those of `kl.run`, tables hold them."""

import argparse
import shutil
from itertools import groupby

import numpy as np
import pytest

import klearning as kl
from bench import calibrated_study as study
from bench import calibrated_tables
from bench.calibrated_study import OURS, STEPS, THOMPSON, Job
from klearning.lab.benchmarks.bandits.bayes_optimal import COINS


def test_every_job_has_a_file_of_its_own():
    jobs = {job for step in STEPS for job in step.jobs(10**9)}
    assert len({job.file for job in jobs}) == len(jobs)
    assert all(job.file.isascii() and " " not in job.file for job in jobs)


def test_all_sizes_get_a_chunk_before_any_gets_another():
    for step in STEPS:
        chunks = [(first, [job.case for job in jobs]) for first, jobs in groupby(step.jobs(10**9), _first)]
        assert [first for first, _ in chunks] == list(range(0, step.worlds, step.chunk))
        assert all(set(cases) == set(step.cases) for _, cases in chunks)


def _first(job):
    return job.worlds.start


def test_regret_is_that_of_run():
    world = kl.random_mdp(2, 2, 3, COINS, 5)
    runs = kl.run(kl.PSRL(), world, prior=COINS, episodes=20, seeds=[5], keep=[7, 20])
    np.testing.assert_allclose(study.regret(kl.PSRL(), world, COINS, (7, 20), 5), runs.regret[0])


def test_a_study_is_played_once_and_read(tmp_path):
    jobs = [Job("sizes", "2×2×2", agent, range(first, first + 12)) for agent in (THOMPSON, OURS) for first in (0, 12)]
    for job in jobs[:-1]:
        assert study.play(job, tmp_path, study.TUNING) > 0.0
    assert study.play(jobs[-1], tmp_path, study.TUNING, deadline=0.0) == 0.0
    assert [(tmp_path / job.file).exists() for job in jobs] == [True, True, True, False]
    found = study.read(tmp_path)["sizes"]["2×2×2"]
    assert found[THOMPSON].shape == (24, 2)
    assert found[OURS].shape == (12, 2)
    world = kl.random_mdp(2, 2, 2, COINS, study.TUNING + 13)
    assert found[THOMPSON][13].tolist() == study.regret(kl.PSRL(), world, COINS, (100, 1000), study.TUNING + 13)
    headings, rows, _ = calibrated_tables.tables({"sizes": {"2×2×2": found}}, tmp_path / "none.json")["sizes"]
    row = dict(zip(headings, rows[0], strict=True))
    assert row["MDPs"] == 24
    assert row[THOMPSON] == f"{found[THOMPSON][:, 1].mean():.4g}"
    ratio = found[OURS][:, 1].mean() / found[THOMPSON][:12, 1].mean()
    assert row[OURS].startswith(f"{ratio:.3f} [")
    assert row[OURS].endswith("(12 MDPs)")


def test_what_is_chosen():
    named = {"worlds": 10**9, "agents": [THOMPSON], "held_out": False}
    jobs = list(study.chosen(argparse.Namespace(only=["sizes", "priors", "4×2×2"], **named)))
    assert {job.agent for job in jobs} == {THOMPSON}
    assert {job.part for job in jobs} == {"sizes", "priors"}
    assert all(job.case.startswith("4×2×2") for job in jobs)
    assert {job.part for job in study.chosen(argparse.Namespace(only=[], **named))} == set(study.PARTS)
    held_out = argparse.Namespace(only=[], **named | {"held_out": True})
    assert {job.part for job in study.chosen(held_out)} == set(study.PARTS) - {"search"}


def test_the_largest_size_of_a_chunk_begins():
    step = next(step for step in STEPS if step.part == "long")
    efforts = [study.effort(job.case) for job in step.jobs(step.chunk)]
    assert efforts == sorted(efforts, reverse=True)
    assert study.effort("4×4×8") == 128
    assert study.effort("4×2×2, normal, sd × 3") == 16


def test_folders_of_two_machines_are_merged_by_copying(tmp_path):
    for machine, worlds in (("one", range(2)), ("two", range(2, 4))):
        study.play(Job("tiny", "two layers", THOMPSON, worlds), tmp_path / machine, study.HELD_OUT)
        shutil.copytree(tmp_path / machine, tmp_path / "both", dirs_exist_ok=True)
    numbers = study.read(tmp_path / "both")["tiny"]["two layers"][THOMPSON]
    assert numbers.shape == (4, 2)
    assert np.isfinite(numbers).all()


def test_every_agent_has_the_same_number_of_settings_and_begins_with_its_default():
    assert {len(settings) for _, settings in study.SETTINGS.values()} == {12}
    assert len(set(study.SEARCHED.values())) == len(study.SEARCHED) == 48
    defaults = [make(**settings[0]) for make, settings in study.SETTINGS.values()]
    assert defaults[:2] == [kl.PSRL(), kl.InformationDirected()]
    for agent, calibrated in zip(defaults[2:], (kl.KLearning, kl.VAPOR), strict=True):
        assert agent == calibrated(optimism=calibrated.default)


def test_the_table_of_a_search(tmp_path):
    ours = [name for name in study.SEARCHED if name.startswith(f"{OURS}: ")]
    theirs = study.setting_name(THOMPSON, {"concentration": 1.0})
    regret = np.linspace(0.5, 1.5, 20)[:, None] * [4.0, 10.0]
    by = {theirs: regret, ours[0]: 0.8 * regret, ours[1]: 0.7 * regret}
    made = calibrated_tables.tables({"search": dict.fromkeys(study.SEARCH_SIZES, by)}, tmp_path / "none.json")
    headings, rows, _ = made["search"]
    assert headings == ["agent", "setting", "MDPs", *study.SEARCH_SIZES, "mean"]
    assert {row[2] for row in rows} == {20}
    assert [row[1] for row in rows] == [
        "default, best of 1: concentration 1.0",
        "default: window 10, concentration 2.0, patience 30.0",
        "best of 2: window 3",
    ]
    assert [row[-1] for row in rows] == ["1.000", "0.800", "0.700"]
    assert [row[-1] for row in made["search_settings"][1]] == ["1.000", "0.700", "0.800"]


@pytest.mark.parametrize("part", ["bandits", "tiny", "forks", "priors", "worlds"])
def test_one_world_of_a_part(part):
    case = next(step.cases[0] for step in STEPS if step.part == part)
    numbers = study.PARTS[part](kl.PSRL(), case, study.TUNING)
    assert np.isfinite(numbers).all()
    assert numbers == sorted(numbers)


def test_a_table_of_bandits_counts_in_multiples_of_the_least(tmp_path):
    regret = np.linspace(0.5, 1.5, 40)[:, None] * [2.6, 3.4, 4.4]
    headings, rows, _ = calibrated_tables.bandit_table({"bandits": {"two arms": {THOMPSON: regret}}})
    assert headings[1] == "two arms, 50 rounds"
    assert rows[0][1:4] == ["1.337", "1.748", "2.239"]
    assert rows[1][1].startswith(f"{2.6 / 1.33662:.3f} [")
