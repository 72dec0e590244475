"""An agent's memory: nested NamedTuples of arrays and numbers, flattened by name, rebuilt, and widened for more states.

This module knows no agent. Each record states the roles of its fields by a decorator:

    @field_roles(offsets=("layers",))   arrays of layer offsets; a wider memory has its own
    @field_roles(grows=("succ",))       arrays of any length
    @field_roles(scratch=True)          the whole record is a workspace: never saved, never widened
    @field_roles(roomy=True)            columns of states not met yet change nothing, so there may be spare ones
    def widen(self, fresh, before, after)      the record widens itself

Further roles restrict the numbers that a file may hold (`numerics/records/validation.py`): kernels trust them.

Any other array that is larger in a wider memory is a table: its last axis is the states, layer after layer (or of one
layer if all share a table). An array of the same size holds nothing per state and is copied.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from klearning.numerics import checks
from klearning.numerics.types import Arrays

ROOT = "memory"
NUMBERS = "biufc"  # kinds of dtype
ROLES = ("offsets", "grows", "fixed", "counts", "finite", "probabilities")

Record = TypeVar("Record", bound=type)
Tree = TypeVar("Tree")  # a memory


def field_roles(*, scratch: bool = False, roomy: bool = False, **fields: tuple[str, ...]) -> Callable[[Record], Record]:
    """Assign roles to the fields of a NamedTuple, or to all of it."""
    for name in fields:
        checks.choice("role", name, ROLES)

    def assign(record: Record) -> Record:
        setattr(record, "ROLES", {"scratch": scratch, "roomy": roomy, **fields})  # noqa: B010, unknown to mypy
        return record

    return assign


def leaves(memory: Any, name: str = ROOT) -> Arrays:
    """The arrays and numbers of a memory by name, as in ``memory.posterior.visits``, without workspaces."""
    if role_of(memory, "scratch"):
        return {}
    if isinstance(memory, tuple):
        return {leaf: x for field, part in fields_of(memory) for leaf, x in leaves(part, f"{name}.{field}").items()}
    array = np.asarray(memory)
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{name} is a {type(memory).__name__}: a memory holds NamedTuples of arrays and numbers only")
    return {name: array}


def fields_of(record: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """The names and values of a record or tuple."""
    return zip(getattr(record, "_fields", range(len(record))), record, strict=True)


def role_of(record: Any, role: str) -> Any:
    """The fields of a record that have this role, or whether the whole record has it."""
    return getattr(record, "ROLES", {}).get(role, ()) if isinstance(record, tuple) else ()


def unflatten(template: Tree, arrays: Arrays) -> Tree:
    """The memory whose leaves are ``arrays``, with the structure and shapes of the template.

    If the template holds one array in two fields, so does the result.
    """
    names = leaves(template)
    for other in arrays:
        if other.startswith(f"{ROOT}.") and other not in names:
            raise ValueError(f"{other} is not a part of this agent's memory")
    memory: Tree = _put(template, arrays, ROOT, {})
    return memory


def _put(template: Any, arrays: Arrays, name: str, shared: dict[int, Any], grows: bool = False) -> Any:
    if role_of(template, "scratch"):
        return _sharing(template, shared)
    if isinstance(template, tuple):
        growing = role_of(template, "grows")
        parts = [_put(x, arrays, f"{name}.{field}", shared, field in growing) for field, x in fields_of(template)]
        return _of_form(template, parts)
    leaf = arrays[name]
    if not isinstance(template, np.ndarray):
        if leaf.shape != () or leaf.dtype != np.asarray(template).dtype:
            raise ValueError(f"{name} is {leaf.dtype} {leaf.shape}, not one number like {template!r}")
        return type(template)(leaf.item())
    if leaf.dtype != template.dtype or leaf.ndim != template.ndim:
        raise ValueError(f"{name} is {leaf.dtype} {leaf.shape}, not {template.dtype} {template.shape}")
    if leaf.shape != template.shape and not grows:
        raise ValueError(f"{name} has shape {leaf.shape}, not {template.shape}")
    return shared.setdefault(id(template), np.ascontiguousarray(leaf))


def _sharing(part: Any, shared: dict[int, Any]) -> Any:
    """A part of the template, with the arrays that it shares with the memory taken from there."""
    if isinstance(part, tuple):
        return _of_form(part, [_sharing(inner, shared) for inner in part])
    return shared.get(id(part), part)


def _of_form(template: tuple[Any, ...], parts: list[Any]) -> Any:
    return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)


def widen(old: Any, fresh: Any, before: int, after: int, name: str = ROOT) -> Any:
    """Copy ``old``, with ``before`` states per layer, into ``fresh``, an empty memory with ``after`` states per layer.

    If there are fewer states than before, the first ones are copied.

    Arrays of ``fresh`` are written in place, so that one shared by two fields stays shared.
    """
    if role_of(old, "scratch"):
        return fresh
    if isinstance(old, tuple):
        if hasattr(old, "widen"):
            return old.widen(fresh, before, after)
        parts = []
        for (field, part), new in zip(fields_of(old), fresh, strict=True):
            if field in role_of(old, "offsets"):
                parts.append(new)
            elif field in role_of(old, "grows"):
                parts.append(part)
            else:
                parts.append(widen(part, new, before, after, f"{name}.{field}"))
        return _of_form(old, parts)
    if not isinstance(old, np.ndarray) or old.shape == fresh.shape:  # nothing per state
        return old
    if old.shape[:-1] != fresh.shape[:-1] or old.shape[-1] * after != fresh.shape[-1] * before:
        raise ValueError(f"{name} grows from {old.shape} to {fresh.shape}: make states its last axis")
    both = min(before, after)
    layer_and_state(fresh, after)[..., :both] = layer_and_state(old, before)[..., :both]
    return fresh


def layer_and_state(x: NDArray[Any], width: int) -> NDArray[Any]:
    """The last axis, which holds layer after layer, split in two: layer and state."""
    return x.reshape(*x.shape[:-1], -1, width)
