"""Loops over whole arrays inside kernels. NumPy's own, ``x[:] = y`` or ``x.max()``, take long to compile."""

from klearning.numerics.compile.kernels import kernel
from klearning.numerics.types import Floats


@kernel
def copy_numbers(source: Floats, target: Floats) -> None:
    """Copy to the front of ``target``, which may be longer."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def copy_table(source: Floats, target: Floats) -> None:
    for a in range(source.shape[0]):
        copy_numbers(source[a], target[a])


@kernel
def largest(x: Floats) -> float:
    """Of an array with one axis."""
    found = x[0]
    for i in range(1, x.size):
        found = max(found, x[i])
    return found


@kernel
def smallest(x: Floats) -> float:
    """Of an array with one axis."""
    found = x[0]
    for i in range(1, x.size):
        found = min(found, x[i])
    return found


@kernel
def is_zero(table: Floats) -> bool:
    """Whether all numbers of a table are zero."""
    for a in range(table.shape[0]):
        for i in range(table.shape[1]):
            if table[a, i] != 0.0:
                return False
    return True
