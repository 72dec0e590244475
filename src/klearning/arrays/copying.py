"""Copies inside kernels. ``x[:] = y`` compiles for a second: it can say in words which shapes do not match."""

from klearning.arrays.compiled import kernel
from klearning.arrays.types import Floats


@kernel
def copy_numbers(source: Floats, target: Floats) -> None:
    """Over the first numbers of ``target``, which may be longer."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def copy_table(source: Floats, target: Floats) -> None:
    for a in range(source.shape[0]):
        copy_numbers(source[a], target[a])
