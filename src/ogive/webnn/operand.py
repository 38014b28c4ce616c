"""Operands of a graph under construction, and the operators that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.webnn.operand_types import DATA_TYPES
from ogive.webnn.shapes import Shape

if TYPE_CHECKING:
    from ogive.dtypes import ElementType

__all__ = ["BuiltOperation", "MLOperand"]


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
