"""Nodes of rows: reductions, the places of extremes, and the catalogue's row-wise operators (Softmax, LogSoftmax, Hardmax).

The kernels are the engine's (engine/row_formulas.py): their order depends on nothing but the length of a row. Integers
need no order: their sums wrap around; their mean is exact, rounded towards zero. Roots and logarithms of integers are
those of the exact sums, cut off, and saturate: computed in float64, and exactly where that could be cut off elsewhere.

NaN wins over every number; of two zeros +0 is the larger. Without elements the sum is 0, the product 1, the mean NaN (0
for integers), and the largest element the smallest value of the type, -inf for floats (and the other way round).

A row of Softmax and its kin lies along one axis from opset 13 on. Before, the input is seen as a matrix whose rows are all axes
from the given one on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ogive.common.dtypes import ElementType, element_type, element_type_of
from ogive.engine.computation import cast, make_ufunc
from ogive.engine.movement.views import normal_axes
from ogive.engine.row_formulas import reduction
from ogive.engine.rows import RowFormula
from ogive.errors import ShapeError, UnsupportedError, message
from ogive.onnx.data_types import element_types
from ogive.onnx.elementwise import parameters_of, wrong_types
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ArrangedRows, Arrangement, NodeFunction, RowWiseNode
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

#: The engine's name of each operator.
NAMES = {
    "ArgMax": "arg_max",
    "ArgMin": "arg_min",
    "ReduceL1": "l1",
    "ReduceL2": "l2",
    "ReduceLogSum": "log_sum",
    "ReduceLogSumExp": "log_sum_exp",
    "ReduceMax": "max",
    "ReduceMean": "mean",
    "ReduceMin": "min",
    "ReduceProd": "product",
    "ReduceSum": "sum",
    "ReduceSumSquare": "sum_square",
}

#: The global poolings are reductions of all axes behind the first two, that of each norm by its order.
POOLINGS = {"GlobalAveragePool": "ReduceMean", "GlobalMaxPool": "ReduceMax"}
NORMS = {1: "ReduceL1", 2: "ReduceL2"}

#: Reductions whose result is a position.
PLACES = frozenset({"ArgMax", "ArgMin"})

#: Operators that are more than a reduction: of an empty set of axes, the rest of them is computed of every element.
COMPOSITE = frozenset({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})


def _reduced(
    operator: str, data: np.ndarray, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> np.ndarray:
    arranged = arrangement(data.shape, axes=axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
    if arranged is None and operator not in COMPOSITE:
        return data.copy()
    if arranged is None:
        data = data[..., np.newaxis]  # every element is a row
        arranged = Arrangement(tuple(range(data.ndim)), 1, data.shape[:-1])
    return _of_rows(operator, data, arranged)


def _place(
    operator: str, data: np.ndarray, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
) -> np.ndarray:
    """The index of the largest or smallest element along an axis; the first of equal ones, or the last."""
    arranged = arrangement(data.shape, axes=(axis,), keepdims=keepdims)
    assert arranged is not None
    length = data.shape[arranged.order[-1]]
    if not length and data.size != math.prod(arranged.result):
        raise ShapeError(f"the data have the shape {data.shape}; allowed: elements along axis {axis}")
    if not select_last_index:
        return _of_rows(operator, data, arranged)
    return np.asarray(length - 1 - _of_rows(operator, np.flip(data, arranged.order[-1]), arranged))


def _of_rows(operator: str, data: np.ndarray, arranged: Arrangement) -> np.ndarray:
    """Bring the reduced axes to the end, where they are one, compute row by row, give the result its shape."""
    kind = element_type_of(data.dtype)
    assert kind is not None
    turned = data.transpose(arranged.order)
    first = data.ndim - arranged.row_axes
    length = math.prod(turned.shape[first:])
    formula = row_formula(operator, kind)
    if formula is not None and formula.longest is not None and length > formula.longest:
        what = f"it reduces {length} elements of {kind.name} to one"
        raise ShapeError(f"{what}; allowed: at most {formula.longest}. Cast them to float64 first")
    rows = turned.reshape(*turned.shape[:first], length)
    is_cut_off = operator in CUT_OFF and not kind.is_float
    result = _cut_off_reduction(operator, rows, kind) if is_cut_off else _kernel(operator, kind)(rows)
    return np.ascontiguousarray(result).reshape(arranged.result)


def pooling(node: OnnxNode) -> str:
    """The reduction that a global pooling is, as it is called."""
    if node.operator in POOLINGS:
        return POOLINGS[node.operator]
    order = node.attributes["p"]
    if order not in NORMS:
        raise UnsupportedError(message(node.label, f"p is {order:g}", "1, 2"))
    return NORMS[order]


def pooled_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that a global pooling reduces."""
    if len(shape) < 3:
        raise ShapeError(f"the data have the shape {shape}; allowed: three axes or more, the first two of which stay")
    return tuple(range(2, len(shape)))


def pooled(operator: str, data: np.ndarray) -> np.ndarray:
    """The reduction of the axes of a global pooling."""
    return _reduced(operator, data, axes=pooled_axes(data.shape))


def _given(axes: Any) -> tuple[int, ...]:
    return () if axes is None else tuple(int(axis) for axis in np.asarray(axes).reshape(-1))


def arrangement(
    shape: tuple[int, ...], *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Arrangement | None:
    """The reduced axes as a row; None if nothing is reduced."""
    given = _given(axes)
    if not given and noop_with_empty_axes:
        return None
    chosen = normal_axes(given, len(shape)) or tuple(range(len(shape)))
    kept = [axis for axis in range(len(shape)) if axis not in chosen]
    result = [1 if axis in chosen else size for axis, size in enumerate(shape) if keepdims or axis not in chosen]
    return Arrangement((*kept, *sorted(chosen)), len(chosen), tuple(result))


def row_formula(operator: str, kind: ElementType) -> RowFormula | None:
    """The formula of an operator for a row; None for roots and logarithms of integers."""
    if operator in CUT_OFF and not kind.is_float:
        return None
    return reduction(NAMES[operator], kind, element_type("int64") if operator in PLACES else kind)


@lru_cache(maxsize=64)
def _kernel(operator: str, kind: ElementType) -> np.ufunc:
    formula = row_formula(operator, kind)
    assert formula is not None
    return make_ufunc(operator, formula)


# ---- roots and logarithms of integers


def _cut_off_reduction(operator: str, rows: np.ndarray, kind: ElementType) -> np.ndarray:
    """The result for integers as real numbers, cut off; what is beyond the type saturates."""
    wide = element_type("float64")
    values = _kernel(operator, wide)(rows.astype(np.float64))[..., 0]
    result = np.asarray(_cut_off(kind)(values))
    if rows.shape[-1]:
        # Elements and sums may be rounded, and values next to a whole number may be on its other side.
        with np.errstate(all="ignore"):
            is_near = ~(np.abs(values - np.rint(values)) > DOUBT * (1 + np.abs(values)))
            if kind.bits == 64:
                is_near |= (np.abs(rows.astype(np.float64)) >= 2.0**53).any(axis=-1)
        for place in np.argwhere(is_near):
            found = CUT_OFF[operator]([int(x) for x in rows[tuple(place)]])
            result[tuple(place)] = min(max(found, kind.minimum), kind.maximum)
    return result


#: How near to a whole number a root or a logarithm in float64 is computed again.
DOUBT = 2.0**-40


def _exact_root(row: list[int]) -> int:
    return math.isqrt(sum(x * x for x in row))


def _exact_log(row: list[int]) -> int:
    """The logarithm of the sum, cut off; of 0 below every integer, and of what is less 0, as NaN is."""
    total = sum(row)
    if total <= 0:
        return 0 if total else -(1 << 64)
    return int(_DIGITS.ln(Decimal(total)))


def _exact_log_sum_exp(row: list[int]) -> int:
    """The largest element and the logarithm of the sum of the exponentials of distances from it, cut off."""
    most = max(row)
    less = [x - most for x in row if x < most]
    rest = _DIGITS.ln(len(row) - len(less) + sum((_DIGITS.exp(Decimal(x)) for x in less if x > -200), Decimal(0)))
    if not rest and less:  # too small for the digits, and there all the same
        return most if most >= 0 else most + 1
    return math.trunc(_DIGITS.add(Decimal(most), rest))


#: Enough for 64 bits before the point, and exponentials of differences to -200 behind it.
_DIGITS = Context(prec=120, Emax=10**6, Emin=-(10**6))


@lru_cache(maxsize=16)
def _cut_off(kind: ElementType) -> np.ufunc:
    return make_ufunc("cast", cast(element_type("float64"), kind))


#: The operators that are computed for integers as for real numbers, and how exactly.
CUT_OFF: dict[str, Callable[[list[int]], int]] = {
    "ReduceL2": _exact_root,
    "ReduceLogSum": _exact_log,
    "ReduceLogSumExp": _exact_log_sum_exp,
}

#: The function that computes each operator of this kind.
REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    operator: partial(_place if operator in PLACES else _reduced, operator) for operator in NAMES
}


# ---- row-wise operators

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
