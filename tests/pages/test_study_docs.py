"""The pages on theory and practice say what is so: snippets run, tables are whole, numbers come again."""

import numpy as np
import pytest

import klearning as kl
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers.odonoghue2021 import knowledge, misspecified, study
from klearning.lab.papers.odonoghue2021.study_figure import Study
from klearning.lab.theory import regret_bound
from klearning.tabular.optimism.bonuses import BONUSES
from tests.pages.test_docs import ROOT, blocks
from tools import pages

PRACTICE = (ROOT / "docs" / "evidence" / "theory_to_practice.md").read_text()


def rows(name):
    """The rows of a data file by their first cell."""
    return {row[0]: row[1:] for row in pages.load(name)["rows"]}


def row(page, beginning):
    """The cells of a table's line, after those that it begins with."""
    line = next(line for line in page.splitlines() if line.startswith(beginning))
    return [cell.strip() for cell in line[len(beginning) :].strip("| ").split("|")]


def test_the_snippet_of_the_practice_page():
    exec(blocks("docs/evidence/theory_to_practice.md", "python")[0], {})


def test_the_table_of_knowledge_is_whole():
    found = [row[:2] for row in pages.load("theory_to_practice.knowledge")["rows"]]
    wanted = [[f"`{bonus}`", known] for bonus in knowledge.COMPARED for known in knowledge.KNOWN]
    assert sorted(found) == sorted(wanted)


def test_every_bonus_is_on_the_practice_page():
    for bonus in BONUSES:
        assert f"`{bonus}`" in PRACTICE, bonus


def test_the_arithmetic_of_one_path():
    """Visits n at which 2√(L log 2 · C̄) = 1, as the page has them to two or three digits."""
    for bonus, c in (("| `paper` | Σ", 1.0), ("| `sharp` | a quarter", 0.25)):
        cells = row(PRACTICE, bonus)
        stated = [float(x.replace(",", "")) for x in cells[-2:]]
        found = [c * 4 * L * np.log(2) * sum((L - l) ** 2 for l in range(1, L + 1)) / 2 for L in (10, 20)]
        assert stated == pytest.approx(found, rel=0.02)
    spans = [float(x) for x in row(PRACTICE, "| `sharp`, value span 1 |")[-2:]]
    assert spans == pytest.approx([4 * L * np.log(2) * L / 8 for L in (10, 20)], rel=0.02)
    rewards = [float(x) for x in row(PRACTICE, "| `reward`, σ = 0.05 |")[-2:]]
    assert rewards == pytest.approx([4 * L * np.log(2) * L * 0.05**2 / 2 for L in (10, 20)], rel=0.2)


def test_the_bayes_page_has_every_contestant():
    regret, growth = rows("bayes_regret.regret"), rows("bayes_regret.growth")
    assert set(study.contestants()) <= set(regret)
    assert set(study.contestants()) <= set(growth)
    sizes = Study().sizes().items()
    bounds = [round(regret_bound(size.totals, n, 0.5)) for size, (_, n) in sizes]
    assert [int(x) for x in regret["the theorem's bound"]] == bounds


@pytest.mark.slow
def test_the_power_of_the_bayes_page():
    """Seven bounds of eight are above all that can be lost; what a random policy loses at the first size is so."""
    sizes, power = Study().sizes(), pages.load("bayes_regret.power")["rows"]
    stated = [(int(row[1]), int(row[2])) for row in power]
    assert stated == [(round(regret_bound(s.totals, n, study.NOISE)), n * s.L) for s, (_, n) in sizes.items()]
    assert sum(bound > most for bound, most in stated) == 7
    size, (worlds, n) = next(iter(sizes.items()))
    even = np.full((size.L * size.S, size.A), 1 / size.A)
    drawn = [kl.random_mdp(size.S, size.A, size.L, study.PRIOR, seed) for seed in range(worlds)]
    lost = n * np.mean([kl.optimal(world).value - kl.evaluate(world, even).value for world in drawn])
    assert power[0][3:5] == [f"{lost:.1f}", f"{lost / stated[0][0]:.0%}"]


def played(folder, *specs):
    """What came of them."""
    store = Store(folder)
    assert not sweep(specs, store).failed
    return [store.get(spec) for spec in specs]


@pytest.mark.slow
def test_numbers_of_the_practice_page_come_again(tmp_path):
    """To a fifth: on another machine last digits differ, and a first hit with them."""
    for column, depth in ((0, 10), (1, 20)):
        spec = knowledge.spec(knowledge.CASES[f"DeepSea, depth {depth}"], "reward", "the support")
        [result] = played(tmp_path, spec)
        table = pages.load("theory_to_practice.knowledge")["rows"]
        told = next(row[2:] for row in table if row[:2] == ["`reward`", "the support"])
        stated = [float(x) for x in told[column].split(" / ")]
        assert stated == pytest.approx([np.median(result.first_hit), np.median(result.solved)], rel=0.2)


@pytest.mark.slow
def test_numbers_of_the_page_on_wrong_priors_come_again(tmp_path):
    """To a fifth, K-learning and Thompson sampling at depth 10 with three times the noise."""
    case, axis = misspecified.CASES["DeepSea, depth 10"], "stated noise / true noise"
    stated = [float(x) for x in rows("misspecification.regret")[f"{axis}: 3"][0].split(" / ")]
    agents = [misspecified.AGENTS[name] for name in ("K-learning, reward", "Thompson sampling")]
    results = played(tmp_path, *(misspecified.spec(case, agent, axis, 3.0) for agent in agents))
    assert stated == pytest.approx([result.regret.mean() for result in results], rel=0.2)


@pytest.mark.slow
def test_the_bandit_of_the_page(capsys):
    exec(blocks("docs/evidence/misspecification.md", "python")[0], {})
    means = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    stated = [float(str(row[1]).strip("*")) for row in pages.load("misspecification.bandit")["rows"]]
    assert means == pytest.approx(stated, rel=0.2)
    assert min(means) == means[2]
