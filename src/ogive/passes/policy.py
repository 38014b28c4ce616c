"""Which arithmetic computes what has no rounding test: rows, float64, and what one operation rounds.

Others are correctly rounded whatever computes them (exact.py). Here results depend on the arithmetic in their last bits,
so a rule about the formula and its element types chooses it, and no measure of speed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.expression import Expression, Format, walk
from ogive.numerics.double_word import Arithmetic

__all__ = ["arithmetic_of", "computes_in"]


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which numbers of these operands are computed."""
    return max(t.computes_in for t in (*inputs, *outputs))


def arithmetic_of(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType]
) -> Arithmetic:
    """That of float64, with corrections, where an operand is a number of it, or the formulas have functions."""
    has_functions = any(n.operation.is_elementary and not n.operation.returns_operand for n in walk(*roots))
    is_long = has_functions or computes_in(inputs, outputs) == "float64"
    return Arithmetic(Format.F64 if is_long else Format.F32)
