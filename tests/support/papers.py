"""A paper at a size that tests can run."""

import os
from dataclasses import replace

from klearning.lab.experiments.store import Store
from klearning.lab.experiments.sweep import sweep
from klearning.lab.papers import PAPERS
from klearning.lab.papers.odonoghue2021.figure2 import LearningTime
from klearning.lab.papers.paper import FigureSelection

PAPER = PAPERS["odonoghue2021"]


def tiny(depths, worlds, episodes):
    """Two seeds of figure 2 up to 60 episodes, at ``depths`` by protocol, and few worlds; the rest is as it is."""
    options = {"seeds": 2, "cap": 60, "worlds": worlds, "episodes": episodes, "left_out": False}
    figures = PAPER.select(options=options).figures
    return FigureSelection(
        tuple(replace(f, depths=depths[f.protocol.name]) if isinstance(f, LearningTime) else f for f in figures),
        "a test",
    )


TINY = tiny(depths={"text": (4, 5), "printed": (4,)}, worlds=3, episodes=40)


def tiny_store(folders):
    """A store with all that `TINY` needs, to look at: one for all processes of a test run."""
    own = folders.getbasetemp()
    store = Store((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "tiny_store")
    fill(store, TINY)
    return store


def fill(store, extent):
    """Run what the store lacks."""
    result = sweep(extent.specs(), store)
    assert not result.failed
    return result


def figure(file):
    return next(figure for figure in PAPER.figures if figure.file == file)
