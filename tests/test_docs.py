"""What the documents say can be done, done: snippets, commands, links."""

import re
import shlex
from pathlib import Path

import pytest

from tests.test_cli import klearning

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.S)


def test_the_snippet_of_the_readme(capsys):
    exec(blocks("README.md", "python")[0], {})
    assert "85" in capsys.readouterr().out  # the first hit that its comment promises


COMMANDS = [line for block in blocks("README.md", "sh") for line in block.splitlines() if line.startswith("klearning")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme(command, tmp_path):
    done = klearning(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "run.png").exists()


def test_the_sweep_of_the_docs(tmp_path):
    text = (
        blocks("docs/experiments.md", "toml")[0].replace("episodes = 2000", "episodes = 20").replace("[10, 20]", "[4]")
    )
    (tmp_path / "my_sweep.toml").write_text(text)
    for command in blocks("docs/experiments.md", "sh")[1].splitlines():
        done = klearning(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 1 + 3 * 5


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_agent_has_a_page():
    from klearning.agents import AGENTS

    index = (ROOT / "docs" / "agents" / "README.md").read_text()
    for name in AGENTS:
        assert f"`{name}`" in index


def test_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text())) <= targets
