"""What the documents say can be done, done: every block of code, every link. `doc_blocks` says how."""

import doctest
import re
from unittest.mock import patch

import pytest

from klearning.tabular.beliefs.rewards import FAMILIES
from tests.support.doc_blocks import ALL, LANGUAGES, PAGES, Block, promised, run_python, run_sh
from tests.support.doc_blocks import ROOT as ROOT

OWN_TEST = {"docs/evidence/errata.md"}  # its session is compared by test_errata_page


FIRST = ("README.md", "docs/start.md")  # what a new user types
SHARE = 4  # of the other blocks of Python one in four is quick; all other commands are slow


def is_late(block: Block) -> bool:
    return not block.id.startswith(FIRST) and (block.language == "sh" or ALL.index(block) % SHARE > 0)


def cases(*languages: str) -> list[object]:
    chosen = [b for b in ALL if b.language in languages and not b.skipped and b.remark("file") is None]
    return [pytest.param(b, id=b.id, marks=[pytest.mark.slow] if b.slow or is_late(b) else []) for b in chosen]


def blocks(page: str, language: str) -> list[str]:
    return [b.text for b in ALL if b.page == ROOT / page and b.language == language]


@pytest.mark.parametrize("block", cases("python"))
def test_python_runs_and_prints_what_it_says(block: Block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with patch.dict(FAMILIES):  # a page adds one
        run_python(block, tmp_path)
    printed = " ".join(capsys.readouterr().out.split())
    for what in promised(block):
        assert what in printed, f"{block.id} does not print {what!r} but {printed!r}"


@pytest.mark.slow
@pytest.mark.parametrize("block", cases("sh"))
def test_commands_succeed(block: Block, tmp_path):
    for done in run_sh(block, tmp_path):
        assert done.returncode == 0, f"{done.args}: {done.stderr}"
        assert "Traceback" not in done.stderr


SESSIONS = sorted({b.page for b in ALL if b.language == "pycon" and str(b.page.relative_to(ROOT)) not in OWN_TEST})


@pytest.mark.parametrize("page", SESSIONS, ids=lambda p: p.name)
def test_sessions_print_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "".join(b.text for b in ALL if b.page == page and b.language == "pycon")
    example = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    report: list[str] = []
    failures, _ = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert failures == 0, "".join(report)


def test_no_code_hides_from_the_tests():
    """Blocks name a language that is known here, what is skipped says why, and little is."""
    for block in ALL:
        assert block.language in LANGUAGES, f"{block.id}: {block.language!r} is none of {sorted(LANGUAGES)}"
        if block.skipped:
            assert "because" in (block.remark("test") or ""), f"{block.id} does not say why it is skipped"
    assert sum(block.skipped for block in ALL) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_agent_has_a_page():
    from klearning.tabular.agents import AGENTS

    index = (ROOT / "docs" / "reference" / "agents" / "README.md").read_text()
    for name in AGENTS:
        assert f"`{name}`" in index


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        named = set(re.findall(r"(?:`|^)make ([a-z]+)", page.read_text(), re.M))
        assert named <= targets, f"{page.name} names {named - targets}"
