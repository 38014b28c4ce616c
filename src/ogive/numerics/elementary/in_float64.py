"""How a rule that is written for float64 serves float32: computed in float64, and rounded once.

Two float64 numbers where float32 with corrections takes four or more instructions: that is faster, and good
to far less than half a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ogive.expression import Format
from ogive.numerics.double_word import Arithmetic, DoubleWord

__all__ = ["in_float64"]


def in_float64(rule: Callable[..., DoubleWord]) -> Callable[..., DoubleWord]:
    """The rule for every format, from one for float64."""

    @wraps(rule)
    def of_any_format(m: Arithmetic, *operands: DoubleWord) -> DoubleWord:
        if m.format is Format.F64:
            return rule(m, *operands)
        return m.demoted(rule(m.promotion, *map(m.promoted, operands)))

    return of_any_format
