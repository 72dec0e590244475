"""Registries of agents, worlds, games and players: built-in ones and those that users register.

The data of a run include the hash of the source file of a user's agent or world, and so does its name: changed code
gives another run. Built-in ones have no hash, since every run records the version of klearning.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

DIGITS = 16  # of the SHA-256 of a source file


class Origin(NamedTuple):
    """The origin of a registered object: hash of its source file ("" if it has none), and module to import."""

    code: str
    module: str


RESERVED = ("name", *Origin._fields)  # keys in the data of an agent or a world besides its parameters
REGISTRIES: dict[str, "Registry"] = {}  # by kind; each is added when its package is imported


class Registry(dict[str, Any]):
    """Classes or functions that make agents, worlds, games or players, by name: built-in ones, then registered ones.

    ``room`` is the module with the public function ``register_<kind>``.
    """

    def __init__(self, kind: str, ours: Iterable[Callable[..., Any]], room: str = "klearning") -> None:
        super().__init__({maker.__name__: maker for maker in ours})
        self.kind, self.room, self.ours = kind, room, frozenset(self)
        REGISTRIES[kind] = self
        self.origins: dict[str, Origin] = {}
        self.elsewhere: dict[str, ModuleType] = {}  # names that an extra provides; imported on first use

    def register(self, maker: Callable[..., Any]) -> None:
        """Add a maker under its own name. It replaces a registered one of that name, never a built-in one."""
        name = maker.__name__
        if self.get(name) is maker:
            return
        if not name.isidentifier():
            raise ValueError(f"{self.kind}={name!r} has no name: define it with def or class")
        if name in self.ours:
            raise ValueError(f"{self.kind}={name!r} is built in: give yours another name")
        for parameter in inspect.signature(maker).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ValueError(f"{self.kind}={name!r} takes {parameter}: give every parameter a name")
            if parameter.name in RESERVED:
                raise ValueError(
                    f"{self.kind}={name!r} has a parameter {parameter.name!r}, which is reserved: rename it"
                )
        self[name], self.origins[name] = maker, origin_of(maker)

    def origin(self, name: str) -> dict[str, str]:
        """The data about the code of a registered maker; empty for a built-in one."""
        origin = self.origins.get(name)
        if origin is None:
            return {}
        if not origin.code:
            raise ValueError(
                f"{self.kind}={name!r} has no source file: define it in one, because its hash is part of a run's name"
            )
        return origin._asdict()


def origin_of(maker: Callable[..., Any]) -> Origin:
    thing = inspect.unwrap(maker)
    module = thing.__module__
    try:
        path = Path(inspect.getfile(thing))
        source = path.read_bytes() if path.is_file() else inspect.getsource(thing).encode()
    except (OSError, TypeError):  # typed in, or built by other code
        return Origin("", module)
    # a single file is imported under its own name, even if it runs as `__main__`
    return Origin(hashlib.sha256(source).hexdigest()[:DIGITS], module if "." in module else path.stem)
