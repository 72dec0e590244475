"""Papers whose experiments can be run again, a folder each: whatever folder here defines PAPER is one.

PAPERS         all of them by name
register(p)    adds one from elsewhere; `klearning --import FILE reproduce NAME` then knows it too
"""

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from klearning.lab.experiments.spec import Spec
from klearning.lab.papers.paper import Paper

DEFAULT = "odonoghue2021"  # the one that `klearning reproduce` means if none is named
PAPERS: dict[str, Paper] = {}


def register(paper: Paper) -> Paper:
    """Make a paper known to `klearning reproduce` and to reports."""
    if PAPERS.get(paper.name, paper).home != paper.home:
        raise ValueError(f"paper {paper.name!r} is there already, from {PAPERS[paper.name].home}: choose another name")
    PAPERS[paper.name] = paper
    return paper


def command_line(paper: Paper, words: str = "") -> str:
    """The command that makes a part of a paper."""
    return " ".join(filter(None, ("klearning reproduce", paper.name if paper.name != DEFAULT else "", words)))


def command_of(specs: Sequence[Spec]) -> str:
    """The command that makes these runs; empty if they are somebody's own."""
    for paper in PAPERS.values():
        if words := paper.command_arguments(specs):
            return command_line(paper, words)
    return ""


for folder in iter_modules(__path__):
    if folder.ispkg:
        register(import_module(f"{__name__}.{folder.name}").PAPER)
