"""What is known before a formula is computed of how wrong its results may be, before they are rounded."""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.expression import REDUCTIONS, Expression, Format, walk
from ogive.numerics.bound import UNKNOWN, Bound
from ogive.numerics.bounded import Bounded
from ogive.passes.real_lowering import RealLowering

__all__ = ["bounds_of"]


def bounds_of(roots: Sequence[Expression], inputs: Sequence[ElementType]) -> tuple[Bound, ...]:
    """The bound of each formula, of elements and in float64 without compensation, as float32 results are computed.

    Formulas of rows have none yet, nor have truth values.
    """
    if any(current.operation in REDUCTIONS for current in walk(*roots)):
        return (UNKNOWN,) * len(roots)
    reals = RealLowering(Bounded(Format.F64, goal=Format.F32), tuple(inputs))
    return tuple(UNKNOWN if root.format is Format.TRUTH else reals.number(root).error for root in roots)
