"""How kernels are declared: one decorator. Numba is imported when the first of them is called."""

from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from threading import RLock
from typing import Any, TypeVar, cast, overload

import numpy as np

from klearning.numerics.interrupts import uninterrupted
from klearning.numerics.types import Floats, Ints

index = np.uint64  # an unsigned index needs no check for negative ones, which would keep loops from vectorising


FIRST = RLock()  # of several threads that call a kernel for the first time, one imports Numba


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
    ``lazy`` compiles it when it is first reached, for what most runs do without; it returns numbers only.
    ``reorder`` lets sums be taken in any order, the same one every time. A loop of such a kernel must not both reduce
    and store: the order would depend on where in memory the arrays lie.
    """
    if function is None:
        return lambda f: Kernel(f, inline, apart, lazy, reorder)
    return Kernel(function, inline, apart, lazy, reorder)


class Kernel:
    """A function that is compiled when it is first called.

    Kernels call its `code`. Python calls its `entry`, which turns Python's records into the machine's, calls the code,
    and turns what it returns back. While records are made, no signal may arrive.
    """

    def __init__(self, function: Callable[..., Any], inline: bool, apart: bool, lazy: bool, reorder: bool) -> None:
        self.function, self.options = function, (inline, apart, lazy, reorder)
        self.plain = _is_plain(function.__annotations__)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if self.plain or uninterrupted.depth:  # in this thread, or in one where no handler runs
            return self.entry(*arguments)
        with uninterrupted:
            return self.entry(*arguments)

    @cached_property
    def code(self) -> Any:
        with FIRST:
            if "code" not in vars(self):
                from klearning.numerics.linking import Code

                vars(self)["code"] = Code(self.function, *self.options)
            return vars(self)["code"]

    @cached_property
    def entry(self) -> Callable[..., Any]:
        with FIRST:
            if "entry" not in vars(self):
                from klearning.numerics.linking import Entry

                vars(self)["entry"] = Entry(self.code)
            return cast(Callable[..., Any], vars(self)["entry"])

    @property
    def _numba_type_(self) -> Any:
        return self.code.type


def _is_plain(annotations: Mapping[str, Any]) -> bool:
    """Whether a kernel takes numbers and arrays only, and returns at most a number: Python makes no object of ours."""
    taken = {kind for name, kind in annotations.items() if name != "return"}
    return annotations.get("return", Any) in (None, bool, int, float) and taken <= {bool, int, float, Floats, Ints}


class ByRecord:
    """One name for several kernels: the class of the record that is the last argument says which is called.

    In a kernel the choice is made when it is compiled, and costs nothing.
    """

    def __init__(self, kernels: Mapping[type, Callable[..., Any]]) -> None:
        self.kernels = kernels

    def __call__(self, *arguments: Any) -> Any:
        return self.kernels[type(arguments[-1])](*arguments)

    @cached_property
    def _numba_type_(self) -> Any:
        from klearning.numerics.linking import ChoiceType

        return ChoiceType(self.kernels)


def by_record(kernels: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    return ByRecord(kernels)
