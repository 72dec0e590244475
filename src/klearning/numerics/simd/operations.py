"""Explicit SIMD, eight numbers at a time, for loops that the compiler does not vectorise well.

A compiler vectorises a loop over arrays after checking at run time that no two of them overlap. For a dozen arrays and
a layer of 25 states these checks take as long as the arithmetic. `load` and `store` fix the order of reads and writes,
so nothing has to be checked. Arithmetic between them is written as for numbers, and equal to the bit.
"""

from functools import cached_property
from importlib import import_module
from typing import Any

LANES = 8


class Operation:
    """An operation for kernels. Its code is in `simd/lowering.py`, which needs Numba."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} works in kernels only: call it inside a function decorated with @kernel")

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        code = getattr(import_module("klearning.numerics.simd.lowering"), self.name)
        return cpu_target.typing_context.resolve_value_type(code)


load = Operation("load")  # load(x, i): x[i : i+8], for a contiguous array
store = Operation("store")  # store(x, i, lanes): x[i : i+8] = lanes
gather = Operation("gather")  # gather(x, indices): x at eight indices, for a contiguous array
broadcast = Operation("broadcast")  # one float or integer in every lane
choose = Operation("choose")  # choose(condition, x, y): x if true, else y, for numbers and for lanes
all_true = Operation("all_true")  # whether all of eight conditions are true
any_true = Operation("any_true")  # whether any of eight conditions is true
is_contiguous = Operation("is_contiguous")  # whether eight integers are consecutive
truncated = Operation("truncated")  # eight floats rounded towards zero, as integers
as_floats = Operation("as_floats")  # eight integers as floats
rounded = Operation("rounded")  # x rounded to a float: a product in it is not fused with a later addition
to_bits = Operation("to_bits")  # the bits of a float as an integer
from_bits = Operation("from_bits")  # the float with these bits
