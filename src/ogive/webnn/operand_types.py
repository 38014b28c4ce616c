"""WebNN's element types, and how it casts numbers to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ogive.dtypes import ELEMENT_TYPES, ElementType
from ogive.errors import described
from ogive.webnn.exceptions import refuse

__all__ = ["DATA_TYPES", "FLOATS", "SIGNED", "WIDE", "cast_number", "data_type"]

#: Every MLOperandDataType, in the order of the specification. All names are Ogive's and NumPy's own.
DATA_TYPES: dict[str, ElementType] = {
    name: ELEMENT_TYPES[name] for name in ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
}

#: What the tables of operators name: types of operands.
FLOATS = ("float32", "float16")
SIGNED = ("float32", "float16", "int64", "int32", "int8")
WIDE = ("float32", "float16", "int32", "uint32", "int64", "uint64")


def data_type(subject: str, value: Any, what: str = "dataType") -> str:
    """An MLOperandDataType, as it was given."""
    if not isinstance(value, str) or value not in DATA_TYPES:
        way_out = ""
        if isinstance(value, str) and value in ("int4", "uint4"):
            way_out = "The specification has no types of 4 bits; give the numbers as 'int8' or 'uint8'"
        refuse(subject, f"{what} is {described(value)}", ", ".join(map(repr, DATA_TYPES)), way_out)
    return value


def cast_number(subject: str, what: str, value: Any, kind: str) -> float | int:
    """An MLNumber as a number of a type: rounded to the nearest, halves to even. Integers saturate; NaN is 0 there.

    >>> cast_number("clamp", "maxValue", 1e30, "int8"), cast_number("elu", "alpha", 0.1, "float16")
    (127, 0.0999755859375)
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        refuse(subject, f"{what} is {described(value)}", "a number")
    row = DATA_TYPES[kind]
    if row.is_float:
        with np.errstate(all="ignore"):
            return _nearest(value, row)
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return row.maximum if value > 0 else row.minimum
    return min(max(round(value), row.minimum), row.maximum)


def _nearest(value: Any, row: ElementType) -> float:
    """Rounded once: a whole number of Python need not be a float64."""
    if isinstance(value, int | np.integer) and abs(int(value)) > 2**53:
        exact = int(value)
        try:
            candidate = float(row.numpy.type(float(exact)))
        except OverflowError:
            return math.copysign(math.inf, exact)
        if math.isinf(candidate):
            return candidate
        near = [
            candidate,
            *(float(np.nextafter(row.numpy.type(candidate), row.numpy.type(s))) for s in (-np.inf, np.inf)),
        ]
        finite = [x for x in near if math.isfinite(x)]
        return min(finite, key=lambda x: (abs(int(x) - exact), abs(x - candidate)))
    return float(row.numpy.type(value))
