"""Reductions of the elements of rows up to some places, each of which is a row of its own."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType

#: By reduction: the element that changes no result.
NEUTRAL = {"sum": -0.0, "product": 1.0, "log_sum_exp": -math.inf, "l2": 0.0}

#: Rows are gathered so many elements at a time.
GATHERED = 1 << 22


@lru_cache(maxsize=64)
def _kernel(name: str, kind: ElementType) -> np.ufunc:
    from ogive.engine.computation import make_ufunc  # only such calls need it
    from ogive.engine.row_formulas import reduction

    return make_ufunc(name, reduction(name, kind, kind))


def of_rows(name: str, rows: np.ndarray, kind: ElementType) -> np.ndarray:
    """A number of each row."""
    found: np.ndarray = _kernel(name, kind)(rows)
    return found.reshape(rows.shape[:-1])


def of_prefixes(name: str, rows: np.ndarray, kind: ElementType) -> np.ndarray:
    """The reduction of the elements up to each place, rounded once: as many rows as a row has elements.

    So an element takes the time of half a row. What follows a place is replaced by what changes no result.
    """
    found, (count, length) = np.empty_like(rows), rows.shape
    neutral, places = converted(np.array(NEUTRAL[name]), rows.dtype), np.arange(length)
    begin = 0
    while begin < length and count:
        end = min(begin + max(GATHERED // (length * count), 1), length)
        there = places[:end] <= places[begin:end, None]
        step = max(GATHERED // there.size, 1)
        for first in range(0, count, step):
            some = slice(first, first + step)
            found[some, begin:end] = of_rows(name, np.where(there, rows[some, None, :end], neutral), kind)
        begin = end
    return found


def of_places(name: str, row: np.ndarray, places: np.ndarray, kind: ElementType) -> np.ndarray:
    """The same at some places of a row."""
    found, neutral = np.empty(places.size, row.dtype), converted(np.array(NEUTRAL[name]), row.dtype)
    step = max(GATHERED // row.size, 1)
    for begin in range(0, places.size, step):
        some = places[begin : begin + step]
        there = np.arange(some.max() + 1) <= some[:, None]
        found[begin : begin + step] = of_rows(name, np.where(there, row[: some.max() + 1], neutral), kind)
    return found
