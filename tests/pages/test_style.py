"""Pages keep to docs/style.md: limits of length, absolute links in README, mathematics, idiomatic sentences."""

import re
import tomllib

from klearning.tabular.agents import AGENTS
from klearning.tabular.worlds import WORLDS
from tests.support.doc_blocks import PAGES, ROOT

README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIMITS = {"howto": 1200, "reference": 1500, "evidence": 1500, "notebooks": 1500, "": 1500}  # words, by folder of docs
LONGER = {"docs/evidence/calibrated.md", "docs/evidence/deep.md"}
DOCS = [page for page in PAGES if (ROOT / "docs") in page.parents]
PLACES = 6  # sentences in which "where" is a place
IDIOMS = {
    r"(?<!there )\b(is|are|was) no (?!(longer|more|less|fewer|better|worse|larger|smaller)\b)": "write 'is not a'",
    r"\bso many\b": "write N",
    r"\banew\b": "write 'again'",
    r"\bwhere (it|there|they|none|one|nothing|that|this) (is|are|was|does|do|has|have|needs|would)\b": "write 'if'",
    r"\b(goes|go) on where\b": "write 'resumes'",
    r"\bof one's own\b": "write 'your own'",
    r"\b(for ever|dear|nobody's|thereby|whoever)\b": "use a plainer word",
}


def relative(page):
    return page.relative_to(ROOT).as_posix()


def prose(page):
    """The text of a page without its code."""
    return re.sub(r"^```.*?^```$|`[^`]*`", "", page.read_text(), flags=re.M | re.S)


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_the_readme_counts_worlds_and_agents():
    assert f"{len(WORLDS)} worlds, {len(AGENTS)} agents" in README


def test_the_front_page_begins_with_a_sentence_code_and_a_picture():
    for page in (README, (ROOT / "docs" / "README.md").read_text()):
        top, _, _ = page.partition("\n## ")
        title, sentence, *_ = top.split("\n\n")
        assert title == "# klearning"
        assert sentence.endswith(".")
        assert "```python\nimport klearning as kl\n" in top
        assert "\n![" in top


def test_links_of_the_readme_also_work_on_a_package_index():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 10
    base = PROJECT.get("urls", {}).get("Repository", "https://github.com/klearning/klearning")
    raw = base.replace("github.com", "raw.githubusercontent.com")
    for link in links:
        assert link.startswith("https://"), f"README links to {link}: give the whole address"
        for prefix in (f"{base}/blob/main/", f"{raw}/main/"):
            if link.startswith(prefix):
                path = link.removeprefix(prefix).partition("#")[0]
                assert (ROOT / path).exists(), f"README links to {path}"


def test_no_page_is_longer_than_its_kind_allows():
    long = {}
    for page in DOCS:
        folders = page.relative_to(ROOT / "docs").parts[:-1]
        limit, words = LIMITS.get(folders[0] if folders else ""), len(page.read_text().split())
        if limit and words > limit and relative(page) not in LONGER:
            long[relative(page)] = words
    assert not long


def test_sentences_are_idiomatic():
    found = []
    for page in [*DOCS, ROOT / "README.md"]:
        if page.name != "style.md":  # it shows what not to write
            text = prose(page)
            found += [
                f"{relative(page)}: {match[0]!r}, {advice}"
                for pattern, advice in IDIOMS.items()
                for match in re.finditer(pattern, text, re.I)
            ]
    assert len(found) <= PLACES, found


def test_equations_are_mathematics():
    """An indented block would be code, and code is fenced."""
    for page in DOCS:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        blocks = re.findall(r"(?:^|\n\n)((?: {4}.*\n)+)", text)
        assert not [block for block in blocks if re.search(r"[=≤≥←∝]", block)], relative(page)
