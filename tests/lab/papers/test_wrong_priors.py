"""Wrong priors and knowledge: one thing is changed at a time, and what is drawn and printed is what was run."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from click.testing import CliRunner

import klearning as kl
from klearning.cli import commands
from klearning.lab.experiments.spec import build_prior, build_world
from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers.odonoghue2021 import knowledge, misspecified
from klearning.lab.papers.odonoghue2021.cases import Case
from klearning.lab.papers.publish import publish
from klearning.tabular.worlds import WORLDS
from tests.support.papers import PAPER


def select():
    return PAPER.select(["misspecification", "knowledge"], "a test", options={"seeds": 2})


@pytest.fixture
def small(monkeypatch):
    """Two small worlds in place of the large ones."""
    sea = {"name": "deep_sea", "depth": 4, "noise": 0.05}
    river = {"name": "river_swim", "states": 3, "horizon": 4, "noise": 0.05}
    few = {"sea": Case(sea, 20, 0.3, 1.0), "river": Case(river, 30, 1.0, 2.0)}
    for module in (misspecified, knowledge):
        monkeypatch.setattr(module, "CASES", few)


@pytest.mark.slow
def test_everything_is_drawn_and_printed_from_the_store(small, tmp_path):
    store = Store(tmp_path / "store")
    selection = select()
    assert sweep(selection.specs(), store).done > 0
    assert sweep(selection.specs(), store).done == 0
    publish(selection, store, tmp_path)
    assert (tmp_path / "misspecification.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "misspecification.md").read_text()
    case = misspecified.CASES["river"]
    axis, level = "Dirichlet mass / usual mass", 3.0
    by_hand = kl.run(
        kl.PSRL(), build_world(misspecified.spec(case, kl.PSRL(), axis, level, 2)), episodes=30, seeds=2,
        prior=kl.Prior(kl.Gaussian(0.0, 1.0, 0.05), kl.Dirichlet(3.0)),
    )  # fmt: skip
    row = next(line for line in page.splitlines() if line.startswith(f"| {axis}: 3 "))
    assert row.endswith(f"| {by_hand.regret[:, -1].mean():.0f} |")
    check_knowledge((tmp_path / "knowledge.md").read_text())


def check_knowledge(page):
    """The lines of DeepSea and RiverSwim as `run` gives them."""
    world = kl.deep_sea(4)
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.05), kl.Dirichlet(0.3, support=world), span=1.0)
    runs = kl.run(kl.KLearning(bonus="sharp"), world, prior=prior, episodes=20, seeds=2)
    row = next(line for line in page.splitlines() if line.startswith("| `sharp` | the support and a value span"))
    assert np.isfinite(runs.solved).all()
    assert row.split(" | ")[2] == f"{np.median(runs.first_hit):.0f} / {np.median(runs.solved):.0f}"
    prior = kl.Prior(kl.Gaussian(0.0, 1.0, 0.05), kl.Dirichlet(1.0), stationary=True)
    runs = kl.run(kl.KLearning(), kl.river_swim(3, 4, noise=0.05), prior=prior, episodes=30, seeds=2)
    row = next(line for line in page.splitlines() if line.startswith("| `reward` | that nothing changes"))
    assert row.split(" | ")[2] == ""  # the layers of DeepSea differ
    assert row.split(" | ")[3].startswith(f"{runs.regret[:, -1].mean():.0f} [")


def differing(spec, usual):
    """Fields of the prior, flattened, in which a spec is not the usual one; and its hint."""

    def flat(one):
        prior = build_prior(replace(one, hint="nothing"))
        hint = {} if one.hint == "nothing" else {"hint": one.hint}
        return {**asdict(prior.reward), "mass": prior.transitions.mass, "span": prior.span, **hint}

    given = flat(spec)
    return {key: value for key, value in given.items() if flat(usual).get(key) != value}


@pytest.mark.parametrize("name", misspecified.CASES)
@pytest.mark.parametrize(
    ("axis", "field"),
    [
        ("stated noise / true noise", "noise"),
        ("prior mean of rewards", "mean"),
        ("prior sd of rewards", "sd"),
        ("Dirichlet mass / usual mass", "mass"),
        ("told of transitions", "hint"),
    ],
)
def test_one_thing_is_wrong_at_a_time(name, axis, field):
    case = misspecified.CASES[name]
    usual = misspecified.spec(case, kl.KLearning(), "told of transitions", "nothing")
    unit = {"noise": case.world["noise"], "mass": case.mass}.get(field, 1.0)
    for level in misspecified.AXES[axis]:
        spec = misspecified.spec(case, kl.KLearning(), axis, level)
        if level == misspecified.USUAL.get(axis, 1.0):
            assert spec.name == usual.name
        else:
            wrong = differing(spec, usual)
            assert wrong == {field: pytest.approx(unit * level) if isinstance(level, float) else level}


@pytest.mark.parametrize("case", [*misspecified.CASES.values(), *knowledge.CASES.values()], ids=str)
def test_the_usual_prior_is_right(case):
    """Its noise is the world's, and the span that it states is an upper bound on that of V*, by a tenth at most."""
    world = WORLDS[case.world["name"]](
        **{key: value for key, value in case.world.items() if key != "name"}
    )  # fmt: skip
    assert world.noise == case.world["noise"]
    assert case.prior.reward.noise == world.noise
    widest = max(np.ptp(V) for V in kl.optimal(world).values)
    assert widest <= case.span + 1e-12
    assert case.span < 1.1 * widest


def test_every_bonus_takes_part():
    specs = knowledge.Knowledge().specs
    assert {spec.agent["bonus"] for spec in specs.values()} == set(knowledge.COMPARED)
    assert ("paper", knowledge.STATIONARY, "DeepSea, depth 10") not in specs
    names = [spec.name for spec in specs.values()]
    assert len(set(names)) == len(names) == len(knowledge.COMPARED) * (3 * len(knowledge.KNOWN) - 2)


def test_a_median_that_is_not_there_is_a_dash(small, tmp_path):
    store, spec = Store(tmp_path), knowledge.spec(knowledge.CASES["sea"], "reward", "nothing more", 2)
    sweep([spec], store)
    times = {"solved": np.array([np.nan, np.nan, 5.0]), "first_hit": np.array([3.0, 4.0, np.nan])}
    assert knowledge._cell(replace(store.get(spec), **times)) == "4 / –"


@pytest.mark.slow
def test_the_command_runs_prints_and_goes_on(small, tmp_path):
    """By name, with seeds of its own; the second call runs nothing and says the same."""
    words = ["reproduce", "knowledge", "--seeds", "1", "--store", str(tmp_path / "store"), "--out", str(tmp_path)]
    first, second = (CliRunner().invoke(commands, words, catch_exceptions=False) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert "| `reward` | the support |" in first.stdout
    assert second.stdout == first.stdout
    count = len(knowledge.COMPARED) * (2 * len(knowledge.KNOWN) - 1)
    assert len(list(Store(tmp_path / "store").folders())) == count
