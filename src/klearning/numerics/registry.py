"""Names that readers may add to: what is ours, what was registered, and which code is behind that.

What is registered has the hash of its source file in the data of its runs, and so in their names: other code is another
run. Ours has none: a version of klearning is written beside every run anyway.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

DIGITS = 16  # of the SHA-256 of a source file


class Origin(NamedTuple):
    """Where something registered comes from: its source file by hash ("" where there is none), and what to import."""

    code: str
    module: str


RESERVED = ("name", *Origin._fields)  # what the data of an agent or a world say besides its parameters


REGISTRIES: dict[str, "Registry"] = {}  # by kind, each from when its room is imported


class Registry(dict[str, Any]):
    """What makes agents, worlds, games or players, by name: first ours, then what was registered.

    ``room`` is where a reader finds the function ``register_kind`` that adds to it.
    """

    def __init__(self, kind: str, ours: Iterable[Callable[..., Any]], room: str = "klearning") -> None:
        super().__init__({maker.__name__: maker for maker in ours})
        self.kind, self.room, self.ours = kind, room, frozenset(self)
        REGISTRIES[kind] = self
        self.origins: dict[str, Origin] = {}
        self.elsewhere: dict[str, ModuleType] = {}  # what an extra has, by name: not here, and imported when asked for

    def register(self, maker: Callable[..., Any]) -> None:
        """Add a maker under its own name, in place of what was registered so before, never of one of ours."""
        name = maker.__name__
        if self.get(name) is maker:
            return
        if name in self.ours:
            raise ValueError(f"{self.kind}={name!r} is one of klearning's own: give yours another name")
        for parameter in inspect.signature(maker).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise ValueError(f"{self.kind}={name!r} takes {parameter}: give every parameter a name of its own")
            if parameter.name in RESERVED:
                raise ValueError(f"{self.kind}={name!r} has a parameter {parameter.name!r}: give it another name")
        self[name], self.origins[name] = maker, origin_of(maker)

    def origin(self, name: str) -> dict[str, str]:
        """What the data of this one say of its code; nothing of ours."""
        origin = self.origins.get(name)
        if origin is None:
            return {}
        if not origin.code:
            raise ValueError(
                f"{self.kind}={name!r} has no source file: define it in one, because its code is part of a run's name"
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
    # a file by itself is imported under the name of the file, `__main__` included
    return Origin(hashlib.sha256(source).hexdigest()[:DIGITS], module if "." in module else path.stem)
