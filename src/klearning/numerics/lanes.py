"""Eight numbers at a time, in vector instructions, written down where a compiler does not find them by itself.

A compiler makes vector instructions of a loop over arrays behind checks that no two of the arrays overlap. For a dozen
arrays and a layer of 25 states they take as long as the arithmetic. `load` and `store` say what is read and written
when, so nothing is left to check; arithmetic between the two is written as for numbers, and means the same to the bit.
"""

from functools import cached_property
from importlib import import_module
from typing import Any

LANES = 8


class Operation:
    """What kernels call; how it is compiled stands in `numerics/lane_code.py`, which needs Numba."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} is for kernels only: call it inside a function under @kernel")

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        code = getattr(import_module("klearning.numerics.lane_code"), self.name)
        return cpu_target.typing_context.resolve_value_type(code)


load = Operation("load")  # load(x, i): x[i : i+8], for a contiguous array
store = Operation("store")  # store(x, i, lanes): x[i : i+8] = lanes
gather = Operation("gather")  # gather(x, places): x at each of eight places, for a contiguous array
eightfold = Operation("eightfold")  # a number, or an integer, in every lane
choose = Operation(
    "choose"
)  # choose(which, x, y): x where ``which`` is true and y elsewhere, for numbers and for lanes
in_all = Operation("in_all")  # whether eight answers are all true
in_any = Operation("in_any")  # whether one of eight answers is true
in_a_row = Operation("in_a_row")  # whether each of eight integers is one more than that before it
truncated = Operation("truncated")  # eight numbers without what follows the point, as integers
as_floats = Operation("as_floats")  # eight integers as numbers
rounded = Operation("rounded")  # x as it would be in memory: a product is not fused with what it is added to
to_bits = Operation("to_bits")  # the bits of a number as an integer
from_bits = Operation("from_bits")  # the number with these bits
