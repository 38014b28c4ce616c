"""The methods of ufuncs that reduce: sums, products, logarithms of sums of exponentials and lengths are rounded once.

NumPy's machinery combines elements one after the other and rounds every step to their type: 100,000 halves of 0.01 would be
32. Here rows of floats go to the engine's reductions, which ONNX's ReduceSum and its kind have too, and running sums and
products to those of CumSum and CumProd.

Extremes, choices of bits, and sums and products of integers have the same bits in any order. Whole parts of rows are combined then:
one element after the other takes 40 to 80 ns each. Other reductions, and calls that NumPy refuses, are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType, element_type_of
from ogive.engine.prefixes import GATHERED, NEUTRAL, of_prefixes, of_rows
from ogive.graph import operations as ops

#: By the operation of a formula of two operands, and by the names of operators of the catalogue: the engine's reduction.
OF_OPERATIONS = {ops.ADD: "sum", ops.MULTIPLY: "product"}
OF_NAMES = {"logaddexp": "log_sum_exp", "hypot": "l2"}

#: The reductions whose running ones are computed from one place to the next; of others each place is a row of its own.
IN_ORDER = frozenset({"sum", "product"})

PLAIN = (np.ndarray, np.memmap, list, tuple, int, float)

NOT_GIVEN: Any = object()

#: The ufuncs for which NumPy widens short integers, and the bytes of the integers to which it does. It knows its own names only.
WIDENING, LONG = frozenset({"add", "mul"}), np.dtype(np.intp).itemsize


#: The operators of the catalogue whose results depend on no order, with what types, and whether an element that comes twice
#: is the same as once. NaN has one pattern of bits, and of two zeros +0 is the larger.
IN_ANY_ORDER = {
    **dict.fromkeys(("max", "min", "fmax", "fmin"), ("iuf", True)),
    **dict.fromkeys(("logical_and", "logical_or"), ("b", True)),
    "logical_xor": ("b", False),
    **dict.fromkeys(("bitwise_and", "bitwise_or"), ("iu", True)),
    "bitwise_xor": ("iu", False),
    **dict.fromkeys(("add", "mul"), ("iu", False)),  # integers wrap around
}

#: So many elements are combined at a time, and of each row at least so many.
AT_A_TIME, LEAST_OF_ROW = 1 << 16, 16


class _NotOursError(Exception):
    """A call that is left to NumPy."""


class _Reducer(Protocol):
    """A reduction of rows to a number each."""

    def takes(self, source: ElementType, kind: ElementType) -> bool:
        """Whether elements of a type, converted to another one, can be reduced."""

    def neutral(self, initial: Any) -> Any:
        """The element that changes no result, where the reduction begins with ``initial``."""

    def of_rows(self, rows: np.ndarray, kind: ElementType) -> np.ndarray:
        """A number of each row, which has elements."""

    def running(self, data: np.ndarray, place: int, kind: ElementType) -> np.ndarray:
        """The numbers of the elements up to each one along an axis."""


class _RoundedOnce:
    """The engine's reduction of floats, of a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def takes(self, source: ElementType, kind: ElementType) -> bool:
        return kind.is_float

    def neutral(self, initial: Any) -> Any:
        return NEUTRAL[self.name]

    def of_rows(self, rows: np.ndarray, kind: ElementType) -> np.ndarray:
        return of_rows(self.name, rows, kind)

    def running(self, data: np.ndarray, place: int, kind: ElementType) -> np.ndarray:
        if self.name == "log_sum_exp":
            from ogive.engine.running_logarithms import running_log_sum_exp  # only such calls need it

            return running_log_sum_exp(data, place)
        if self.name not in IN_ORDER and data.size:
            turned = np.moveaxis(data, place, -1)
            found = of_prefixes(self.name, turned.reshape(-1, data.shape[place]), kind).reshape(turned.shape)
            return np.moveaxis(found, -1, place)
        from ogive.engine.running import running_product, running_sum  # only such calls need it

        running = running_product if self.name == "product" else running_sum  # also of no elements
        return running(data, place, exclusive=False, reverse=False)


class _InAnyOrder:
    """A reduction that combines whole parts of rows by the operator's ufunc."""

    def __init__(self, operator: Any, ufunc: np.ufunc) -> None:
        self.ufunc, self.identity = ufunc, operator.identity
        self.kinds, self.is_idempotent = IN_ANY_ORDER[operator.name]

    def takes(self, source: ElementType, kind: ElementType) -> bool:
        has_both = all("f" in self.kinds if t.is_float else t.numpy.kind in self.kinds for t in (source, kind))
        return has_both and np.can_cast(source.numpy, kind.numpy, "same_kind")

    def neutral(self, initial: Any) -> Any:
        if self.is_idempotent and initial is not None:
            return initial
        if self.identity is None:
            raise _NotOursError
        return self.identity

    def of_rows(self, rows: np.ndarray, kind: ElementType) -> np.ndarray:
        length = rows.shape[-1]
        if not length:
            raise _NotOursError
        width = max(AT_A_TIME // max(math.prod(rows.shape[:-1]), 1), LEAST_OF_ROW)
        found = rows[..., :width].copy() if length > width else rows
        for begin in range(width, length, width):
            part = rows[..., begin : begin + width]
            beginning = found[..., : part.shape[-1]]
            self.ufunc(beginning, part, out=beginning)
        while found.shape[-1] > 1:
            half = found.shape[-1] // 2
            joined = self.ufunc(found[..., :half], found[..., half : 2 * half])
            if found.shape[-1] % 2:
                self.ufunc(joined[..., :1], found[..., -1:], out=joined[..., :1])
            found = joined
        return np.asarray(found)[..., 0]

    def running(self, data: np.ndarray, place: int, kind: ElementType) -> np.ndarray:
        """The numbers of two elements, then of four, then of eight, and so on."""
        found, step = np.moveaxis(data, place, -1).copy(), 1
        while step < found.shape[-1]:
            found[..., step:] = self.ufunc(found[..., :-step], found[..., step:])
            step *= 2
        return np.moveaxis(found, -1, place)


def exact_methods(operator: Any, ufunc: np.ufunc) -> dict[str, Callable[..., Any]]:
    """The methods of an operator's ufunc, by name, that take the place of NumPy's."""
    found = _reductions_of(operator, ufunc)
    if not found:
        return {}
    methods: dict[str, Callable[..., Any]] = {"reduce": _reduce, "reduceat": _reduceat, "accumulate": _accumulate}
    return {
        method: partial(_called, getattr(ufunc, method), compute, operator, found)
        for method, compute in methods.items()
    }


def _reductions_of(operator: Any, ufunc: np.ufunc) -> list[_Reducer]:
    name = _reduction_of(operator)
    found: list[_Reducer] = [] if name is None else [_RoundedOnce(name)]
    if _is_of_catalogue(operator) and operator.name in IN_ANY_ORDER:
        found.append(_InAnyOrder(operator, ufunc))
    return found


def _is_of_catalogue(operator: Any) -> bool:
    module = getattr(operator.function, "__module__", None) or ""  # a function that code made may have none
    return module.startswith("ogive.catalog.")


def _reduction_of(operator: Any) -> str | None:
    if operator.is_row_wise or operator.inputs != 2 or operator.parameters or operator.nout != 1:
        return None
    if _is_of_catalogue(operator) and operator.name in OF_NAMES:
        return OF_NAMES[operator.name]
    (root,) = operator.formula()
    is_plain = [n.attribute for n in root.operands if n.operation == ops.INPUT] == [0, 1]
    return OF_OPERATIONS.get(root.operation) if is_plain else None


def _called(
    numpy_method: Callable[..., Any],
    compute: Callable[..., Any],
    operator: Any,
    reductions: list[_Reducer],
    /,
    *args: Any,
    **keywords: Any,
) -> Any:
    try:
        return compute(operator, reductions, *args, **keywords)
    except (_NotOursError, TypeError):
        given = getattr(args[0], "dtype", None) if args else None
        if (
            isinstance(given, np.dtype)
            and len(args) <= 2 + (numpy_method.__name__ == "reduceat")
            and not {"dtype", "out"} & keywords.keys()
        ):
            widened = _type_of_sum(operator, given)
            keywords |= {"dtype": widened} if widened != given else {}
        return numpy_method(*args, **keywords)


def _elements(
    operator: Any, reductions: list[_Reducer], array: Any, dtype: Any, out: Any
) -> tuple[_Reducer, np.ndarray, ElementType, np.ndarray | None]:
    """The reduction, the elements in the type in which they are combined, that type, and the array for the result."""
    if isinstance(out, tuple):
        (out,) = out if len(out) == 1 else (NOT_GIVEN,)
    if not (isinstance(array, np.generic) or type(array) in PLAIN) or not (out is None or type(out) in PLAIN[:2]):
        raise _NotOursError
    given = np.asarray(array)
    chosen = np.dtype(dtype) if dtype is not None else _type_of_sum(operator, given.dtype) if out is None else out.dtype
    kind, source = element_type_of(chosen), element_type_of(given.dtype)
    if kind is None or source is None:
        raise _NotOursError
    found = next((one for one in reductions if one.takes(source, kind)), None)
    if found is None:
        raise _NotOursError
    return found, converted(given, chosen), kind, out


def _type_of_sum(operator: Any, given: np.dtype) -> np.dtype:
    """The type that NumPy's sums and products take, which widen short integers."""
    is_short = operator.name in WIDENING and given.kind in "iu" and given.itemsize < LONG
    return np.dtype(f"{given.kind}{LONG}") if is_short else given


def _delivered(result: np.ndarray, out: np.ndarray | None) -> Any:
    if out is None:
        return result[()]
    if out.shape != result.shape or not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise _NotOursError
    out[...] = converted(result, out.dtype)
    return out


def _reduce(
    operator: Any,
    reductions: list[_Reducer],
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    reduction, data, kind, out = _elements(operator, reductions, array, dtype, out)
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
        rows = np.where(there, rows, _in_type(reduction.neutral(_number(initial) if has_initial else None), rows.dtype))
        is_empty = None if has_initial else ~there.any(axis=-1)
    if has_initial:
        first = converted(_number(initial), rows.dtype)
        if not kind.is_float and first != initial:
            raise _NotOursError
        rows = np.concatenate([np.broadcast_to(first, (*kept, 1)), rows], axis=-1)
    found = reduction.of_rows(rows, kind)
    if is_empty is not None:
        found[is_empty] = _in_type(operator.identity, found.dtype)
    if keepdims:
        found = found.reshape([1 if i in axes else size for i, size in enumerate(data.shape)])
    return _delivered(found, out)


def _in_type(neutral: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A neutral element in a type: -1, that of bitwise_and, has all bits of an unsigned integer."""
    return np.array(neutral).astype(dtype) if dtype.kind == "u" else converted(np.array(neutral), dtype)


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


def _accumulate(
    operator: Any, reductions: list[_Reducer], array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    reduction, data, kind, out = _elements(operator, reductions, array, dtype, out)
    (place,) = _axes(axis, data.ndim) if isinstance(axis, int) and data.ndim else (None,)
    if place is None:
        raise _NotOursError
    return _delivered(np.ascontiguousarray(reduction.running(data, place, kind)), out)


def _reduceat(
    operator: Any,
    reductions: list[_Reducer],
    array: Any,
    indices: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """The reduction of the elements from each index to the next one; the element alone where that is no larger."""
    reduction, data, kind, out = _elements(operator, reductions, array, dtype, out)
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
            found[..., some] = reduction.of_rows(turned[..., starts[some][:, None] + np.arange(size)], kind)
    return _delivered(np.ascontiguousarray(np.moveaxis(found, -1, place)), out)
