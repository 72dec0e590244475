"""What TAB offers: through Click's interface as a shell calls it, and in real shells if there are any."""

import os
import shutil
import subprocess
import sys
from dataclasses import fields

import pytest
from click.shell_completion import ShellComplete

from klearning.cli import commands
from klearning.cli.completion import VARIABLE, Bash, join_pairs
from klearning.tabular.agents import AGENTS
from klearning.tabular.optimism.bonuses import BONUSES
from tests.support.commands import klearning


def offered(*args):
    """What completes the last of these words."""
    found = ShellComplete(commands, {}, "klearning", VARIABLE).get_completions(list(args[:-1]), args[-1])
    return [item.value for item in found]


OFFERED = {
    "command": (("re",), {"report", "reproduce"}),
    "store command": (("store", ""), {"ls", "show", "verify", "gc", "export"}),
    "world": (("run", "d"), {"deep_sea", "dose_finding"}),
    "agent": (("run", "deep_sea", "UC"), {"UCBVI", "UCRL2", "UCFH"}),
    "option": (("run", "--ep"), {"--episodes"}),
    "agent's option": (("run", "deep_sea", "QLearning", "-a", "e"), {"epsilon="}),
    "default agent's option": (("run", "-a", ""), {"temperature=", "bonus=", "tolerance="}),
    "agent's word": (("run", "-a", "bonus=s"), {"bonus=sharp", "bonus=split"}),
    "other agent's word": (("run", "deep_sea", "UCBVI", "-a", "bonus="), {"bonus=hoeffding", "bonus=bernstein"}),
    "world's option": (("run", "river_swim", "-w", ""), {"states=", "horizon=", "noise="}),
    "no prior within a world": (("run", "random_mdp", "-w", "p"), set()),
    "prior option": (("run", "-p", "m"), {"mean=", "mass="}),
    "prior word": (("learn", "FrozenLake-v1", "-p", "stationary="), {"stationary=yes", "stationary=no"}),
    "task": (("learn", "FrozenLake-v1", "--stop"), {"--stop-when-sure", "--stop-at-return"}),
    "environment": (("learn", "klearning/Deep"), {"klearning/DeepSea-v0"}),
    "environment's option": (("learn", "FrozenLake-v1", "-e", "map"), {"map_name="}),
    "our environment's option": (("learn", "klearning/DeepSea-v0", "-e", "d"), {"depth="}),
    "figure": (("reproduce", "figure1", "figure"), {"figure1", "figure2", "figure3", "figure4"}),
    "protocol": (("reproduce", "--protocol", ""), {"text", "printed"}),
    "experiment": (("benchmark", "bsuite", "deep"), {"deep_sea", "deep_sea_stochastic"}),
    "problem": (("benchmark", "gymnasium", "Taxi", "Cl"), {"CliffWalking"}),
    "nonsense": (("run", "nowhere", "Nobody", "-a", ""), set()),
}


@pytest.mark.parametrize(("line", "expected"), OFFERED.values(), ids=OFFERED)
def test_offers(line, expected):
    assert set(offered(*line)) >= expected
    if line[-1] or not expected:
        assert set(offered(*line)) == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_offers_the_words_that_an_agent_takes(agent):
    """Every word that is offered is taken, and what is neither offered nor a number is refused."""
    for name, words in getattr(AGENTS[agent], "choices", {}).items():
        assert offered("run", "deep_sea", agent, "-a", f"{name}=") == [f"{name}={word}" for word in words]
        for word in words:
            AGENTS[agent](**{name: word})
        with pytest.raises(ValueError, match=f"{name}='nonsense' is unknown"):
            AGENTS[agent](**{name: "nonsense"})


@pytest.mark.parametrize("agent", AGENTS)
def test_every_option_that_takes_words_offers_some(agent):
    kinds = {field.name: str(field.type) for field in fields(AGENTS[agent])}
    takes_words = {name for name, kind in kinds.items() if "str" in kind or "Literal" in kind}
    assert takes_words == set(getattr(AGENTS[agent], "choices", {}))


def test_every_bonus_is_offered():
    assert offered("run", "-a", "bonus=") == [f"bonus={name}" for name in BONUSES]


def test_bash_takes_words_apart_at_equals():
    assert join_pairs(["run", "-w", "depth", "=", "20", "-a", "bonus", "=", "s"]) == [
        "run",
        "-w",
        "depth=20",
        "-a",
        "bonus=s",
    ]
    assert join_pairs(["run", "-a", "bonus", "="]) == ["run", "-a", "bonus="]
    assert join_pairs(["run", "-a", ""]) == ["run", "-a", ""]


def test_bash_gets_what_comes_after_equals(monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "klearning run -a bonus = s")
    monkeypatch.setenv("COMP_CWORD", "5")
    assert Bash(commands, {}, "klearning", VARIABLE).complete() == "plain,sharp\nplain,split"


@pytest.fixture
def path(tmp_path):
    """A PATH on which there is a `klearning`."""
    program = tmp_path / "klearning"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m klearning "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def in_shell(shell, script, path):
    return subprocess.run([shell, *script], capture_output=True, text=True, env=path, timeout=300)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_itself(path):
    script = (
        'eval "$(_KLEARNING_COMPLETE=bash_source klearning)"; compopt() { :; }; '
        "COMP_WORDS=(klearning run deep_sea KL); COMP_CWORD=3; _klearning_completion klearning; echo ${COMPREPLY[*]}; "
        "COMPREPLY=(); COMP_WORDS=(klearning run -w dep); COMP_CWORD=3; _klearning_completion klearning; "
        "echo ${COMPREPLY[*]}; complete -p klearning"
    )
    done = in_shell("bash", ["--norc", "-c", script], path)
    assert done.stdout.splitlines()[:2] == ["KLearning", "depth="], done.stderr
    assert "_klearning_completion" in done.stdout
    assert not done.stderr


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_itself(path):
    script = "_KLEARNING_COMPLETE=fish_source klearning | source; "
    script += "complete -C 'klearning run deep_sea KL'; complete -C 'klearning run -w dep'"
    done = in_shell("fish", ["--no-config", "-c", script], path)
    assert done.stdout.split() == ["KLearning", "depth="], done.stderr


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_reads_the_script(path):
    script = 'autoload -U compinit; compinit -D -u; eval "$(_KLEARNING_COMPLETE=zsh_source klearning)"; '
    script += "print $_comps[klearning]"
    done = in_shell("zsh", ["-f", "-c", script], path)
    assert done.stdout.strip() == "_klearning_completion", done.stderr


def test_no_space_after_name_equals():
    for shell, script in {"bash": "compopt -o nospace", "zsh": "compadd -U -S ''"}.items():
        assert script in klearning(env={**os.environ, VARIABLE: f"{shell}_source"}).stdout
