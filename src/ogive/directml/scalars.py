"""The small structures: a scale and a bias, two sizes, and a number of any type."""

from __future__ import annotations

import struct as binary
from typing import Any

import numpy as np

from ogive.directml.data import DATA_TYPES
from ogive.directml.enumerations import DML_TENSOR_DATA_TYPE, short_name
from ogive.directml.results import refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, structures


class DML_SCALE_BIAS(Structure):
    """A scale and a bias of the input, before the function: ``x * Scale + Bias``.

    >>> import ogive.directml as dml
    >>> dml.DML_SCALE_BIAS(Scale=0.1, Bias=1)
    DML_SCALE_BIAS(Scale=0.1, Bias=1.0)

    Both are FLOAT. On floating types nothing is rounded between this and the function, as nothing is
    rounded within a function; on integer types the result is rounded towards zero and saturates first.
    Source: DML_SCALE_BIAS (DirectML 1.0).
    """

    MEMBERS = (StructureMember("Scale", "FLOAT"), StructureMember("Bias", "FLOAT"))
    __slots__ = ("Bias", "Scale")


class DML_SIZE_2D(Structure):
    """A width and a height, in this order. Source: DML_SIZE_2D (DirectML 1.0)."""

    MEMBERS = (StructureMember("Width", "UINT"), StructureMember("Height", "UINT"))
    __slots__ = ("Height", "Width")


#: The members of the union: how `struct` packs them.
_FORMATS = {
    "Int8": "<b",
    "Int16": "<h",
    "Int32": "<i",
    "Int64": "<q",
    "UInt8": "<B",
    "UInt16": "<H",
    "UInt32": "<I",
    "UInt64": "<Q",
    "Float32": "<f",
    "Float64": "<d",
}


class DML_SCALAR_UNION:
    """Eight bytes that hold a number; a data type beside it, in the desc, says which.

    Made by naming one member, or all ``Bytes``. Every member can be read, as in C: it is what these bytes
    mean in that type. There is no member for FLOAT16, whose bits go into ``UInt16``; `of` sees to that.

    >>> import ogive.directml as dml
    >>> dml.DML_SCALAR_UNION(Float32=1.5).UInt32
    1069547520
    >>> dml.DML_SCALAR_UNION.of(1.5, dml.DML_TENSOR_DATA_TYPE_FLOAT16)
    DML_SCALAR_UNION(UInt16=15872)

    Raises DMLError for a number that the member cannot hold. Source: DML_SCALAR_UNION (feature level 3_0).
    """

    __slots__ = ("Bytes", "_member")
    __match_args__ = ("Bytes",)
    Bytes: bytes
    _member: str

    def __init__(self, Bytes: bytes | None = None, /, **member: Any) -> None:
        name = type(self).__name__
        if Bytes is not None:
            member["Bytes"] = Bytes
        if len(member) != 1:
            refuse(name, f"{len(member)} members were given", f"one of Bytes, {', '.join(_FORMATS)}")
        ((chosen, value),) = member.items()
        if chosen == "Bytes":
            if not isinstance(value, bytes | bytearray) or len(value) != 8:
                refuse(name, f"Bytes is {value!r}", "8 bytes", member="Bytes")
            packed = bytes(value)
        elif chosen in _FORMATS:
            packed = self._packed(chosen, value)
        else:
            refuse(name, f"there is no member {chosen}", f"Bytes, {', '.join(_FORMATS)}", member=chosen)
        object.__setattr__(self, "Bytes", packed)
        object.__setattr__(self, "_member", chosen)

    def _packed(self, member: str, value: Any) -> bytes:
        is_float = member.startswith("Float")
        kinds = (int, np.integer, float, np.floating) if is_float else (int, np.integer)
        try:
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise OverflowError
            return binary.pack(_FORMATS[member], float(value) if is_float else int(value)).ljust(8, b"\0")
        except (OverflowError, binary.error):
            refuse(type(self).__name__, f"{member} is {value!r}", f"what a {member} can hold", member=member)

    @classmethod
    def of(cls, value: float, data_type: Any) -> DML_SCALAR_UNION:
        """The union that holds a number in the member for a data type."""
        kind = _data_type(data_type)
        if kind == "FLOAT16":
            with np.errstate(over="ignore"):
                half = np.float16(value)
            if np.isinf(half) and not np.isinf(value):
                refuse(cls.__name__, f"the value is {value!r}", "what a FLOAT16 can hold, up to 65504")
            return cls(UInt16=int(half.view(np.uint16)))
        return cls(**{_member(kind): value})

    def value(self, data_type: Any) -> int | float:
        """The number that these bytes are in a data type."""
        kind = _data_type(data_type)
        if kind == "FLOAT16":
            return float(np.frombuffer(self.Bytes[:2], "<f2")[0])
        return getattr(self, _member(kind))  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> int | float:
        if name not in _FORMATS:
            raise AttributeError(f"DML_SCALAR_UNION has no member {name}")
        return binary.unpack_from(_FORMATS[name], self.Bytes)[0]  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DML_SCALAR_UNION: {name} cannot be set. Make another one")

    def __repr__(self) -> str:
        value = self.Bytes if self._member == "Bytes" else getattr(self, self._member)
        shown = str(np.float32(value)) if self._member == "Float32" else repr(value)
        return f"DML_SCALAR_UNION({self._member}={shown})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DML_SCALAR_UNION) and other.Bytes == self.Bytes

    def __hash__(self) -> int:
        return hash(self.Bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.Bytes,)


def _data_type(data_type: Any) -> str:
    kind = CONVERTERS["DML_TENSOR_DATA_TYPE"]("DML_SCALAR_UNION", "data type", data_type)
    name = short_name(kind)
    if kind == DML_TENSOR_DATA_TYPE.UNKNOWN or DATA_TYPES[name].bits < 8:
        refuse("DML_SCALAR_UNION", f"the data type is {kind}", "types of 8 bits and more")
    return name


def _member(kind: str) -> str:
    return kind.replace("UINT", "UInt").replace("FLOAT", "Float").replace("INT", "Int")


CONVERTERS["DML_SCALE_BIAS"] = structures(DML_SCALE_BIAS)
CONVERTERS["DML_SCALAR_UNION"] = lambda owner, name, value: (
    value
    if isinstance(value, DML_SCALAR_UNION)
    else refuse(owner, f"{name} is {value!r}", "a DML_SCALAR_UNION, such as DML_SCALAR_UNION(Float32=1.0)", member=name)
)
