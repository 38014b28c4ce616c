"""Reductions and the places of extremes.

The kernels are the engine's (engine/reductions.py): their order depends on nothing but the length of a row. Integers
need no order: their sums wrap around; their mean is exact, rounded towards zero. Roots and logarithms of integers are
computed in float64, cut off, and saturate.

NaN wins over every number; of two zeros +0 is the larger. Without elements the sum is 0, the product 1, the mean NaN (0
for integers), and the largest element the smallest value of the type, -inf for floats (and the other way round).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ogive.dtypes import ElementType, element_type, element_type_of
from ogive.engine.casting import cast
from ogive.engine.computation import make_ufunc
from ogive.engine.reductions import reduction
from ogive.engine.rows import RowFormula, RowFused
from ogive.errors import ShapeError
from ogive.movement.views import normal_axes
from ogive.onnx.implementation import Arrangement

__all__ = ["PLACES", "REDUCTIONS", "arrangement", "row_formula"]

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

#: Those whose result is a position.
PLACES = frozenset({"ArgMax", "ArgMin"})

#: Those that are more than a reduction: of an empty set of axes, the rest of them is computed of every element.
COMPOSITE = frozenset({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})

#: What is computed of integers in float64.
IN_FLOAT64 = frozenset({"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"})


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
    """Where the largest or the smallest element lies along an axis; the first of equal ones, or the last."""
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
    turned = data.transpose(arranged.order)
    first = data.ndim - arranged.row_axes
    rows = turned.reshape(*turned.shape[:first], math.prod(turned.shape[first:]))
    kind = element_type_of(data.dtype)
    assert kind is not None
    result = _kernel(operator, kind)(rows)
    return np.ascontiguousarray(result).reshape(arranged.result)


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
    """What an operator computes of a row; None of integers where it computes in float64."""
    if operator in IN_FLOAT64 and not kind.is_float:
        return None
    return reduction(NAMES[operator], kind, element_type("int64") if operator in PLACES else kind)


@lru_cache(maxsize=64)
def _kernel(operator: str, kind: ElementType) -> np.ufunc:
    return make_ufunc(operator, row_formula(operator, kind) or _in_float64(operator, kind))


def _in_float64(operator: str, kind: ElementType) -> RowFused:
    """Of integers as real numbers, cut off; what is beyond the type saturates."""
    wide = element_type("float64")
    row = reduction(NAMES[operator], wide, wide)
    steps = ((cast(kind, wide), (0,)), (row, (1,)), (cast(wide, kind), (2,)))
    return RowFused((kind,), frozenset(), steps, (3,), (True,))


#: What computes each operator of this kind.
REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    operator: partial(_place if operator in PLACES else _reduced, operator) for operator in NAMES
}
