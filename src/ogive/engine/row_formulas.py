"""Reductions of rows, each a formula: one number of the elements of a row.

Sums are added up in one fixed order (backends/reductions.py, runtime/native/rows.c): of float64 with what rounding
loses beside it, of shorter types in float64. A function of a sum is computed in float64 or longer, and rounded once.

NaN wins over every number; of two zeros +0 is the larger.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ogive import formula as f
from ogive.common.dtypes import ElementType
from ogive.engine.computation import leaves
from ogive.engine.rows import RowFormula
from ogive.graph import operations as ops
from ogive.graph.expression import Format, Term, formula_node, node


def _mean(x: Term) -> Term:
    return f.row_sum(x) / formula_node(ops.ROW_COUNT, x)


def _norm(x: Term) -> Term:
    return f.square_root(f.row_sum(x * x))


def _long_norm(x: Term) -> Term:
    """The same of float64, whose squares may overflow and underflow: of numbers that are scaled where the largest asks for it."""
    largest = f.row_max(f.absolute(x))
    scale = f.where(largest > 2.0**500, 2.0**-600, f.where(largest < 2.0**-400, 2.0**600, 1))
    back = f.where(largest > 2.0**500, 2.0**600, f.where(largest < 2.0**-400, 2.0**-600, 1))
    scaled = x * scale
    return f.square_root(f.row_sum(scaled * scaled)) * back


def _first(x: Term, wanted: Term) -> Term:
    is_nan = ~f.equal(x, x)
    return node(ops.ROW_INDEX, (f.equal(x, wanted) | is_nan,), None, Format.NUMBER)  # type: ignore[return-value]


#: By name, what is made of the elements of a row.
REDUCTIONS: dict[str, Callable[[Term], Term]] = {
    "sum": f.row_sum,
    "mean": _mean,
    "product": f.row_product,
    "max": f.row_max,
    "min": f.row_min,
    "l1": lambda x: f.row_sum(f.absolute(x)),
    "l2": _norm,
    "sum_square": lambda x: f.row_sum(x * x),
    "log_sum": lambda x: f.log(f.row_sum(x)),
    "log_sum_exp": f.row_log_sum_exp,
    "arg_max": lambda x: _first(x, f.row_max(x)),
    "arg_min": lambda x: _first(x, f.row_min(x)),
}


def _half(x: Term) -> Term:
    """The upper half of an integer of 64 bits, rounded towards zero."""
    return f.quotient(x, HALF)


def _whole_mean(x: Term) -> Term:
    """The mean of integers of up to 32 bits, in 64."""
    return f.quotient(f.row_sum(x), formula_node(ops.ROW_COUNT, x))


def _long_mean(x: Term) -> Term:
    """The mean of integers of 64 bits: of two halves, whose sums are integers of 64 bits."""
    count = formula_node(ops.ROW_COUNT, x)
    upper, lower = f.row_sum(_half(x)), f.row_sum(x - _half(x) * HALF)
    whole = f.quotient(upper, count)
    rest = (upper - whole * count) * HALF + lower
    part = f.quotient(rest, count)
    left, mean = rest - part * count, whole * HALF + part
    # With numbers of both signs, the rest may be on the other side of zero.
    is_too_large, is_too_small = (mean > 0) & (left < 0), (mean < 0) & (left > 0)
    return f.where(is_too_large, mean - 1, f.where(is_too_small, mean + 1, mean))


HALF = 1 << 32

#: So many integers of 64 bits have a mean: what is left of the upper halves, times HALF, and the sum of the lower halves
#: are integers of 64 bits together.
MOST_OF_A_LONG_MEAN = 1 << 30

#: For integers: operations that are not computed in real numbers, but in integers, and wraps around.
OF_INTEGERS: dict[str, Callable[[Term], Term]] = {
    **{name: REDUCTIONS[name] for name in ("sum", "product", "l1", "sum_square", "arg_max", "arg_min")},
    "max": f.row_max,
    "min": f.row_min,
}


@lru_cache(maxsize=256)
def reduction(name: str, kind: ElementType, result: ElementType) -> RowFormula:
    """The reduction of this name, of rows of an element type.

    Integers: sums and products wrap around, the mean is exact and rounded towards zero. Roots and logarithms are cut off
    and saturate.
    """
    (x,) = leaves(1)
    make = _long_norm if name == "l2" and kind.name == "float64" else REDUCTIONS[name]
    modular = not kind.is_float and (name == "mean" or name in OF_INTEGERS)
    if modular:
        make = OF_INTEGERS.get(name, _long_mean if kind.bits == 64 else _whole_mean)
    root = make(x)
    if modular and kind.bits < 32 and name in ("max", "min"):  # rows without elements have the ends of a longer type
        root = f.where(root < kind.minimum, kind.minimum, f.where(root > kind.maximum, kind.maximum, root))
    longest = MOST_OF_A_LONG_MEAN if make is _long_mean else None
    return RowFormula((root,), (kind,), (result,), reduces=True, modular=modular, longest=longest)
