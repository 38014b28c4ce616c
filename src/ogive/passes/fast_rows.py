"""Rows of the fast contract: without a rounding test, in float32 with corrections where rules allow it.

A number that a row has one of is computed in float64. So are elements of which a function is taken, other than exponentials of the
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
from ogive.expression import Expression, Format, depends_on_elements, walk
from ogive.numerics.bounded import Bounded
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.passes.cost import is_worth_it
from ogive.passes.exact_rows import row_decider
from ogive.passes.row_numbers import EXPONENTIALS, exponential, from_largest, row_exponential, within_row
from ogive.passes.untested_rows import UntestedRows, untested_rows
from ogive.program import Program, Summation

__all__ = ["FastRows", "fast_rows"]


class NoSingleRuleError(Exception):
    """A formula has a function of elements, of which there are rules for float64 alone."""


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
    if exact is not None and not is_worth_it(made, exact):
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
        single = FastRows(Arithmetic(Format.F32), tuple(inputs))
        with suppress(NoSingleRuleError):
            return untested_rows(single, roots, outputs, parameter_count, reduces=reduces)
    double = UntestedRows(Bounded(Format.F64, goal=Format.F32), tuple(inputs))
    return untested_rows(double, roots, outputs, parameter_count, reduces=reduces)


class FastRows(UntestedRows):
    """Rows in float32 with corrections."""

    def _summation(self, summed: Expression, form: Format, *, is_kept: bool) -> Summation:
        interval = self._interval_of_summed(summed)
        if form is not Format.F32:
            return Summation.IN_FLOAT64
        if not is_kept and interval.within(0.0, self.m.largest / 4):  # kept are results, of which the last bit shows
            return Summation.IN_PAIRS
        if interval.within(0.0, EXPONENTIALS.high):
            return Summation.FROM_ONE
        return Summation.IN_FLOAT64

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        """A function of what a row has one of, or the exponential of a distance from the row's largest element."""
        if root.operation.returns_operand:
            return super()._function(root, operands)
        if not depends_on_elements(root):
            return self._shortened(self.of_rows.number(root))
        parts = row_exponential(root)
        if parts is None or not self.number(parts[0]).is_exact:
            raise NoSingleRuleError
        element, largest = map(self.number, parts)
        return DoubleWord(exponential(self.m, element.high, largest.high), interval=EXPONENTIALS)


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == ops.ROW_SUM]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    rounds = not found.isdisjoint({ops.ADD, ops.SUBTRACT, ops.MULTIPLY})
    return rounds and not any(operation.is_elementary for operation in found)
