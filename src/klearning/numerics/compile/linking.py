"""How kernels call kernels: each is compiled once, and called by its symbol.

Numba links the code of a callee into its caller and optimises it again there, so that a search inside five wrappers is
optimised six times. Here a kernel is either

    copied   into its callers, if ``inline`` or if it takes numbers only. It has no machine code of its own.
    apart    otherwise: optimised once, and called like a C function of another file.
    lazy     apart, and compiled when it is first reached: most runs never reach it.

A symbol is the kernel's key in the cache (`numerics/compile/cache.py`), the same in every process. The cached code of a
caller lists the keys of its callees, which are loaded first.
"""

import ctypes
import gc
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from typing import Any, NamedTuple, cast, get_args

from llvmlite import binding as llvm
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils, compiler, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import Environment
from numba.core.errors import NumbaError, TypingError
from numba.core.imputils import impl_ret_new_ref
from numba.core.itanium_mangler import mangle
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.typing import signature
from numba.core.typing.templates import fold_arguments
from numba.extending import models, register_model

from klearning.numerics.compile import cache
from klearning.numerics.compile.notices import announcer
from klearning.numerics.compile.references import Reference, referred, value_of
from klearning.numerics.types import Flags, Floats, Ints

ALONE, ENTRY = "alone", "entry"  # further cache entries of a kernel: a copied one as code, and Python's wrapper
ALLOCATORS = {
    "concatenate", "copy", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like",
}  # fmt: skip
COMPOUND = (types.Array, types.BaseTuple, Reference)


class Library(JITCodeLibrary):  # type: ignore[misc]  # Numba is not typed
    """The code of one kernel. Unlike Numba's, it does not optimise functions that are only declared."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


class ApartLibrary(Library):
    """Code called by its symbol: callers link nothing of it."""

    _shared_module: Any

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = llvm.parse_assembly(str(self._codegen._create_empty_module(self.name)))
        return self._shared_module


class CopiedLibrary(Library):
    """Code that callers link and optimise, never run by itself."""

    @property
    def codegen(self) -> Any:
        return WithoutEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class EntryLibrary(Library):
    """Python's wrapper of a kernel. It is not optimised: it unpacks the arguments, and almost all of that is calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass


class WithoutEnvironment:
    """A code generator for code that is never run, and so needs no environment."""

    def __init__(self, codegen: Any) -> None:
        self.codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(BaseNativeLowering):  # type: ignore[misc]
    """Numba's lowering, into our `Library` and under our symbol."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return self.lower

    def lower(self, context: Any, library: Any, descriptor: Any, *rest: Any, **metadata: Any) -> Any:
        if self.key is not None:  # Numba's own name depends on the order of a set, so on the process
            descriptor.mangled_name, descriptor.env_name = mangle(self.key, ()), mangle(f".NumbaEnv.{self.key}", ())
        return Lower(context, library, descriptor, *rest, **metadata)

    def run_pass(self, state: Any) -> bool:
        self.key = state.kernel_key
        state.library = state.kernel_library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes with `KernelLowering`."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes[:] = [(KernelLowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


class Code:
    """A kernel's machine code, one compilation per signature."""

    def __init__(self, function: Callable[..., Any], inline: bool, apart: bool, lazy: bool, reorder: bool) -> None:
        self.function, self.inline, self.apart, self.lazy = function, inline, apart or lazy, lazy
        self.options = {
            "nopython": True,
            "nogil": True,
            "error_model": "numpy",
            "fastmath": {"contract", "nsz", "reassoc"} if reorder else {"contract", "nsz"},
            "forceinline": inline,
            "no_cfunc_wrapper": True,
            "no_cpython_wrapper": True,
        }
        self.signature = inspect.signature(function)
        returned, names = function.__annotations__.get("return"), function.__code__.co_names
        called = (getattr(function.__globals__.get(name), "__annotations__", {}).get("return") for name in names)
        self.counts = any(map(holds_arrays, (returned, *called))) or not ALLOCATORS.isdisjoint(names)
        kinds = (function.__annotations__.get(name) for name in self.signature.parameters)
        self.by_value = tuple(kind in records_in(returned) for kind in kinds)
        self.results: dict[tuple[Any, ...], Any] = {}
        self.announced: set[tuple[Any, ...]] = set()  # signatures with which a lazy kernel is called
        self.type = KernelType(self)

    def passed(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The argument types as passed: records by reference, or by value if they may be returned."""
        return tuple(
            value_of(kind) if by_value else kind if self.inline else referred(kind)
            for kind, by_value in zip(arguments, self.by_value, strict=True)
        )

    def compiled(self, arguments: tuple[Any, ...]) -> Any:
        """Numba's compile result for these argument types, for kernels to call."""
        found = self.results.get(arguments)
        if found is None:
            with global_compiler_lock:
                apart = self.apart or (not self.inline and any(isinstance(kind, COMPOUND) for kind in arguments))
                found = self._apart(arguments) if apart else self._copied(arguments)
                self._define(calling(found), arguments, lazy=False)
                self.results[arguments] = found
        return found

    def declared(self, arguments: tuple[Any, ...]) -> Any:
        """The signature of a lazy kernel, by its annotations."""
        declared = signature(declared_type(self.function.__annotations__["return"], arguments), *arguments)
        if arguments not in self.announced:
            self.announced.add(arguments)
            self._define(calling_later(self, declared), arguments, lazy=True)
        return declared

    def _define(self, call: Any, arguments: tuple[Any, ...], lazy: bool) -> None:
        cpu_target.target_context._defns[self, lazy, arguments].append(call, arguments)

    def _apart(self, arguments: tuple[Any, ...], role: str = "") -> Any:
        key = cache.key_of(self.function, arguments, role)
        found = load(key)
        if found is None:
            found = self._compile(arguments, ApartLibrary, key)
            save(key, found)
            found.library._reload_init = {Loading(key)}
        return found

    def _copied(self, arguments: tuple[Any, ...]) -> Any:
        """Not cached: its callers are."""
        key = cache.key_of(self.function, arguments)
        found = self._compile(arguments, CopiedLibrary, key)
        if key is None:
            found.library._reload_init.add(Loading(None))
        return found

    def _compile(self, arguments: tuple[Any, ...], library: type[Library], key: str | None) -> Any:
        """Compile without reference counts if possible: in a loop over steps they take longer than all the rest.

        The caller holds the arrays that it passes. So only a kernel that creates arrays, or gets them from another
        kernel, must count.
        """
        with announcer.compiling(self.function.__qualname__, cache.folder() is not None), collecting_no_garbage():
            if not self.counts:
                try:
                    return self._compile_once(arguments, library, key, counts=False)
                except NumbaError:
                    self.counts = True
                    getattr(cpu_target.typing_context.callstack, "_fail_cache", {}).clear()
            return self._compile_once(arguments, library, key, counts=True)

    def _compile_once(self, arguments: tuple[Any, ...], library: type[Library], key: str | None, counts: bool) -> Any:
        import_module("klearning.numerics.simd.lowering")  # Numba must know the operations when it begins
        flags = compiler.Flags()
        cpu_target.options.parse_as_flags(flags, {**self.options, "_nrt": counts})
        contexts = cpu_target.typing_context, cpu_target.target_context
        steps = KernelCompiler(*contexts, None, arguments, None, flags, {})
        steps.state.kernel_library, steps.state.kernel_key = library, key
        found = steps.compile_extra(self.function)
        if holds_references(found.signature.return_type):
            raise TypeError(
                f"{self.function.__qualname__} returns one of its arguments, a record: annotate the argument and the "
                "return type with the record's class, or return a new record"
            )
        return found

    def entry(self, arguments: tuple[Any, ...]) -> Any:
        """Numba's compile result for these argument types, for Python to call."""
        key = cache.key_of(self.function, arguments, ENTRY)
        found = load(key)
        if found is None:
            with announcer.compiling(self.function.__qualname__, cache.folder() is not None), collecting_no_garbage():
                found = self._entry(arguments)
            save(key, found)
        return found

    def _entry(self, arguments: tuple[Any, ...]) -> Any:
        passed = self.passed(arguments)
        code = self.compiled(passed)
        if isinstance(code.library, CopiedLibrary):
            code = self._apart(passed, ALONE)
        context = cpu_target.target_context.subtarget(enable_nrt=True)
        library = EntryLibrary(context.codegen(), f"{self.function.__qualname__}.{ENTRY}")
        library.enable_object_caching()
        callee = copy(code.fndesc)
        callee.env_name += f".{ENTRY}"  # the wrapper finds its Python objects by this name
        environment = Environment.from_fndesc(callee)
        with context.push_code_library(library):
            context.create_cpython_wrapper(library, callee, environment, None, release_gil=True)
        library.add_linking_library(code.library)
        return code._replace(
            entry_point=context.get_executable(library, callee, environment),
            fndesc=callee,
            environment=environment,
            library=library,
            signature=signature(code.signature.return_type, *arguments),
            reload_init=list(library._reload_init),
        )


def holds_arrays(annotation: Any) -> bool:
    """Whether an annotated type is an array, or holds one."""
    parts = (*get_args(annotation), *getattr(annotation, "__annotations__", {}).values())
    return annotation in (Floats, Ints, Flags) or any(map(holds_arrays, parts))


def records_in(annotation: Any) -> set[Any]:
    """A record type and the record types of its parts; of a union, those of every member."""
    parts = (*get_args(annotation), *getattr(annotation, "__annotations__", {}).values())
    inner = set().union(*map(records_in, parts))
    return inner | {annotation} if hasattr(annotation, "_fields") else inner


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """The compiler creates many objects and little garbage: collection would take a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def calling(found: Any) -> Any:
    """The code generator of a call to compiled code."""
    callee = found.fndesc

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = context.declare_function(builder.module, callee)
        status, result = context.call_conv.call_function(builder, function, callee.restype, callee.argtypes, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return impl_ret_new_ref(context, builder, callee.restype, result)

    call.libs = (found.library,)  # type: ignore[attr-defined]
    return call


class Later(NamedTuple):
    """A call of a lazy kernel: its module, name and argument types."""

    module: str
    name: str
    arguments: tuple[Any, ...]

    def address(self) -> int:
        """The address of its code, compiled now if necessary."""
        kernel = getattr(import_module(self.module), self.name)
        found = kernel.code.compiled(self.arguments)
        return cast(int, found.library.codegen._engine.get_function_address(found.fndesc.llvm_func_name))


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)  # type: ignore[untyped-decorator]
def reach(described: int, size: int) -> int:
    """Called by compiled code that reaches a lazy kernel for the first time."""
    later: Later = cache.deserialise(ctypes.string_at(described, size))
    return later.address()


REACH = "klearning_reach"
llvm.add_symbol(REACH, ctypes.cast(reach, ctypes.c_void_p).value)


def calling_later(code: Code, declared: Any) -> Any:
    """The code generator of a call to a lazy kernel: its address is looked up once, then called."""
    later = Later(code.function.__module__, code.function.__qualname__, declared.args)

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        module, pointer = builder.module, ir.IntType(8).as_pointer()
        known = cgutils.add_global_variable(module, pointer, "later")
        known.linkage, known.initializer = "internal", pointer(None)
        with builder.if_then(cgutils.is_null(builder, builder.load(known)), likely=False):
            described = cache.serialise(later)
            text = cgutils.global_constant(module, "later_described", cgutils.make_bytearray(described))
            kind = ir.FunctionType(pointer, [pointer, ir.IntType(64)])
            find = cgutils.get_or_insert_function(module, kind, REACH)
            found = builder.call(find, [builder.bitcast(text, pointer), ir.IntType(64)(len(described))])
            builder.store(found, known)
            with builder.if_then(cgutils.is_null(builder, found), likely=False):
                context.call_conv.return_user_exc(builder, RuntimeError, (f"{later.name} could not be compiled",))
        kind = context.call_conv.get_function_type(declared.return_type, declared.args)
        function = builder.bitcast(builder.load(known), kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, declared.return_type, declared.args, arguments
        )  # fmt: skip
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return impl_ret_new_ref(context, builder, declared.return_type, result)

    return call


def declared_type(annotation: Any, arguments: tuple[Any, ...]) -> Any:
    """The annotated return type of a lazy kernel: None, a number, a record like one of its arguments, or of numbers."""
    if annotation in (None, bool, int, float):
        return {None: types.none, bool: types.boolean, int: types.int64, float: types.float64}[annotation]
    for kind in arguments:
        if getattr(kind, "instance_class", None) is annotation:
            return value_of(kind)
    return typeof(annotation(*(kind() for kind in annotation.__annotations__.values())))


class KernelType(types.Callable, types.Opaque):  # type: ignore[misc]
    """The type of a kernel inside kernels. Constant arguments do not compile a version each."""

    def __init__(self, code: Code) -> None:
        self.code = code
        super().__init__(f"Kernel({code.function.__module__}.{code.function.__qualname__} {id(code)})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        given = fold_arguments(
            self.code.signature, args, kws, lambda i, p, x: x, lambda i, p, x: types.Omitted(x), None
        )  # fmt: skip
        passed = self.code.passed(tuple(map(types.unliteral, given)))
        known = self.code.declared(passed) if self.code.lazy else self.code.compiled(passed).signature
        if not ConfigStack().top().nrt:
            check_no_arrays(known.return_type)
        return known.replace(pysig=self.code.signature)

    def get_call_signatures(self) -> Any:
        return [found.signature for found in self.code.results.values()], False

    def get_impl_key(self, sig: Any) -> Any:
        return self.code, self.code.lazy, sig.args


def check_no_arrays(kind: Any) -> None:
    """A kernel without reference counts must not receive a new array."""
    if isinstance(kind, types.BaseTuple):
        for part in kind:
            check_no_arrays(part)
    elif isinstance(kind, types.Array):
        raise TypingError("an array is returned to a kernel that counts no references")


def holds_references(kind: Any) -> bool:
    return isinstance(kind, Reference) or (isinstance(kind, types.BaseTuple) and any(map(holds_references, kind)))


class ChoiceType(types.Callable, types.Opaque):  # type: ignore[misc]
    """The type of `by_record`: the type of the last argument selects the kernel."""

    def __init__(self, kernels: Mapping[type, Any]) -> None:
        self.kernels = kernels
        super().__init__(f"Choice({id(kernels)})")

    def _chosen(self, args: Any) -> Any:
        return self.kernels[args[-1].instance_class]._numba_type_

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        return self._chosen(args).get_call_type(context, args, kws)

    def get_call_signatures(self) -> Any:
        return [], False

    def get_impl_key(self, sig: Any) -> Any:
        return self._chosen(sig.args).get_impl_key(sig)


register_model(KernelType)(models.OpaqueModel)
register_model(ChoiceType)(models.OpaqueModel)


class Entry(CPUDispatcher):  # type: ignore[misc]
    """Called by Python: Numba's dispatcher, which finds the code for the argument types."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.function, locals={}, targetoptions={"nopython": True})
        self.code = code

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock:
            arguments = tuple(sigutils.normalize_signature(sig)[0])
            if arguments not in self.overloads:
                cpu_target.target_context.refresh()  # defines symbols that cached code calls
                self.add_overload(self.code.entry(arguments))
            return self.overloads[arguments].entry_point


class Loading(NamedTuple):
    """Loads code from the cache. The cached code of its callers lists this, to run first."""

    key: str | None

    def __call__(self) -> None:
        if load(self.key) is None:
            raise LookupError(self.key)


LOADED: dict[str, Any] = {}  # compile results of this process, by key


def load(key: str | None) -> Any:
    """Numba's compile result from this process or from the cache; None if missing or unusable."""
    if key is None:
        return None
    if key not in LOADED:
        try:
            kept = cache.read(key)
            if kept is None:
                return None
            found = CompileResult._rebuild(cpu_target.target_context, *kept)
        except Exception:  # a damaged file may raise anything; the kernel is compiled again
            return None
        found.library._reload_init = {Loading(key)}
        LOADED[key] = found
    return LOADED[key]


def save(key: str | None, found: Any) -> None:
    """Cache a result, unless it calls code that cannot be cached."""
    if key is not None and Loading(None) not in found.reload_init:
        LOADED[key] = found
        cache.write(key, found._reduce())
