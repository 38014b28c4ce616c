"""Which arithmetic computes what has no rounding test: rows, float64, and what one operation rounds.

Others are correctly rounded whatever computes them (exact.py). Here results depend on the arithmetic in their last bits,
so a rule about the formula and its element types chooses it, and no measure of speed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.expression import Expression, Format, walk
from ogive.numerics.double_word import Arithmetic
from ogive.passes.rowwise import within_row

__all__ = ["arithmetic_of", "computes_in"]


def computes_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> str:
    """The format in which numbers of these operands are computed."""
    return max(t.computes_in for t in (*inputs, *outputs))


def arithmetic_of(
    roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType], *, reduces: bool
) -> Arithmetic:
    """The arithmetic of formulas; with ``reduces`` each result is one number of a row."""
    if computes_in(inputs, outputs) == "float64":
        return Arithmetic(Format.F64)
    single = Arithmetic(Format.F32)
    return single.promotion if reduces and _sums_products(roots) else single


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == ops.ROW_SUM]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    rounds = not found.isdisjoint({ops.ADD, ops.SUBTRACT, ops.MULTIPLY})
    return rounds and not any(operation.is_elementary for operation in found)
