"""An agent's memory: nested NamedTuples of arrays and numbers, taken apart by name, put together, made wider.

Nothing here knows an agent. What is special about a field its record says itself, by marks on the class:

    @marked(offsets=("layers",))      these arrays say where layers begin, so a wider memory has its own
    @marked(grows=("succ",))          these arrays have whatever length they have grown to
    @marked(since=("kind",))          these came later: files of before have none, and get what a fresh memory has
    @marked(tied=("c",))              these are held once for all layers, where files of before may have every layer's
    @marked(scratch=True)             the whole record is room to work in: never kept, never widened
    @marked(roomy=True)               columns of states that are yet to come change nothing: there may be some to spare
    def widen(self, fresh, before, after)      the record widens itself

and others say what its numbers may be (`numerics/tree_checks.py`), because kernels believe what a file says.

Any other array that a wider memory has larger is a table: its last axis is the states, all layers one after the other
(or one layer, where all share a table). One that it has of the same size holds nothing per state, and is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from klearning.numerics import checks
from klearning.numerics.types import Arrays

ROOT = "memory"
NUMBERS = "biufc"  # kinds of dtype
MARKS = ("offsets", "grows", "since", "tied", "fixed", "counts", "finite", "chances")

Record = TypeVar("Record", bound=type)


def marked(*, scratch: bool = False, roomy: bool = False, **fields: tuple[str, ...]) -> Callable[[Record], Record]:
    """Say of a NamedTuple which of its fields are special, by one of `MARKS` each."""
    for name in fields:
        checks.choice("mark", name, MARKS)

    def mark(record: Record) -> Record:
        for name, value in {"scratch": scratch, "roomy": roomy, **fields}.items():
            setattr(record, name.upper(), value)
        return record

    return mark


def take_apart(memory: Any) -> list[NDArray[Any]]:
    """The arrays and numbers of a memory, in order; not those that are only room to work in."""
    return list(leaves(memory).values())


def leaf_names(memory: Any) -> list[str]:
    """What `take_apart` lists, by name."""
    return list(leaves(memory))


def leaves(memory: Any, name: str = ROOT) -> Arrays:
    """The arrays and numbers of a memory by name, as in ``memory.posterior.visits``."""
    if mark_of(memory, "SCRATCH", False):
        return {}
    if isinstance(memory, tuple):
        return {leaf: x for field, part in fields_of(memory) for leaf, x in leaves(part, f"{name}.{field}").items()}
    array = np.asarray(memory)
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{name} is a {type(memory).__name__}: a memory is NamedTuples of arrays and numbers alone")
    return {name: array}


def fields_of(record: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """What a record holds, by name."""
    return zip(getattr(record, "_fields", range(len(record))), record, strict=True)


def mark_of(record: Any, mark: str, default: Any = ()) -> Any:
    """What the class of a record was marked with."""
    return getattr(record, mark, default) if isinstance(record, tuple) else default


def put_together_by_name(template: Any, arrays: Arrays) -> Any:
    """The memory of which ``arrays`` holds all leaves by name, and no others; of the template's form and shapes.

    Where the template holds one array in two places, so does the result.
    """
    names = leaf_names(template)
    for other in arrays:
        if other.startswith(f"{ROOT}.") and other not in names:
            raise ValueError(f"{other} is no part of this agent's memory")
    return _put(template, arrays, ROOT, {})


def _put(template: Any, arrays: Arrays, name: str, shared: dict[int, Any], form: Sequence[str] = ()) -> Any:
    if mark_of(template, "SCRATCH", False):
        return _sharing(template, shared)
    if isinstance(template, tuple):
        parts = []
        for field, part in fields_of(template):
            inner = f"{name}.{field}"
            late = field in mark_of(template, "SINCE") and not _holds(arrays, inner)
            form = [mark for mark in ("GROWS", "TIED") if field in mark_of(template, mark)]
            parts.append(_sharing(part, shared) if late else _put(part, arrays, inner, shared, form))
        return _of_form(template, parts)
    leaf = arrays[name]
    if not isinstance(template, np.ndarray):
        if leaf.shape != () or leaf.dtype != np.asarray(template).dtype:
            raise ValueError(f"{name} is {leaf.dtype} {leaf.shape}, not one number like {template!r}")
        return type(template)(leaf.item())
    if leaf.dtype != template.dtype or leaf.ndim != template.ndim:
        raise ValueError(f"{name} has another type, {leaf.dtype} {leaf.shape}, than {template.dtype} {template.shape}")
    if "TIED" in form and leaf.shape[-1] > template.shape[-1]:
        leaf = leaf[..., : template.shape[-1]]  # the first layer's
    if leaf.shape != template.shape and "GROWS" not in form:
        raise ValueError(f"{name} has shape {leaf.shape}, not {template.shape}")
    return shared.setdefault(id(template), np.ascontiguousarray(leaf))


def _holds(arrays: Arrays, name: str) -> bool:
    return any(other == name or other.startswith(f"{name}.") for other in arrays)


def _sharing(part: Any, shared: dict[int, Any]) -> Any:
    """A part of the template, with what it has in common with the memory taken from there."""
    if isinstance(part, tuple):
        return _of_form(part, [_sharing(inner, shared) for inner in part])
    return shared.get(id(part), part)


def _of_form(template: tuple[Any, ...], parts: list[Any]) -> Any:
    return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)


def widen(old: Any, fresh: Any, before: int, after: int, name: str = ROOT) -> Any:
    """What ``old`` knows of layers of ``before`` states, in ``fresh``, a new memory for layers of ``after`` states.

    With fewer states than before, what it knows of the first of them.

    Arrays of ``fresh`` are written to and kept, so that one that is in two places stays so.
    """
    if mark_of(old, "SCRATCH", False):
        return fresh
    if isinstance(old, tuple):
        if hasattr(old, "widen"):
            return old.widen(fresh, before, after)
        parts = []
        for (field, part), new in zip(fields_of(old), fresh, strict=True):
            if field in mark_of(old, "OFFSETS"):
                parts.append(new)
            elif field in mark_of(old, "GROWS"):
                parts.append(part)
            else:
                parts.append(widen(part, new, before, after, f"{name}.{field}"))
        return _of_form(old, parts)
    if not isinstance(old, np.ndarray) or old.shape == fresh.shape:  # nothing per state
        return old
    if old.shape[:-1] != fresh.shape[:-1] or old.shape[-1] * after != fresh.shape[-1] * before:
        raise ValueError(f"{name} grows from {old.shape} to {fresh.shape}: let its last axis be the states")
    both = min(before, after)
    layer_and_state(fresh, after)[..., :both] = layer_and_state(old, before)[..., :both]
    return fresh


def layer_and_state(x: NDArray[Any], width: int) -> NDArray[Any]:
    """The last axis, all layers one after the other, as two: layer and state."""
    return x.reshape(*x.shape[:-1], -1, width)
