"""Rows of float64 with a rounding test: both ends of the interval that a number lies in round to the same float64.

The first level computes in the words of float64's own kernels, of rows whose numbers are moderate. The repair computes in sums
of two right float64, as it does for other types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ogive.common.dtypes import ElementType
from ogive.differentiation.algebra import is_power_of_two, rational
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import EXP, EXPM1, LOG1P
from ogive.graph.expression import EXTREMES, ROW_NUMBERS, Expression, Format, node, rewritten, walk
from ogive.lowering.numerics.bound import EXACT, Bound
from ogive.lowering.numerics.bounded import UNSEEN, Bounded
from ogive.lowering.numerics.double_word import LARGEST_EXPONENT, Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.propagation import bounded, bounded_of_sums
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.precisions import CORRECTED
from ogive.lowering.numerics.truths import both, either, except_where
from ogive.lowering.program import Stage, Summation
from ogive.lowering.row_lowering import is_share
from ogive.lowering.row_numbers import LENGTH, within_row
from ogive.lowering.tested_doubles import OnceRounded, beside_zero
from ogive.lowering.tested_rows import ROOM, ROOM_OF_ROUGH, TestedRows, sums_of

#: Operations whose results keep powers of two as their operands do.
PRODUCTS = frozenset({ops.NEGATE, ops.MULTIPLY, ops.DIVIDE})

#: Between these magnitudes lie the numbers of moderate rows that range is asked of.
MODERATE = 2.0**-300, 2.0**300

#: Smaller results may have lost bits of their second word: 2**-68 of the number and more.
SMALL = 2.0**-1000

#: As large a share of a result is more than what was lost of it that is not seen.
UNSEEN_SHARE = 2.0**-80


#: Exponentials of less are zero in float64, whatever is divided by; and what is far less is clamped, in the first level and in the
#: repair, whose powers of two are kept apart.
NOTHING, LOWEST_EXPONENT, LOWEST_OF_REPAIR = -800.0, -1300.0, -(2.0**18)

#: The error of a sum of one sign of so many elements, and of the sum of second words, as shares of the first words.
SUM_OF_MANY, MANY = 2.0**-75, 2.0**17
SUM_OF_LOWS = 2.0**-86


def without_factors(roots: Sequence[Expression]) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The formulas of moderate rows, without the powers of two that other rows are multiplied by; and which magnitudes have to be
    moderate for that.
    """
    required: dict[Expression, None] = {}

    def without_factor(_: Expression, made: Expression) -> Expression:
        operands = made.operands
        if made.operation is ops.SELECT and all(_is_factor(n) for n in made.operands[1:]):
            asked: set[Expression] = set()
            truth = _of_moderate(made.operands[0], asked)
            if truth is not None:
                made = made.operands[1 if truth else 2]
                required.update(dict.fromkeys(asked))
        elif made.operation is ops.MULTIPLY:
            made = next((a for a, b in (operands, operands[::-1]) if _is_one(b)), made)
        elif made.operation is ops.DIVIDE and _is_one(operands[1]):
            made = operands[0]
        elif made.operation is ops.ROW_SUM and made.operands[0].operation is EXPM1:
            made = _less_count(made.operands[0].operands[0])
        return made

    return rewritten(roots, without_factor), tuple(required)


def _less_count(distance: Expression) -> Expression:
    """The sum of ``expm1`` of distances from the largest element: that of exponentials, which have a fifth of the error, less as
    many ones. Where nearly all cancels the repair sums the differences.
    """
    exponentials = node(ops.ROW_SUM, (node(EXP, (distance,), None, Format.NUMBER),), None, Format.NUMBER)
    return node(ops.SUBTRACT, (exponentials, node(ops.ROW_COUNT, (), None, Format.NUMBER)), None, Format.NUMBER)


def _is_given(n: Expression) -> bool:
    """Whether this is an operand, a constant or the largest or smallest of an operand's elements."""
    if n.operation in EXTREMES:
        n = n.operands[0]
    while n.operation in (ops.NEGATE, ops.ABSOLUTE):
        n = n.operands[0]
    return n.operation in (ops.INPUT, ops.PARAMETER, ops.CONSTANT)


def _is_one(n: Expression) -> bool:
    return n.operation is ops.CONSTANT and n.attribute == 1


def _is_factor(n: Expression) -> bool:
    """Whether this is a power of two."""
    value = rational(n)
    return value is not None and value > 0 and is_power_of_two(value)


def _of_moderate(truth: Expression, asked: set[Expression]) -> bool | None:
    """A truth value where the largest magnitudes of rows are moderate; None where that does not decide it."""
    if truth.operation in (ops.AND, ops.OR):
        known = [_of_moderate(n, asked) for n in truth.operands]
        decides = truth.operation is ops.OR
        return decides if decides in known else None if None in known else not decides
    if truth.operation is not ops.LESS:
        return None
    for is_below, (limit, n) in ((True, truth.operands), (False, truth.operands[::-1])):
        if limit.operation is not ops.CONSTANT or not (
            n.operation is ops.ROW_MAX and n.operands[0].operation is ops.ABSOLUTE
        ):
            continue
        if limit.attribute >= MODERATE[1] or 0 < limit.attribute <= MODERATE[0]:
            asked.add(n)
            return (limit.attribute < 1) is is_below
    return None


def _element_and_extreme(exponential: Expression) -> tuple[Expression, Expression]:
    """The element whose distance from the largest, or from the smallest, this is an exponential of, and that one."""
    a, b = exponential.operands[0].operands
    return (b, a) if a.operation is ops.ROW_MIN else (a, b)


def _of_magnitude(n: Expression) -> Expression:
    """The number that this is the magnitude of."""
    return n.operands[0] if n.operation is ops.ABSOLUTE else n


class DoubleRows(OnceRounded, TestedRows):
    """Reals over rows of float64, whose results come with a rounding test."""

    beyond_range, keeps_powers = 2200.0, True
    #: Rows have -inf for what is left out, and a result beside it may lie next to a tie.
    decides_infinities = True

    def __init__(
        self,
        arithmetic: Bounded,
        inputs: tuple[ElementType, ...],
        required: Sequence[Expression] = (),
        *,
        reduces: bool = False,
        scales_sums: bool = True,
    ) -> None:
        super().__init__(arithmetic, inputs, Format.F64, reduces=reduces)
        self.scales_sums = scales_sums and not arithmetic.is_own
        """Whether sums keep the powers of two of what they add up."""
        self.reduces = reduces
        """Whether a row has one result: then next to no row is open."""
        self.required = tuple(required)
        """The largest magnitudes of a row that have to be moderate."""
        self.asked_for: frozenset[Expression] = frozenset()
        """Those of which nothing else is asked."""
        self.largest: set[Expression] = set()
        """The largest magnitudes of these."""
        self.unmeasured: list[Expression] = []
        """Those of which no sum and no largest magnitude is asked."""
        self.summed: set[Expression] = set()
        """The exponentials that are summed and needed again."""
        self.added: set[Expression] = set()
        """The nodes that are operands of others than products and quotients."""
        self.long = Bounded(CORRECTED)
        self.moderate: frozenset[Expression] = frozenset()
        """The operands that are reduced in the first level."""

    # ---- stages

    def reduce(self, roots: Sequence[Expression], first_scratch: int) -> tuple[Stage, ...]:
        self.added = {a for n in walk(*roots) if n.operation not in PRODUCTS for a in n.operands}
        if not self.m.is_own:
            return super().reduce(roots, first_scratch)
        nodes = list(walk(*roots, *self.required))
        reduced = [n.operands[0] for n in nodes if n.operation in ROW_NUMBERS and n.operands and not _is_given(n)]
        is_moderate = {n: None for n in walk(*reduced, operands=self._beside_distances) if n.operation is ops.INPUT}
        self.moderate = frozenset(is_moderate)
        summed = {n.operands[0] for n in nodes if n.operation is ops.ROW_SUM}
        magnitudes = {n: n.operands[0] for n in nodes if n.operation is ops.ROW_MAX}
        self.largest = {
            n for n, a in magnitudes.items() if a.operation is ops.ABSOLUTE and a.operands[0] in self.moderate
        }
        measured = {*summed, *(n.operands[0].operands[0] for n in self.largest)}
        self.unmeasured = [n for n in is_moderate if n not in measured]
        self.asked_for = frozenset(self.required) - frozenset(walk(*roots))
        return super().reduce((*roots, *self.required), first_scratch)

    def _beside_distances(self, current: Expression) -> Sequence[Expression]:
        """The operands that a number is computed of, but for exponentials of distances, and what compares: those are of any."""
        is_of_any = self._is_of_distance(current) or (
            current.format is Format.TRUTH and all(map(_is_given, current.operands))
        )
        return () if is_of_any else within_row(current)

    def asked(self, undecided: Expression | None, results: Sequence[Expression]) -> Expression | None:
        """Where the row is computed again: also where numbers of it are not moderate."""
        m = self.rows.m
        sizes = [size for operand, size in self.sizes.items() if operand in self.moderate]
        sizes += [value.high for n, value in self.sums.items() if n in self.largest]
        for size in sizes:
            undecided = either(undecided, m.not_(m.less_(size, m.number(MODERATE[1]))))
        for root in self.required:
            size, least = self.sums[root].high, m.number(MODERATE[0])
            least = m.mul_(LENGTH, least) if root in self.asked_for else least
            inside = both(m.less_(least, size), m.less_(size, m.number(MODERATE[1])))
            undecided = either(undecided, m.not_(inside))
        return super().asked(undecided, results)

    def _input(self, root: Expression) -> DoubleWord:
        number = super()._input(root)
        if root not in self.moderate or not self.inputs[root.attribute].is_float:
            return number
        limit = MODERATE[1]
        error = replace(number.error, largest=limit)
        return replace(number, interval=Interval(-limit, limit), error=error)

    def _reduce_to(self, root: Expression, *, is_kept: bool) -> None:
        while self.unmeasured:
            operand = self.unmeasured.pop()
            self._sizes(operand, self.number(operand).high)
        if is_kept and root.operation is ops.ROW_SUM:
            self.summed.add(root.operands[0])
        super()._reduce_to(root, is_kept=is_kept)

    def _reduced(self, number: DoubleWord) -> DoubleWord:
        """A number that its power of two makes infinite is in doubt: the bound of its mantissa says nothing of that."""
        m, value = self.m, super()._reduced(number)
        if number.exponent is None or m.is_own or m.is_bounded(number.interval):
            return value
        return m.doubted_by_power(value, number)

    def _kept(self, root: Expression, place: int) -> tuple[Expression, ...]:
        """Both words: to compute exponentials again takes twice the time."""
        summed = root.operands[0]
        if not (self.m.is_own and self._is_of_distance(summed) and summed.operation is EXP):
            return ()
        value = self.m.unscaled(self.number(summed))
        words = (value.high, self.m.low_part(value))
        high, low = (node(ops.INPUT, (), place + i, word.format) for i, word in enumerate(words))
        self.numbers[summed] = replace(value, high=high, low=low)
        return words

    def _number(self, root: Expression) -> DoubleWord:
        if self._is_of_distance(root):
            return self._exponential(root)
        if self.m.is_own and root.operation is LOG1P and not self.reduces and self._is_of_row(root):
            return bounded(LOG1P)(self.long, *map(self.number, root.operands))
        if not self.m.is_own and root.operation in (ops.ADD, ops.SUBTRACT, LOG1P):
            numbers = [self.number(operand) for operand in root.operands]
            if any(number.exponent is not None for number in numbers):
                return self._of_scaled(root, *numbers)
        if not self.m.is_own and root.operation in (ops.MULTIPLY, ops.DIVIDE):
            numbers = [self.number(operand) for operand in root.operands]
            is_kept = self._is_result(root) or any(number.exponent is not None for number in numbers)
            factors = [self._factor(number, is_kept=is_kept) for number in numbers]
            if any(factor is not number for factor, number in zip(factors, numbers, strict=True)):
                return (self.m.multiply if root.operation is ops.MULTIPLY else self.m.divide)(*factors)
        return super()._number(root)

    def _factor(self, number: DoubleWord, *, is_kept: bool) -> DoubleWord:
        """A factor whose mantissa neither overflows nor underflows in a product: silu of -1e200 has that number beside a small power
        of two. ``is_kept``: whether a power of two is kept beside the product.
        """
        m = self.m
        if number.exponent is not None:
            return number if m.is_bounded(number.mantissa) else m.with_exponent(number)
        return m.with_moderate_size(number) if is_kept else number

    def _is_result(self, root: Expression) -> bool:
        """Whether this is a result of elements or a factor of one, and an operand of nothing else: there powers of two are kept apart, as
        its type has room.
        """
        return root not in self.added and not self._is_of_row(root)

    def _of_scaled(self, root: Expression, *numbers: DoubleWord) -> DoubleWord:
        """A sum, or the logarithm of 1 and a number, of which one has a power of two beside it: that stays where nothing is added."""
        m, found = self.m, super()._number(root)
        if root.operation is LOG1P:
            return beside_zero(m, numbers[0], found)
        first, second = numbers[0], numbers[1] if root.operation is ops.ADD else m.negate(numbers[1])
        for near, other in ((first, second), (second, first)):
            is_zero = None if near.exponent is None or other.exponent is not None else m.is_zero(other)
            if is_zero is not None:  # 0 - 0 is 0, and what has underflowed keeps its sign
                return beside_zero(m, near, found, except_where(is_zero, m.is_zero(near)))
        return found

    def _exponential(self, root: Expression) -> DoubleWord:
        """An exponential of the distance from the largest element, or from the smallest. Those that results are made of are as
        good as those of the repair: of all the results of a row one would be open.
        """
        m = self.m
        distance = self._distance_of(root)
        # An element that is clamped is too small to count, infinities included.
        least = LOWEST_EXPONENT if m.is_own else LOWEST_OF_REPAIR
        lowest = m.number(least)
        is_low = m.less_(distance.high, lowest)
        high, low = (
            m.select_(is_low, end, word)
            for end, word in ((lowest, distance.high), (m.number(0.0), m.low_part(distance)))
        )
        lies = Interval(least, 0.0)
        error = Bound(least=2.0**-1074, largest=-least)
        clamped = DoubleWord(high, low, interval=lies, error=error)
        if root.operation is EXPM1:  # of what is clamped it is -1 but for less than what underflows
            found = bounded(EXPM1)(m, clamped)
            return replace(found, error=replace(found.error, static=found.error.static + m.lost))
        if m.is_own and root in self.summed:
            return m.unscaled(bounded(EXP)(self.long, clamped))
        if m.is_own:
            return m.unscaled(bounded(EXP)(m, clamped) if self.reduces else bounded_of_sums(m, clamped))
        found = bounded(EXP)(m, clamped)
        # The exact number lies between zero and this one. The exponential of an infinite element is zero.
        absolute = m.select_(is_low, m.number(2.0), m.number(0.0))
        found = replace(found, error=replace(found.error, absolute=absolute))
        size = m.abs_(self.number(_element_and_extreme(root)[0]).high)  # a finite distance may overflow, too
        is_zero = both(m.equal_(distance.high, m.number(-math.inf)), m.equal_(size, m.number(math.inf)))
        nothing = Interval.point(0.0)
        zero = DoubleWord(m.number(0.0), None, found.exponent, nothing, nothing, error=EXACT)
        return m.select(is_zero, zero, found)

    def _distance_of(self, root: Expression) -> DoubleWord:
        """The exact distance that this is an exponential of."""
        a, b = (self.number(operand) for operand in root.operands[0].operands)
        return DoubleWord(*self.m.two_sum(a.high, self.m.neg_(b.high)))

    def _is_of_distance(self, root: Expression) -> bool:
        """Whether this is an exponential of the distance from the largest element, or from the smallest."""
        if root.operation not in (EXP, EXPM1) or root.operands[0].operation is not ops.SUBTRACT:
            return False
        element, found = _element_and_extreme(root)
        if found.operation not in EXTREMES or found.operands[0] is not element:
            return False
        if any(n.operation in ROW_NUMBERS for n in walk(element)):  # computed, and perhaps not known yet
            return False
        number = self.number(element)
        return number.is_exact and number.error.is_exact

    def _extreme(self, root: Expression, value: DoubleWord) -> None:
        """The largest magnitude, of which it is asked whether it is moderate: the sum of the magnitudes says that."""
        if root in self.asked_for:
            operand = root.operands[0]
            self.sums[root] = DoubleWord(self._sizes(_of_magnitude(operand), value.high))
        else:
            super()._extreme(root, value)

    def _sum(self, operand: Expression, value: DoubleWord) -> DoubleWord:
        """The sum in the first level: of the first words with what is lost, of the second ones without."""
        m, error = self.m, value.error
        if not m.is_own:
            return super()._sum(operand, value)
        counted = self._counted(operand)
        if counted is not None:
            return counted
        has_one_sign = value.interval.low >= 0 or value.interval.high <= 0
        lies = sums_of(operand, value.interval)
        total = DoubleWord(*self._total(value.high), interval=lies, low_is_number=False)
        share, doubt = error.relative * ROOM, self._any(error.doubt)
        if value.low is not None:
            low = self._summed(m.low_part(value), Summation.UNCOMPENSATED)
            total = replace(m.renormalised(Arithmetic.add(m, total, DoubleWord(low))), interval=lies)
            share += SUM_OF_LOWS
        absolute = None
        if has_one_sign:
            share += SUM_OF_MANY
            doubt = either(doubt, m.less_(m.number(MANY), LENGTH))
        else:
            sizes = m.mul_(self._sizes(operand, value.high), m.number(ROOM_OF_ROUGH))
            absolute = m.mul_(
                sizes, m.add_(self._share_of_one_sign(), m.number(share)) if share else self._share_of_one_sign()
            )
            share = m.unit
        absolute, static = self._with_losses(absolute, error, UNSEEN, self._sum_of_bound)
        doubt, largest = self._in_range(total.high, error, doubt)
        least = max(error.least, lies.smallest_magnitude)
        return replace(total, error=Bound(share, static, absolute, doubt, None, least, largest))

    def _add_up(self, root: Expression, operand: Expression, value: DoubleWord) -> None:
        number, lies = self.number(operand), sums_of(operand, value.interval)
        may_underflow = number.exponent is not None and not lies.smallest_magnitude > 0
        if self.scales_sums and may_underflow and any(map(self._is_of_distance, walk(operand, operands=within_row))):
            self._scaled_sum(root, self.m.with_exponent(number), lies)
        else:
            super()._add_up(root, operand, value)

    def _scaled_sum(self, root: Expression, number: DoubleWord, lies: Interval) -> None:
        """Add up numbers that have powers of two beside them, without the largest of these, which is found a stage before and kept: what is
        tiny keeps its bits.
        """
        m, zero, nothing = self.m, self.m.number(0.0), self.m.number(-LARGEST_EXPONENT)
        exponent = number.exponent
        assert exponent is not None
        largest = self._largest(m.select_(m.equal_(number.high, zero), nothing, exponent))

        def add_up() -> None:
            ends = Interval(-2.0 if number.interval.low < 0 else 0.0, 2.0 if number.interval.high > 0 else 0.0)
            framed = replace(number, exponent=m.sub_(exponent, largest), interval=ends, mantissa=ends)
            operand = m.unscaled(replace(framed, error=m.error_in_frame(number)))
            total = super(DoubleRows, self)._sum(root.operands[0], operand)
            error, most = total.error, 2.0**63
            is_zero = both(m.equal_(total.high, zero), m.equal_(largest, nothing))
            if error.absolute is not None:
                is_zero = both(is_zero, m.equal_(error.absolute, zero))
            absolute = m._sum_of(error.absolute, m.number(error.static) if error.static else None)
            exactly = either(error.exactly, is_zero)
            error = replace(error, static=0.0, absolute=absolute, least=0.0, exactly=exactly)
            mantissa = Interval(-most if ends.low < 0 else 0.0, most if ends.high > 0 else 0.0)
            self.sums[root] = replace(total, exponent=largest, interval=lies, mantissa=mantissa, error=error)

        self.later.append(add_up)

    # ---- results

    def _tested_float(self, root: Expression, storage: Format) -> tuple[Expression, Expression | None]:
        """A number rounded to float64, and where that is undecided."""
        if storage is not Format.F64:
            return super()._tested_float(root, storage)
        m = self.m
        number = m.renormalised(self._scaled_result(root))
        error, exponent = number.error, number.exponent
        if not error.is_known:
            return m.single(number), m.always
        if error.is_exact and number.is_exact:
            return number.high, self._open(error, None)
        framed = m.mantissa(number)
        bound, is_small = framed.error, None
        if m.is_own:
            # Rows with results that lie beside ties are computed again: to look at that takes half of the time.
            bound = replace(bound, beyond=None)
        if m.is_own and bound.static <= UNSEEN:
            # The loss shows in small results alone, which the repair computes.
            least = max(SMALL, bound.static / UNSEEN_SHARE)
            size = framed.high if exponent is None else m.scale_(framed.high, exponent)
            is_small = None if number.interval.smallest_magnitude > least else m.less_(m.abs_(size), m.number(least))
            bound = replace(bound, static=0.0, relative=bound.relative + UNSEEN_SHARE)
        elif bound.static:
            bound = replace(bound, static=0.0, absolute=m._sum_of(bound.absolute, m.number(bound.static)))
        framed = replace(framed, error=bound)
        value, open_ends = self._rounded_once(framed, exponent)
        if is_small is not None and is_share(root):
            is_small = both(is_small, m.not_(m.less_(self._distance_of(root.operands[0]).high, m.number(NOTHING))))
        nothing = self._where_nothing(root) if m.is_own else None
        differing = except_where(either(open_ends, is_small), nothing)
        return value, self._open(error, except_where(differing, bound.exactly))

    def _where_nothing(self, root: Expression) -> Expression | None:
        """Where a number is zero because operands are, and has not underflowed; None for never. Of a gradient of zeros all results are.

        Each element of a factor is asked, and of other numbers whether all of the row's are zero, which takes no time.
        """
        m, operation = self.m, root.operation
        if operation is ops.INPUT:
            number = self.number(root)
            return m.equal_(number.high, m.number(0.0)) if number.error.is_exact else None
        return either(*map(self._where_nothing, root.operands)) if operation is ops.MULTIPLY else self._all_zero(root)

    def _result(self, root: Expression) -> DoubleWord:
        """The number of a root whose results are of a shorter type, with its power of two multiplied in."""
        return self.m.unscaled_result(self._scaled_result(root))

    def _scaled_result(self, root: Expression) -> DoubleWord:
        """The number of a root: that a sum overflows is no doubt of a result."""
        m = self.m
        if root.operation not in (ops.ADD, ops.SUBTRACT) or not m.is_own or self._is_of_row(root):
            return self.number(root)
        numbers = list(map(self.number, root.operands))
        m.is_result = True
        found = (m.add if root.operation is ops.ADD else m.subtract)(*numbers)
        m.is_result = False
        return found
