"""Formulas next to zero, where their results lie just beside those of a line: ties, of which enclosures decide each alone.

That takes 0.1 ms an element, and of half of all subnormal numbers GELU's result is such a tie.

Of ``f(0) = 0`` and a slope that is a number of few bits, ``f(x)`` is ``slope * x`` and a rest of ``f''/2 * x**2``, whose
sign is that of ``f''`` on the interval; or, of odd functions, one of ``f'''/6 * x**3``. So whole arrays are rounded at
once: GELU's results for subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ogive.dtypes import ElementType
from ogive.errors import UnsupportedError
from ogive.expression import Expression
from ogive.over_intervals import rest_near_zero

__all__ = ["LIMIT", "Line", "line_of"]

#: Up to which magnitude of the input; the shorter one for formulas that have a branch between them.
LIMIT, SHORTER_LIMIT = 2.0**-64, 2.0**-100

#: The smallest number of float32 and bfloat16.
LEAST = Fraction(1, 2**149)


class Line(NamedTuple):
    """A line through zero, and on which side of it the formula lies."""

    slope: float
    above: Mapping[bool, bool]
    """Whether the formula is larger, of negative inputs (True) and of others."""
    limit: float
    """Up to which magnitude of the input that is so."""

    def values(self, x: np.ndarray) -> np.ndarray:
        """Float64 numbers that round as the formula does at these inputs, which are not zero.

        They are the line's and, for the rest, the next number: no tie of a shorter type lies between them.
        """
        on_line = x.astype(np.float64) * self.slope
        rises = np.where(np.signbit(x), self.above[True], self.above[False])
        return np.nextafter(on_line, np.where(rises, np.inf, -np.inf))


def line_of(root: Expression, parameters: Mapping[str, float], kinds: tuple[ElementType, ElementType]) -> Line | None:
    """The line of a formula of one input, for an input's and a result's type; None if there is none."""
    if not all(kind.name in ("float32", "bfloat16") for kind in kinds):
        return None
    named = tuple(sorted(parameters.items()))
    return _line(root, named, LIMIT) or _line(root, named, SHORTER_LIMIT)


@lru_cache(maxsize=256)
def _line(root: Expression, parameters: tuple[tuple[str, float], ...], limit: float) -> Line | None:
    above = {}
    slopes = set()
    for is_negative, sign in ((True, -1), (False, 1)):
        try:
            found = rest_near_zero(root, sign * LEAST, sign * Fraction(limit), dict(parameters))
        except UnsupportedError:
            return None
        if found is None:
            return None
        slope, order, (low, high) = found
        # Exact in float64 for 24 bits of x, and the rest is less than a unit in the last place there.
        is_short = slope.numerator.bit_length() <= 29 and slope.denominator & (slope.denominator - 1) == 0
        if not is_short or not slope or low <= 0 <= high:
            return None
        if max(abs(low), abs(high)) * Fraction(limit) ** (order - 1) >= abs(slope) / 2**53:
            return None
        # The rest has the sign of its derivative, but below zero the other one if that is the third.
        above[is_negative] = (low > 0) is not (is_negative and order == 3)
        slopes.add(slope)
    return Line(float(slopes.pop()), above, limit) if len(slopes) == 1 else None
