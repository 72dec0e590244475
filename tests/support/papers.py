"""A paper at a size that tests can run."""

from dataclasses import replace

from klearning.experiments.sweep import sweep
from klearning.papers import PAPERS
from klearning.papers.odonoghue2021.figure2 import LearningTime
from klearning.papers.paper import Extent

PAPER = PAPERS["odonoghue2021"]


def tiny(depths, worlds, episodes):
    """Two seeds of figure 2 up to 60 episodes, at ``depths`` by protocol, and few worlds; the rest is as it is."""
    options = {"seeds": 2, "cap": 60, "worlds": worlds, "episodes": episodes, "left_out": False}
    figures = PAPER.extent(options=options).figures
    return Extent(
        tuple(replace(f, depths=depths[f.protocol.name]) if isinstance(f, LearningTime) else f for f in figures),
        "a test",
    )


def fill(store, extent):
    """Run what the store lacks."""
    result = sweep(extent.specs(), store)
    assert not result.failed
    return result


def figure(file):
    return next(figure for figure in PAPER.figures if figure.file == file)
