"""Help that teaches: every command has examples, and every example does what it says."""

import json
import shlex

import click
import pytest

from klearning.cli import commands
from klearning.lab.experiments.store import Store
from tests.pages.test_docs import blocks
from tests.support.commands import klearning
from tests.support.doc_blocks import ALL


def all_commands(command=commands, path=("klearning",)):
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from all_commands(command.get_command(context, name), (*path, name))


EVERY = [pytest.param(path, command, id=" ".join(path)) for path, command in all_commands()]
# a cluster is started by lab/experiments/test_ray.py
ELSEWHERE = ("--executor ray", "--device gpu")  # need what is not there
LONG = {"klearning reproduce --quick", "klearning benchmark gymnasium CliffWalking --tune --seeds 1"}  # minutes
BEFORE = {"klearning warm-up"}  # `make test` begins with it
ON_PAGES = {line for b in ALL if b.language == "sh" and not b.skipped for line in b.text.splitlines()}  # run there
EXAMPLES = sorted(
    {line for _, command in all_commands() for line in command.examples if not any(x in line for x in ELSEWHERE)}
    - ON_PAGES
    - LONG
    - BEFORE
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where examples are typed: with the simulator of the docs, and their sweep, made small, in a store."""
    place = tmp_path_factory.mktemp("typed")
    [simulator] = [block for block in ALL if block.remark("file") == "simulator.py"]
    (place / "simulator.py").write_text(simulator.text)
    text = blocks("docs/howto/big_sweeps.md", "toml")[0].replace("episodes = 100000", "episodes = 20")
    (place / "my_sweep.toml").write_text(text.replace("[10, 20, 30]", "[4]").replace("seeds = 30", "seeds = 5"))
    for name, experiment in (("sea", "deep_sea_stochastic"), ("bandit", "bandit")):
        (place / f"{name}.json").write_text(json.dumps({"agent": "PSRL()", "experiment": experiment, "score": 0.5}))
    done = klearning("sweep", "my_sweep.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.slow
@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_run(line, folder, monkeypatch):
    monkeypatch.setenv("BROWSER", "true")  # a browser that shows nothing, for --open
    name = next(Store(folder / "out/store").folders()).name
    words = shlex.split(line.replace("0123abcd", name[:8]))
    assert words[0] == "klearning"
    done = klearning(*words[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout or words[1] == "sweep"
    if "--json" in words or words[1:3] == ["store", "show"]:
        json.loads(done.stdout)


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_every_command_has_help_and_examples(path, command):
    assert command.help
    assert command.examples, f"{' '.join(path)} has no example"
    with click.Context(command, info_name=" ".join(path)) as ctx:
        text = command.get_help(ctx)
    for line in command.examples:
        assert line.startswith(" ".join(path))
        assert f"\n  {line}\n" in text + "\n", f"{line} is not on a line of its own"


def test_whatever_prints_results_prints_json():
    for path, command in all_commands():
        if not isinstance(command, click.Group):
            assert any("--json" in option.opts for option in command.params), path


def test_exit_codes_are_in_the_help():
    done = klearning("--help")
    for code in ("0 ", "1 ", "2 ", "130", "141"):
        assert f"\n    {code}" in done.stdout
