"""Rows of the fast contract: without a rounding test, in float32 with corrections or in float64, whichever costs less.

A number that a row has one of is computed in float64. So are elements of which a function is taken, other than exponentials of the
distance from the row's largest element, and sums of what float32 would round. Where a stage of the exact program repeats,
or no program is cheaper than that, the fast contract has the exact one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ogive.common.dtypes import ElementType
from ogive.errors import FormulaError
from ogive.graph import operations as ops
from ogive.graph.expression import EXTREMES, Expression, Format, depends_on_elements, in_format, rewritten, walk
from ogive.lowering.cost import is_worth_it, usual_cost
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.precisions import PROMOTED
from ogive.lowering.program import Program, Reduction, Summation
from ogive.lowering.row_numbers import EXPONENTIALS, beside_smallest, exponential, row_exponential, within_row
from ogive.lowering.untested_rows import UntestedRows, untested_rows

_SINGLE = Arithmetic(Format.F32)


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
        made = _made(
            rewritten(roots, lambda _, new: beside_smallest(new)), inputs, outputs, parameter_count, reduces=reduces
        )
    except FormulaError:  # it has no room
        if exact is None:
            raise
        return exact
    if exact is not None and not is_worth_it(made, exact):
        return exact
    return made


def _made(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    reduces: bool,
) -> Program:
    double = FastRowsOfDoubles(Bounded(PROMOTED), tuple(inputs))
    made = untested_rows(double, roots, outputs, parameter_count, reduces=reduces)
    if not (reduces and _sums_products(roots)):
        single = FastRows(Arithmetic(Format.F32), tuple(inputs))
        with suppress(NoSingleRuleError):
            found = untested_rows(single, roots, outputs, parameter_count, reduces=reduces)
            return min(found, made, key=usual_cost)
    return made


class FastRows(UntestedRows):
    """Rows in float32 with corrections, which take longer than float64 where they are many."""

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
        value = _exponential(self, root)
        if value is None:
            raise NoSingleRuleError
        return DoubleWord(value, interval=EXPONENTIALS)


class FastRowsOfDoubles(UntestedRows):
    """Rows in float64, whose sums need no corrections for results of float32. Exponentials are computed in float32."""

    def _of_element(self, root: Expression) -> None:
        """Sums are taken as they are written: numbers of a row that are added up first would lose what cancels in an element."""
        return

    def _reduction(self, root: Expression, *, is_kept: bool) -> Reduction:
        found = super()._reduction(root, is_kept=is_kept)
        single = self.m.single_of(found.value)
        is_near = found.kind == ops.ROW_SUM and self._interval_of_summed(root.operands[0]).within(
            0.0, EXPONENTIALS.high
        )
        return replace(found, value=single) if single is not None and (is_near or found.kind in EXTREMES) else found

    def _summation(self, summed: Expression, form: Format, *, is_kept: bool) -> Summation:
        return Summation.IN_PAIRS

    def _exponentials(self, root: Expression) -> Expression | None:
        return None

    def _rough(self, root: Expression) -> Expression:
        value = _exponential(self, root)
        return super()._rough(root) if value is None else in_format(value, Format.F64)

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        values, summed = super()._kept(root, place), root.operands[0]
        if values and values[0].format is Format.F32:
            number = self.numbers[summed]
            self.numbers[summed] = replace(number, high=in_format(number.high, Format.F64))
        return values

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        value = _exponential(self, root)
        if value is None:
            return super()._function(root, operands)
        return DoubleWord(in_format(value, Format.F64), interval=EXPONENTIALS)


def _exponential(rows: UntestedRows, root: Expression) -> Expression | None:
    """An exponential of the distance of an operand from the row's largest one, in float32; None for others."""
    parts = row_exponential(root)
    if parts is None or not rows.number(parts[0]).is_exact:
        return None
    x, largest = (rows.number(part).high for part in parts)
    if x.format is Format.F32:
        return exponential(_SINGLE, x, largest)
    single = rows.m.single_of(x)
    if single is None:
        return None
    return exponential(_SINGLE, single, in_format(largest, Format.F32))


def _sums_products(roots: Sequence[Expression]) -> bool:
    """Whether sums of what float32 would round, and float64 holds exactly or nearly so, are asked for.

    Elementary functions are left out: they would take twice the time, and are as good as their operands.
    """
    summed = [current.operands[0] for current in walk(*roots) if current.operation == ops.ROW_SUM]
    found = {current.operation for current in walk(*summed, operands=within_row)}
    rounds = not found.isdisjoint({ops.ADD, ops.SUBTRACT, ops.MULTIPLY})
    return rounds and not any(operation.is_elementary for operation in found)
