"""The worlds, one function per file; each returns an MDP."""

from klearning.worlds.registry import SOURCES, WORLDS, register_world

__all__ = ["SOURCES", "WORLDS", "register_world"]
