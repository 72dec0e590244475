"""The site: built without a warning, no link or anchor to nowhere, nothing from the network, every public name."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest

import klearning as kl
from klearning import extension, games
from klearning.lab import theory
from klearning.numerics import statistics
from tests.browser.test_report_browser import until
from tests.support.browser import Browser, missing
from tests.support.crafted_records import SCRIPT
from tests.support.doc_blocks import PAGES, ROOT
from tools import bonuses, concepts, notebooks
from tools import site as site_extension

LOADS = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.I)
FETCHED = re.compile(r"""url\(\s*["']?(?!["']|data:|#)|@import""")  # by a style sheet, and not within it


class Reader(HTMLParser):
    """The anchors of a page, its links and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if "id" in known:
            self.anchors.append(known["id"])
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if tag in LOADS and known.get(LOADS[tag], "#") != "#":
            self.loads.append(known[LOADS[tag]])


def build(out: Path, source: Path = ROOT, *options: str) -> "subprocess.CompletedProcess[str]":
    """What `make site` does, except that no notebook is run: another test does that."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "nb_execution_mode=off", *options]
    return subprocess.run([*command, "-c", str(ROOT / "docs"), str(source), str(out)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder, and its pages by path."""
    out = tmp_path_factory.mktemp("site")
    done = build(out)
    assert done.returncode == 0, done.stderr
    return out, {path: Reader(path) for path in out.rglob("*.html")}


@pytest.mark.slow
def test_every_markdown_file_is_a_page(site):
    out, pages = site
    sources = [*(page for page in PAGES if page != ROOT / "README.md"), ROOT / "examples" / "README.md"]
    assert {out / page.relative_to(ROOT).with_suffix(".html") for page in sources} <= set(pages)


@pytest.mark.slow
def test_no_link_leads_nowhere(site):
    _, pages = site
    for path, page in pages.items():
        assert len(set(page.anchors)) == len(page.anchors), f"{path.name} has an anchor twice"
        for link in page.links:
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if not SCHEME.match(link):
                assert target.is_file(), f"{path.name} links to {link}"
                if anchor:
                    assert anchor in pages[target].anchors, f"{path.name} links to {link}"


@pytest.mark.slow
def test_nothing_is_loaded_from_the_network(site):
    out, pages = site
    for path, page in pages.items():
        for what in page.loads:
            assert not SCHEME.match(what), f"{path.name} loads {what}"
            assert (path.parent / what.partition("?")[0]).resolve().is_file(), f"{path.name} lacks {what}"
    for sheet in out.rglob("*.css"):
        assert not FETCHED.search(sheet.read_text()), f"{sheet.name} loads something"


@pytest.mark.slow
def test_notebooks_can_be_downloaded(site):
    out, pages = site
    for path in notebooks.PAGES:
        page = out / "docs" / "notebooks" / f"{path.stem}.html"
        assert f"{path.stem}.ipynb" in pages[page].links
        notebook = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
        assert sum(cell.cell_type == "code" for cell in notebook.cells) > 10


@pytest.mark.slow
def test_equations_are_shown_without_a_script(site):
    out, _ = site
    theory_page = (out / "docs" / "reference" / "theory.html").read_text()
    assert theory_page.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">') >= 4
    pages = [path for path in out.rglob("*.html") if "notebooks" not in path.parts]
    assert not [path for path in pages if "$$" in re.sub(r"<code.*?</code>", "", path.read_text(), flags=re.S)]


@pytest.mark.slow
def test_no_page_is_wider_than_a_phone(site):
    """Wide equations, tables and code scroll inside the page."""
    if why := missing():
        pytest.skip(why)
    out, _ = site
    with Browser(width=390, height=844) as browser:
        for page in ("docs/README", "docs/concepts", "docs/reference/theory", "docs/reference/agents/vapor"):
            browser.open(f"{(out / page).as_uri()}.html")
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= 390, f"{page} is {wide} pixels wide on a phone"


@pytest.mark.slow
def test_no_script_of_an_address_runs(site):
    """What somebody searches for, or wants to see marked, comes with a link, which a stranger may have made."""
    if why := missing():
        pytest.skip(why)
    out, _ = site
    words = quote(SCRIPT)
    with Browser() as browser:
        for address in (f"search.html?q=policy+{words}", f"docs/README.html?highlight={words}#{words}"):
            browser.open(f"{out.as_uri()}/{address}")
            if "search" in address:
                until(browser, "return document.querySelector('#search-results h2')")
            assert browser.run("return document.title") != "owned"
            assert browser.run("return document.querySelectorAll('img[src=x]').length") == 0


@pytest.mark.slow
@pytest.mark.parametrize("room", [kl, games, statistics, theory, extension], ids=lambda room: room.__name__)
def test_every_public_name_has_an_entry(site, room):
    """One, under the name by which it is imported; what `klearning` has too stands there."""
    _, pages = site
    entries = [anchor for page in pages.values() for anchor in page.anchors]
    for name in set(room.__all__) - {"__version__", "DeepKLearning"}:  # the latter needs JAX
        named = [f"{module.__name__}.{name}" for module in (room, kl)]
        assert set(named) & set(entries), f"{named[0]} is on no page of docs/reference/api"


@pytest.mark.slow
def test_an_entry_says_what_its_source_says(site):
    """Fields with their comments, defaults and types as they are written, `|` and `_` in formulas."""
    out, _ = site
    text = re.sub(r"<[^>]+>", "", (out / "docs/reference/api/worlds.html").read_text())
    assert "(A, S) means, the kernels' order" in text
    assert "|S_l| of each layer." in text
    assert re.search(r"rewards: Sequence\[ArrayLike\],", text)
    text = re.sub(r"<[^>]+>", "", (out / "docs/reference/api/beliefs.html").read_text())
    assert re.search(r"reward: RewardFamily = Gaussian\(\)", text)
    assert "ndarray" not in text


def test_a_docstring_may_be_written_as_elsewhere():
    """A list right below its sentence, code set in, letters that mean something to reStructuredText."""
    lines = ["P(s'|s), `a|b`:", "- one_", "  more", "- two", "", "Such as", "", "    x_ = 1"]
    site_extension.markup(None, "function", "", None, None, lines)
    assert lines[:6] == ["P(s'\\|s), `a|b`:", "", "- one\\_", "  more", "- two", ""]
    assert lines[6:11] == ["Such as", "", "::", "", "    x_ = 1"]


@pytest.mark.slow
def test_what_is_wrong_is_an_error(tmp_path):
    """A link to nothing, an anchor that is not there, a page that the map does not name."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# Map\n\n[x](nowhere.md) [y](other.md#none)\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    done = build(tmp_path / "site", tmp_path, "-b", "dummy", "-D", "extensions=myst_nb")
    assert done.returncode
    for complaint in ("nowhere.md", "other.md: WARNING: document isn't included in any toctree", "'none'"):
        assert complaint in done.stderr


@pytest.mark.slow
def test_pictures_of_concepts_are_the_same_twice_and_all_shown(tmp_path):
    """Bytes of text depend on Matplotlib's version, so only two drawings of today are compared."""
    concepts.main(tmp_path / "a")
    concepts.main(tmp_path / "b")
    shown = (ROOT / "docs" / "concepts.md").read_text()
    for name in concepts.PICTURES:
        file = f"concepts_{name}.png"
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
        assert f"figures/{file}" in shown
        assert (concepts.FOLDER / file).is_file()


def test_the_table_of_bonuses_is_that_of_the_code():
    assert bonuses.pages(), "no page has the marks of the table of bonuses"
    for page in bonuses.pages():
        text = page.read_text()
        assert text == bonuses.rewritten(text), f"{page.name} is out of date: run python -m tools.bonuses"
