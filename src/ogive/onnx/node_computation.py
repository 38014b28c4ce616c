"""The forms that a node becomes: a constant, another name for a value, an element-wise program, or a function on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.common.dtypes import ElementType
from ogive.engine.computation import Computation
from ogive.engine.rows import RowFormula
from ogive.onnx.broadcasting import Rule


@dataclass(frozen=True, eq=False)
class SameValue:
    """The output is the first input."""

    value: str
    type: str


@dataclass(frozen=True, eq=False)
class Constant:
    """The output is known."""

    array: np.ndarray
    type: str


@dataclass(frozen=True, eq=False)
class ElementwiseNode:
    """Each element of the output follows from the elements of the operands at its place."""

    operands: tuple[str, ...]
    inputs: tuple[ElementType, ...]
    result: ElementType
    type: str
    rule: Rule
    computation: Computation
    parameters: tuple[float, ...] = ()
    """The values of the parameters that the computation leaves open."""


@dataclass(frozen=True, eq=False)
class NodeFunction:
    """The output is computed from whole arrays, which the function gets in the order of the operands."""

    operands: tuple[str, ...]
    function: Callable[..., np.ndarray | None]
    type: str
    is_view: bool = False
    """Whether the output may share memory with the first operand."""
    fills: bool = False
    """Whether the function fills an array that it gets as ``out``: of its first operand's shape and type."""
    keeps_order: bool = False
    """Whether the output has the elements of the first operand in their order."""
    shape_only: bool = False
    """Whether nothing but the shape of the operand is looked at."""
    moved: tuple[str, ...] = ()
    """The operands whose elements it moves, changing none; it may put zeros beside them."""
    shaping: tuple[str, ...] = ()
    """The operands whose values the shape of the output follows from."""


@dataclass(frozen=True, eq=False)
class RowWiseNode:
    """Each row of the output, or its one number, follows from the row of the operand at its place."""

    operands: tuple[str, ...]
    result: ElementType
    computation: RowFormula
    parameters: tuple[float, ...] = ()
    axis: int = -1
    """Along which axis rows lie, counted from the last one."""

    def shape(self, of_operand: tuple[int, ...]) -> tuple[int, ...]:
        if not self.computation.reduces:
            return of_operand
        place = len(of_operand) + self.axis
        return (*of_operand[:place], 1, *of_operand[place + 1 :])


@dataclass(frozen=True)
class Arrangement:
    """How an array is seen as rows along its last axis, and the rows' results as an array."""

    order: tuple[int, ...]
    """Its axes, those of a row last."""
    row_axes: int
    """How many of them are one row."""
    result: tuple[int, ...]
    """The shape of the output."""
    split: tuple[int, ...] | None = None
    """The shape that the array is given first, where an axis is cut into groups."""
    beside: tuple[tuple[int, ...], ...] = ()
    """For each further operand of the rows the shape in which it broadcasts with the array."""

    @property
    def is_in_order(self) -> bool:
        return self.order == tuple(range(len(self.order)))

    @property
    def back(self) -> tuple[int, ...]:
        """The order that undoes the other."""
        return tuple(self.order.index(axis) for axis in range(len(self.order)))

    @property
    def axis(self) -> int:
        """The axis that is a row, where that is one, counted from the last."""
        return self.order[-1] - len(self.order)

    def turned(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes of an array's axes, those of a row last."""
        sizes = self.split or shape
        return tuple(sizes[axis] for axis in self.order)

    def as_rows(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an array's rows: its other axes, and the length of a row."""
        turned = self.turned(shape)
        first = len(turned) - self.row_axes
        return (*turned[:first], math.prod(turned[first:]))

    def rows(self, array: np.ndarray) -> np.ndarray:
        """An array as rows."""
        seen = array if self.split is None else array.reshape(self.split)
        return seen.transpose(self.order).reshape(self.as_rows(array.shape))

    def restored(self, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The results of rows as the output, of an operand of this shape."""
        turned = self.turned(shape)
        if math.prod(rows.shape) == math.prod(turned):
            rows = rows.reshape(turned).transpose(self.back)
        return rows.reshape(self.result)

    def rows_beside(self, position: int, shape: tuple[int, ...], array: np.ndarray) -> np.ndarray:
        """A further operand as the rows beside those of an array of this shape: of its elements, or of one number."""
        sizes = self.beside[position]
        rank = len(self.order)
        seen = array.reshape((1,) * (rank - len(sizes)) + tuple(sizes)).transpose(self.order)
        first = rank - self.row_axes
        if any(size != 1 for size in seen.shape[first:]):
            seen = np.broadcast_to(seen, (*seen.shape[:first], *self.turned(shape)[first:]))
        return seen.reshape(*seen.shape[:first], math.prod(seen.shape[first:]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrangedRows(NodeFunction):
    """A function that is row-wise if its operand is seen as rows."""

    row_wise: RowWiseNode
    """The first operands are its own; others say how arrays are seen, such as the axes."""
    arrange: Callable[[Sequence[tuple[int, ...]], Sequence[np.ndarray]], Arrangement | None]
    """How, for the shapes of the operands of rows and the values of the others; None for what the function refuses."""


NodeComputation = SameValue | Constant | ElementwiseNode | NodeFunction
