"""The agents by name: ours, which are all classes of this folder that cite a paper, and those that were registered."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

from klearning.numerics.registry import Registry


def _ours() -> Iterator[type]:
    for module in iter_modules([str(Path(__file__).parent)]):
        if module.name != "registry":
            file = import_module(f"klearning.tabular.agents.{module.name}")
            own = (thing for thing in vars(file).values() if getattr(thing, "__module__", "") == file.__name__)
            yield from (thing for thing in own if isinstance(thing, type) and getattr(thing, "paper", None))


AGENTS = Registry("agent", sorted(_ours(), key=lambda agent: agent.__name__.lower()))

Class = TypeVar("Class", bound=type)


def register_agent(agent: Class) -> Class:
    """Make an agent's class known by its name: to sweeps, saved learners, the report and the command line.

    A call, or a decorator above ``@dataclass(frozen=True)``. Its parameters must be plain data (numbers, text, lists of
    them), and the hash of its source file is part of its runs' names. `check_agent` says whether it keeps the contract.
    """
    if not isinstance(agent, type):
        raise ValueError(f"agent={agent!r} is not a class: register the class of an agent")
    if not callable(getattr(agent, "begin", None)):
        raise ValueError(f"agent={agent.__name__!r} has no method 'begin': it is not an agent, see klearning.Agent")
    AGENTS.register(agent)
    return agent
