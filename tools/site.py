"""A Sphinx extension for our pages and docstrings, loaded by docs/conf.py.

The headings and lists of index pages become the navigation. Equations become MathML, which browsers show without a
script. Notebooks can be downloaded. A docstring is plain text with `code` in it, and the comment beside a field
describes the field.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpy.typing import ArrayLike
from sphinx.addnodes import desc_annotation
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

from klearning.numerics import types
from tools import notebooks

NOTEBOOKS = {f"docs/notebooks/{path.stem}": path for path in notebooks.PAGES}
MAPS = ("docs/README", "docs/reference/api", "docs/reference/agents/README")
NAMES = {"ArrayLike": ArrayLike, **{name: kind for name, kind in vars(types).items() if name[0].isupper()}}
LONG = {stringify_annotation(kind, "smart"): name for name, kind in NAMES.items()}
LONG |= {re.sub(r"~[\w.]+\.", "", text): name for text, name in LONG.items()}  # as pages show them


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", navigate)
    app.connect("source-read", offer_notebook)
    app.connect("build-finished", write_notebooks)
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    app.connect("autodoc-process-docstring", markup)
    app.connect("autodoc-process-signature", shorten)
    app.connect("doctree-read", shorten_properties)
    app.connect("autodoc-skip-member", is_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def navigate(app: Sphinx, page: str, source: list[str]) -> None:
    """Add a hidden toctree for each heading of an index page, with the pages that its list or table names."""
    if page in MAPS:
        head, *parts = re.split(r"^## ", source[0], flags=re.M)
        trees = [tree(head), *(tree(part, part.partition("\n")[0]) for part in parts)]
        source[0] += "\n".join(trees)


def tree(text: str, title: str = "") -> str:
    """A toctree of the pages that begin a list item or end a table row; an item's words are the title."""
    items = re.findall(r"^- \[(.+?)\]\((\S+\.md)\)", text, re.M)
    rows = re.findall(r"\]\((\S+\.md)\) \|$", text, re.M)
    pages = [*(f"{words} <{page}>" for words, page in items), *dict.fromkeys(rows)]
    caption = f":caption: {title}\n" if title else ""
    return "\n".join(["", "```{toctree}", ":hidden:", caption, *pages, "```", ""]) if pages else ""


def offer_notebook(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a link to the .ipynb file below the title of a notebook."""
    if page in NOTEBOOKS:
        link = f'<p class="download"><a href="{NOTEBOOKS[page].stem}.ipynb" download>Download this notebook</a></p>'
        source[0] = re.sub(r"^# .+\n", lambda title: f"{title[0]}\n{link}\n", source[0], count=1, flags=re.M)


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the .ipynb files beside the pages."""
    if error is None and app.builder.format == "html":
        for page, path in NOTEBOOKS.items():
            target = Path(app.outdir, page).with_suffix(".ipynb")
            target.write_text(nbformat.writes(notebooks.read(path)))  # type: ignore[no-untyped-call]


def show_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def show_block(translator: Any, node: nodes.math_block) -> None:
    mathml = tex2mathml(node.astext().strip(), as_block=True)
    mathml = mathml.replace('<mtable class="ams-align">', '<mtable class="ams-align" displaystyle="true">')
    translator.body.append(f'<div class="math">{mathml}</div>\n')
    raise nodes.SkipNode


def markup(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText: indented lines are code, and a list needs no empty line before it."""
    text = verbatim("\n".join(lines).replace("\b\n", ""))
    text = re.sub(r"^(\S.*\n)?\n(?=    )", r"\1\n::\n\n", text, flags=re.M)
    text = re.sub(r"^((?!- )\S.*\n)(?=- )", r"\1\n", text, flags=re.M)
    lines[:] = [*text.split("\n"), "", *(fields(thing) if what == "class" else [])]


def verbatim(text: str) -> str:
    """Escape `|` and `_`, which mean something to reStructuredText, outside code."""
    return re.sub(r"(``?[^`]+``?|^    .*)|([|_\\])", lambda m: m[1] or rf"\{m[2]}", text, flags=re.M)


def fields(thing: type) -> list[str]:
    """The fields of a class that a comment explains."""
    source = textwrap.dedent(inspect.getsource(thing))
    node, lines = ast.parse(source).body[0], source.splitlines()
    assert isinstance(node, ast.ClassDef)
    text: list[str] = []
    for field in node.body:
        comment = re.search(r"  # (.+)$", lines[field.lineno - 1])
        if isinstance(field, ast.AnnAssign) and comment:
            name, kind = ast.unparse(field.target), ast.unparse(field.annotation)
            words = verbatim(comment[1])
            text += [f".. attribute:: {name}", f"   :type: {kind}", "   :no-index-entry:", "", f"   {words}", ""]
    return text


def shorten(app: Sphinx, what: str, name: str, thing: Any, options: Any, *signature: str | None) -> Any:
    arguments, result = (text and brief(text) for text in signature)
    for factory in factories(thing):
        arguments = arguments and arguments.replace("<factory>", f"{factory.__name__}()", 1)
    return ("" if arguments == "(*args, **kwargs)" else arguments), result


def factories(thing: Any) -> list[Any]:
    """The default factories of a record's fields, in order."""
    made = [field.default_factory for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
    return [factory for factory in made if factory is not dataclasses.MISSING]


def shorten_properties(app: Sphinx, page: nodes.document) -> None:
    for node in page.findall(desc_annotation):
        if (text := node.astext()) != brief(text):
            node[:] = [nodes.Text(brief(text))]


def brief(text: str) -> str:
    """Replace types by the names that the source has for them."""
    for long in sorted(LONG, key=len, reverse=True):
        text = text.replace(long, LONG[long])
    return text


def is_field(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Skip a record's fields here: `fields` lists them."""
    return True if type(thing).__name__ in ("_tuplegetter", "member_descriptor") else None
