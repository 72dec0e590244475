"""Whether a memory that comes from a file can be trusted: kernels check no index, and believe every number.

What must hold its records say themselves, by marks on the class and by a method:

    @marked(fixed=("layers",))      what a fresh memory has, however many episodes were played
    @marked(counts=("visits",))     numbers of zero or more; infinite just where a fresh memory's are
    @marked(finite=("Q",))          finite numbers; or what a fresh memory has
    @marked(chances=("policy",))    columns of probabilities; or of zeros, where a fresh memory has zeros
    def check(self, fresh, name)    what else the record knows: ValueError where it does not hold

Of a field without a mark only the form is known: its type and shape.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klearning.numerics.checks import TOLERANCE
from klearning.numerics.trees import ROOT, fields_of, leaves, mark_of, put_together_by_name
from klearning.numerics.types import Arrays, Flags, Floats

CLOSE = 1e-9  # how far apart, relatively, numbers may be that were computed in another order
TINY = 1e-15  # and absolutely, where terms cancel


def restored(fresh: Any, arrays: Arrays) -> Any:
    """The memory of which ``arrays`` holds the leaves; ValueError where none can have grown from the fresh one so."""
    memory = put_together_by_name(fresh, arrays)
    check(memory, fresh)
    return memory


def check(memory: Any, fresh: Any, name: str = ROOT) -> None:
    """All marks and methods of a memory's records, the inner ones first."""
    if not isinstance(memory, tuple) or mark_of(memory, "SCRATCH", False):
        return
    for (field, part), new in zip(fields_of(memory), fresh, strict=True):
        inner = f"{name}.{field}"
        for mark, rule in RULES.items():
            if field in mark_of(memory, mark):
                rule(inner, part, new)
        check(part, new, inner)
    if hasattr(memory, "check"):
        memory.check(fresh, name)


def fill(parts: Arrays, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write into every part what ``arrays`` has under its name; ValueError where that is of another form."""
    for name, part in parts.items():
        x = arrays[name]
        if (x.shape, x.dtype) != (part.shape, part.dtype):
            raise ValueError(f"{name} is {x.dtype} {x.shape}, not {part.dtype} {part.shape}")
        part[...] = x


def refuse(name: str, fault: str, bad: Flags, values: Any) -> None:
    """ValueError that names the first bad place, where there is one."""
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"[{', '.join(map(str, where))}]" if where else ""
        raise ValueError(f"{name}{place}={np.asarray(values)[where]} {fault}")


def differs(x: Any, y: Any) -> Flags:
    """Where numbers are not the same, rounding apart."""
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
        refuse(inner, "is not what its settings give", differs(x, y), x)


def check_counts(name: str, x: Any, fresh: Any) -> None:
    bad = np.logical_not(np.asarray(x) >= 0.0) | (np.isinf(x) != np.isinf(fresh))
    refuse(name, "is no count: it is zero or more, and finite", bad, x)


def check_finite(name: str, x: Any, fresh: Any) -> None:
    refuse(name, "is not finite", np.logical_not(np.isfinite(x) | (x == fresh)), x)


def check_chances(name: str, x: Floats, fresh: Floats) -> None:
    refuse(name, "is no probability", ~((x >= 0.0) & (x <= 1.0 + TOLERANCE)), x)
    total = x.sum(axis=0)
    unplanned = ~fresh.any(axis=0) & (total == 0.0)
    refuse(f"{name}: the sum of column", "is not one", ~(np.abs(total - 1.0) <= TOLERANCE) & ~unplanned, total)


RULES = {"FIXED": check_fixed, "COUNTS": check_counts, "FINITE": check_finite, "CHANCES": check_chances}
