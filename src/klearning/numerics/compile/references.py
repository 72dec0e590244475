"""Records by reference: inside kernels a record of arrays is an address, and fields are read when they are used.

Numba passes a record as hundreds of words, one for each part of each array that it holds, through every call. A
`Reference` is one word. The record does not change while a kernel runs, and outlives it: the caller holds it.
"""

from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_cast, lower_getattr_generic, models, register_model, unbox


class Reference(types.Type):  # type: ignore[misc]  # Numba is not typed
    """The type of a record's address."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"Reference({record})")

    @property
    def key(self) -> Any:
        return self.record  # two records may have the same name, and fields of the same types

    @property
    def instance_class(self) -> Any:
        return self.record.instance_class

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if other == self.record else None

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if other == self.record else None


def referred(kind: Any) -> Any:
    """A type as an argument: records by reference."""
    return Reference(kind) if isinstance(kind, types.BaseNamedTuple) else kind


def value_of(kind: Any) -> Any:
    """A type as an argument: records as they are."""
    return kind.record if isinstance(kind, Reference) else kind


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(kind.record).get_value_type().as_pointer())


@infer_getattr
class ReferenceAttributes(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        fields = kind.record.fields
        return referred(kind.record.types[fields.index(name)]) if name in fields else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def read(context: Any, builder: Any, kind: Reference, address: Any, name: str) -> Any:
    i = kind.record.fields.index(name)
    part, field = kind.record.types[i], cgutils.gep_inbounds(builder, address, 0, i)
    if isinstance(part, types.BaseNamedTuple):
        return field
    if isinstance(part, types.Array) and part.layout == "C":
        return read_array(context, builder, part, field)
    return impl_ret_borrowed(context, builder, part, builder.load(field))


def read_array(context: Any, builder: Any, kind: types.Array, field: Any) -> Any:
    """An array from its data pointer and shape alone, without reference count."""
    word, model = context.get_value_type(types.intp), context.data_model_manager[kind]
    data, shape = (model.get_field_position(name) for name in ("data", "shape"))
    lengths = [_unchanging(builder, field, shape, d) for d in range(kind.ndim)]
    strides = [word(context.get_abi_sizeof(context.get_data_type(kind.dtype)))]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    parts = {
        "nitems": reduce(builder.mul, lengths),
        "itemsize": strides[-1],
        "data": _unchanging(builder, field, data),
        "shape": cgutils.pack_array(builder, lengths, word),
        "strides": cgutils.pack_array(builder, strides, word),
    }
    array = ir.Constant(context.get_value_type(kind), None)
    for name, part in parts.items():
        array = builder.insert_value(array, part, model.get_field_position(name))
    return array


def _unchanging(builder: Any, address: Any, *path: int) -> Any:
    """Load a value that no write to an array can change."""
    value = builder.load(cgutils.gep_inbounds(builder, address, 0, *path))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@lower_cast(types.BaseNamedTuple, Reference)  # type: ignore[untyped-decorator]
def as_reference(context: Any, builder: Any, kind: Any, target: Any, value: Any) -> Any:
    return cgutils.alloca_once_value(builder, value)


@lower_cast(Reference, types.BaseNamedTuple)  # type: ignore[untyped-decorator]
def as_value(context: Any, builder: Any, kind: Any, target: Any, address: Any) -> Any:
    return impl_ret_borrowed(context, builder, target, builder.load(address))


@unbox(Reference)  # type: ignore[untyped-decorator]
def from_python(kind: Reference, record: Any, c: Any) -> NativeValue:
    """Convert a record from Python. Its arrays are borrowed for the call, without reference counts."""
    address = cgutils.alloca_once(c.builder, c.context.get_value_type(kind.record))
    failed, ends = [cgutils.false_bit], []  # type: ignore[var-annotated]
    _fill(kind.record, record, address, c, failed, ends)
    is_error = failed[0]
    for other in failed[1:]:
        is_error = c.builder.or_(is_error, other)
    return NativeValue(address, is_error=is_error, cleanup=lambda: [end() for end in ends])


def _fill(record: Any, given: Any, address: Any, c: Any, failed: list[Any], ends: list[Any]) -> None:
    for i, part in enumerate(record.types):
        item, field = c.pyapi.tuple_getitem(given, i), cgutils.gep_inbounds(c.builder, address, 0, i)
        if isinstance(part, types.BaseNamedTuple):
            _fill(part, item, field, c, failed, ends)
        elif isinstance(part, types.Array):
            failed.append(cgutils.is_not_null(c.builder, _borrow(c, item, field)))
        else:
            native = c.unbox(part, item)
            c.builder.store(native.value, field)
            failed.append(native.is_error)
            if c.context.data_model_manager[part].contains_nrt_meminfo():
                ends.append(lambda part=part, native=native: c.context.nrt.decref(c.builder, part, native.value))


def _borrow(c: Any, array: Any, field: Any) -> Any:
    """Write the description of an array to a field; the result is not 0 if it is not an array."""
    kind = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    function = cgutils.get_or_insert_function(c.builder.module, kind, "numba_adapt_ndarray")
    return c.builder.call(function, [array, c.builder.bitcast(field, c.pyapi.voidptr)])
