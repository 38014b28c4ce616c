"""ReduceSum, ReduceMean, ReduceMax and ReduceMin: of floats by kernels, of integers exactly.

The kernels are the engine's (engine/reductions.py): their order depends on nothing but the length of a row. Integers
need no order: their sums wrap around; their mean is exact, rounded towards zero.

NaN wins over every number; of two zeros +0 is the larger. Without elements the sum is 0, the mean NaN (0 for
integers), and the largest element the smallest value of the type, -inf for floats (and the other way round).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ogive.dtypes import ElementType, element_type_of
from ogive.engine.computation import make_ufunc
from ogive.engine.reductions import reduction
from ogive.engine.rows import RowFormula
from ogive.onnx.movement import normal_axes

__all__ = ["REDUCTIONS", "is_along_last_axis", "row_formula"]

#: The engine's name of each operator.
NAMES = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceSum": "sum"}


def _reduced(
    operator: str, data: np.ndarray, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> np.ndarray:
    """Bring the reduced axes to the end, where they are one, compute row by row, give the result its shape."""
    given = _given(axes)
    if not given and noop_with_empty_axes:
        return data.copy()
    chosen = normal_axes(given, data.ndim) or tuple(range(data.ndim))
    kept = [axis for axis in range(data.ndim) if axis not in chosen]
    length = math.prod(data.shape[axis] for axis in chosen)
    rows = data.transpose([*kept, *sorted(chosen)]).reshape(*(data.shape[axis] for axis in kept), length)
    kind = element_type_of(data.dtype)
    assert kind is not None
    result = _kernel(operator, kind)(rows) if kind.is_float else _OF_INTEGERS[operator](rows, kind)
    sizes = [1 if axis in chosen else size for axis, size in enumerate(data.shape) if keepdims or axis not in chosen]
    return np.ascontiguousarray(result).reshape(sizes)


def _given(axes: Any) -> tuple[int, ...]:
    return () if axes is None else tuple(int(axis) for axis in np.asarray(axes).reshape(-1))


def is_along_last_axis(rank: int, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> bool:
    """Whether the last axis is all that is reduced, and stays."""
    given = _given(axes)
    return bool(keepdims) and (given in ((-1,), (rank - 1,)) or (rank == 1 and not given and not noop_with_empty_axes))


def row_formula(operator: str, kind: ElementType) -> RowFormula:
    """What an operator computes of a row of floats."""
    return reduction(NAMES[operator], kind, kind)


@lru_cache(maxsize=64)
def _kernel(operator: str, kind: ElementType) -> np.ufunc:
    return make_ufunc(operator, row_formula(operator, kind))


# ---- integers


def _sum(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    return np.asarray(np.add.reduce(rows, axis=-1, dtype=kind.numpy))


def _mean(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    length = rows.shape[-1]
    if length == 0:
        return np.zeros(rows.shape[:-1], kind.numpy)
    # Exact: the halves of 64 bits are summed apart, and put together as Python's integers.
    wide = rows.astype(np.uint64 if kind.kind == "unsigned" else np.int64)
    shift, mask = wide.dtype.type(32), wide.dtype.type(0xFFFFFFFF)
    high, low = (np.asarray(np.add.reduce(part, axis=-1)) for part in (wide >> shift, wide & mask))
    sums = zip(high.flat, low.flat, strict=True)
    means = [_truncated((int(h) << 32) + int(r), length) for h, r in sums]
    return np.array(means, kind.numpy).reshape(high.shape)


def _truncated(total: int, length: int) -> int:
    return total // length if total >= 0 else -(-total // length)


def _extreme(reduce: Callable[..., Any], no_elements: str, rows: np.ndarray, kind: ElementType) -> np.ndarray:
    if rows.shape[-1] == 0:
        return np.full(rows.shape[:-1], getattr(kind, no_elements), kind.numpy)
    return np.asarray(reduce(rows, axis=-1))


_OF_INTEGERS: dict[str, Callable[[np.ndarray, ElementType], np.ndarray]] = {
    "ReduceMax": partial(_extreme, np.maximum.reduce, "minimum"),
    "ReduceMean": _mean,
    "ReduceMin": partial(_extreme, np.minimum.reduce, "maximum"),
    "ReduceSum": _sum,
}

#: What computes each operator of this kind.
REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {operator: partial(_reduced, operator) for operator in NAMES}
