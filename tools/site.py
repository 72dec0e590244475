"""The documentation as a site: one HTML file per page, nothing loaded from anywhere, no script.

    python -m tools.site out/site

The Markdown is the documentation; this only dresses it. The map of pages, docs/README.md, is the first page, and its
headings and lists are the navigation of all others.
"""

import html
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

ROOT = Path(__file__).parents[1]
MAP = Path("docs/README.md")
STYLE = Path(__file__).with_name("site.css")
OUTSIDE = ("http://", "https://", "mailto:")


class Page(NamedTuple):
    """A Markdown file, read."""

    source: Path  # relative to the project
    title: str
    tokens: list[Token]
    headings: list[tuple[str, str]]  # of the second level: anchor and text


class Group(NamedTuple):
    """A heading of the map, and the pages under it."""

    title: str
    pages: list[tuple[Path, str]]


def sources() -> list[Path]:
    """Every page, relative to the project."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def place(source: Path) -> Path:
    """Where a file of the project lies in the site: docs/ is its top, and a README the index of its folder."""
    path = source.relative_to("docs") if source.parts[0] == "docs" else Path("project") / source
    if path.suffix != ".md":
        return path
    return path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html")


def build(out: Path) -> list[Path]:
    """Write the site; returns its pages."""
    markdown = parser()
    pages = [read(markdown, source) for source in sources()]
    groups = navigation(next(page for page in pages if page.source == MAP))
    used: set[Path] = set()
    for page in pages:
        target = out / place(page.source)
        target.parent.mkdir(parents=True, exist_ok=True)
        used |= relink(page)
        body = markdown.renderer.render(page.tokens, markdown.options, {})
        target.write_text(dress(page, groups, body))
    for file in used:
        (out / place(file)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, out / place(file))
    colours = HtmlFormatter(style="friendly").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    looks = f"{STYLE.read_text()}\n{colours}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
    (out / "site.css").write_text(re.sub(r"^\.code \{[^}]*\}$", "", looks, flags=re.M))
    return [out / place(page.source) for page in pages]


def parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True, "highlight": colour}).enable("table")
    markdown.add_render_rule("html_block", lambda self, tokens, i, options, env: "")  # comments for the tests
    markdown.add_render_rule("table_open", lambda self, tokens, i, options, env: '<div class="wide"><table>\n')
    markdown.add_render_rule("table_close", lambda self, tokens, i, options, env: "</table></div>\n")
    return markdown


def colour(code: str, language: str, attributes: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    inside = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>'


def read(markdown: MarkdownIt, source: Path) -> Page:
    """Parse a page and give its headings anchors, as the usual hosts of Markdown do."""
    tokens = markdown.parse((ROOT / source).read_text())
    taken, headings, title = Counter[str](), [], source.stem
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = plain(inline)
            anchor = slug(text, taken)
            opening.attrSet("id", anchor)
            if opening.tag == "h1":
                title = text
            elif opening.tag == "h2":
                headings.append((anchor, text))
    return Page(source, title, tokens, headings)


def plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))


def slug(text: str, taken: Counter[str]) -> str:
    name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name] - 1}"


def navigation(page: Page) -> list[Group]:
    """The groups of the map: its second-level headings, and the links that begin the items below them."""
    groups: list[Group] = []
    for before, token in pairwise(page.tokens):
        if before.type == "heading_open" and before.tag == "h2":
            groups.append(Group(plain(token), []))
        children = token.children or []
        if token.type == "inline" and children and children[0].type == "link_open" and groups:
            target = str(children[0].attrGet("href"))
            groups[-1].pages.append((resolve(page.source, target.split("#")[0]), children[1].content))
    return groups


def resolve(source: Path, target: str) -> Path:
    """The file that a link means, relative to the project."""
    return Path(os.path.normpath(source.parent / target))


def links(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    """Every link and picture within the project, and the attribute that names it."""
    for token in tokens:
        for child in token.children or []:
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name and not str(child.attrGet(name)).startswith(OUTSIDE):
                yield child, name


def relink(page: Page) -> set[Path]:
    """Turn links between files of the project into links within the site; returns the files that are no pages."""
    files = set()
    for token, name in links(page.tokens):
        path, _, anchor = str(token.attrGet(name)).partition("#")
        if path:
            meant = resolve(page.source, path)
            if not (ROOT / meant).is_file():
                raise FileNotFoundError(f"{page.source} links to {path}, which is not there")
            if meant.suffix != ".md":
                files.add(meant)
            path = relative(page.source, meant)
        token.attrSet(name, path + (f"#{anchor}" if anchor else ""))
    return files


def relative(source: Path, target: Path) -> str:
    return Path(os.path.relpath(place(target), place(source).parent)).as_posix()


def dress(page: Page, groups: list[Group], body: str) -> str:
    """The page with its navigation around it."""
    top = relative(page.source, MAP)
    style = top.removesuffix("index.html") + "site.css"
    title = page.title if page.source == MAP else f"{page.title} · klearning"
    return f"""<!DOCTYPE html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="{style}">
<link rel="icon" href="data:,">
</head>
<body>
<header><a class="name" href="{top}">klearning</a> <a class="jump" href="#:pages">All pages</a></header>
<main>
{body}</main>
<nav id=":pages" aria-label="Pages">
{"".join(group_html(page, group) for group in groups)}</nav>
</body>
</html>
"""


def group_html(page: Page, group: Group) -> str:
    items = "".join(item_html(page, source, text) for source, text in group.pages)
    return f"<p>{html.escape(group.title)}</p>\n<ul>\n{items}</ul>\n"


def item_html(page: Page, source: Path, text: str) -> str:
    here = ' aria-current="page"' if source == page.source else ""
    inside = ""
    if here and len(page.headings) > 1:
        parts = "".join(f'<li><a href="#{anchor}">{html.escape(name)}</a></li>\n' for anchor, name in page.headings)
        inside = f"\n<ul>\n{parts}</ul>\n"
    return f'<li><a href="{relative(page.source, source)}"{here}>{html.escape(text)}</a>{inside}</li>\n'


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/site")
    shutil.rmtree(out, ignore_errors=True)
    print(f"{len(build(out))} pages in {out}: open {out / 'index.html'}")


if __name__ == "__main__":
    main()
