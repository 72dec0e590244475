"""The site: every page reachable, no link or anchor to nowhere, nothing from the network; and the API page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import klearning as kl
from tools import api, bonuses, concepts, site

LOADS = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "video": "src",
}
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.I)
VOID = {"meta", "link", "img", "br", "hr", "input", "source"}


class Reader(HTMLParser):
    """Anchors, links and what is loaded; tags must nest."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loads, self.open = [], [], [], []

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if "id" in known:
            self.anchors.append(known["id"])
        if tag == "a":
            self.links.append(known["href"])
        if tag in LOADS and known.get(LOADS[tag]):
            self.loads.append((tag, known[LOADS[tag]]))
        assert tag != "script"
        assert not [name for name in known if name.startswith("on") or name in ("style", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    found = {}
    for path in site.build(out):
        reader = Reader()
        reader.feed(path.read_text())
        assert not reader.open
        found[path] = reader
    return out, found


def targets(path: Path, links) -> list[tuple[Path, str]]:
    inside = [link for link in links if not SCHEME.match(link)]
    parts = [link.partition("#") for link in inside]
    return [((path.parent / file).resolve() if file else path, anchor) for file, _, anchor in parts]


def test_every_markdown_file_is_a_page(pages):
    _, found = pages
    assert len(found) == len(site.sources()) == len(set(found))


def test_no_link_leads_nowhere(pages):
    _, found = pages
    for path, reader in found.items():
        assert len(set(reader.anchors)) == len(reader.anchors), f"{path.name} has an anchor twice"
        for target, anchor in targets(path, reader.links):
            assert target.is_file(), f"{path.name} links to {target}"
            if anchor:
                assert anchor in found[target].anchors, f"{path.name} links to #{anchor} of {target.name}"


def test_every_page_is_reached_from_the_index(pages):
    out, found = pages
    seen, ahead = set(), [out / "index.html"]
    while ahead:
        path = ahead.pop()
        if path not in seen and path in found:
            seen.add(path)
            ahead += [target for target, _ in targets(path, found[path].links)]
    assert not set(found) - seen


def test_the_map_names_every_page_of_its_own():
    """Pages of a folder that has a README are named there."""
    groups = site.navigation(site.read(site.parser(), site.MAP))
    named = {source for group in groups for source, _ in group.pages}
    folders = {source.parent for source in named if source.name == "README.md" and source.parent != Path()}
    missing = [s for s in site.sources() if s not in named and s.parent not in folders and s != site.MAP]
    assert not missing, f"docs/README.md does not name {missing}"


def test_nothing_is_loaded_from_the_network(pages):
    out, found = pages
    for path, reader in found.items():
        for tag, what in reader.loads:
            if what != "data:,":  # no icon, so that a browser asks for none
                assert not SCHEME.match(what), f"{path.name} loads {what} by {tag}"
                assert (path.parent / what).resolve().is_file(), f"{path.name} lacks {what}"
    assert not re.search(r"url\(|@import|https?:", (out / "site.css").read_text())


def test_comments_for_the_tests_are_not_shown(pages):
    _, found = pages
    assert not [path for path in found if "<!--" in path.read_text()]


def test_no_raw_html_is_lost():
    """Only comments are written as HTML: whatever else there were, the site would leave out."""
    for source in site.sources():
        for token in site.parser().parse((site.ROOT / source).read_text()):
            if token.type == "html_block":
                assert re.fullmatch(r"(<!--.*?-->\s*)+", token.content, re.S), f"{source}: {token.content}"
            for child in token.children or []:
                assert child.type != "html_inline", f"{source}: {child.content}"


def test_anchors_are_those_of_the_usual_hosts():
    taken = site.Counter()
    assert site.slug("What goes in, and why?", taken) == "what-goes-in-and-why"
    assert site.slug("deep_sea", taken) == "deep_sea"
    assert site.slug("Deep_sea", taken) == "deep_sea-1"


def test_a_link_to_nothing_is_an_error():
    page = site.Page(Path("docs/x.md"), "x", site.parser().parse("[a](nowhere.md)"), [])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        site.relink(page)


def test_the_api_page_is_that_of_the_docstrings():
    assert api.PAGE.read_text() == api.page(), "docs/reference/api.md is out of date: run python -m tools.api"


def test_the_api_page_has_every_name():
    headings = re.findall(r"^### (.+)$", api.PAGE.read_text(), re.M)
    assert sorted(headings) == sorted(name for name in kl.__all__ if name != "__version__")


def test_pictures_of_concepts_are_the_same_twice_and_all_shown(tmp_path):
    """Bytes of text depend on Matplotlib's version, so only two drawings of today are compared."""
    concepts.main(tmp_path / "a")
    concepts.main(tmp_path / "b")
    shown = (site.ROOT / "docs" / "concepts.md").read_text()
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
