"""Row-wise nodes (Softmax, LogSoftmax, Hardmax): the catalogue's operators, along the axis of the version.

From opset 13 on a row lies along one axis. Before, the input is seen as a matrix whose rows are all axes from
the given one on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive.engine.rows import RowFormula
from ogive.errors import ShapeError
from ogive.onnx.data_types import element_types
from ogive.onnx.elementwise import parameters_of, wrong_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ArrangedRows, Arrangement, NodeFunction, RowWiseNode
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

__all__ = ["along_axis", "from_axis_on", "row_wise"]

#: From this version on a row is one axis.
ONE_AXIS = 13


def row_wise(node: OnnxNode, op: Operator, output_type: str) -> NodeFunction:
    """The computation of a row-wise node."""
    elements = element_types((output_type,))
    if elements is None or Signature(elements, elements) not in op.signatures:
        raise wrong_types(node, (t for signature in op.signatures for t in signature.inputs))
    compute = along_axis if node.version >= ONE_AXIS else from_axis_on
    parameters, axis = parameters_of(node, op), node.attributes["axis"]
    formula = op.computation(Signature(elements, elements))
    rows = RowFormula(formula.roots, elements, elements, parameter_count=formula.parameter_count)
    return ArrangedRows(
        node.operands,
        partial(compute, op, parameters, axis),
        output_type,
        fills=True,
        row_wise=RowWiseNode(
            node.operands, elements[0], rows, tuple(parameters[p.name] for p in op.numeric_parameters)
        ),
        arrange=partial(_arrangement, axis, node.version >= ONE_AXIS),
    )


def _arrangement(axis: int, is_one_axis: bool, shapes: Sequence[tuple[int, ...]], _: object) -> Arrangement | None:
    (shape,) = shapes
    rank = len(shape)
    if not -rank <= axis < rank:
        return None
    first = axis % rank
    if not is_one_axis:
        return Arrangement(tuple(range(rank)), rank - first, shape)
    return Arrangement((*(a for a in range(rank) if a != first), first), 1, shape)


def along_axis(op: Operator, parameters: dict[str, Any], axis: int, *operands: np.ndarray, out: np.ndarray) -> None:
    """Rows of one axis, of operands of one shape."""
    op(*operands, axis=_checked(axis, operands[0]), out=out, **parameters)


def from_axis_on(op: Operator, parameters: dict[str, Any], axis: int, *operands: np.ndarray, out: np.ndarray) -> None:
    """Rows of all axes from one on."""
    shape = operands[0].shape
    first = _checked(axis, operands[0])
    matrix = math.prod(shape[:first]), math.prod(shape[first:])
    op(*(operand.reshape(matrix) for operand in operands), axis=1, out=out.reshape(matrix), **parameters)


def _checked(axis: int, data: np.ndarray) -> int:
    if not -data.ndim <= axis < data.ndim:
        allowed = f"{-data.ndim} to {data.ndim - 1}" if data.ndim else "inputs of one axis and more"
        raise ShapeError(f"axis is {axis} for an input of shape {data.shape}; allowed: {allowed}")
    return axis + data.ndim if axis < 0 else axis
