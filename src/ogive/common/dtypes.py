"""The element types: one row each. The format that a type computes in is said here and nowhere else."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from ogive.common.forking import cached_property
from ogive.common.records import record

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["float", "signed", "unsigned", "boolean"]


@record()
class ElementType:
    """One element type, by NumPy's name.

    ``computes_in`` is the format that arithmetic on real numbers uses: float16 and bfloat16 compute in
    float32 and round once; integers up to 16 bits fit float32 exactly, 32-bit ones float64; 64-bit ones
    are held as an unevaluated sum of two float64.
    """

    name: str
    kind: Kind
    bits: int
    computes_in: Literal["float32", "float64"]
    onnx: str
    directml: str | None

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; bool is none."""
        return self.kind in ("signed", "unsigned")

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return max(self.bits // 8, 1)

    @property
    def minimum(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "signed" else 0

    @property
    def maximum(self) -> int:
        """The largest value of an integer or boolean type."""
        return (1 << (self.bits - (self.kind == "signed"))) - 1

    @cached_property
    def numpy(self) -> np.dtype:
        """NumPy's dtype. bfloat16 and floats of 8 bits are ml_dtypes', which is imported here when it is first wanted."""
        import numpy as np

        if self.name == "bfloat16" or (self.is_float and self.bits == 8):
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.name))  # type: ignore[no-any-return]  # ml_dtypes has no types
        return np.dtype(self.name)

    @cached_property
    def type_numbers(self) -> tuple[int, ...]:
        """NumPy's numbers of the C types that are this one: ``long`` may be ``int`` or ``long long``."""
        import numpy as np

        if not self.is_integer:
            return (self.numpy.num,)
        codes = "bhilq" if self.kind == "signed" else "BHILQ"
        return tuple(np.dtype(code).num for code in codes if np.dtype(code).itemsize == self.itemsize)


ELEMENT_TYPES = {
    row.name: row
    for row in (
        ElementType("float16", "float", 16, "float32", "FLOAT16", "FLOAT16"),
        ElementType("bfloat16", "float", 16, "float32", "BFLOAT16", None),
        ElementType("float32", "float", 32, "float32", "FLOAT", "FLOAT32"),
        ElementType("float64", "float", 64, "float64", "DOUBLE", "FLOAT64"),
        ElementType("int8", "signed", 8, "float32", "INT8", "INT8"),
        ElementType("int16", "signed", 16, "float32", "INT16", "INT16"),
        ElementType("int32", "signed", 32, "float64", "INT32", "INT32"),
        ElementType("int64", "signed", 64, "float64", "INT64", "INT64"),
        ElementType("uint8", "unsigned", 8, "float32", "UINT8", "UINT8"),
        ElementType("uint16", "unsigned", 16, "float32", "UINT16", "UINT16"),
        ElementType("uint32", "unsigned", 32, "float64", "UINT32", "UINT32"),
        ElementType("uint64", "unsigned", 64, "float64", "UINT64", "UINT64"),
        ElementType("bool", "boolean", 1, "float32", "BOOL", None),
    )
}

#: Floats of 8 bits: tables, golden data and the judge have them. Kernels do not.
FLOATS_OF_8_BITS = {
    row.name: row
    for row in (
        ElementType("float8_e4m3", "float", 8, "float32", "", None),
        ElementType("float8_e4m3fn", "float", 8, "float32", "FLOAT8E4M3FN", None),
        ElementType("float8_e4m3fnuz", "float", 8, "float32", "FLOAT8E4M3FNUZ", None),
        ElementType("float8_e5m2", "float", 8, "float32", "FLOAT8E5M2", None),
        ElementType("float8_e5m2fnuz", "float", 8, "float32", "FLOAT8E5M2FNUZ", None),
    )
}


class FloatFormat(NamedTuple):
    """The numbers of a floating-point type."""

    precision: int
    """Significant bits."""
    smallest_exponent: int
    """The exponent of the smallest normal number."""
    largest: float
    """The largest finite number."""

    @property
    def largest_exponent(self) -> int:
        """The exponent of the largest finite number.

        >>> FLOAT_FORMATS["bfloat16"].largest_exponent
        127
        """
        return math.frexp(self.largest)[1] - 1


FLOAT_FORMATS = {
    "float16": FloatFormat(11, -14, 65504.0),
    "bfloat16": FloatFormat(8, -126, float.fromhex("0x1.fep127")),
    "float32": FloatFormat(24, -126, float.fromhex("0x1.fffffep127")),
    "float64": FloatFormat(53, -1022, float.fromhex("0x1.fffffffffffffp1023")),
    "float8_e4m3": FloatFormat(4, -6, 240.0),
    "float8_e4m3fn": FloatFormat(4, -6, 448.0),
    "float8_e4m3fnuz": FloatFormat(4, -7, 240.0),
    "float8_e5m2": FloatFormat(3, -14, 57344.0),
    "float8_e5m2fnuz": FloatFormat(3, -15, 57344.0),
}

FLOATS = tuple(t for t in ELEMENT_TYPES.values() if t.kind == "float")
SIGNED = tuple(t for t in ELEMENT_TYPES.values() if t.kind == "signed")
UNSIGNED = tuple(t for t in ELEMENT_TYPES.values() if t.kind == "unsigned")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
BOOLEAN = ELEMENT_TYPES["bool"]


def element_type(name: str) -> ElementType:
    """The row of that name.

    >>> element_type("int32").maximum
    2147483647
    """
    return ELEMENT_TYPES[name]


@lru_cache(maxsize=64)
def element_type_of(dtype: np.dtype) -> ElementType | None:
    """The row of a NumPy dtype, or None where Ogive has no such type (complex, text, other byte order)."""
    return ELEMENT_TYPES.get(dtype.name) if dtype.isnative else None


def stored_type(name: str) -> ElementType | None:
    """The row of that name, floats of 8 bits among them; None for other names.

    >>> stored_type("float8_e5m2").bits
    8
    """
    return ELEMENT_TYPES.get(name) or FLOATS_OF_8_BITS.get(name)


def stored_type_of(dtype: np.dtype) -> ElementType | None:
    """The element type of a NumPy dtype."""
    return element_type_of(dtype) or FLOATS_OF_8_BITS.get(dtype.name)
