"""ONNX's element types: one row each, with NumPy's dtype of the same values.

A value's type is written as the standard's schemas write it: ``tensor(float)``, ``seq(tensor(int64))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from onnx import TensorProto, TypeProto

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.common.forking import cached_property
from ogive.errors import ModelError, UnsupportedError, message

#: How deep sequences of sequences may be. A file can say no more than 50: protobuf reads 100 messages in each other.
DEEPEST_TYPE = 64


@dataclass(frozen=True)
class DataType:
    """One element type of ONNX."""

    name: str
    """ONNX's name of the type in ``TensorProto.DataType``."""
    text: str
    """The schemas' name for it."""
    dtype: str
    """NumPy's or ml_dtypes' name."""
    bits: int
    """How many bits an element has in a file."""

    def __repr__(self) -> str:
        return self.name

    @property
    def type(self) -> str:
        """The type of a tensor with these elements."""
        return f"tensor({self.text})"

    @property
    def number(self) -> int:
        return int(TensorProto.DataType.Value(self.name))

    @cached_property
    def numpy(self) -> np.dtype:
        """The dtype of arrays with these elements; text is in arrays of Python objects."""
        if hasattr(np, self.dtype):
            native: np.dtype = np.dtype(getattr(np, self.dtype))
            return native
        import ml_dtypes

        if not hasattr(ml_dtypes, self.dtype):
            raise UnsupportedError(f"the installed ml_dtypes has no {self.dtype}, which {self.type} needs")
        small: np.dtype = np.dtype(getattr(ml_dtypes, self.dtype))
        return small

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers; truth values are not."""
        return self.name.startswith(("INT", "UINT"))

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest element of a type of integers or truth values."""
        if self.name == "BOOL":
            return 0, 1
        span: int = 2**self.bits
        return (0, span - 1) if self.name.startswith("UINT") else (-span // 2, span // 2 - 1)

    @property
    def element(self) -> ElementType | None:
        """The element type of kernels; None where kernels do not compute with it."""
        return _ELEMENTS.get(self.name)


_ELEMENTS = {t.onnx: t for t in ELEMENT_TYPES.values()}


def _rows() -> Iterator[DataType]:
    for row in (
        DataType("FLOAT", "float", "float32", 32),
        DataType("DOUBLE", "double", "float64", 64),
        DataType("FLOAT16", "float16", "float16", 16),
        DataType("BFLOAT16", "bfloat16", "bfloat16", 16),
        DataType("INT8", "int8", "int8", 8),
        DataType("INT16", "int16", "int16", 16),
        DataType("INT32", "int32", "int32", 32),
        DataType("INT64", "int64", "int64", 64),
        DataType("UINT8", "uint8", "uint8", 8),
        DataType("UINT16", "uint16", "uint16", 16),
        DataType("UINT32", "uint32", "uint32", 32),
        DataType("UINT64", "uint64", "uint64", 64),
        DataType("BOOL", "bool", "bool", 8),
        DataType("STRING", "string", "object_", 0),
        DataType("COMPLEX64", "complex64", "complex64", 64),
        DataType("COMPLEX128", "complex128", "complex128", 128),
        DataType("FLOAT8E4M3FN", "float8e4m3fn", "float8_e4m3fn", 8),
        DataType("FLOAT8E4M3FNUZ", "float8e4m3fnuz", "float8_e4m3fnuz", 8),
        DataType("FLOAT8E5M2", "float8e5m2", "float8_e5m2", 8),
        DataType("FLOAT8E5M2FNUZ", "float8e5m2fnuz", "float8_e5m2fnuz", 8),
        DataType("FLOAT8E8M0", "float8e8m0", "float8_e8m0fnu", 8),
        DataType("FLOAT6E2M3", "float6e2m3", "float6_e2m3fn", 6),
        DataType("FLOAT6E3M2", "float6e3m2", "float6_e3m2fn", 6),
        DataType("FLOAT4E2M1", "float4e2m1", "float4_e2m1fn", 4),
        DataType("INT4", "int4", "int4", 4),
        DataType("UINT4", "uint4", "uint4", 4),
        DataType("INT2", "int2", "int2", 2),
        DataType("UINT2", "uint2", "uint2", 2),
    ):
        if row.name in TensorProto.DataType.keys():  # noqa: SIM118  # an enumeration of protobuf, no mapping
            yield row


#: All element types that the installed onnx knows, by the type of their tensors.
DATA_TYPES: dict[str, DataType] = {row.type: row for row in _rows()}


@cache
def data_type(number: int) -> DataType | None:
    """The row of a number of ``TensorProto.DataType``; None for UNDEFINED and what is not there."""
    return next((row for row in DATA_TYPES.values() if row.number == number), None)


def data_type_of(dtype: np.dtype) -> DataType | None:
    """The row of a NumPy dtype, or None."""
    return next((row for row in DATA_TYPES.values() if row.numpy == dtype), None)


def element_types(types: tuple[str, ...]) -> tuple[ElementType, ...] | None:
    """The element types of kernels for values of these types; None where kernels lack one of them."""
    rows = [DATA_TYPES[t].element if t in DATA_TYPES else None for t in types]
    known = tuple(row for row in rows if row is not None)
    return known if len(known) == len(rows) else None


def type_of_proto(proto: TypeProto, depth: int = 0) -> str | None:
    """How the schemas write the type of a value; None where the proto does not say it.

    Raises ModelError for types that are nested too deep.

    >>> from onnx.helper import make_tensor_type_proto
    >>> type_of_proto(make_tensor_type_proto(1, [2, 3]))
    'tensor(float)'
    """
    if depth > DEEPEST_TYPE:
        what = f"it declares a type of sequences, maps and optionals more than {DEEPEST_TYPE} deep"
        raise ModelError(message("model", what, f"{DEEPEST_TYPE}"))
    match proto.WhichOneof("value"):
        case "tensor_type":
            row = data_type(proto.tensor_type.elem_type)
            return None if row is None else row.type
        case "sparse_tensor_type":
            row = data_type(proto.sparse_tensor_type.elem_type)
            return None if row is None else f"sparse_{row.type}"
        case "sequence_type":
            inner = type_of_proto(proto.sequence_type.elem_type, depth + 1)
            return None if inner is None else f"seq({inner})"
        case "optional_type":
            inner = type_of_proto(proto.optional_type.elem_type, depth + 1)
            return None if inner is None else f"optional({inner})"
        case "map_type":
            key, inner = data_type(proto.map_type.key_type), type_of_proto(proto.map_type.value_type, depth + 1)
            return None if key is None or inner is None else f"map({key.text}, {inner})"
    return None


def proto_of_type(kind: str) -> TypeProto:
    """The type of a tensor of unknown shape; an empty one for values of other kinds."""
    proto = TypeProto()
    if kind in DATA_TYPES:
        proto.tensor_type.elem_type = DATA_TYPES[kind].number
    return proto
