"""Programs without a rounding test: of one rounded operation, of float64, of rows that only choose, and of fast rows."""

from __future__ import annotations

from collections.abc import Sequence

from ogive.dtypes import ElementType
from ogive.errors import FormulaError
from ogive.expression import Expression
from ogive.numerics.double_word import Arithmetic
from ogive.passes.conversions import fewer_conversions
from ogive.passes.exact_rows import MOST_REDUCTIONS, MOST_STAGES, has_room
from ogive.passes.reals import Reals
from ogive.program import Program

__all__ = ["untested"]


def untested(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    arithmetic: Arithmetic,
    parameter_count: int,
    *,
    reduces: bool = False,
) -> Program:
    """The program without a rounding test. There may be outputs that no formula is of: their results follow.

    Raises FormulaError where a kernel has no room for what rows are reduced to.
    """
    first_scratch = len(inputs) + len(outputs)
    real = Reals(arithmetic, tuple(inputs))
    stages = real.reduce(roots, first_scratch=first_scratch)
    if not has_room(stages):
        count = sum(len(stage.reductions) for stage in stages)
        raise FormulaError(
            f"the formula reduces rows to {count} numbers in {len(stages)} passes, one after the other;"
            f" allowed: {MOST_REDUCTIONS} numbers, {MOST_STAGES - 1} passes. Divide it among two operators,"
            " of which the second takes the results of the first"
        )
    scratch = tuple(value.format for stage in stages for _, value in stage.kept)
    store = real.store_of_row if reduces else real.store
    results = fewer_conversions([store(root, t) for root, t in zip(roots, outputs, strict=False)])
    row_operands = frozenset(range(len(inputs), first_scratch) if reduces else ())
    return Program(tuple(inputs), tuple(outputs), results, stages, scratch, parameter_count, None, row_operands)
