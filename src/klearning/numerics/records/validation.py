"""Validation of a memory that was read from a file: kernels check no index and trust every number.

Records state the conditions themselves, by roles of their fields and by a method:

    @field_roles(fixed=("layers",))            the same as in a fresh memory
    @field_roles(counts=("visits",))           at least zero; infinite only if a fresh memory's number is
    @field_roles(finite=("Q",))                finite, or the same as in a fresh memory
    @field_roles(probabilities=("policy",))    columns of probabilities; or of zeros, if a fresh memory's are zeros
    def check(self, fresh, name)               further conditions; raises ValueError

Of other fields only type and shape are checked.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.numerics.checks import TOLERANCE
from klearning.numerics.records.fields import ROOT, Tree, fields_of, leaves, role_of, unflatten
from klearning.numerics.types import Arrays, Flags, Floats

CLOSE = 1e-9  # relative difference of numbers that were computed in another order
TINY = 1e-15  # absolute difference, if terms cancel


def restore_memory(fresh: Tree, arrays: Arrays) -> Tree:
    """The memory with these leaves. Raises ValueError if no episodes lead from a fresh memory to it."""
    memory = unflatten(fresh, arrays)
    check(memory, fresh)
    return memory


def check(memory: Any, fresh: Any, name: str = ROOT) -> None:
    """Check the roles and methods of all records of a memory, inner ones first."""
    if not isinstance(memory, tuple) or role_of(memory, "scratch"):
        return
    for (field, part), new in zip(fields_of(memory), fresh, strict=True):
        inner = f"{name}.{field}"
        for role, rule in RULES.items():
            if field in role_of(memory, role):
                rule(inner, part, new)
        check(part, new, inner)
    if hasattr(memory, "check"):
        memory.check(fresh, name)


def fill(parts: Arrays, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Copy arrays into parts of the same name. Raises ValueError if type or shape differ."""
    for name, part in parts.items():
        x = arrays[name]
        if (x.shape, x.dtype) != (part.shape, part.dtype):
            raise ValueError(f"{name} is {x.dtype} {x.shape}, not {part.dtype} {part.shape}")
        part[...] = x


def refuse(name: str, fault: str, bad: Flags, values: Any) -> None:
    """Raise ValueError for the first bad index, if any."""
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"[{', '.join(map(str, where))}]" if where else ""
        raise ValueError(f"{name}{place}={np.asarray(values)[where]} {fault}")


def differs(x: Any, y: Any) -> Flags:
    """Which numbers differ by more than rounding."""
    if np.asarray(x).dtype.kind != "f":
        return np.asarray(x != y)
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(np.subtract(x, y)) <= TINY + CLOSE * np.maximum(np.abs(x), np.abs(y))
    return np.logical_not((x == y) | (finite & close))


def check_fixed(name: str, part: Any, fresh: Any) -> None:
    for (inner, x), y in zip(leaves(part, name).items(), leaves(fresh, name).values(), strict=True):
        if x.shape != y.shape:
            raise ValueError(f"{inner} has shape {x.shape}, not {y.shape}")
        refuse(inner, "is not the value that its settings give", differs(x, y), x)


def check_counts(name: str, x: Any, fresh: Any) -> None:
    bad = np.logical_not(np.asarray(x) >= 0.0) | (np.isinf(x) != np.isinf(fresh))
    refuse(name, "is not a count: give a finite number of at least zero", bad, x)


def check_finite(name: str, x: Any, fresh: Any) -> None:
    refuse(name, "is not finite", np.logical_not(np.isfinite(x) | (x == fresh)), x)


def check_probabilities(name: str, x: Floats, fresh: Floats) -> None:
    refuse(name, "is not a probability", ~((x >= 0.0) & (x <= 1.0 + TOLERANCE)), x)
    total = x.sum(axis=0)
    unplanned = ~fresh.any(axis=0) & (total == 0.0)
    refuse(f"{name}: the sum of column", "is not one", ~(np.abs(total - 1.0) <= TOLERANCE) & ~unplanned, total)


RULES = {"fixed": check_fixed, "counts": check_counts, "finite": check_finite, "probabilities": check_probabilities}
