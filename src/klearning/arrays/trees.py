"""An agent's memory, taken apart into arrays and put together again, or moved into wider tables.

Memories are nested NamedTuples of arrays and numbers, so this needs to know nothing of the agent, and nothing is
pickled.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from klearning.arrays.rows import Rows

Record = TypeVar("Record", bound=type)


def marked(*, scratch: bool = False) -> Callable[[Record], Record]:
    """Say of a NamedTuple that it is only room to work in: never kept, never widened."""

    def mark(record: Record) -> Record:
        setattr(record, "SCRATCH", scratch)  # noqa: B010  # a class of records has no such field
        return record

    return mark


def is_scratch(part: Any) -> bool:
    """Whether a record says of itself that it is only room to work in."""
    return getattr(part, "SCRATCH", False)


def take_apart(memory: Any) -> list[NDArray[Any]]:
    """The arrays and numbers of nested tuples, in order; not those that are only room to work in."""
    if is_scratch(memory):
        return []
    if isinstance(memory, tuple):
        return [leaf for part in memory for leaf in take_apart(part)]
    return [np.asarray(memory)]


def leaf_names(memory: Any, name: str = "memory") -> list[str]:
    """What `take_apart` lists, by name."""
    if is_scratch(memory):
        return []
    if isinstance(memory, tuple):
        fields = getattr(memory, "_fields", range(len(memory)))
        parts = zip(fields, memory, strict=True)
        return [leaf for field, part in parts for leaf in leaf_names(part, f"{name}.{field}")]
    return [name]


def put_together(template: Any, leaves: list[NDArray[Any]], shared: dict[int, Any] | None = None) -> Any:
    """The inverse of `take_apart`, for something of the template's form; uses up ``leaves``.

    Where the template holds one array in two places, so does the result.
    """
    shared = {} if shared is None else shared
    if is_scratch(template):
        return _sharing(template, shared)
    if isinstance(template, tuple):
        parts = [put_together(part, leaves, shared) for part in template]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    leaf = leaves.pop(0)
    if isinstance(template, np.ndarray):
        if leaf.dtype != template.dtype or leaf.ndim != template.ndim:
            raise ValueError("an array of the checkpoint has another type")
        return shared.setdefault(id(template), np.ascontiguousarray(leaf))
    return type(template)(leaf.item())


def _sharing(room: Any, shared: dict[int, Any]) -> Any:
    """Room to work in, with what it has in common with the memory taken from there."""
    if isinstance(room, tuple):
        return type(room)(*(_sharing(part, shared) for part in room))
    return shared.get(id(room), room)


def put_together_by_name(template: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The memory of which ``arrays`` holds all leaves by name, and no others; of the template's form and shapes."""
    names = leaf_names(template)
    leaves = [arrays[name] for name in names]
    for other in arrays:
        if other.startswith("memory.") and other not in names:
            raise ValueError(f"{other} is no part of this agent's memory")
    for name, leaf, fresh in zip(names, leaves, take_apart(template), strict=True):
        grows = name.endswith((".succ", ".weight"))  # the pool of transition rows
        if leaf.shape != fresh.shape and not (grows and leaf.ndim == 1):
            raise ValueError(f"{name} has shape {leaf.shape}, not {fresh.shape}")
    return put_together(template, leaves)


def widen(old: Any, new: Any, before: int, after: int) -> Any:
    """What ``old`` knows of layers of ``before`` states, in ``new``, a fresh memory for layers of ``after`` states.

    Arrays of ``new`` are written to and kept, so that one that is in two places stays so.
    """
    if is_scratch(old):
        return new
    if isinstance(old, Rows):
        return _widen_rows(old, new, before, after)
    if isinstance(old, tuple):
        parts = [widen(o, n, before, after) for o, n in zip(old, new, strict=True)]
        return type(old)(*parts) if hasattr(old, "_fields") else tuple(parts)
    if not isinstance(old, np.ndarray):
        return old
    if old.dtype == np.int64:  # offsets of layers
        return new
    if old.shape == new.shape:  # a number a layer, and none a state
        return old
    _by_layer(new, after)[..., :before] = _by_layer(old, before)
    return new


def _by_layer(x: NDArray[Any], width: int) -> NDArray[Any]:
    """The last axis, all layers one after the other, as two: layer and state."""
    return x.reshape(*x.shape[:-1], -1, width)


def _widen_rows(old: Rows, new: Rows, before: int, after: int) -> Rows:
    """Old rows keep their places in the pool; new ones get places behind it."""
    start = new.start + old.used
    length, room = np.zeros_like(new.length), new.room.copy()
    for target, source in ((start, old.start), (length, old.length), (room, old.room)):
        _by_layer(target, after)[..., :before] = _by_layer(source, before)
    renumbered = (old.succ // before) * after + old.succ % before
    succ = np.concatenate([renumbered[: old.used], new.succ[: new.used]])
    weight = np.concatenate([old.weight[: old.used], new.weight[: new.used]])
    return Rows(start, length, room, succ, weight, old.used + new.used)
