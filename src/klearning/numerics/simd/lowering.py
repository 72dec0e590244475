"""The LLVM code of the operations in `simd/operations.py`. Imported when a kernel that uses them is compiled."""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from klearning.numerics.simd.operations import LANES

ELEMENTS = {"float": ir.DoubleType(), "int": ir.IntType(64), "bool": ir.IntType(1)}


class Lanes(types.Type):  # type: ignore[misc]  # Numba is not typed
    """The type of eight floats, eight integers or eight booleans."""

    def __init__(self, element: str) -> None:
        self.element = element
        super().__init__(f"Lanes({element})")

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(ELEMENTS[self.element], LANES)


FLOATS, INTS, BOOLS = Lanes("float"), Lanes("int"), Lanes("bool")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.vector)


def in_all_lanes(builder: Any, value: Any, kind: Any, like: Lanes) -> Any:
    """Lanes as they are; a number is broadcast."""
    if isinstance(kind, Lanes):
        return value
    one = builder.insert_element(ir.Constant(like.vector, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def lanes_among(*kinds: Any) -> Lanes | None:
    return next((kind for kind in kinds if isinstance(kind, Lanes)), None)


def lanes_of(array: Any) -> Lanes:
    """The type of eight elements of an array."""
    return FLOATS if array.dtype == types.float64 else INTS


def first_element(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """A pointer to the first element of an array."""
    return cgutils.create_struct_proxy(kind)(context, builder, value=array).data


def place(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """A pointer to lanes in an array."""
    data = first_element(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [i]), lanes_of(kind).vector.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, x: Any, i: Any) -> Any:
    """x[i : i+8], for a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(place(context, builder, signature.args[0], *args), align=8)

    return lanes_of(x)(x, i), generate


@intrinsic  # type: ignore[untyped-decorator]
def gather(typing: Any, x: Any, places: Any) -> Any:
    """x at eight indices, for a contiguous array."""
    kind = lanes_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, vector = first_element(context, builder, signature.args[0], args[0]), kind.vector
        begin = in_all_lanes(builder, builder.ptrtoint(data, ELEMENTS["int"]), types.int64, INTS)
        distance = builder.shl(args[1], INTS.vector([3] * LANES))  # in bytes
        pointers = builder.inttoptr(builder.add(begin, distance), ir.VectorType(data.type, LANES))
        name = f"llvm.masked.gather.v{LANES}{'f' if kind is FLOATS else 'i'}64.v{LANES}p0"
        signs = ir.FunctionType(vector, [pointers.type, ir.IntType(32), BOOLS.vector, vector])
        whole, nothing = BOOLS.vector([1] * LANES), ir.Constant(vector, ir.Undefined)
        function = cgutils.get_or_insert_function(builder.module, signs, name)
        return builder.call(function, [pointers, ir.IntType(32)(8), whole, nothing])

    return kind(x, places), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, x: Any, i: Any, lanes: Any) -> Any:
    """x[i : i+8] = lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], place(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(x, i, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def choose(typing: Any, which: Any, x: Any, y: Any) -> Any:
    """x if ``which`` is true, else y, for numbers and for lanes."""
    kind = (lanes_among(x, y) or FLOATS) if isinstance(which, Lanes) else None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if kind is None:
            return builder.select(*args)
        either = (in_all_lanes(builder, value, given, kind) for value, given in zip(args[1:], (x, y), strict=True))
        return builder.select(args[0], *either)

    return (types.float64 if kind is None else kind)(which, x, y), generate


def unary(signature: Callable[[Any], Any], build: Callable[..., Any]) -> Any:
    """An operation on one argument: its signature by the argument's type, and ``build(builder, value, kind)``."""

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(typing: Any, x: Any) -> Any:
        return signature(x), lambda context, builder, _, args: build(builder, args[0], x)

    return operation


def lanes_like(kind: Any) -> Lanes:
    return FLOATS if kind == types.float64 else INTS


def mask(builder: Any, conditions: Any) -> Any:
    """Eight booleans as the bits of an integer."""
    return builder.bitcast(conditions, ir.IntType(LANES))


def are_all(builder: Any, conditions: Any) -> Any:
    return builder.icmp_unsigned("==", mask(builder, conditions), ir.IntType(LANES)(2**LANES - 1))


def are_consecutive(builder: Any, integers: Any) -> Any:
    first = builder.extract_element(integers, ir.IntType(32)(0))
    counted = builder.add(in_all_lanes(builder, first, types.int64, INTS), INTS.vector(list(range(LANES))))
    return are_all(builder, builder.icmp_signed("==", integers, counted))


def fenced(builder: Any, value: Any, kind: Any) -> Any:
    """Keeps LLVM from fusing a product with a later addition."""
    name = "llvm.arithmetic.fence." + (f"v{LANES}f64" if isinstance(kind, Lanes) else "f64")
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(value.type, [value.type]), name)
    return builder.call(function, [value])


def same_bits(vector: Lanes, single: Any) -> Callable[..., Any]:
    return lambda builder, value, kind: builder.bitcast(value, vector.vector if isinstance(kind, Lanes) else single)


broadcast = unary(
    lambda kind: lanes_like(kind)(kind),
    lambda builder, value, kind: in_all_lanes(builder, value, kind, lanes_like(kind)),
)
all_true = unary(lambda kind: types.boolean(kind), lambda builder, value, kind: are_all(builder, value))
any_true = unary(
    lambda kind: types.boolean(kind),
    lambda builder, value, kind: builder.icmp_unsigned("!=", mask(builder, value), ir.IntType(LANES)(0)),
)
is_contiguous = unary(lambda kind: types.boolean(kind), lambda builder, value, kind: are_consecutive(builder, value))
truncated = unary(lambda kind: INTS(kind), lambda builder, value, kind: builder.fptosi(value, INTS.vector))
as_floats = unary(lambda kind: FLOATS(kind), lambda builder, value, kind: builder.sitofp(value, FLOATS.vector))
rounded = unary(lambda kind: kind(kind), fenced)
to_bits = unary(
    lambda kind: INTS(FLOATS) if isinstance(kind, Lanes) else types.int64(types.float64),
    same_bits(INTS, ELEMENTS["int"]),
)
from_bits = unary(
    lambda kind: FLOATS(INTS) if isinstance(kind, Lanes) else types.float64(types.int64),
    same_bits(FLOATS, ELEMENTS["float"]),
)


def define(name: Any, build: Callable[..., Any], answer: Lanes | None = None) -> None:
    """Define a binary operator with at least one operand in lanes."""

    @type_callable(name)  # type: ignore[untyped-decorator]
    def among(context: Any) -> Any:
        return lambda x, y: answer or lanes_among(x, y) if lanes_among(x, y) else None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind: Any = lanes_among(*signature.args)
        return build(builder, *(in_all_lanes(builder, *x, kind) for x in zip(args, signature.args, strict=True)))

    for kinds in ((Lanes, Lanes), (Lanes, types.Any), (types.Any, Lanes)):
        lower_builtin(name, *kinds)(generate)


def define_single(name: Any, build: Callable[..., Any]) -> None:
    """Define a function of lanes."""

    @type_callable(name)  # type: ignore[untyped-decorator]
    def among(context: Any) -> Any:
        return lambda x: x if isinstance(x, Lanes) else None

    lower_builtin(name, Lanes)(lambda context, builder, signature, args: build(builder, *args))


def is_float(x: Any) -> bool:
    return bool(x.type == FLOATS.vector)


def compared(builder: Any, sign: str, x: Any, y: Any) -> Any:
    return (builder.fcmp_ordered if is_float(x) else builder.icmp_signed)(sign, x, y)


def absolute(builder: Any, x: Any) -> Any:
    kind = ir.FunctionType(x.type, [x.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f64"), [x])


for plus in (operator.add, operator.iadd):
    define(plus, lambda builder, x, y: builder.fadd(x, y) if is_float(x) else builder.add(x, y))
define(operator.sub, lambda builder, x, y: builder.fsub(x, y))
define(operator.mul, lambda builder, x, y: builder.fmul(x, y) if is_float(x) else builder.mul(x, y))
define(operator.truediv, lambda builder, x, y: builder.fdiv(x, y))
define(operator.lshift, lambda builder, x, y: builder.shl(x, y))
define(operator.rshift, lambda builder, x, y: builder.ashr(x, y))
define(operator.and_, lambda builder, x, y: builder.and_(x, y))
define(operator.or_, lambda builder, x, y: builder.or_(x, y))
define(operator.lt, lambda builder, x, y: compared(builder, "<", x, y), BOOLS)
define(operator.gt, lambda builder, x, y: compared(builder, ">", x, y), BOOLS)
define_single(operator.neg, lambda builder, x: builder.fneg(x))
define_single(abs, absolute)
