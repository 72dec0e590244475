"""How kernels are compiled: one decorator."""

from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast, get_args, overload

import numba
import numba.extending
import numpy as np

from klearning.arrays.cache import announce_compilation as announce_compilation
from klearning.arrays.cache import cache_of
from klearning.arrays.interrupts import uninterrupted
from klearning.arrays.types import Floats, Ints

index = np.uint64  # an unsigned index needs no check for negative ones, which would keep loops from vectorising


Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(*, inline: bool = False, reorder: bool = False, borrows: bool = False) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, *, inline: bool = False, reorder: bool = False, borrows: bool = False) -> Any:
    """Compile a function: no GIL, cached on disk, IEEE semantics except that a*b+c may be fused.

    ``inline`` copies it into its callers (a record of arrays is passed as some hundred words otherwise);
    ``reorder`` lets sums be taken in any order, the same one every time: so no loop of it may both add up and write to
    an array, for which order is taken would hang on where in memory arrays lie. ``borrows`` counts no references to
    arrays, which in a loop over steps takes several times as long as the rest: whoever calls it holds them meanwhile.
    So it may neither make arrays nor return any.
    """
    if function is None:
        return lambda f: _compile(f, inline, reorder, borrows)
    return _compile(function, inline, reorder, borrows)


def _compile(function: Function, inline: bool, reorder: bool, borrows: bool) -> Function:
    if borrows and _holds_arrays(function.__annotations__.get("return")):
        raise TypeError(f"{function.__qualname__} borrows arrays, and returns some: nobody would hold them")
    fused = {"contract", "nsz"}
    options = {"fastmath": fused | {"reassoc"} if reorder else fused, "forceinline": inline}
    if _is_plain(function):
        return cast(Function, _dispatcher(function, {**options, "_nrt": not borrows}))
    return cast(Function, Kernel(function, options, borrows))


def _dispatcher(function: Callable[..., Any], options: Mapping[str, Any], within: bool = False) -> Any:
    """Numba's, which compiles when it is first called; ``within`` kernels alone, not from Python."""
    compiled = numba.njit(
        function,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,  # nobody calls kernels from C
        no_cpython_wrapper=within,
        **options,
    )
    if (kept := cache_of(function, within)) is not None:
        compiled._cache = kept  # what njit(cache=True) does, with a cache of ours
    return compiled


def _is_plain(function: Callable[..., Any]) -> bool:
    """Whether a kernel takes and returns numbers and arrays of them alone, which Numba converts without Python's help.

    Returned arrays are made with some, so they do not count.
    """
    annotations = dict(function.__annotations__)
    returned = annotations.pop("return", Any)
    return returned in (None, bool, int, float) and set(annotations.values()) <= {bool, int, float, Floats, Ints}


def _holds_arrays(annotation: Any) -> bool:
    """Whether what a kernel returns is an array, or holds one."""
    parts = (*get_args(annotation), *getattr(annotation, "__annotations__", {}).values())
    return annotation in (Floats, Ints) or any(map(_holds_arrays, parts))


class Kernel:
    """A kernel that takes or returns records: no signal arrives while it runs.

    Other kernels call a copy of it that Python cannot: what turns Python's records into the machine's and back would be
    a third of all that is compiled, and most kernels are called by kernels alone. That copy alone ``borrows``: what is
    made of Python's records is new, generators above all, and nobody else would let go of it.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any], borrows: bool) -> None:
        self.function, self.options, self.borrows = function, options, borrows
        self.dispatcher = _dispatcher(function, options)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if uninterrupted.depth:  # in this thread, or in one where no handler runs
            return self.dispatcher(*arguments)
        with uninterrupted:
            return self.dispatcher(*arguments)

    @cached_property
    def inner(self) -> Any:
        return _dispatcher(self.function, {**self.options, "_nrt": not self.borrows}, within=True)

    @property
    def _numba_type_(self) -> Any:
        return self.inner._numba_type_


def by_record(kernels: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """One name for several kernels: the class of the record that is the last argument says which is called.

    In a kernel the choice is made when it is compiled, and costs nothing.
    """

    def chosen(*arguments: Any) -> Any:
        return kernels[type(arguments[-1])](*arguments)

    @numba.extending.overload(chosen)  # type: ignore[untyped-decorator]
    def choose(*arguments: Any) -> Any:
        one = kernels[arguments[-1].instance_class]

        def call(*arguments: Any) -> Any:
            return one(*arguments)

        return call

    return chosen
