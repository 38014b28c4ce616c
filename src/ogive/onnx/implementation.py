"""What a node becomes: a constant, another name for a value, an element-wise program, or a function on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ogive.dtypes import ElementType
from ogive.engine.computation import Computation
from ogive.engine.rows import RowFormula
from ogive.onnx.broadcasting import Rule

__all__ = ["Alias", "Constant", "Elementwise", "Function", "Implementation", "RowWise", "Rows"]


@dataclass(frozen=True, eq=False)
class Alias:
    """The output is the first input."""

    value: str
    type: str


@dataclass(frozen=True, eq=False)
class Constant:
    """The output is known."""

    array: np.ndarray
    type: str


@dataclass(frozen=True, eq=False)
class Elementwise:
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
class Function:
    """The output is computed from whole arrays, which the function gets in the order of the operands."""

    operands: tuple[str, ...]
    function: Callable[..., np.ndarray | None]
    type: str
    is_view: bool = False
    """Whether the output may share memory with the first operand."""
    fills: bool = False
    """Whether the function fills an array that it gets as ``out``: of its first operand's shape and type."""
    shape_only: bool = False
    """Whether nothing but the shape of the operand is looked at."""


@dataclass(frozen=True, eq=False)
class RowWise:
    """Each row of the output, or its one number, follows from the row of the operand at its place."""

    operands: tuple[str, ...]
    result: ElementType
    computation: RowFormula
    parameters: tuple[float, ...] = ()

    def shape(self, of_operand: tuple[int, ...]) -> tuple[int, ...]:
        return (*of_operand[:-1], 1) if self.computation.reduces else of_operand


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows(Function):
    """A function that is row-wise where its rows lie along the last axis."""

    row_wise: RowWise
    is_along_last: Callable[[int, Sequence[np.ndarray]], bool]
    """Whether they do: for the number of axes and the values of the operands behind the first."""


Implementation = Alias | Constant | Elementwise | Function
