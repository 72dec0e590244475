"""What an index would show: addresses that agree, a README that renders anywhere, hints that name real packages."""

import re
import tomllib

import klearning as kl
from tests.support.doc_blocks import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ADDRESS = PROJECT["urls"]["Repository"]
README = (ROOT / "README.md").read_text()
CITATION = (ROOT / "CITATION.cff").read_text()


def in_the_tree(link):
    """The file that an address of the repository, or of its pictures, leads to; None if it leads elsewhere."""
    raw = ADDRESS.replace("//github.com/", "//raw.githubusercontent.com/")
    for begin in (f"{ADDRESS}/blob/main/", f"{ADDRESS}/tree/main/", f"{raw}/main/"):
        if link.startswith(begin):
            return ROOT / link.removeprefix(begin).partition("#")[0]
    return None


def test_the_address_is_the_same_everywhere():
    assert all(url.startswith(ADDRESS) for url in PROJECT["urls"].values())
    assert f'repository-code: "{ADDRESS}"' in CITATION
    assert re.findall(r"^ *url += \{(.*)\}", README, re.M) == [ADDRESS]


def test_links_of_the_readme_are_absolute_and_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        path = in_the_tree(link)
        assert link.startswith("https://"), f"{link} leads nowhere on an index"
        assert path is None or path.exists(), f"README.md links to {link}"
        assert path is not None or not link.startswith(ADDRESS), f"{link} is not a file of the repository"


def test_who_wrote_it_and_which_version():
    (author,) = PROJECT["authors"]
    assert f'- name: "{author["name"]}"' in CITATION
    assert f"{{{author['name']}}}" in README
    assert f"\nversion: {kl.__version__}\n" in CITATION


def test_hints_name_packages_that_can_be_installed():
    """`pip install klearning[…]` cannot, before anything is published."""
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    known = {re.split(r"[\[>]", requirement)[0] for requirement in extras} - {"klearning"} | {"box2d", "pygame"}
    hints = [
        hint
        for path in sorted((ROOT / "src").rglob("*.py"))
        for hint in re.findall(r"pip install (?:--upgrade )?(.+?)(?:\"| on )", path.read_text())
    ]
    assert len(hints) > 8
    for hint in hints:
        assert {word.strip("'").partition("[")[0] for word in hint.split()} <= known, f"pip install {hint}"
