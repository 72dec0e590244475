"""The page about worlds says what is so: its table, its snippets, its parameters. `test_docs` runs its commands."""

import inspect
import re
import shlex

import numpy as np
import pytest

import klearning as kl
from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import SOURCES, WORLDS
from tests.pages.test_docs import ROOT, blocks

PAGE = (ROOT / "docs" / "reference" / "worlds.md").read_text()
COMMANDS = [block.strip() for block in blocks("docs/reference/worlds.md", "sh")]
SNIPPETS = blocks("docs/reference/worlds.md", "python")
PRACTICE = (kl.inventory, kl.admission_queue, kl.dose_finding)


def section(name):
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_every_world_is_there():
    assert set(SOURCES) == set(WORLDS)
    assert [shlex.split(command)[2] for command in COMMANDS] == list(WORLDS)
    assert all(getattr(kl, name) is make for name, make in WORLDS.items())


@pytest.mark.parametrize("name", WORLDS)
def test_the_table_states_the_numbers(name):
    """Rounded to as many digits as it gives."""
    row = re.search(rf"^\| \[`{name}`\].*$", PAGE, re.M).group().replace("−", "-")
    _, _, *stated = [cell.strip() for cell in row.strip("|").split("|")]
    world = WORLDS[name]()
    best, uniform = kl.optimal(world), np.full((world.states, world.actions), 1 / world.actions)
    assert [int(x) for x in stated[:3]] == [world.horizon, world.states, world.actions]
    low, high = (float(x) for x in stated[3].split(" to "))
    assert (low, high) == pytest.approx((world.reward.min(), world.reward.max()), abs=5.01e-4)
    assert float(stated[4]) == pytest.approx(max(np.ptp(V) for V in best.values), abs=5.01e-4)
    assert float(stated[5]) == pytest.approx(best.value, abs=5.01e-5)
    assert float(stated[6]) == pytest.approx(kl.evaluate(world, uniform).value, abs=5.01e-5)


@pytest.mark.parametrize("name", WORLDS)
def test_parameters_are_listed_with_their_defaults(name):
    for parameter in inspect.signature(WORLDS[name]).parameters.values():
        assert f"`{parameter.name}={parameter.default!r}`" in section(name)


@pytest.mark.parametrize("snippet", SNIPPETS[:3])
def test_snippets_print_what_their_comments_say(snippet, capsys):
    exec(snippet, {})
    promised = re.findall(r"#.*?((?:\d+\.\d+|\[.*\]))$", snippet, re.M)
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert promised
    for what in promised:
        assert what.replace("]]", "]").replace("[[", "[") in printed.replace("]]", "]").replace("[[", "[")


@pytest.mark.parametrize("make", PRACTICE, ids=lambda make: make.__name__)
def test_the_table_of_regrets_is_of_this_version(make):
    """K-learning after 200 episodes; other streams of randomness would still end within 10%."""
    runs = kl.run(kl.KLearning(), make(), episodes=200, seeds=10)
    stated = re.search(rf"^\| `{make.__name__}` \| default \| ([\d.]+) \|", PAGE, re.M).group(1)
    assert float(stated) == pytest.approx(runs.regret[:, -1].mean(), rel=0.1)


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", [name for name in AGENTS if AGENTS[name].longest_horizon is None])
@pytest.mark.parametrize("make", PRACTICE, ids=lambda make: make.__name__)
def test_every_agent_lives_in_them(make, name):
    runs = kl.run(AGENTS[name](), make(), episodes=30, seeds=2)
    assert np.isfinite(runs.returns).all()
    assert (runs.optimal_value - runs.values > -1e-9).all()
    assert (runs.visits.sum(axis=(1, 2)) == 30 * runs.world.horizon).all()


@pytest.mark.slow
@pytest.mark.parametrize("make", PRACTICE, ids=lambda make: make.__name__)
def test_k_learning_learns_them(make):
    """Regret as a share of the uniform policy's, the seeds fixed; measured: 0.18, 0.11 and 0.48."""
    world = make()
    uniform = np.full((world.states, world.actions), 1 / world.actions)
    chance = kl.optimal(world).value - kl.evaluate(world, uniform).value
    runs = kl.run(kl.KLearning(), world, episodes=2000, seeds=5)
    assert (runs.regret[:, -1] < 0.6 * 2000 * chance).all()
