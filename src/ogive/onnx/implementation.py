"""What a node becomes: a constant, another name for a value, an element-wise program, or a function on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ogive.dtypes import ElementType
from ogive.engine.computation import Computation
from ogive.onnx.broadcasting import Rule

__all__ = ["Alias", "Constant", "Elementwise", "Function", "Implementation"]


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


Implementation = Alias | Constant | Elementwise | Function
