"""The results that are judged, and how far apart numbers are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ogive.dtypes import ElementType
from ogive.golden.inputs import ranks
from ogive.golden.specification import Expected

__all__ = ["Evidence", "steps_between"]


class Evidence(NamedTuple):
    """The results that causes are looked for in, in the order of the first operand."""

    arrays: tuple[np.ndarray, ...]
    result: np.ndarray
    expected: Expected
    errors: np.ndarray
    """In ULP; infinite where a policy is broken."""
    wrong: np.ndarray
    """Which results are not the nearest ones, policies included, but for signs of zeros."""


def steps_between(a: np.ndarray, b: np.ndarray, kind: ElementType) -> np.ndarray:
    """How many steps of the element type there are from one number to another; infinite where one is NaN."""
    if not kind.is_float:
        return np.abs(a.astype(np.float64) - b.astype(np.float64))
    with np.errstate(invalid="ignore"):
        steps = np.abs(ranks(a).astype(np.float64) - ranks(b).astype(np.float64))
        return np.where(np.isnan(a) != np.isnan(b), np.inf, np.where(np.isnan(a) & np.isnan(b), 0, steps))
