"""ReduceSum, ReduceMean, ReduceMax and ReduceMin, with NumPy, in an order that depends on nothing but the shape.

A row is summed as a tree: its second half is added to its first half, element by element (an odd one out
waits for the next round), until one element is left. float16 and bfloat16 are summed in float32 and rounded
once; integer sums wrap around; the mean of integers is exact, rounded towards zero.

NaN wins over every number; of two zeros +0 is the larger. Without elements the sum is 0, the mean NaN (0 for
integers), and the largest element the smallest value of the type, -inf for floats (and the other way round).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ogive.dtypes import ElementType, element_type_of
from ogive.onnx.movement import normal_axes

__all__ = ["REDUCTIONS"]


def _reduced(
    compute: Callable[[np.ndarray, ElementType], np.ndarray],
    data: np.ndarray,
    axes: Any,
    keepdims: int,
    noop_with_empty_axes: int,
) -> np.ndarray:
    """Bring the reduced axes to the end, compute row by row, give the result its shape."""
    given = () if axes is None else tuple(int(axis) for axis in np.asarray(axes).reshape(-1))
    if not given and noop_with_empty_axes:
        return data.copy()
    chosen = normal_axes(given, data.ndim) or tuple(range(data.ndim))
    kept = [axis for axis in range(data.ndim) if axis not in chosen]
    length = math.prod(data.shape[axis] for axis in chosen)
    rows = data.transpose([*kept, *sorted(chosen)]).reshape(math.prod(data.shape[axis] for axis in kept), length)
    kind = element_type_of(data.dtype)
    assert kind is not None
    result = compute(rows, kind)
    sizes = [1 if axis in chosen else size for axis, size in enumerate(data.shape) if keepdims or axis not in chosen]
    return result.reshape(sizes)


def _tree_sum(rows: np.ndarray) -> np.ndarray:
    length = rows.shape[1]
    if length == 0:
        return np.zeros(len(rows), rows.dtype)
    half = (length + 1) // 2
    # The first round makes a copy, the others work in it.
    sums = rows[:, :half].copy()
    np.add(sums[:, : length - half], rows[:, half:], out=sums[:, : length - half])
    length = half
    while length > 1:
        half = (length + 1) // 2
        np.add(sums[:, : length - half], sums[:, half:length], out=sums[:, : length - half])
        length = half
    return sums[:, 0]


def _accumulated(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    return rows.astype(np.float32) if kind.is_float and kind.bits == 16 else rows


def _canonical(values: np.ndarray, kind: ElementType) -> np.ndarray:
    """In the element type, with the one quiet NaN that kernels give."""
    result = np.ascontiguousarray(values.astype(kind.numpy))
    if kind.is_float:
        result[np.isnan(result)] = kind.numpy.type(np.nan)
    return result


def _sum(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    return _canonical(_tree_sum(_accumulated(rows, kind)), kind)


def _mean(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    length = rows.shape[1]
    if kind.is_float:
        sums = _tree_sum(_accumulated(rows, kind))
        return _canonical(sums / sums.dtype.type(length), kind)
    if length == 0:
        return np.zeros(len(rows), kind.numpy)
    # Exact: the halves of 64 bits are summed apart, and put together as Python's integers.
    wide = rows.astype(np.uint64 if kind.kind == "unsigned" else np.int64)
    shift, mask = wide.dtype.type(32), wide.dtype.type(0xFFFFFFFF)
    high, low = _tree_sum(wide >> shift), _tree_sum(wide & mask)
    means = [_truncated((int(h) << 32) + int(r), length) for h, r in zip(high, low, strict=True)]
    return np.array(means, kind.numpy)


def _truncated(total: int, length: int) -> int:
    return total // length if total >= 0 else -(-total // length)


def _largest(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    return _extreme(rows, kind, 1)


def _smallest(rows: np.ndarray, kind: ElementType) -> np.ndarray:
    return _extreme(rows, kind, -1)


def _extreme(rows: np.ndarray, kind: ElementType, sign: int) -> np.ndarray:
    if rows.shape[1] == 0:
        return np.full(len(rows), _no_elements(kind, sign), kind.numpy)
    reduce = np.maximum.reduce if sign > 0 else np.minimum.reduce
    if not kind.is_float:
        return np.asarray(reduce(rows, axis=1))
    # Floats in the order of their bits as integers: -0 comes before +0, on every machine.
    ordered = _as_ordered(np.ascontiguousarray(rows).view(f"i{kind.itemsize}"))
    result = _as_ordered(np.asarray(reduce(ordered, axis=1))).view(kind.numpy)
    result[np.isnan(rows).any(axis=1)] = kind.numpy.type(np.nan)
    return result


def _as_ordered(bits: np.ndarray) -> np.ndarray:
    """Bits of floats as integers that compare like them, and back."""
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _no_elements(kind: ElementType, sign: int) -> Any:
    if kind.is_float:
        return -math.inf * sign
    return kind.minimum if sign > 0 else kind.maximum


def _operator(compute: Callable[[np.ndarray, ElementType], np.ndarray]) -> Callable[..., np.ndarray]:
    def function(data: np.ndarray, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> np.ndarray:
        return _reduced(compute, data, axes, keepdims, noop_with_empty_axes)

    return function


#: What computes each operator of this kind.
REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "ReduceMax": _operator(_largest),
    "ReduceMean": _operator(_mean),
    "ReduceMin": _operator(_smallest),
    "ReduceSum": _operator(_sum),
}
