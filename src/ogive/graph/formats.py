"""The kind of a node's value: a number or a truth value of a formula, or a machine format."""

from __future__ import annotations

import enum

from ogive.common.dtypes import FLOAT_FORMATS
from ogive.common.forking import cached_property


class Format(enum.Enum):
    """The kind of a node's value. The first two belong to formulas, the others are machine formats."""

    NUMBER = "number"
    TRUTH = "truth"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    BIT = "bit"

    __hash__ = object.__hash__  # Enum's is a function of Python, and nodes are looked up by their formats

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def is_machine(self) -> bool:
        """Whether machines compute in it: real numbers and truth values of formulas are no format of a machine."""
        return self not in (Format.NUMBER, Format.TRUTH)

    @cached_property
    def is_float(self) -> bool:
        """Whether it is a floating-point format."""
        return self in (Format.F16, Format.BF16, Format.F32, Format.F64)

    @cached_property
    def is_signed(self) -> bool:
        """Whether it is a format of signed integers."""
        return self in (Format.I8, Format.I16, Format.I32, Format.I64)

    @cached_property
    def is_integer(self) -> bool:
        """Whether it is a format of integers, with a sign or without."""
        return self.is_machine and not self.is_float and self is not Format.BIT

    @cached_property
    def bits(self) -> int:
        """Bits of a number."""
        return _BITS[self]

    @cached_property
    def precision(self) -> int:
        """How many significant bits a number of this floating-point format has."""
        return _PRECISION[self]

    @cached_property
    def bias(self) -> int:
        """The bias of the exponent of this floating-point format, which is its largest exponent."""
        return _BIAS[self]


#: How the numbers of an element type are stored.
STORAGE = {
    "float16": Format.F16,
    "bfloat16": Format.BF16,
    "float32": Format.F32,
    "float64": Format.F64,
    "int8": Format.I8,
    "int16": Format.I16,
    "int32": Format.I32,
    "int64": Format.I64,
    "uint8": Format.U8,
    "uint16": Format.U16,
    "uint32": Format.U32,
    "uint64": Format.U64,
    "bool": Format.U8,
}


_BITS: dict[Format, int] = {f: int(f.value.lstrip("bfiu")) for f in Format if f.is_machine and f is not Format.BIT}
_BITS[Format.BIT] = 1
_FLOATS = {form: FLOAT_FORMATS[name] for name, form in STORAGE.items() if form.is_float}
_PRECISION = {form: row.precision for form, row in _FLOATS.items()}
_BIAS = {form: row.largest_exponent for form, row in _FLOATS.items()}
