"""What is special about formulas over rows: their exponentials, and what a row's numbers are computed in.

``exp(x - max(x))`` would magnify a rounding error of its argument. Here large numbers are not subtracted but reduced
one by one: with m the integer nearest to (x - max) / log(2), max = N log(2) + rest and n = m + N,

    exp(x - max) = 2**m exp(r),    r = (x - n log(2)) - rest.

n times the first part of log(2), x and rest are multiples of the same small number, so that both differences are
exact; that of the largest element is zero, and its exponential 1. The others are right to about one unit in the last
place, by a polynomial and one power of two.

n is a small number only where x is. If the largest element is not, it is subtracted before: that is exact for all
elements near enough to have an exponential other than zero (Sterbenz).
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.elementary.coefficients import EXP
from ogive.elementary.exponential import EXACT_LOG_2, LOG2_E
from ogive.expression import Expression, Format, walk
from ogive.transform.interval import Interval
from ogive.transform.wide import Arithmetic

__all__ = [
    "EXPONENTIALS",
    "EXTREMES",
    "REDUCTIONS",
    "SUM_OF_EXPONENTIALS",
    "exponential",
    "is_of_row",
    "row_exponential",
    "within_row",
]

#: What makes one number of a row.
REDUCTIONS = frozenset({"row_max", "row_min", "row_sum", "row_first"})

#: Those of them that are NaN where an element is.
EXTREMES = frozenset({"row_max", "row_min"})

#: Up to where the largest element of a row is left in its elements. Whatever has an exponential other than zero is
#: then at most this far below one that lies beyond.
NEAR = {Format.F32: 256.0, Format.F64: 2048.0}

#: Where exponentials lie, and, of any row in memory, their sum: the largest element's is 1, or near it where x is
#: rounded.
EXPONENTIALS = Interval(0.0, 2.0)
SUM_OF_EXPONENTIALS = Interval(0.5, 2.0**62)


def within_row(current: Expression) -> Sequence[Expression]:
    """The operands as far as they are no other pass over the row."""
    return () if current.operation in REDUCTIONS else current.operands


def is_of_row(root: Expression) -> bool:
    """Whether this depends on reductions, parameters and constants only, and on a reduction."""
    leaves = {current.operation for current in walk(root, operands=within_row)}
    return "input" not in leaves and not leaves.isdisjoint(REDUCTIONS)


def row_exponential(root: Expression) -> tuple[Expression, Expression] | None:
    """(x, the reduction) if this is ``exp(x - row_max(x))``."""
    if root.operation != "exp" or root.operands[0].operation != "subtract":
        return None
    x, largest = root.operands[0].operands
    return (x, largest) if largest.operation == "row_max" and largest.operands[0] is x else None


def exponential(m: Arithmetic, x: Expression, largest: Expression) -> Expression:
    """``exp(x - largest)`` of the elements of a row."""
    near, zero = m.number(NEAR[m.format]), m.number(0.0)
    log2_e, magic = m.number(float.fromhex(LOG2_E[m.format])), m.number(m.magic)
    log2_high, log2_low = (m.number(-float.fromhex(part)) for part in EXACT_LOG_2[m.format])
    # Once a row. An infinity and NaN are not near.
    is_near = m.less_(m.abs_(largest), near)
    distant, kept = m.select_(is_near, zero, largest), m.select_(is_near, largest, zero)
    power = m.sub_(m.fma_(kept, log2_e, magic), magic)
    rest = m.fma_(power, log2_high, kept)
    offset = m.neg_(m.mul_(kept, log2_e))
    # What is clamped is too small to count, infinities included.
    lowest = m.number(-2 * NEAR[m.format])
    x = m.sub_(x, distant)
    x = m.select_(m.less_(x, lowest), lowest, x)
    exponent = m.round_even_(m.fma_(x, log2_e, offset))
    r = m.sub_(m.fma_(m.add_(exponent, power), log2_high, x), rest)
    r = m.fma_(exponent, log2_low, r)
    return m.scale_(m.polynomial_(r, (1.0, 1.0, *EXP[m.format])), exponent)
