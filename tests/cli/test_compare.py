"""`klearning compare` as a person meets it."""

import json

import click
import pytest

from klearning.cli import _call
from klearning.cli.options import call_from_words, read_agent
from klearning.lab.experiments.store import Store
from tests.cli.test_cli import klearning
from tests.cli.test_completion import offered

SMALL = ("compare", "deep_sea", "KLearning", "PSRL", "-w", "depth=4", "-n", "30", "-s", "10")


def test_a_table_a_sentence_and_a_picture(tmp_path):
    done = klearning(*SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in ("place", "middle half (IQM)", "p (Holm)", "Tested at 0.05", "drawn: out/compare.png"):
        assert word in done.stdout
    assert (tmp_path / "out" / "compare.png").read_bytes()[:4] == b"\x89PNG"


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """The same in this process: what is printed, and what is complained of."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        assert _call(words) == 0
        return capsys.readouterr()

    return call


def test_with_a_store_nothing_is_run_twice_and_the_numbers_are_the_same(say, tmp_path):
    words = (*SMALL, "--json", "--no-figure")
    plain = json.loads(say(*words).out)
    first = say(*words, "--store", "store")
    assert "20 runs done" in first.err
    again = say(*words, "--store", "store")
    assert "20 were there already" in again.err
    assert json.loads(first.out) == json.loads(again.out) == plain
    assert len(list(Store(tmp_path / "store").folders())) == 20
    assert plain["sentence"].startswith("In deep_sea(4)")


def test_variants_of_an_agent_by_their_options():
    agent = read_agent("KLearning,bonus=sharp,temperature=0.3")
    assert (agent.bonus, agent.temperature) == ("sharp", 0.3)
    data = call_from_words("agent", "KLearning", ["bonus=sharp", "temperature=0.3"])
    assert data == {"name": "KLearning", "bonus": "sharp", "temperature": 0.3}


def test_an_agent_of_ones_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import klearning as kl\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Mine(kl.PSRL):\n"
        '    """As good as PSRL."""\n'
    )
    words = ("compare", "deep_sea", "mine.py:Mine", "PSRL", "-w", "depth=3", "-n", "10", "-s", "3", "--no-figure")
    done = klearning(*words, "--json", "--store", "store", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {row["agent"] for row in json.loads(done.stdout)["agents"]} == {"mine.py:Mine", "PSRL"}


WRONG = {
    "one agent": (["deep_sea", "PSRL"], "must be two or more different agents"),
    "the same twice": (["deep_sea", "PSRL", "PSRL"], "must be two or more different agents"),
    "no agent": (["deep_sea"], "Missing argument"),
    "agent": (["deep_sea", "PSRL", "KLerning"], "did you mean 'KLearning'"),
    "option": (["deep_sea", "PSRL", "KLearning,bonsu=sharp"], "did you mean 'bonus'"),
    "metric": (["deep_sea", "PSRL", "KLearning", "--metric", "regert"], "did you mean 'regret'"),
    "against": (["deep_sea", "PSRL", "KLearning", "--against", "RLSVI"], "against='RLSVI' is unknown"),
    "no goal": (["river_swim", "PSRL", "KLearning", "--metric", "solved"], "has no goal"),
    "seeds": (["deep_sea", "PSRL", "KLearning", "-s", "none"], "seeds='none'"),
}


@pytest.mark.parametrize(("args", "message"), WRONG.values(), ids=WRONG)
def test_after_a_mistake_nothing_is_run(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, click.UsageError)) as mistake:
        _call(["compare", *args, "--store", "store"])
    error = mistake.value
    assert message in (error.format_message() if isinstance(error, click.UsageError) else str(error))
    assert not list(tmp_path.iterdir())


def test_completion():
    assert set(offered("compare", "d")) == {"deep_sea", "dose_finding"}
    assert offered("compare", "deep_sea", "PS") == ["PSRL"]
    assert offered("compare", "deep_sea", "PSRL", "KLearning,b") == ["KLearning,bonus="]
    assert "KLearning,tolerance=1,bonus=sharp" in offered("compare", "deep_sea", "KLearning,tolerance=1,bonus=")
    assert set(offered("compare", "deep_sea", "PSRL", "--metric", "")) == {"regret", "return", "solved"}
    assert offered("compare", "deep_sea", "nobody,") == []
