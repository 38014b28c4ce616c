"""Reductions of rows, each a formula: one number of the elements of a row.

Sums are added up in one fixed order (backends/reductions.py, runtime/native/rows.c): of float64 with what rounding
loses beside it, of shorter types in float64. What is made of a sum is computed in float64 or longer, and rounded once.

NaN wins over every number; of two zeros +0 is the larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from ogive import formula as f
from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.engine.rows import RowFormula
from ogive.expression import Format, Term, formula_node, node

__all__ = ["REDUCTIONS", "reduction"]


def _mean(x: Term) -> Term:
    return f.row_sum(x) / formula_node(ops.ROW_COUNT, x)


def _largest(x: Term) -> Term:
    largest = f.row_max(x)
    sign = f.row_max(f.where(f.equal(x, 0), f.copy_sign(1, x), -1))
    return f.where(f.equal(largest, 0), f.copy_sign(0, sign), largest)


def _smallest(x: Term) -> Term:
    smallest = f.row_min(x)
    sign = f.row_min(f.where(f.equal(x, 0), f.copy_sign(1, x), 1))
    return f.where(f.equal(smallest, 0), f.copy_sign(0, sign), smallest)


def _log_sum_exp(x: Term) -> Term:
    largest = f.row_max(x)
    is_infinite = f.equal(f.absolute(largest), math.inf)
    return f.where(is_infinite, largest, f.log(f.row_sum(f.exp(x - largest))) + largest)


def _first(x: Term, wanted: Term) -> Term:
    is_nan = ~f.equal(x, x)
    return node(ops.ROW_INDEX, (f.equal(x, wanted) | is_nan,), None, Format.NUMBER)  # type: ignore[return-value]


#: By name, what is made of the elements of a row.
REDUCTIONS: dict[str, Callable[[Term], Term]] = {
    "sum": f.row_sum,
    "mean": _mean,
    "product": f.row_product,
    "max": _largest,
    "min": _smallest,
    "l1": lambda x: f.row_sum(f.absolute(x)),
    "l2": lambda x: f.square_root(f.row_sum(x * x)),
    "sum_square": lambda x: f.row_sum(x * x),
    "log_sum": lambda x: f.log(f.row_sum(x)),
    "log_sum_exp": _log_sum_exp,
    "arg_max": lambda x: _first(x, f.row_max(x)),
    "arg_min": lambda x: _first(x, f.row_min(x)),
}


@lru_cache(maxsize=256)
def reduction(name: str, kind: ElementType, result: ElementType) -> RowFormula:
    """The reduction of this name, of rows of an element type."""
    x = node(ops.INPUT, (), 0, Format.NUMBER)
    assert isinstance(x, Term)
    return RowFormula((REDUCTIONS[name](x),), (kind,), (result,), reduces=True)
