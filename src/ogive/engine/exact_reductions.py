"""The methods of ufuncs that reduce, rounded once: sums, products, logarithms of sums of exponentials and lengths.

NumPy's machinery combines elements one after the other and rounds every step to their type: 100,000 halves of 0.01 would be
32. Here rows of floats go to the engine's reductions, which ONNX's ReduceSum and its kind have too, and running sums and
products to those of CumSum and CumProd. Integers, other reductions, and calls that NumPy refuses, are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType, element_type_of
from ogive.engine.prefixes import GATHERED, NEUTRAL, of_prefixes, of_rows
from ogive.graph import operations as ops

__all__ = ["exact_methods"]

#: By the operation of a formula of two operands, and by the names of operators of the catalogue: the engine's reduction.
OF_OPERATIONS = {ops.ADD: "sum", ops.MULTIPLY: "product"}
OF_NAMES = {"logaddexp": "log_sum_exp", "hypot": "l2"}

#: The reductions whose running ones are computed from one place to the next; of others each place is a row of its own.
IN_ORDER = frozenset({"sum", "product"})

PLAIN = (np.ndarray, np.memmap, list, tuple, int, float)

NOT_GIVEN: Any = object()


class _NotOursError(Exception):
    """A call that is left to NumPy."""


def exact_methods(operator: Any, ufunc: np.ufunc) -> dict[str, Callable[..., Any]]:
    """The methods of an operator's ufunc, by name, that take the place of NumPy's."""
    name = _reduction_of(operator)
    if name is None:
        return {}
    methods: dict[str, Callable[..., Any]] = {"reduce": _reduce, "reduceat": _reduceat, "accumulate": _accumulate}
    return {
        method: partial(_called, getattr(ufunc, method), compute, operator, name) for method, compute in methods.items()
    }


def _reduction_of(operator: Any) -> str | None:
    if operator.is_row_wise or operator.inputs != 2 or operator.parameters or operator.nout != 1:
        return None
    module = getattr(operator.function, "__module__", None) or ""  # a function that code made may have none
    if module.startswith("ogive.catalog.") and operator.name in OF_NAMES:
        return OF_NAMES[operator.name]
    (root,) = operator.formula()
    is_plain = [n.attribute for n in root.operands if n.operation == ops.INPUT] == [0, 1]
    return OF_OPERATIONS.get(root.operation) if is_plain else None


def _called(
    numpy_method: Callable[..., Any],
    compute: Callable[..., Any],
    operator: Any,
    name: str,
    /,
    *args: Any,
    **keywords: Any,
) -> Any:
    try:
        return compute(operator, name, *args, **keywords)
    except (_NotOursError, TypeError):
        return numpy_method(*args, **keywords)


def _floats(array: Any, dtype: Any, out: Any) -> tuple[np.ndarray, ElementType, np.ndarray | None]:
    """The elements in the type in which they are combined, that type, and the array for the result."""
    if isinstance(out, tuple):
        (out,) = out if len(out) == 1 else (NOT_GIVEN,)
    if not (isinstance(array, np.generic) or type(array) in PLAIN) or not (out is None or type(out) in PLAIN[:2]):
        raise _NotOursError
    given = np.asarray(array)
    chosen = np.dtype(dtype) if dtype is not None else given.dtype if out is None else out.dtype
    kind, source = element_type_of(chosen), element_type_of(given.dtype)
    if kind is None or source is None or not kind.is_float:
        raise _NotOursError
    return converted(given, chosen), kind, out


def _delivered(result: np.ndarray, out: np.ndarray | None) -> Any:
    if out is None:
        return result[()]
    if out.shape != result.shape or not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise _NotOursError
    out[...] = converted(result, out.dtype)
    return out


def _reduce(
    operator: Any,
    name: str,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    data, kind, out = _floats(array, dtype, out)
    axes = _axes(axis, data.ndim)
    has_initial = initial is not NOT_GIVEN and initial is not np._NoValue and initial is not None
    sizes = [data.shape[i] for i in axes]
    if not has_initial and (operator.identity is None or initial is None) and (where is not True or 0 in sizes):
        raise _NotOursError
    if len(axes) > 1 and not operator.reorderable:
        raise _NotOursError
    order = [i for i in range(data.ndim) if i not in axes] + sorted(axes)
    kept = tuple(data.shape[i] for i in range(data.ndim) if i not in axes)
    seen = *kept, math.prod(sizes)
    rows = data.transpose(order).reshape(seen)
    is_empty = None
    if where is not True:
        there = np.broadcast_to(_truths(where), data.shape).transpose(order).reshape(seen)
        rows = np.where(there, rows, converted(np.array(NEUTRAL[name]), rows.dtype))
        is_empty = None if has_initial else ~there.any(axis=-1)
    if has_initial:
        first = converted(_number(initial), rows.dtype)
        rows = np.concatenate([np.broadcast_to(first, (*kept, 1)), rows], axis=-1)
    found = of_rows(name, rows, kind)
    if is_empty is not None:
        found[is_empty] = operator.identity
    if keepdims:
        found = found.reshape([1 if i in axes else size for i, size in enumerate(data.shape)])
    return _delivered(found, out)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    if rank == 0 and axis in (0, -1):
        return ()
    try:
        return normalize_axis_tuple(axis, rank)
    except (ValueError, TypeError):
        raise _NotOursError from None


def _truths(where: Any) -> np.ndarray:
    truths = np.asarray(where)
    if truths.dtype != bool:
        raise _NotOursError
    return truths


def _number(initial: Any) -> np.ndarray:
    number = np.asarray(initial)
    if number.ndim or element_type_of(number.dtype) is None:
        raise _NotOursError
    return number


def _accumulate(operator: Any, name: str, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    data, kind, out = _floats(array, dtype, out)
    (place,) = _axes(axis, data.ndim) if isinstance(axis, int) and data.ndim else (None,)
    if place is None:
        raise _NotOursError
    if name == "log_sum_exp":
        from ogive.engine.running_logarithms import running_log_sum_exp  # only such calls need it

        return _delivered(running_log_sum_exp(data, place), out)
    if name not in IN_ORDER and data.size:
        turned = np.moveaxis(data, place, -1)
        found = of_prefixes(name, turned.reshape(-1, data.shape[place]), kind).reshape(turned.shape)
        return _delivered(np.ascontiguousarray(np.moveaxis(found, -1, place)), out)
    from ogive.engine.running import running_product, running_sum  # only such calls need it

    running = running_product if name == "product" else running_sum  # also of no elements
    return _delivered(running(data, place, exclusive=False, reverse=False), out)


def _reduceat(
    operator: Any, name: str, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """The reduction of the elements from each index to the next one; the element alone where that is no larger."""
    data, kind, out = _floats(array, dtype, out)
    starts = np.asarray(indices)
    (place,) = _axes(axis, data.ndim) if isinstance(axis, int) and data.ndim else (None,)
    if place is None or starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise _NotOursError
    length = data.shape[place]
    if not starts.size or not (int(starts.min()) >= 0 and int(starts.max()) < length):
        raise _NotOursError
    starts = starts.astype(np.intp)
    turned = np.moveaxis(data, place, -1)
    lengths = np.maximum(np.append(starts[1:], length) - starts, 1)
    found = np.empty((*turned.shape[:-1], starts.size), data.dtype)
    for size in np.unique(lengths):
        places = np.flatnonzero(lengths == size)
        step = max(GATHERED // max(int(size) * math.prod(turned.shape[:-1]), 1), 1)
        for begin in range(0, places.size, step):
            some = places[begin : begin + step]
            found[..., some] = of_rows(name, turned[..., starts[some][:, None] + np.arange(size)], kind)
    return _delivered(np.ascontiguousarray(np.moveaxis(found, -1, place)), out)
