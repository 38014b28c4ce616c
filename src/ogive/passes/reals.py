"""Graphs of real numbers: in an arithmetic with corrections or in one without, rounded once at the end.

Every floating-point result that is NaN leaves as the one canonical quiet NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from ogive import operations as ops
from ogive.dtypes import ELEMENT_TYPES, ElementType
from ogive.expression import (
    EXTREMES,
    ROW_NUMBERS,
    STORAGE,
    Expression,
    Format,
    constant,
    depends_on_elements,
    is_computed,
    is_extreme,
    node,
    walk,
)
from ogive.numerics.bound import EXACT
from ogive.numerics.bounded import Bounded, exact_operand, exact_parameter
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary.exponential import exp
from ogive.numerics.elementary.propagation import bounded
from ogive.numerics.interval import EVERYTHING, Interval
from ogive.numerics.machine import Machine
from ogive.numerics.rounding import (
    is_half,
    normal_single_to_odd,
    product_to_odd,
    single_to_odd,
    to_integer,
    to_odd,
)
from ogive.passes.integers import is_nonzero
from ogive.passes.rowwise import (
    EXPONENTIALS,
    OPEN_TRUTH,
    SUM_OF_EXPONENTIALS,
    exponential,
    kept_of_largest,
    product_of_row,
    reductions_by_stage,
    replaced,
    rest_of_largest,
    row_exponential,
    summed_exponential,
    threshold_of_row,
    within_row,
)
from ogive.program import Reduction, Stage, Summation, stored_operand

__all__ = ["MOST_OF_A_STAGE", "NoSingleRuleError", "Reals", "is_sum", "walk_after_reductions"]

HALF = ELEMENT_TYPES["float16"]

#: What a kernel has room for (runtime/native/native.h): reductions of one stage.
MOST_OF_A_STAGE = 16

#: Reductions that go with the one before.
BESIDE_ANOTHER = frozenset({"row_lost", "row_rest"})


class NoSingleRuleError(Exception):
    """A formula has a function of elements, of which there are rules for float64 alone."""


#: Powers of two beyond this make zero and infinity of every mantissa.
LARGEST_EXPONENT = 2200.0


def walk_after_reductions(roots: Sequence[Expression]) -> Iterator[Expression]:
    """What is computed from rows' common numbers on: the nodes above the reductions."""
    seen: set[Expression] = set()
    stack = list(roots)
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            if current.operation not in ROW_NUMBERS:
                stack.extend(current.operands)


def _values_of_choice(current: Expression) -> Sequence[Expression]:
    return current.operands[1:] if current.operation == ops.SELECT else ()


def is_sum(root: Expression) -> bool:
    """Whether this is a sum with a number that is the same for all elements, or of that and constants the smaller."""
    if root.operation == ops.SELECT:
        return all(is_sum(a) or (a.operation == ops.CONSTANT and a.attribute != 0) for a in root.operands[1:])
    return root.operation == ops.ADD and not all(map(depends_on_elements, root.operands))


def _is_share(root: Expression) -> bool:
    """Whether this is an exponential of a row divided by their sum."""
    if root.operation != ops.DIVIDE or root.operands[1].operation != ops.ROW_SUM:
        return False
    return root.operands[1].operands[0] is root.operands[0] and row_exponential(root.operands[0]) is not None


def _portions(reductions: Sequence[Reduction]) -> list[Sequence[Reduction]]:
    """The reductions of a stage in as many as a kernel has room for at a time; what goes with the one before stays there."""
    found: list[Sequence[Reduction]] = []
    begin = 0
    for i in range(1, len(reductions)):
        is_alone = i + 1 == len(reductions) or reductions[i + 1].kind not in BESIDE_ANOTHER
        if reductions[i].kind not in BESIDE_ANOTHER and i + 1 - begin + (not is_alone) > MOST_OF_A_STAGE:
            found.append(reductions[begin:i])
            begin = i
    return [*found, reductions[begin:]]


class Reals:
    """The primitive graphs of one formula, in one arithmetic and for operands of these types."""

    #: Where floating-point operands lie.
    operands_lie = EVERYTHING

    def __init__(self, arithmetic: Arithmetic, inputs: tuple[ElementType, ...]) -> None:
        self.m = arithmetic
        self.inputs = inputs
        self.numbers: dict[Expression, DoubleWord] = {}
        self.truths: dict[Expression, Expression] = {}
        self.finished: dict[Expression, Expression] = {}
        self.row_values: dict[Expression, int] = {}
        self.made: list[Reduction] = []
        """The reductions of all stages."""
        self.later: list[Callable[[], None]] = []
        """What adds reductions that need those of the stage that is being made: they come one stage later."""
        self.leaves_within_row: dict[Expression, tuple[bool, bool]] = {}
        """Whether an input, and whether a reduction is among what a node depends on."""
        self.rests: dict[Expression, tuple[Expression, Expression]] = {}
        """A row_sum node -> the logarithm of the scale left in the sum: the true sum is ``value * exp(-rest)``."""

    # ---- rows

    def reduce(self, roots: Sequence[Expression], first_scratch: int) -> tuple[Stage, ...]:
        """The stages that find what the rows' elements have in common.

        A reduction comes one stage after the reductions that it needs. What is summed and needed again after
        is kept, rounded to the format of the arithmetic, and not computed twice.
        """
        needed_after = set(walk_after_reductions(roots))
        stages: list[Stage] = []
        place = first_scratch
        for found in reductions_by_stage(roots):
            before = len(self.made)
            kept: list[tuple[int, Expression]] = []
            for n in found:
                if n.operation == ops.ROW_THRESHOLD:
                    self._reduce_to_threshold(n)
                else:
                    self._reduce_to(n, is_kept=n.operands[0] in needed_after)
            # Behind all of them: what a stage stores is there from the next stage on.
            for n in found:
                if n.operation == ops.ROW_SUM and n.operands[0] in needed_after:
                    values = self._kept(n, place)
                    kept += enumerate(values, place)
                    place += len(values)
            repeats = any(n.operation == ops.ROW_THRESHOLD for n in found)
            *first, last = [self.made[before:]] if repeats else _portions(self.made[before:])
            stages += (Stage(tuple(some)) for some in first)
            stages.append(Stage(tuple(last), tuple(kept), repeats))
            if self.later:
                before, later = len(self.made), self.later
                self.later = []
                for reduce in later:
                    reduce()
                stages += (Stage(tuple(some)) for some in _portions(self.made[before:]))
        return tuple(stages)

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
        """Of double-word numbers of float64 the lower words are summed too."""
        value = self.m.unscaled(self.number(summed))
        if self.m.format is not Format.F64 or value.low is None:
            return
        lost = self.m.sub_(value.high, self.finish(summed))  # what was summed is both words, rounded
        rest = self.m.add_(lost, self.m.low_part(value))
        self.made.append(Reduction(ops.ROW_SUM, self.m.select_(OPEN_TRUTH, rest, self.m.number(0.0))))
        rests = DoubleWord(node(ops.ROW_VALUE, (), (len(self.made) - 1, 0), Format.F64), interval=EVERYTHING)
        self.numbers[total] = self.m.renormalised(self.m.add(self._reduced(total), rests))

    def _close(self, first: int, truth: Expression) -> None:
        """Put the open truth value into the reductions from a number on."""
        self.made[first:] = [replace(made, value=replaced(made.value, truth)) for made in self.made[first:]]

    def _reduce_to(self, root: Expression, *, is_kept: bool) -> None:
        """Add the reductions that make a number of a row."""
        reduction = self._reduction(root, is_kept=is_kept)
        self.row_values[root] = len(self.made)
        self.made.append(reduction)
        if root.operation == ops.ROW_PRODUCT:
            self.made.append(Reduction("row_rest", reduction.value))

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        """What is stored of what is summed, as the operands from that place on."""
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
            return Reduction("row_first", self.truth(operand))
        if root.operation != ops.ROW_SUM:
            return Reduction(root.operation, self.finish(operand))
        value = None if is_kept else self._exponentials(root)
        if value is None:
            value = self._rough(operand)
        return Reduction(root.operation, value, self._summation(operand, value.format, is_kept=is_kept))

    def _summation(self, summed: Expression, form: Format, *, is_kept: bool) -> Summation:
        interval = self._interval_of_summed(summed)
        if form is not Format.F32:
            return Summation.IN_FLOAT64
        if not is_kept and interval.within(0.0, self.m.largest / 4):  # kept are results, of which the last bit shows
            return Summation.IN_PAIRS
        if interval.within(0.0, EXPONENTIALS.high):
            return Summation.FROM_ONE
        return Summation.IN_FLOAT64

    def _exponentials(self, root: Expression) -> Expression | None:
        """What this sums, if that is ``exp(x - row_max(x))`` or zero, times what makes it simpler; None for others."""
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
        if self.m.format is Format.F32:
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
        power = node(ops.CONVERT, (exponent,), None, Format.F64)
        high, low = (wide.scale_(part, wide.neg_(power)) for part in (high, low))
        value = self._from_double(high)
        rest = low
        if value is not high:
            rest = wide.add_(wide.sub_(high, node(ops.CONVERT, (value,), None, Format.F64)), low)
        interval = Interval(1.0, 2.0)
        return DoubleWord(value, self._from_double(rest), self._from_double(power), EVERYTHING, interval, False)

    @property
    def of_rows(self) -> Reals:
        """How what is computed once a row is computed: in float64 always."""
        if self.m.format is Format.F64:
            return self
        rows = Reals(Bounded(Format.F64, goal=self.m.format), self.inputs)
        rows.row_values, rows.rests = self.row_values, self.rests
        return rows

    def _share(self, root: Expression) -> tuple[DoubleWord, DoubleWord]:
        """An exponential and the reciprocal of the sum of its row: one division a row."""
        rows = self.of_rows
        reciprocal = rows.m.divide(rows.m.wide(Fraction(1)), rows.number(root.operands[1]))
        return self.number(root.operands[0]), self._shortened(reciprocal)

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

    def _is_of_row(self, root: Expression) -> bool:
        """Whether this depends on reductions, parameters and constants only, and on a reduction."""
        known = self.leaves_within_row
        for current in walk(root, operands=lambda n: () if n in known else within_row(n)):
            if current not in known:
                of_operands = [known[operand] for operand in within_row(current)]
                known[current] = (
                    current.operation == ops.INPUT or any(has_input for has_input, _ in of_operands),
                    current.operation in ROW_NUMBERS or any(has_reduction for _, has_reduction in of_operands),
                )
        has_input, has_reduction = known[root]
        return has_reduction and not has_input

    def _from_double(self, value: Expression) -> Expression:
        return value if self.m.format is Format.F64 else node(ops.CONVERT, (value,), None, self.m.format)

    # ---- results

    def store_of_row(self, root: Expression, result: ElementType) -> Expression:
        """The same for a number that a row has one of."""
        return self.of_rows.store(root, result)

    def store(self, root: Expression, result: ElementType) -> Expression:
        """The result in the storage format of its element type."""
        if root.format is Format.TRUTH:
            return node(ops.CONVERT, (self.truth(root),), None, STORAGE[result.name])
        if result.is_integer:
            return to_integer(self.m, self.number(root), result)
        m, storage = self.m, STORAGE[result.name]
        if m.format is Format.F64 and storage is Format.F16:  # there is no conversion from float64 to it
            value = normal_single_to_odd(self._odd(root))
        elif m.format is Format.F64 and storage is Format.BF16:
            value = single_to_odd(m, self._odd(root))
        elif not m.extended:
            value = self._as_single(root)
        else:
            value = self._narrowed(root, storage) if storage.bits < m.bits else self.finish(root)
        value = self._canonical(root, value)
        return value if storage is value.format else node(ops.CONVERT, (value,), None, storage)

    def _odd(self, root: Expression) -> Expression:
        """The number in one word, which may be rounded to odd once more; with right second words to odd itself."""
        if not self.m.is_long:
            return self.finish(root)
        number = self.m.renormalised(self.m.unscaled(self.number(root)))
        return number.high if number.low is None else to_odd(self.m, number.high, self.m.low_part(number))

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        """The value with the canonical NaN: where a row's common number is finite, there is none to look for."""
        m = self.m
        common = self._common_to_nan(root)
        if common is None:
            return m.canonical_(value)
        return m.select_rare_(m.not_(m.is_finite_(common)), m.canonical_(value), value)

    def _common_to_nan(self, root: Expression) -> Expression | None:
        """A value of the whole row that is not finite exactly if a result of the row is NaN; None if there is none.

        With it, one test a row replaces one an element.
        """
        if _is_share(root):
            return self._share(root)[1].high
        parts = self._of_element(root) if root.operation in (ops.ADD, ops.SUBTRACT) else None
        if parts is None or not any(t.operation in EXTREMES and t.operands[0] is parts[0] for t, _ in parts[2]):
            return None
        return self._of_row(parts[2]).high

    def _decided(self, root: Expression) -> Expression | None:
        """What a choice comes to, whatever the operands; None where that depends."""
        return None

    def _as_single(self, root: Expression) -> Expression:
        """The number rounded to float32; what only chooses does so behind the rounding."""
        done: dict[Expression, Expression] = {}
        for current in walk(root, operands=self._chosen_among):
            if current.operation != ops.SELECT:
                value = self.finish(current)
                single = self.m.single_of(value)
                done[current] = node(ops.CONVERT, (value,), None, Format.F32) if single is None else single
                continue
            among = self._chosen_among(current)
            values = [done[operand] for operand in among]
            truth = self.truth(current.operands[0]) if len(among) > 1 else None
            done[current] = values[0] if truth is None else self.m.select_(truth, *values)
        return done[root]

    def _chosen_among(self, current: Expression) -> Sequence[Expression]:
        """The values of a choice, or the one to which it comes."""
        if current.operation != ops.SELECT:
            return ()
        decided = self._decided(current)
        return current.operands[1:] if decided is None else (decided,)

    def finish(self, root: Expression) -> Expression:
        """The number rounded to the format of the arithmetic: like single(number(root)), with less work.

        A choice between numbers is made between their rounded values, and a result of one operation on
        exact numbers is that one instruction.
        """
        if root not in self.finished:
            for current in walk(root, operands=self._unfinished_operands):  # without recursion
                if current not in self.finished:
                    self.finished[current] = self._finished(current)
        return self.finished[root]

    def _unfinished_operands(self, current: Expression) -> Sequence[Expression]:
        """The operands that `_finished` asks to be finished."""
        if current in self.finished:
            return ()
        if current.operation == ops.SELECT:
            decided = self._decided(current)
            return current.operands[1:] if decided is None else (decided,)
        return current.operands if current.operation in (ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN) else ()

    def _finished(self, root: Expression) -> Expression:
        m = self.m
        match root.operation:
            case ops.SELECT:
                decided = self._decided(root)
                if decided is not None:
                    return self.finish(decided)
                condition, a, b = root.operands
                chosen = self._choice_after_rounding(root)
                truth = self.truth(condition) if chosen is None else chosen
                return m.select_(truth, self.finish(a), self.finish(b))
            case ops.NEGATE:
                return m.neg_(self.finish(root.operands[0]))
            case ops.ABSOLUTE:
                return m.abs_(self.finish(root.operands[0]))
            case ops.COPY_SIGN:
                magnitude, sign = map(self.finish, root.operands)
                if root.operands[1].operands:
                    sign = m.select_(m.equal_(sign, sign), sign, m.abs_(sign))
                return m.copy_sign(DoubleWord(magnitude), sign).high
            case ops.MULTIPLY:
                value = m.multiply_single(*map(self.number, root.operands))
                return self._linear_near_zero(root, value)
            case ops.ADD | ops.SUBTRACT:
                return self._finished_sum(root)
            case ops.DIVIDE:
                if _is_share(root):
                    share, reciprocal = self._share(root)
                    rest = m.mul_(share.high, m.low_part(reciprocal))
                    return m.fma_(share.high, reciprocal.high, rest)
                dividend, divisor = map(self.number, root.operands)
                if not m.extended:
                    return m.single(m.divide(dividend, divisor))
                if dividend.is_exact and divisor.is_exact:
                    return m.div_(dividend.high, divisor.high)
                if root.operands[1].operation == ops.ROW_SUM:  # one division a row
                    reciprocal = m.divide(m.wide(Fraction(1)), divisor)
                    # Its correction is looked at once a row too.
                    reciprocal = replace(reciprocal, low=m.low_part(reciprocal), low_is_number=True)
                    return m.multiply_single(dividend, reciprocal)
            case ops.SQUARE_ROOT:
                radicand = self.number(root.operands[0])
                if radicand.is_exact:
                    return m.sqrt_(radicand.high)
        value = m.single(self.number(root))
        return self._linear_near_zero(root, value) if root.operation.loses_subnormals else value

    def _choice_after_rounding(self, root: Expression) -> Expression | None:
        """Of a number and a constant, which is the larger or smaller: of rounded numbers it is the same one, rounded.

        None where this is another choice, or where the sign of a zero might differ: -2**-150 is less than 0, and
        rounded it is -0, which is not. A sum with a constant or a parameter is never -0 itself; of that, -0 is less.
        """
        condition, a, b = root.operands
        constants = [operand for operand in (a, b) if operand.operation == ops.CONSTANT]
        if not is_extreme(root) or condition.operation != ops.LESS or len(constants) != 1:
            return None
        left, right = map(self.finish, condition.operands)
        if constants[0].attribute != 0 or constants[0] is condition.operands[0]:
            return self.m.less_(left, right)
        return self.m.less_equal_(left, right) if a is constants[0] and is_sum(condition.operands[0]) else None

    def _finished_sum(self, root: Expression) -> Expression:
        m = self.m
        for product, other in (root.operands, root.operands[::-1]):
            if product.operation == ops.MULTIPLY:
                a, b, c = (self.number(operand) for operand in (*product.operands, other))
                if a.is_exact and b.is_exact and c.is_exact:
                    x, z = a.high, c.high
                    if root.operation == ops.SUBTRACT:
                        x, z = (m.neg_(x), z) if product is root.operands[1] else (x, m.neg_(z))
                    return m.fma_(x, b.high, z)
        parts = self._of_element(root)
        if parts is not None and len(parts[2]) > 1:
            varying, is_negated, common = parts
            total, value = self._of_row(common), self.number(varying).high
            value = m.add_(m.neg_(value), total.high) if is_negated else m.add_(value, total.high)
            return m.add_(value, m.low_part(total))
        a, b = map(self.number, root.operands)
        if a.is_exact and b.is_exact:
            return m.add_(a.high, b.high) if root.operation == ops.ADD else m.sub_(a.high, b.high)
        return m.single(self.number(root))

    def _linear_near_zero(self, root: Expression, value: Expression) -> Expression:
        """``a * f(x * b)`` and ``a * f(x / b)`` where f(u) is u near zero: there, ``x * (a * b)``.

        On the way to f, and in it, numbers may underflow where the result does not: without this,
        celu(x, alpha=1000) has lost its last 10 bits at 1e-43.
        """
        m = self.m
        one: Expression = constant(1)
        for factor, call in (root.operands, root.operands[::-1]) if root.operation == ops.MULTIPLY else ((one, root),):
            if not (m.extended and not depends_on_elements(factor) and call.operation.is_linear_at_zero):
                continue
            argument = call.operands[0]
            x, b, by = argument, one, ops.MULTIPLY
            if argument.operation in (ops.MULTIPLY, ops.DIVIDE):
                x, b = argument.operands
                by = argument.operation
                if by == ops.MULTIPLY and not depends_on_elements(x):
                    x, b = b, x
            if not depends_on_elements(x) or depends_on_elements(b) or not self.number(x).is_exact:
                continue
            if factor is (b if by == ops.DIVIDE else one) and (by == ops.DIVIDE or b is one):
                tiny = self.finish(x)
            else:
                slope = getattr(m, by)(self.number(factor), self.number(b))
                tiny = m.multiply_single(slope, self.number(x))
            is_tiny = m.less_(m.abs_(self.number(argument).high), m.number(2.0**-60))
            return m.select_(is_tiny, tiny, value)
        return value

    def _narrowed(self, root: Expression, storage: Format) -> Expression:
        """The number rounded so that rounding it again, to fewer bits, is as good as rounding once."""
        m = self.m
        match root.operation:
            case ops.SELECT:
                done: dict[Expression, Expression] = {}
                for current in walk(root, operands=_values_of_choice):
                    if current.operation == ops.SELECT:
                        condition, a, b = current.operands
                        done[current] = m.select_(self.truth(condition), done[a], done[b])
                    else:
                        done[current] = self._narrowed(current, storage)
                return done[root]
            case ops.ADD | ops.SUBTRACT | ops.MULTIPLY | ops.DIVIDE | ops.SQUARE_ROOT if self._is_of_halves(root):
                return self.finish(root)
            case ops.MULTIPLY:
                x, y = (self.number(operand) for operand in root.operands)
                if x.is_exact and y.is_exact and m.format is Format.F32:
                    return product_to_odd(m, x.high, y.high, storage)
        number = m.renormalised(m.unscaled(self.number(root)))
        return number.high if number.low is None else to_odd(m, number.high, number.low)

    def _is_of_halves(self, root: Expression) -> bool:
        """Whether this is an operation on float16 operands themselves, and on constants that are numbers of float16.

        float32 holds their product exactly; and it has the 2 * 11 + 2 bits that make rounding their sum, their quotient
        or a root twice as good as once (Figueroa).
        """
        return self.m.format is Format.F32 and all(map(self._is_half, root.operands))

    def _is_half(self, root: Expression) -> bool:
        if root.operation == ops.CONSTANT:
            return is_half(root.attribute)
        return root.operation == ops.INPUT and self.inputs[root.attribute] == HALF

    # ---- numbers and truth values

    def truth(self, root: Expression) -> Expression:
        if root not in self.truths:
            for current in walk(root, operands=self._unknown_truths):  # without recursion
                if current not in self.truths:
                    self.truths[current] = self._truth(current)
        return self.truths[root]

    def _unknown_truths(self, current: Expression) -> Sequence[Expression]:
        """The operands that `_truth` asks for, which are truth values too."""
        is_of_truths = all(operand.format is Format.TRUTH for operand in current.operands)
        return within_row(current) if is_of_truths and current not in self.truths else ()

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

    def asks_for_limits(self, root: Expression) -> bool:
        """Whether a comparison asks if a computed number is infinite or NaN.

        Of double-word numbers that is known once they are one number: before, a correction may be NaN.
        """
        a, b = root.operands
        if a is not b and not any(n.operation == ops.CONSTANT and n.attribute in (math.inf, -math.inf) for n in (a, b)):
            return False
        return any(map(is_computed, (a, b)))

    def _asked_for_limits(self, root: Expression) -> Expression:
        return self.finish(root) if self.m.extended else self._as_single(root)

    def _limits(self, root: Expression) -> Expression:
        """The truth of such a comparison."""
        m = self.m
        if not isinstance(m, Bounded):
            return node(root.operation, tuple(map(self._asked_for_limits, root.operands)), None, Format.BIT)
        numbers = [m.renormalised(m.unscaled(self.number(operand))) for operand in root.operands]
        truth = node(root.operation, tuple(number.high for number in numbers), None, Format.BIT)
        m.doubt_limits(truth, *numbers)
        return truth

    def _truth(self, root: Expression) -> Expression:
        match root.operation:
            case ops.LESS | ops.LESS_EQUAL | ops.EQUAL if self.asks_for_limits(root):
                return self._limits(root)
            case ops.LESS | ops.LESS_EQUAL | ops.EQUAL:
                return self.m.compare(root.operation, *self._compared(root))
            case ops.CONSTANT:
                return node(ops.CONSTANT, (), root.attribute, Format.BIT)
            case ops.INPUT:
                return is_nonzero(stored_operand(root, self.inputs))
            case ops.ROW_FIRST:
                value = node(ops.ROW_VALUE, (), (self.row_values[root], 0), Format.F64)
                return node(ops.EQUAL, (node(ops.ROW_POSITION, (), None, Format.F64), value), None, Format.BIT)
        operands = tuple(map(self.truth, root.operands))
        return node(root.operation, operands, None, Format.BIT)

    def number(self, root: Expression) -> DoubleWord:
        if root not in self.numbers:
            for current in walk(root, operands=self._unknown_operands):
                if current.format is Format.NUMBER and current not in self.numbers:
                    self.numbers[current] = self._number(current)
        return self.numbers[root]

    def _unknown_operands(self, current: Expression) -> Sequence[Expression]:
        """The operands within the row, of what is not known yet: what lies below a known number is known too."""
        return () if current in self.numbers else within_row(current)

    def _number(self, root: Expression) -> DoubleWord:
        m, operation = self.m, root.operation
        match operation:
            case ops.INPUT:
                return self._input(root)
            case ops.PARAMETER:
                value = self._from_double(node(ops.PARAMETER, (), root.attribute, Format.F64))
                if not m.extended:  # parameters have the precision of the results
                    value = node(ops.CONVERT, (node(ops.CONVERT, (value,), None, m.goal),), None, m.format)
                most = Machine(m.goal).largest
                return DoubleWord(value, interval=Interval(-most, most), error=exact_parameter(m))
            case ops.CONSTANT:
                return m.wide(root.attribute)
            case ops.SELECT:
                decided = self._decided(root)
                if decided is not None:
                    return self.numbers[decided]
                condition, a, b = root.operands
                choice = m.select(self.truth(condition), self.numbers[a], self.numbers[b])
                if not is_extreme(root):
                    return choice
                error, values = choice.error, (self.numbers[a], self.numbers[b])
                if error.is_known and isinstance(m, Bounded) and not any(value.exponent for value in values):
                    error = m.error_of_extreme(choice, *values)
                return replace(choice, interval=self._interval_of_extreme(root), error=error)
            case ops.COPY_SIGN:
                magnitude, sign = (self.numbers[operand] for operand in root.operands)
                if isinstance(m, Bounded):
                    doubt = m.doubt_of(m.compare(ops.LESS, sign, m.wide(0.0)))
                    magnitude = m.doubted(magnitude, doubt)
                value = m.single(sign)
                if root.operands[1].operands:  # a NaN that was computed has any sign: taken as positive
                    value = m.select_(m.equal_(value, value), value, m.abs_(value))
                return m.copy_sign(magnitude, value)
            case ops.ROW_MAX | ops.ROW_MIN | ops.ROW_SUM | ops.ROW_PRODUCT | ops.ROW_INDEX:
                return self._row_value(root)
            case ops.ROW_THRESHOLD:
                return self.number(threshold_of_row(root)[-1])
            case ops.ROW_COUNT:
                interval = Interval(0.0, 2.0**63)
                length = self._from_double(node(ops.ROW_LENGTH, (), None, Format.F64))
                return DoubleWord(length, interval=interval, error=replace(EXACT, least=1.0, largest=2.0**63))
        if _is_share(root):
            return m.multiply(*self._share(root))
        if operation in (ops.ADD, ops.SUBTRACT):
            parts = self._of_element(root)
            if parts is not None and len(parts[2]) > 1:
                varying, is_negated, common = parts
                element = self.numbers[varying]
                return m.add(m.negate(element) if is_negated else element, self._of_row(common))
        operands = [self.numbers[operand] for operand in root.operands]
        if operation.lowering is not None:
            if m.format is Format.F32 and not operation.returns_operand:
                return self._function_in_float32(root)
            rule = bounded(operation) if isinstance(m, Bounded) else operation.lowering
            computed: DoubleWord = rule(m, *operands)
            return computed
        if operation in (ops.FLOOR, ops.CEILING, ops.TRUNCATE, ops.ROUND_EVEN):
            return m.integral(operation, operands[0])
        result: DoubleWord = getattr(m, operation)(*operands)
        if (
            operation == ops.SUBTRACT
            and root.operands[1].operation == ops.ROW_MAX
            and root.operands[1].operands[0] is root.operands[0]
        ):
            return replace(result, interval=Interval(-math.inf, 0.0))  # nothing is larger than the largest
        return result

    def _function_in_float32(self, root: Expression) -> DoubleWord:
        """A function of what a row has one of, or the exponential of a distance from the row's largest element."""
        if not depends_on_elements(root):
            return self._shortened(self.of_rows.number(root))
        parts = row_exponential(root)
        if parts is None or not self.number(parts[0]).is_exact:
            raise NoSingleRuleError
        element, largest = map(self.number, parts)
        return DoubleWord(exponential(self.m, element.high, largest.high), interval=EXPONENTIALS)

    def _interval_of_extreme(self, root: Expression) -> Interval:
        """Of the larger of two numbers both bounds are the larger ones."""
        condition, a, b = root.operands
        extreme = min if condition.operands[0] is a else max
        first, second = self.numbers[a].interval, self.numbers[b].interval
        return Interval(extreme(first.low, second.low), extreme(first.high, second.high))

    def _input(self, root: Expression) -> DoubleWord:
        m, kind = self.m, self.inputs[root.attribute]
        leaf = stored_operand(root, self.inputs)
        if kind.is_float:
            if leaf.format in (Format.F16, Format.BF16):
                leaf = node(ops.CONVERT, (leaf,), None, Format.F32)
            value = leaf if leaf.format is m.format else node(ops.CONVERT, (leaf,), None, m.format)
            return DoubleWord(value, interval=self.operands_lie, error=exact_operand(kind))
        interval, error = Interval(float(kind.minimum), float(kind.maximum)), exact_operand(kind)
        if kind.bits < 64:
            return DoubleWord(node(ops.CONVERT, (leaf,), None, m.format), interval=interval, error=error)
        # 64 bits do not fit: the upper and the lower 32 do, each.
        lower = node(ops.AND, (leaf, node(ops.CONSTANT, (), 0xFFFFFFFF, leaf.format)), None, leaf.format)
        upper = node(ops.SUBTRACT, (leaf, lower), None, leaf.format)
        high, low = (node(ops.CONVERT, (part,), None, Format.F64) for part in (upper, lower))
        return m.renormalised(DoubleWord(high, low, interval=interval, error=error))
