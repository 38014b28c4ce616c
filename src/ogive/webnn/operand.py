"""Operands of a graph under construction, and the operators that make them.

WebNN's element types, and how it casts numbers to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.webnn.shapes import Shape

if TYPE_CHECKING:
    from ogive.common.dtypes import ElementType
import math

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.errors import described
from ogive.webnn.exceptions import refuse

#: Every MLOperandDataType, in the order of the specification. All names are Ogive's and NumPy's own.
DATA_TYPES: dict[str, ElementType] = {
    name: ELEMENT_TYPES[name] for name in ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
}

#: The names in the tables of operators: types of operands.
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


@dataclass(frozen=True, eq=False)
class BuiltOperation:
    """One operator of a graph: what it was called with, checked."""

    name: str
    subject: str
    """How messages name it: with its label."""
    inputs: tuple[MLOperand, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


class MLOperand:
    """A value in a graph. It is made by a builder, and has a type and a shape.

    >>> from ogive.webnn import MLContext, MLGraphBuilder
    >>> builder = MLGraphBuilder(MLContext())
    >>> x = builder.input("x", {"dataType": "float32", "shape": [2, 3]})
    >>> x.dataType, x.shape
    ('float32', (2, 3))
    >>> builder.greater(x, builder.constant("float32", 0))
    <MLOperand uint8 [2, 3], of greater>
    """

    __slots__ = ("_array", "_builder", "_name", "_number", "_operation", "_output", "_shape", "_type")

    def __init__(
        self,
        builder: object,
        number: int,
        dataType: str,
        shape: Shape,
        *,
        name: str | None = None,
        array: np.ndarray | None = None,
        operation: BuiltOperation | None = None,
        output: int = 0,
    ) -> None:
        self._builder, self._number = builder, number
        self._type, self._shape = dataType, shape
        self._name, self._array, self._operation, self._output = name, array, operation, output

    @property
    def dataType(self) -> str:
        """The MLOperandDataType."""
        return self._type

    @property
    def shape(self) -> Shape:
        """The sizes of its axes; empty for a scalar."""
        return self._shape

    @property
    def _kind(self) -> ElementType:
        return DATA_TYPES[self._type]

    def __repr__(self) -> str:
        if self._operation is not None:
            source = f"of {self._operation.subject}"
        else:
            source = "a constant" if self._name is None else f"the input {self._name!r}"
        return f"<MLOperand {self._type} {list(self._shape)}, {source}>"
