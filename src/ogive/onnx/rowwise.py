"""Row-wise nodes (Softmax, LogSoftmax, Hardmax): the catalogue's operators, along the axis of the version.

From opset 13 on a row lies along one axis. Before, the input is seen as a matrix whose rows are all axes from
the given one on.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ogive.engine.rows import RowFormula
from ogive.errors import ShapeError
from ogive.onnx.data_types import element_types
from ogive.onnx.elementwise import parameters_of, wrong_types
from ogive.onnx.implementation import Function, Rows, RowWise
from ogive.onnx.node import Node
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["row_wise"]

#: From this version on a row is one axis.
ONE_AXIS = 13


def row_wise(node: Node, op: Operator, output_type: str) -> Function:
    """What computes a row-wise node."""
    elements = element_types((output_type,))
    if elements is None or Signature(elements, elements) not in op.signatures:
        raise wrong_types(node, (t for signature in op.signatures for t in signature.inputs))
    compute = _along_axis if node.version >= ONE_AXIS else _from_axis_on
    parameters, axis = parameters_of(node, op), node.attributes["axis"]
    formula = op.computation(Signature(elements, elements))
    rows = RowFormula(formula.roots, elements, elements, parameter_count=formula.parameter_count)
    return Rows(
        node.operands,
        partial(compute, op, parameters, axis),
        output_type,
        fills=True,
        row_wise=RowWise(node.operands, elements[0], rows, tuple(parameters[p.name] for p in op.numeric_parameters)),
        is_along_last=lambda rank, _: axis in (-1, rank - 1),
    )


def _along_axis(op: Operator, parameters: dict[str, Any], axis: int, data: np.ndarray, out: np.ndarray) -> None:
    op(data, axis=_checked(axis, data), out=out, **parameters)


def _from_axis_on(op: Operator, parameters: dict[str, Any], axis: int, data: np.ndarray, out: np.ndarray) -> None:
    first = _checked(axis, data)
    matrix = math.prod(data.shape[:first]), math.prod(data.shape[first:])
    op(data.reshape(matrix), axis=1, out=out.reshape(matrix), **parameters)


def _checked(axis: int, data: np.ndarray) -> int:
    if not -data.ndim <= axis < data.ndim:
        allowed = f"{-data.ndim} to {data.ndim - 1}" if data.ndim else "inputs of one axis and more"
        raise ShapeError(f"axis is {axis} for an input of shape {data.shape}; allowed: {allowed}")
    return axis + data.ndim if axis < 0 else axis
