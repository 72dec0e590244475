"""docs/reference/api.md, made from the public names: signatures, docstrings, fields with their comments.

python -m tools.api
"""

import ast
import inspect
import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import klearning
from klearning.agents import AGENTS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"

# in the order in which data flow; each room of the package belongs to one section
SECTIONS: dict[str, tuple[str, ...]] = {
    "Worlds": ("models", "worlds"),
    "Prior and belief": ("beliefs",),
    "Planning": ("optimism",),
    "Agents": ("agents",),
    "Running": ("trials",),
    "Comparing": ("comparison",),
    "Simulators": ("environments",),
    "Theory": ("theory",),
}

HEAD = """# API

Every public name of `klearning`, made from the docstrings by `python -m tools.api`. Tables are one array per layer,
(states, actions), unless it says otherwise; arguments after `*` are given by name.
"""


def main() -> None:
    PAGE.write_text(page())


def page() -> str:
    """The whole page."""
    names = [name for name in klearning.__all__ if name != "__version__"]
    text, anchors = [HEAD], Counter[str]()
    for title, rooms in SECTIONS.items():
        here = [name for name in names if room(getattr(klearning, name)) in rooms]
        here.sort(key=lambda name: (rooms.index(room(getattr(klearning, name))), position(getattr(klearning, name))))
        links = ", ".join(f"[`{name}`](#{anchor(name, anchors)})" for name in here)
        text += [f"## {title}\n", f"{links}.\n", *(entry(name) for name in here)]
        names = [name for name in names if name not in here]
    if names:
        raise ValueError(f"{names[0]} is of klearning.{room(getattr(klearning, names[0]))}: give that room a section")
    return "\n".join(text)


def room(thing: Any) -> str:
    return thing.__module__.split(".")[1]


def anchor(name: str, taken: Counter[str]) -> str:
    """Where a heading can be linked to: `Schedule` and `schedule` differ by a number."""
    taken[name.lower()] += 1
    again = taken[name.lower()] - 1
    return name.lower() + (f"-{again}" if again else "")


def position(thing: Any) -> tuple[str, int]:
    """File and line, the order of the source; agents are listed in one."""
    if thing.__name__ in AGENTS:
        return "", list(AGENTS).index(thing.__name__)
    made = inspect.unwrap(thing)  # a decorator's own file lies elsewhere on every machine
    return inspect.getsourcefile(made) or "", inspect.getsourcelines(made)[1]


def entry(name: str) -> str:
    """A public name: how it is called, what it says, what it holds."""
    thing = getattr(klearning, name)
    source = textwrap.dedent(inspect.getsource(thing))
    node = ast.parse(source).body[0]
    text = [f"### {name}\n"]
    if isinstance(node, ast.ClassDef):
        text += [code(construction(node)), prose(ast.get_docstring(node)), fields(node, source.splitlines())]
        text += [member(name, child) for child in node.body if isinstance(child, ast.FunctionDef) and public(child)]
    else:
        assert isinstance(node, ast.FunctionDef)
        text += [code(signature(node)), prose(ast.get_docstring(node))]
    return "\n".join(part for part in text if part)


def public(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_") and ast.get_docstring(node) is not None


def decorators(node: ast.FunctionDef) -> set[str]:
    return {ast.unparse(d) for d in node.decorator_list}


def signature(node: ast.FunctionDef, name: str | None = None, bound: bool = False) -> str:
    """`name(arguments) -> result`, one line per argument if long; a method's own first argument is left out."""
    own = [*node.args.posonlyargs, *node.args.args][0].arg if bound else None
    parts = [part for part in arguments(node.args) if part.split(":")[0] != own]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return call(name or node.name, parts, result.replace("'", ""))


def arguments(args: ast.arguments) -> list[str]:
    """Each argument as it stands in the source, and `*` before those that are given by name."""
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    parts = [argument(a, d) for a, d in zip(plain, defaults, strict=True)]
    if args.kwonlyargs:
        parts += ["*", *(argument(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True))]
    return parts


def argument(a: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(a.annotation)}".replace("'", "") if a.annotation else ""  # names yet to come are quoted
    return f"{a.arg}{kind}" + (f" = {ast.unparse(default)}" if default is not None else "")


def call(name: str, parts: list[str], result: str = "") -> str:
    line = f"{name}({', '.join(parts)}){result}"
    return line if len(line) <= 110 else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def construction(node: ast.ClassDef) -> str:
    """How one is made: by its `__init__`, or by its fields; a class that is neither has only its name."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            return signature(child, node.name, bound=True).removesuffix(" -> None")
    bases = ", ".join(map(ast.unparse, node.bases))
    if bases == "NamedTuple" or any(ast.unparse(d).startswith("dataclass") for d in node.decorator_list):
        return call(node.name, [field_text(f) for f in held(node)])
    return f"class {node.name}({bases})"


def held(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [c for c in node.body if isinstance(c, ast.AnnAssign) and "ClassVar" not in ast.unparse(c.annotation)]


def field_text(f: ast.AnnAssign) -> str:
    default = "" if f.value is None else f" = {ast.unparse(f.value)}"
    made = re.fullmatch(r" = field\(default_factory=(\w+)\)", default)
    return f"{ast.unparse(f.target)}: {ast.unparse(f.annotation)}" + (f" = {made.group(1)}()" if made else default)


def fields(node: ast.ClassDef, lines: list[str]) -> str:
    """The fields that a comment explains."""
    said = []
    for f in held(node):
        comment = re.search(r"  # (.+)$", lines[f.lineno - 1])
        if comment:
            said.append(f"- `{ast.unparse(f.target)}`: {comment.group(1)}")
    return "\n".join(said) + "\n" if said else ""


def member(owner: str, node: ast.FunctionDef) -> str:
    """A method or a property, with what it says."""
    kinds = decorators(node)
    if "property" in kinds:
        shown = f".{node.name} -> {ast.unparse(node.returns)}" if node.returns else f".{node.name}"
    else:
        before = f"{owner}." if "classmethod" in kinds else "."
        shown = signature(node, before + node.name, bound="staticmethod" not in kinds)
    return f"{code(shown)}\n{prose(ast.get_docstring(node))}"


def code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def prose(docstring: str | None) -> str:
    """A docstring is nearly Markdown already; `\\b`, which is for the command line, goes."""
    return (docstring or "").replace("\b\n", "").strip() + "\n"


if __name__ == "__main__":
    main()
