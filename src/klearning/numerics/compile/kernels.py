"""The decorator `kernel`. Numba is imported when the first kernel is called."""

from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from threading import RLock
from typing import Any, TypeVar, cast, overload

import numpy as np

from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Floats, Ints

index = np.uint64  # unsigned: a check for negative indices would keep loops from vectorising
FIRST = RLock()  # one thread imports Numba if several make the first call
Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(
    *, inline: bool = False, apart: bool = False, lazy: bool = False, reorder: bool = False
) -> Callable[[Function], Function]: ...


def kernel(
    function: Any = None, *, inline: bool = False, apart: bool = False, lazy: bool = False, reorder: bool = False
) -> Any:
    """Compile a function: no GIL, cached on disk, IEEE semantics except that a*b+c may be fused.

    ``inline`` copies it into its callers. A kernel that takes numbers only is copied anyway, unless it is ``apart``.
    ``lazy`` compiles it when it is first reached, for code that most runs never need; it returns numbers, or a
    record of the class of one of its arguments.
    ``reorder`` allows sums in any order, the same every time. A loop of such a kernel must not both reduce and store:
    the order would depend on array addresses.
    """
    if function is None:
        return lambda f: Kernel(f, inline, apart, lazy, reorder)
    return Kernel(function, inline, apart, lazy, reorder)


class Kernel:
    """A function that is compiled when it is first called.

    Kernels call its `code`. Python calls its `entry`, which converts records, calls the code, and converts the result.
    Signals wait until this is done.
    """

    def __init__(self, function: Callable[..., Any], inline: bool, apart: bool, lazy: bool, reorder: bool) -> None:
        self.function, self.options = function, (inline, apart, lazy, reorder)
        self.plain = _is_plain(function.__annotations__)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self.plain or uninterrupted.depth:  # no handler can run
            return self.entry(*arguments)
        with uninterrupted:
            return self.entry(*arguments)

    @cached_property
    def code(self) -> Any:
        with FIRST:
            if "code" not in vars(self):
                from klearning.numerics.compile.linking import Code

                vars(self)["code"] = Code(self.function, *self.options)
            return vars(self)["code"]

    @cached_property
    def entry(self) -> Callable[..., Any]:
        with FIRST:
            if "entry" not in vars(self):
                from klearning.numerics.compile.linking import Entry

                vars(self)["entry"] = Entry(self.code)
            return cast(Callable[..., Any], vars(self)["entry"])

    @property
    def _numba_type_(self) -> Any:
        return self.code.type


def entry(function: Function) -> Function:
    """What Python calls of a kernel of numbers: for those that are called at every step of a simulator."""
    found: Function = cast(Any, function).entry
    return found


def _is_plain(annotations: Mapping[str, Any]) -> bool:
    """Whether a kernel takes numbers and arrays only, and returns at most a number, so that no record is converted."""
    taken = {kind for name, kind in annotations.items() if name != "return"}
    return annotations.get("return", Any) in (None, bool, int, float) and taken <= {bool, int, float, Floats, Ints}


class ByRecord:
    """Dispatches to one of several kernels by the class of the last argument, a record.

    Inside a kernel this happens at compile time.
    """

    def __init__(self, kernels: Mapping[type, Callable[..., Any]]) -> None:
        self.kernels = kernels

    def __call__(self, *arguments: Any) -> Any:
        return self.kernels[type(arguments[-1])](*arguments)

    @cached_property
    def _numba_type_(self) -> Any:
        from klearning.numerics.compile.linking import ChoiceType

        return ChoiceType(self.kernels)


def by_record(kernels: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    return ByRecord(kernels)
