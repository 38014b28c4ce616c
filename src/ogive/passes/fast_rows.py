"""Rows of the fast contract: without a rounding test, in float32 with corrections where rules allow it.

What a row has one of is computed in float64. So are elements of which a function is taken, other than exponentials of the
distance from the row's largest element, and sums of what float32 would round. Where a stage of the exact program repeats,
or no program is cheaper than that, the fast contract has the exact one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ogive import operations as ops
from ogive.dtypes import ElementType
from ogive.errors import FormulaError
from ogive.expression import Expression, Format, walk
from ogive.numerics.bounded import Bounded
from ogive.numerics.double_word import Arithmetic
from ogive.passes.cost import cost
from ogive.passes.exact_rows import row_decider
from ogive.passes.reals import NoSingleRuleError
from ogive.passes.rowwise import from_largest, within_row
from ogive.passes.untested import untested
from ogive.program import Program

__all__ = ["fast_rows"]


def fast_rows(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    reduces: bool,
    exact: Program | None,
) -> Program:
    """The program of the fast contract. ``exact`` is that of the exact one, if that has a test."""
    if exact is not None and any(stage.repeats for stage in exact.stages):
        return exact
    try:
        made = _made(from_largest(roots), inputs, outputs, parameter_count, reduces=reduces)
    except FormulaError:  # it has no room
        if exact is None:
            raise
        return exact
    if exact is not None and cost(exact.roots) <= cost(made.roots):
        return exact
    return replace(made, decide_row=row_decider(roots, inputs, outputs, reduces=reduces))


def _made(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    reduces: bool,
) -> Program:
    if not (reduces and _sums_products(roots)):
        single = Arithmetic(Format.F32)
        with suppress(NoSingleRuleError):
            return untested(roots, inputs, outputs, single, parameter_count, reduces=reduces)
    double = Bounded(Format.F64, goal=Format.F32)
    return untested(roots, inputs, outputs, double, parameter_count, reduces=reduces)


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == ops.ROW_SUM]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    rounds = not found.isdisjoint({ops.ADD, ops.SUBTRACT, ops.MULTIPLY})
    return rounds and not any(operation.is_elementary for operation in found)
