"""Measures of the sources, at several commits side by side.

python -m tools.measures [--record] [COMMIT ...]

Without a commit: the sources as they lie here. `--record` writes docs/evidence/data/design.measures.json, which
`make pages` shows in docs/design.md.
"""

import ast
import io
import keyword
import subprocess
import sys
import tarfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "src/klearning"
LONG = 50  # lines of a function
SHARED, LEAST = 6, 40  # lines of the same shape that make two files a pair, and words in them: lists of fields have few
COMMON = 8  # a run that stands in more places is how things are written here, and not a copy

Sources = dict[str, str]  # text by path below the package


def main(words: Sequence[str]) -> None:
    commits = [word for word in words if word != "--record"]
    tables = [measures(at(commit)) for commit in commits] or [measures(here())]
    headings = ["measure", *map(short, commits)] if commits else ["measure", "here"]
    rows: list[list[Any]] = [[name, *(table[name] for table in tables)] for name in tables[0]]
    for row in [headings, *rows]:
        print(f"{row[0]:34}", *(f"{cell:>10}" for cell in row[1:]))
    if "--record" in words:
        from bench.record import record

        record("design.measures", f"python -m tools.measures {' '.join(words)}", headings, rows, device="Any machine")


def short(commit: str) -> str:
    """The first letters of its hash."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=7", commit], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def here() -> Sources:
    """The sources as they lie here."""
    folder = ROOT / PACKAGE
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.py"))}


def at(commit: str) -> Sources:
    """The sources of a commit."""
    packed = subprocess.run(["git", "archive", commit, PACKAGE], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    sources = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                sources[member.name.removeprefix(f"{PACKAGE}/")] = file.read().decode()
    return sources


def measures(sources: Sources) -> dict[str, int]:
    trees = {path: ast.parse(text) for path, text in sources.items()}
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}
    everywhere = [node for found in nodes.values() for node in found]
    outside = [node for path, found in nodes.items() if not path.startswith("cli/") for node in found]
    lengths = [length(node) for node in everywhere if isinstance(node, ast.FunctionDef)]
    return {
        "lines": sum(len(text.splitlines()) for text in sources.values()),
        "files": len(sources),
        "packages": sum(Path(path).name == "__init__.py" for path in sources),
        "names in `kl`": public_names(trees["__init__.py"]),
        "most arguments outside `cli`": max(arguments(x) for x in outside if isinstance(x, ast.FunctionDef)),
        "most arguments": max(arguments(x) for x in everywhere if isinstance(x, ast.FunctionDef)),
        "functions": len(lengths),
        f"functions over {LONG} lines": sum(n > LONG for n in lengths),
        "lines of the longest function": max(lengths),
        "functions that return `Any`": sum(returns_any(node) for node in everywhere),
        "`hasattr` and `getattr`": sum(asks(node) for node in everywhere),
        "pairs of files that share code": shared_pairs(sources),
    }


def length(function: ast.FunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def public_names(tree: ast.Module) -> int:
    """How many names `__all__` lists."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return len(ast.literal_eval(node.value))
    raise ValueError("klearning/__init__.py has no __all__")


def arguments(function: ast.FunctionDef) -> int:
    """How many arguments a caller may give."""
    given = function.args
    names = [x.arg for x in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def returns_any(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "Any"


def asks(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr")


def shared_pairs(sources: Sources) -> int:
    """Pairs of files with a run of lines that differ in names, texts and numbers alone."""
    places: dict[tuple[str, ...], set[str]] = defaultdict(set)
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    for path, text in sources.items():
        lines = list(shapes(text))
        for i in range(len(lines) - SHARED + 1):
            run = tuple(lines[i : i + SHARED])
            if sum(len(line.split()) for line in run) >= LEAST:
                places[run].add(path)
                seen[run] += 1
    pairs = {pair for run, files in places.items() if seen[run] <= COMMON for pair in combinations(sorted(files), 2)}
    return len(pairs)


def shapes(text: str) -> Iterator[str]:
    """Lines of code with names, texts and numbers left out; neither imports nor docstrings."""
    words: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if words[0] not in ("import", "from") and words != ["text"]:
                yield " ".join(words)
            words = []
        elif token.type == tokenize.NAME:
            words.append(token.string if keyword.iskeyword(token.string) else "name")
        elif token.type == tokenize.STRING:
            words.append("text")
        elif token.type == tokenize.NUMBER:
            words.append("number")
        elif token.type == tokenize.OP:
            words.append(token.string)


if __name__ == "__main__":
    main(sys.argv[1:])
