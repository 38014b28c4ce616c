"""Rows without a rounding test: those that only choose, those that enclosures decide, and, in fast_rows.py, the fast contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ogive.common.dtypes import ElementType
from ogive.errors import FormulaError
from ogive.graph import operations as ops
from ogive.graph.expression import EXTREMES, Expression, Format, in_format, node
from ogive.lowering.fold import fewer_conversions
from ogive.lowering.forms import with_forms
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.exponential.exp import exp
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.precisions import PROMOTED
from ogive.lowering.program import Program, Reduction, Summation
from ogive.lowering.row_lowering import MOST_REDUCTIONS, MOST_STAGES, RowLowering, has_room, is_share
from ogive.lowering.row_numbers import (
    EXPONENTIALS,
    OPEN_TRUTH,
    SUM_OF_EXPONENTIALS,
    exponential,
    first_position,
    kept_of_largest,
    product_of_row,
    rest_of_largest,
    row_exponential,
    summed_exponential,
    threshold_of_row,
)
from ogive.lowering.untested_elements import UntestedElements

#: Computed elements of such magnitudes lose more than next to nothing to rounding.
VAST = 2.0**40

#: Powers of two beyond this make zero and infinity of every mantissa.
LARGEST_EXPONENT = 2200.0


def untested_rows(
    rows: UntestedRows,
    roots: Sequence[Expression],
    outputs: Sequence[ElementType],
    parameter_count: int,
    *,
    reduces: bool,
) -> Program:
    """The program of rows without a rounding test. There may be outputs that no formula is of: their results follow.

    Raises FormulaError where a kernel has no room for what rows are reduced to.
    """
    inputs, roots = rows.inputs, with_forms(roots)
    first_scratch = len(inputs) + len(outputs)
    stages = rows.reduce(roots, first_scratch=first_scratch)
    if not has_room(stages):
        count = sum(len(stage.reductions) for stage in stages)
        raise FormulaError(
            f"the formula reduces rows to {count} numbers in {len(stages)} passes, one after the other;"
            f" allowed: {MOST_REDUCTIONS} numbers, {MOST_STAGES - 1} passes. Divide it among two operators,"
            " of which the second takes the results of the first"
        )
    store = rows.store_of_row if reduces else rows.store
    results = fewer_conversions([store(root, t) for root, t in zip(roots, outputs, strict=False)])
    row_operands = frozenset(range(len(inputs), first_scratch) if reduces else ())
    return Program(inputs, tuple(outputs), results, stages, parameter_count, row_operands)


class UntestedRows(RowLowering, UntestedElements):
    """Rows, and elements beside their numbers, which are rounded without a test."""

    def __init__(
        self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...], parameters: Format | None = None
    ) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.rests: dict[Expression, tuple[Expression, Expression]] = {}
        """A row_sum node -> the logarithm of the scale left in the sum: the true sum is ``value * exp(-rest)``."""

    # ---- reductions

    def _reduce_to_threshold(self, root: Expression) -> None:
        """The reductions of a stage that repeats: of what lies above the threshold that they have found before."""
        is_above, *sums, _ = threshold_of_row(root)
        first = len(self.made)
        self.truths[is_above] = OPEN_TRUTH
        self.row_values |= {n: first + i for i, n in enumerate(sums)}  # what is summed depends on them itself
        known = dict(self.numbers)
        for n in sums:
            self._reduce_to(n, is_kept=False)
        self.numbers = known  # without what depends on the open truth value
        self._add_low_parts(root.operands[0], sums[-1])
        del self.truths[is_above]
        self._close(first, self.truth(is_above))

    def _add_low_parts(self, summed: Expression, total: Expression) -> None:
        """For double-word numbers of float64 the lower words are summed too."""
        value = self.m.unscaled(self.number(summed))
        if self.m.format is not Format.F64 or value.low is None:
            return
        lost = self.m.sub_(value.high, self.finish(summed))  # what was summed is both words, rounded
        rest = self.m.add_(lost, self.m.low_part(value))
        self.made.append(Reduction(ops.ROW_SUM, self.m.select_(OPEN_TRUTH, rest, self.m.number(0.0))))
        rests = DoubleWord(node(ops.ROW_VALUE, (), (len(self.made) - 1, 0), Format.F64), interval=EVERYTHING)
        self.numbers[total] = self.m.renormalised(self.m.add(self._reduced(total), rests))

    def _reduce_to(self, root: Expression, *, is_kept: bool) -> None:
        """Add the reductions that make a number of a row."""
        reduction = self._reduction(root, is_kept=is_kept)
        self.row_values[root] = len(self.made)
        self.made.append(reduction)
        if root.operation == ops.ROW_PRODUCT:
            self.made.append(Reduction("row_rest", reduction.value))

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        """The stored parts of what is summed, as the operands from that place on."""
        summed = root.operands[0]
        if not summed.operands:
            return ()
        value = self.made[self.row_values[root]].value
        again = node(ops.INPUT, (), place, value.format)
        self.numbers[summed] = DoubleWord(again, interval=self._interval_of_summed(summed))
        return (value,)

    def _reduction(self, root: Expression, *, is_kept: bool) -> Reduction:
        operand = root.operands[0]
        if root.operation in (ops.ROW_FIRST, ops.ROW_INDEX):
            return first_position(self.truth(operand))
        if root.operation != ops.ROW_SUM:
            return Reduction(root.operation, self.finish(operand))
        value = None if is_kept else self._exponentials(root)
        if value is None:
            value = self._rough(operand)
        return Reduction(root.operation, value, self._summation(operand, value.format, is_kept=is_kept))

    def _summation(self, summed: Expression, form: Format, *, is_kept: bool) -> Summation:
        """How numbers of a format are added up."""
        return Summation.IN_FLOAT64

    def _exponentials(self, root: Expression) -> Expression | None:
        """The terms that this sums, if that is ``exp(x - row_max(x))`` or zero, times what makes it simpler; None for others."""
        summed, parts = root.operands[0], summed_exponential(root.operands[0])
        if parts is None or not self.number(parts[0]).is_exact:
            return None
        element, largest = map(self.number, parts)
        self.rests[root] = kept_of_largest(self.m, largest.high)
        value = exponential(self.m, element.high, largest.high, with_rest=True)
        if summed.operation != ops.SELECT:
            return value
        zero = self.m.number(0.0)
        values = (value if row_exponential(operand) else zero for operand in summed.operands[1:])
        return self.m.select_(self.truth(summed.operands[0]), *values)

    def _interval_of_summed(self, root: Expression) -> Interval:
        if root.operation == ops.SELECT:
            a, b = map(self._interval_of_summed, root.operands[1:])
            return a | b
        return EXPONENTIALS if row_exponential(root) else self.number(root).interval

    def _rough(self, root: Expression) -> Expression:
        """Like finish, where thousands are added and the last bit does not show."""
        self.number(root)
        if root.operation == ops.SELECT:
            condition, a, b = root.operands
            return self.m.select_(self.truth(condition), self._rough(a), self._rough(b))
        parts = row_exponential(root)
        if parts is not None and self.number(parts[0]).is_exact:
            element, largest = map(self.number, parts)
            return exponential(self.m, element.high, largest.high)
        return self.finish(root)

    def _row_value(self, root: Expression) -> DoubleWord:
        if root not in self.rests:
            return self._reduced(root)
        if self.of_rows is not self:
            return self._shortened(self.of_rows.number(root))
        value = self._reduced(root)
        return self.m.multiply(value, exp(self.m, self.m.negate(rest_of_largest(self.m, *self.rests[root]))))

    def _reduced(self, root: Expression) -> DoubleWord:
        """A reduction's result, which arrives in float64; a sum arrives as a sum of two."""
        index, wide = self.row_values[root], Arithmetic(Format.F64)
        if root.operation == ops.ROW_PRODUCT:
            product = product_of_row(wide, index, most=LARGEST_EXPONENT)
            return product if self.m.format is Format.F64 else self.m.demoted(product)
        high, low = (node(ops.ROW_VALUE, (), (index, part), Format.F64) for part in (0, 1))
        if root.operation != ops.ROW_SUM:
            return DoubleWord(self._from_double(high))
        interval = SUM_OF_EXPONENTIALS if row_exponential(root.operands[0]) else EVERYTHING
        if self.m.format is Format.F64 and (interval is SUM_OF_EXPONENTIALS or not self.m.extended):
            return DoubleWord(high, low if self.m.extended else None, interval=interval)
        # Its power of two is kept apart: dividing by what is left neither overflows nor loses bits.
        bits = node(ops.AND, (wide.bits_(high), wide.whole(0x7FF << 52)), None, Format.I64)
        exponent = node(ops.SUBTRACT, (wide.shift_right_(bits, 52), wide.whole(1023)), None, Format.I64)
        power = in_format(exponent, Format.F64)
        high, low = (wide.scale_(part, wide.neg_(power)) for part in (high, low))
        value = self._from_double(high)
        rest = low
        if value is not high:
            rest = wide.add_(wide.sub_(high, in_format(value, Format.F64)), low)
        interval = Interval(1.0, 2.0)
        return DoubleWord(value, self._from_double(rest), self._from_double(power), EVERYTHING, interval, False)

    @property
    def of_rows(self) -> UntestedRows:
        """How what is computed once a row is computed: in float64 always."""
        if self.m.format is Format.F64:
            return self
        rows = UntestedRows(Bounded(PROMOTED), self.inputs)
        rows.row_values, rows.rests = self.row_values, self.rests
        return rows

    def _of_row(self, terms: Sequence[tuple[Expression, bool]]) -> DoubleWord:
        """The sum of numbers that are the same in the whole row; True: subtracted."""
        rows = self.of_rows
        values = [rows.number(term) for term, _ in terms]
        values = [rows.m.negate(value) if negated else value for value, (_, negated) in zip(values, terms, strict=True)]
        exactly = Arithmetic(Format.F64)
        total = values[0]
        for value in values[1:]:
            total = exactly.add(total, value)
        return self._shortened(exactly.renormalised(exactly.unscaled(total)))

    def _shortened(self, a: DoubleWord) -> DoubleWord:
        """A number of float64 in the format of the arithmetic."""
        return a if self.m.format is Format.F64 else self.m.demoted(a)

    def _of_element(self, root: Expression) -> tuple[Expression, bool, list[tuple[Expression, bool]]] | None:
        """A sum as (what differs from element to element, negated or not, what the row has in common)."""
        if not self.row_values:
            return None
        elements: list[tuple[Expression, bool]] = []
        common: list[tuple[Expression, bool]] = []

        terms = [(root, False)]
        while terms and len(elements) < 2:
            term, negated = terms.pop()
            if self._is_of_row(term):
                common.append((term, negated))
            elif term.operation in (ops.ADD, ops.SUBTRACT):
                terms.append((term.operands[1], negated != (term.operation == ops.SUBTRACT)))
                terms.append((term.operands[0], negated))
            else:
                elements.append((term, negated))
        if len(elements) != 1 or not common or not self.number(elements[0][0]).is_exact:
            return None
        return *elements[0], common

    # ---- elements

    def _number(self, root: Expression) -> DoubleWord:
        if root.operation in (ops.ADD, ops.SUBTRACT):
            parts = self._of_element(root)
            if parts is not None and len(parts[2]) > 1:
                varying, is_negated, common = parts
                element = self.numbers[varying]
                return self.m.add(self.m.negate(element) if is_negated else element, self._of_row(common))
        beside = self._beside_vast_extreme(root) if root.operation == ops.SUBTRACT else None
        return super()._number(root) if beside is None else beside

    def _beside_vast_extreme(self, root: Expression) -> DoubleWord | None:
        """A computed element beside the largest or smallest of its row, which is rounded: where that is vast, so is the element.

        Else the largest element may lie far below itself, and its exponential be zero. For smaller numbers what the largest has
        lost moves all differences alike.
        """
        m = self.m
        numbers = [self.number(operand) for operand in root.operands]
        for i, (element, found) in enumerate((root.operands, root.operands[::-1])):
            is_own = found.operation in EXTREMES and found.operands[0] is element
            if is_own and not m.bounded and not numbers[i].is_exact:
                value = m.renormalised(m.unscaled(numbers[i]))
                is_vast = m.less_(m.number(VAST), m.abs_(numbers[1 - i].high))
                high = m.select_(is_vast, self.finish(element), value.high)
                low = m.select_(is_vast, m.number(0.0), m.low_part(value))
                numbers[i] = replace(value, high=high, low=low, is_normal=True)
                return m.subtract(*numbers)
        return None

    def _compared(self, root: Expression) -> Sequence[DoubleWord]:
        """Two numbers as they are compared: beside the largest of its row an element is rounded as that was.

        So one of them is the largest, however much the rounding has lost.
        """
        a, b = root.operands
        numbers = [self.number(a), self.number(b)]
        for i, (element, found) in enumerate(((a, b), (b, a))):
            is_own = found.operation in EXTREMES and found.operands[0] is element
            if is_own and not self.m.bounded and not numbers[i].is_exact:
                numbers[i] = DoubleWord(self.finish(element), interval=numbers[i].interval)
        return numbers

    # ---- results

    def store_of_row(self, root: Expression, result: ElementType) -> Expression:
        """The same for a number that a row has one of."""
        return self.of_rows.store(root, result)

    def _common_to_nan(self, root: Expression) -> Expression | None:
        found = super()._common_to_nan(root)
        if found is not None or root.operation not in (ops.ADD, ops.SUBTRACT):
            return found
        parts = self._of_element(root)
        if parts is None or not any(t.operation in EXTREMES and t.operands[0] is parts[0] for t, _ in parts[2]):
            return None
        return self._of_row(parts[2]).high

    def _finished(self, root: Expression) -> Expression:
        m = self.m
        if is_share(root):
            share, reciprocal = self._share(root)
            rest = m.mul_(share.high, m.low_part(reciprocal))
            return m.fma_(share.high, reciprocal.high, rest)
        if root.operation == ops.DIVIDE and root.operands[1].operation == ops.ROW_SUM and m.extended:
            dividend, divisor = map(self.number, root.operands)
            if not (dividend.is_exact and divisor.is_exact):  # one division a row
                reciprocal = m.divide(m.wide(Fraction(1)), divisor)
                # Its correction is looked at once a row too.
                reciprocal = replace(reciprocal, low=m.low_part(reciprocal), low_is_number=True)
                return m.multiply_single(dividend, reciprocal)
        return super()._finished(root)

    def _finished_sum(self, root: Expression) -> Expression:
        m, parts = self.m, self._of_element(root)
        if parts is None or len(parts[2]) < 2:
            return super()._finished_sum(root)
        varying, is_negated, common = parts
        total, value = self._of_row(common), self.number(varying).high
        value = m.add_(m.neg_(value), total.high) if is_negated else m.add_(value, total.high)
        return m.add_(value, m.low_part(total))
