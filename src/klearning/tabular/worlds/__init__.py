"""The worlds, one function per file; each returns an MDP."""

from klearning.tabular.worlds.registry import SOURCES, WORLDS, register_world

__all__ = ["SOURCES", "WORLDS", "register_world"]

# `from klearning.tabular.worlds import deep_sea` is the world, not the file of that name
globals().update(WORLDS)
