"""What Sphinx is told about our pages and docstrings: an extension, named by docs/conf.py.

Pages that list others are the navigation, by the headings and lists that they have. A docstring is plain text with
`code` in it, and the comment beside a field says what it is.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

from docutils import nodes
from numpy.typing import ArrayLike
from sphinx.addnodes import desc_annotation
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

from klearning.numerics import types

MAPS = ("docs/README", "docs/reference/api", "docs/reference/agents/README")
NAMES = {"ArrayLike": ArrayLike, **{name: kind for name, kind in vars(types).items() if name[0].isupper()}}
LONG = {stringify_annotation(kind, "smart"): name for name, kind in NAMES.items()}
LONG |= {re.sub(r"~[\w.]+\.", "", text): name for text, name in LONG.items()}  # as pages show them


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", navigate)
    app.connect("autodoc-process-docstring", markup)
    app.connect("autodoc-process-signature", shorten)
    app.connect("doctree-read", shorten_properties)
    app.connect("autodoc-skip-member", is_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def navigate(app: Sphinx, page: str, source: list[str]) -> None:
    """A map's headings, and the pages named by the lines below them, once more as the tree that Sphinx navigates by."""
    if page in MAPS:
        head, *parts = re.split(r"^## ", source[0], flags=re.M)
        trees = [tree(head), *(tree(part, part.partition("\n")[0]) for part in parts)]
        source[0] += "\n".join(trees)


def tree(text: str, title: str = "") -> str:
    """The pages that items of lists and rows of tables begin or end with; an item's words name its page."""
    items = re.findall(r"^- \[(.+?)\]\((\S+\.md)\)", text, re.M)
    rows = re.findall(r"\]\((\S+\.md)\) \|$", text, re.M)
    pages = [*(f"{words} <{page}>" for words, page in items), *dict.fromkeys(rows)]
    caption = f":caption: {title}\n" if title else ""
    return "\n".join(["", "```{toctree}", ":hidden:", caption, *pages, "```", ""]) if pages else ""


def markup(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """reStructuredText of a docstring: lines that are set in are code, and a list need not stand apart."""
    text = verbatim("\n".join(lines).replace("\b\n", ""))
    text = re.sub(r"^(\S.*\n)?\n(?=    )", r"\1\n::\n\n", text, flags=re.M)
    text = re.sub(r"^((?!- )\S.*\n)(?=- )", r"\1\n", text, flags=re.M)
    lines[:] = [*text.split("\n"), "", *(fields(thing) if what == "class" else [])]


def verbatim(text: str) -> str:
    """`|` and `_` are only themselves, in code or not."""
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
    """What makes the defaults of a record's fields, in order."""
    made = [field.default_factory for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
    return [factory for factory in made if factory is not dataclasses.MISSING]


def shorten_properties(app: Sphinx, page: nodes.document) -> None:
    for node in page.findall(desc_annotation):
        if (text := node.astext()) != brief(text):
            node[:] = [nodes.Text(brief(text))]


def brief(text: str) -> str:
    """Types by the names that the source has for them."""
    for long in sorted(LONG, key=len, reverse=True):
        text = text.replace(long, LONG[long])
    return text


def is_field(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """A record's field is no method: `fields` has it."""
    return True if type(thing).__name__ in ("_tuplegetter", "member_descriptor") else None
