"""Arithmetic that says of every number what it may be wrong by.

Each operation gives its result a `Bound`, made of those of its operands: static wherever one number bounds the relative
error of all values, which costs nothing, and running, computed beside the value, from sums on that may cancel.
Comparisons are in doubt where the numbers lie closer together than they may be wrong by, and so is what overflows.

    a b:  relative errors add up;  abs(error) <= abs(a) e(b) + abs(b) e(a) + e(a) e(b)
    a/b:  relative errors add up;  abs(error) <= (e(a) + abs(a/b) e(b)) / (abs(b) - e(b))
    a+b:  of one sign, the larger relative error; else e(a) + e(b)

Uncompensated, each operation adds 2**-53; of double-word numbers 2**-95, which is more than twice what the literature
has for these algorithms (Joldes, Muller and Popescu, 2017: at most 10 u**2 for sums of one sign, products and quotients)
for lower parts that are not normalised: of up to 2**-46 of the number. TwoSum and TwoProduct of single numbers are exact.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, Operation, depends_on_elements, node, walk
from ogive.lowering.numerics import beyond_range, ties
from ogive.lowering.numerics.bound import EXACT, UNKNOWN, Beyond, Bound
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord, Multiple
from ogive.lowering.numerics.interval import EVERYTHING
from ogive.lowering.numerics.machine import is_power_of_two
from ogive.lowering.numerics.precisions import CORRECTED, LOST, Precision
from ogive.lowering.numerics.totals import Totals
from ogive.lowering.numerics.truths import both, chosen, either, except_where, nowhere, opposite

#: Truth values of truth values.
TRUTHS_OF_TRUTHS = frozenset({ops.AND, ops.OR, ops.EXCLUSIVE_OR, ops.NOT})

#: A number that underflows on the way to a result of float64 that does not: less shows in the very smallest numbers alone. And up to
#: which size a factor makes no more of it than that.
UNSEEN, MODERATE = 2.0**-900, 2.0**60

#: Relative errors of larger numbers are normal numbers.
NORMAL_MARGIN = 2.0**-900

#: Exponents beyond -1 times this are those of nearly all numbers: with it a bound that is this small is next to nothing, too.
NEAR, TINY = 900.0, 2.0**-1000

#: More than what is lost of a sum beside the power of two of its larger term, and no subnormal number.
LOST_BESIDE_ONE = 2.0**-1000

#: Static bounds are sums of few terms of the first order: this covers those of the second, and their rounding.
SLACK = 1 + 2.0**-20


def _unit(error: Bound) -> float:
    """The unit that an exact number is a multiple of, a power of two; 0 where that is not known."""
    if not error.bits or not 0 < error.least < math.inf:
        return 0.0
    return math.ldexp(0.5, math.frexp(error.least)[1] - error.bits + 1)


class Bounded(Totals):
    """`Arithmetic` of float64 in which numbers carry their bounds, and rules for shorter goals are the long ones."""

    bounded = True
    computes_in = Format.F64

    def __init__(self, precision: Precision = CORRECTED) -> None:
        if precision.form is not self.computes_in:
            raise ValueError(f"bounds are known of float{self.computes_in.bits}, not of {precision.form.value}")
        super().__init__(precision.form, precision.goal)
        self.working = precision
        self.unit, self.rounding, self.useful = precision.unit, precision.rounding, precision.useful
        self.safe, self.small, self.lost = precision.safe, precision.small, precision.lost
        self.share_of_static, self.next_to_nothing = precision.share_of_static, precision.next_to_nothing
        self.is_long, self.of_doubles, self.is_usual = precision.is_long, precision.of_doubles, precision.is_usual
        self.follows_zeros, self.follows_exactness = precision.follows_zeros, precision.follows_exactness
        self.follows_vast, self.follows_rests = precision.follows_vast, precision.follows_rests
        self.follows_far = precision.follows_far
        if self.follows_far:
            self.largest_exponent = 2.0**1000
        self.follows_nan = self.follows_exactness or self.of_doubles
        self.knows_infinities = self.of_doubles and self.is_long
        self.doubts: dict[Expression, Expression] = {}
        """A truth value -> where it may be the wrong one."""
        self.may_underflow: set[Expression] = set()
        """The truth values that compare what may underflow: in doubt over whole ranges of data, as others are of few elements."""
        self.known_doubts: dict[Expression, Expression | None] = {}
        """The doubts of truth values that are made of others."""

    # ---- what operations make of bounds

    def add(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        a, b = self.unscaled(a), self.unscaled(b)
        result, x, y = super().add(a, b), a.error, b.error
        if not (x.is_known and y.is_known):
            return replace(result, error=UNKNOWN)
        single = a.low is None and b.low is None
        unit = 0.0 if self.extended and single else self.unit
        same_sign = min(a.interval.low, b.interval.low) >= 0 or max(a.interval.high, b.interval.high) <= 0
        static, largest = x.static + y.static, x.largest + y.largest
        if same_sign:
            relative, absolute = max(x.relative, y.relative) + unit, self._sum_of(x.absolute, y.absolute)
            least = min(x.least, y.least)
        else:
            # The loss of the lower parts may be seen where the higher ones cancel.
            extra = 0.0 if single or not self.extended else 2.0**-98
            relative, absolute, least = unit, self._sum_of(x.absolute, y.absolute), 0.0
            if self.is_usual:  # the sum is a multiple of the last place of one of both
                least = min(x.least, y.least) * 2.0**-53
            first, second = x.relative + extra, y.relative + extra
            distance = result.interval.smallest_magnitude
            known = (first * x.largest + second * y.largest) / distance if distance > 0 else math.inf
            if first == second == 0:
                if not (static or absolute):
                    least = min(_unit(x), _unit(y))
            elif known <= self.useful:
                relative += known * SLACK
            else:
                for part, share in ((a, first), (b, second)):
                    absolute = self._plus(absolute, self._magnitude(part), share)
        keeps_sign = self._both_keep_signs(a, b) if same_sign else self._keeps_sign_of_sum(a, b)
        # 0 and a negative number that has underflowed make 0, and the exact sum is -0.
        if keeps_sign is not None and max(a.interval.high, b.interval.high) <= 0:
            keeps_sign = both(keeps_sign, self.not_(self._differ_in_sign(a, b)))
        doubt, exactly = either(x.doubt, y.doubt), self._exactly_added(a, b)
        beyond = ties.of_sum(self, a, b) if self.extended else None
        error = Bound(relative, static, absolute, doubt, None, least, largest, keeps_sign, exactly, beyond)
        error = self._of_two(error, beyond_range.of_sum(self, a, b), result, a, b)
        return self._made(result, error, infinite=either(*map(self.is_infinity, (a, b))))

    def _exactly_scaled(self, a: DoubleWord, by: DoubleWord) -> Expression | None:
        """The condition that a number of two words is exact, and a parameter that it is multiplied by a power of two: 1 often."""
        exactly = self.are_exact(a, by)
        if exactly is None or a.low is None or by.low is not None or not _is_parameter(by.high):
            return None
        return both(exactly, both(self.is_power_of_two_(by.high), self.is_finite_(by.high)))

    def _of_two(
        self, error: Bound, found: beyond_range.Found | None, result: DoubleWord, a: DoubleWord, b: DoubleWord
    ) -> Bound:
        """The bound of a sum, product or quotient, with what is known of its vast values and of NaN."""
        if self.follows_nan:
            error = replace(error, nan=beyond_range.of_nan(a, b))
        if not self.follows_exactness:
            return error
        error = replace(error, nan=either(error.nan, beyond_range.of_nothing(self, result, a, b)))
        if found is None:
            return error
        vast, exponent, doubt = found
        return replace(error, vast=vast, vast_exponent=exponent, doubt=either(error.doubt, doubt))

    def error_scaled(self, a: DoubleWord, exponent: Expression) -> Bound:
        error = self.error_of_mantissa(a)
        absolute = None if error.absolute is None else self.scale_(error.absolute, exponent)
        least, largest = (a.error.least, a.error.largest) if a.exponent is None else (0.0, math.inf)
        beyond = ties.scaled(self, error.beyond, exponent)
        found = replace(error, absolute=absolute, least=least, largest=largest, beyond=beyond)
        return self._with_lost_low(found, a, exponent)

    def _with_lost_low(self, error: Bound, a: DoubleWord, exponent: Expression) -> Bound:
        """The bound of an exact number times a power of two, by which its second word may underflow: 3 + 5e-324 is no 3 then."""
        exactly = self.always if error.is_exact else error.exactly
        if a.low is None or exactly is None or not self.follows_exactness or a.interval.within(-1.0, 1.0):
            return error
        low = self.low_part(a)
        is_kept = either(self.equal_(low, self.number(0.0)), self._has_room(self.scale_(low, exponent)))
        exactly = both(exactly, is_kept)
        if error.is_exact:
            lost = self.select_(exactly, self.number(0.0), self.number(self.smallest_normal))
            return replace(error, absolute=lost, exactly=exactly)
        return replace(error, exactly=exactly)

    def with_moderate_size(self, a: DoubleWord) -> DoubleWord:
        """The number with its power of two kept apart, where that may be large."""
        if a.exponent is not None or a.high.operation is ops.CONSTANT:
            return a
        is_moderate = a.interval.within(-MODERATE, MODERATE) and a.interval.smallest_magnitude > 1 / MODERATE
        return a if is_moderate else self.with_exponent(a)

    def sum_of_scaled(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """The sum of numbers that may have exponents, which has one."""
        if a.exponent is None and b.exponent is None:
            return self.add(a, b)
        a, b = self.with_moderate_size(a), self.with_moderate_size(b)
        far = beyond_range.of_far_terms(self, a, b) if self.follows_far else None
        terms = (a, b) if far is None else map(self._nearer, (a, b))
        *numbers, exponent = self.with_common_exponent(*terms)
        found = self.add(*numbers)
        if found.error.is_known and found.error.static:  # beside the power of two, as a bound that runs is
            static = self.number(max(found.error.static, LOST_BESIDE_ONE))
            if found.error.exactly is not None:
                static = self.select_(found.error.exactly, self.number(0.0), static)
            error = replace(found.error, static=0.0, absolute=self._sum_of(found.error.absolute, static))
            found = replace(found, error=error)
        found = replace(found, exponent=exponent, mantissa=EVERYTHING)
        found = replace(self.with_exponent(found), interval=a.interval + b.interval)
        if far is None or not found.error.is_known:
            return found
        if far[0] is not None:
            found = self._or_larger(far[0], found, a, b)
        error = replace(found.error, vast=far[0], vast_exponent=far[1], doubt=either(found.error.doubt, far[2]))
        return replace(found, error=error)

    def _nearer(self, a: DoubleWord) -> DoubleWord:
        """A term of a sum: where it is far below all numbers, as one of which nothing is known but that it is small."""
        far, error = a.error.vast, a.error
        if far is None or a.exponent is None:
            return a
        last, other = self.number(beyond_range.LAST_POWER), error.absolute or self.number(0.0)
        exponent = self.select_(both(far, self.less_(a.exponent, last)), last, a.exponent)
        absolute = self.select_(far, self.mul_(self.abs_(a.high), self.number(4.0)), other)
        return replace(a, exponent=exponent, error=replace(error, absolute=absolute, vast=None))

    def _or_larger(self, far: Expression, found: DoubleWord, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """A sum, or the term that it is nearly where that is far."""
        zero = self.number(0.0)
        is_first = both(a.error.vast or nowhere(), self.less_(b.exponent or zero, a.exponent or zero))
        is_first = either(is_first, opposite(b.error.vast or nowhere()))
        larger = Arithmetic.select(self, is_first, a, b)
        chosen_one = Arithmetic.select(self, far, larger, found)
        return replace(chosen_one, interval=found.interval, error=found.error)

    def multiply(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        operands, (a, b) = (a, b), self._ready_for_product(a, b)
        result, x, y = self._product(a, b), a.error, b.error
        if not (x.is_known and y.is_known):
            return replace(result, error=UNKNOWN)
        least, largest = x.least * y.least, x.largest * y.largest
        in_range = self._frame_least(a) * self._frame_least(b) >= self.small
        bits = None
        is_scaled = _is_power_of_two(a) or _is_power_of_two(b)
        if is_scaled:
            unit, bits = 0.0, y.bits if _is_power_of_two(a) else x.bits
        elif self.extended:
            unit = 0.0 if x.is_exact and y.is_exact and a.low is None and b.low is None else self.unit
        else:
            bits = x.bits + y.bits if x.bits and y.bits and x.bits + y.bits <= self.precision else None
            unit = 0.0 if bits and in_range and largest < self.safe else self.unit
        relative = (x.relative + y.relative) * (SLACK if x.relative and y.relative else 1) + unit
        static, unseen = 0.0, None
        absolute: Expression | None = None
        for part, other in ((a, b), (b, a)):
            if part.error.static:
                product = part.error.static * other.error.largest * SLACK
                shows = product > UNSEEN and self._is_unseen(part.error.static)  # and need not: beside zeros it is all
                if product <= self.next_to_nothing and not shows:
                    static += product
                elif self._is_unseen(part.error.static) and other.interval.within(-MODERATE, MODERATE):
                    static += part.error.static * MODERATE
                elif self._is_unseen(part.error.static):
                    # A running bound would cost more: with large factors the second level computes it.
                    static += part.error.static * MODERATE
                    is_large = self.less_(self.number(MODERATE), self.abs_(self._unscaled_high(other)))
                    unseen = either(unseen, is_large)
                else:
                    absolute = self._plus(absolute, self._magnitude(other), self._in_frame(part), SLACK)
            if part.error.absolute is not None:
                absolute = self._plus(
                    absolute, self._magnitude(other), part.error.absolute, 1 + 2 * other.error.relative
                )
        if x.absolute is not None and y.absolute is not None:
            absolute = self._plus(absolute, x.absolute, y.absolute)
        elif absolute is not None and (x.static or y.static):
            absolute = self.mul_(absolute, self.number(SLACK))
        doubt = either(x.doubt, y.doubt, unseen, self._is_unknown_zero_times_infinity(a, b))
        if not in_range:
            bits = None
            if self.is_own and result.exponent is not None:
                # A tiny number beside a power of two that may be large: the second level computes what it loses.
                # A zero is one if a factor is; else it has underflowed.
                zero = self.number(0.0)
                of_zero = either(*(self.equal_(factor.high, zero) for factor in (a, b) if _may_be_zero(factor)))
                is_tiny = self.less_(self.abs_(result.high), self.number(self.small))
                doubt = either(doubt, except_where(is_tiny, of_zero))
            elif result.exponent is None:
                static += self.lost
            else:
                absolute = self._sum_of(absolute, self.number(self.lost))
        exactly = self.are_exact(a, b) if is_scaled else self.of_one_word(a, b)
        if self.follows_exactness and not is_scaled:
            exactly = either(exactly, self._exactly_scaled(a, b), self._exactly_scaled(b, a))
        if self.follows_rests and exactly is not None and not is_scaled:
            rest = self.fma_(a.high, b.high, self.neg_(result.high))
            exactly = both(exactly, self.equal_(rest, self.number(0.0)))
            if self._frame_least(a) * self._frame_least(b) < self.smallest_normal * 2.0**self.precision:
                exactly = both(exactly, self._has_room(result.high))
        elif exactly is not None and not in_range:
            has_room: Expression | None = self._has_room(result.high)
            if self.follows_zeros:
                is_zero = (self.equal_(factor.high, self.number(0.0)) for factor in dict.fromkeys((a, b)))
                has_room = either(has_room, *is_zero)
            assert has_room is not None
            is_followed = self.follows_exactness or result.exponent is None
            exactly = both(exactly, has_room) if is_followed else None
        if self.follows_zeros and (static or absolute is not None):
            exactly = either(exactly, *(self._zero_of(*pair) for pair in ((a, b), (b, a))))
        if exactly is not None or not self.follows_rests:  # zeros alone are not worth a question
            exactly = either(exactly, self._exactly_zero(result, *operands))
        keeps_sign = self._both_keep_signs(a, b)
        beyond = ties.of_product(self, a, b) if self.extended else None
        if self.is_own and a.low is None and b.low is None:
            result = replace(result, is_normal=True)
        error = Bound(relative, static, absolute, doubt, bits, least, largest, keeps_sign, exactly, beyond)
        error = self._of_two(error, beyond_range.of_product(self, result, a, b), result, a, b)
        for part, constant in ((a, b), (b, a)):
            self._keep_multiple(result, part, constant, divides=False)
        return self._made(result, error, factors=(a, b), infinite=self._infinite_product(a, b))

    def _keep_multiple(self, result: DoubleWord, a: DoubleWord, by: DoubleWord, *, divides: bool) -> None:
        """Remember of which single number of float32 or less a product or quotient is a multiple."""
        if not self.follows_vast or by.high.operation is not ops.CONSTANT or not by.error.is_exact:
            return
        factor = Fraction(by.high.attribute) if math.isfinite(by.high.attribute) else Fraction(0)
        if by.low is not None:
            factor += Fraction(by.low.attribute)
        is_single = a.is_exact and a.error.is_exact and a.error.largest <= 2.0**128
        known = self.multiples.get(a.high, Multiple(a.high, Fraction(1), is_whole=True) if is_single else None)
        if known is not None and 2.0**-32 < factor < 2.0**32:
            # Two words hold the product of two numbers.
            is_whole = is_single and by.low is None and not divides
            product = known.factor / factor if divides else known.factor * factor
            self.multiples[result.high] = Multiple(known.word, product, is_whole=is_whole)

    def as_quotient(self, number: DoubleWord, dividend: DoubleWord, divisor: float) -> DoubleWord:
        """The number again, as the quotient of a number and a whole one, beside the same power of two: which says where it is exact."""
        by, zero = self.number(divisor), self.number(0.0)
        high = self.div_(dividend.high, by)
        rest, lost = self.fma_(self.neg_(high), by, dividend.high), zero
        exactly = self.of_one_word(dividend)
        if self.follows_exactness:  # a quotient of two words, which may be a tie
            exactly = self.are_exact(dividend)
        if dividend.low is not None:
            rest, lost = self.two_sum(rest, self.low_part(dividend))
        second = self.div_(rest, by)
        if exactly is not None:
            left = self.fma_(self.neg_(second), by, rest)
            is_whole = both(self.equal_(left, zero), self.equal_(lost, zero))
            exactly = both(exactly, both(self._has_room(high), is_whole))
        low = self.low_part(replace(number, low=second, low_is_number=False))
        near = ties.near(self, dividend)
        beyond = number.error.beyond if near is None else ties.of_quotient(self, near, divisor)
        error = replace(number.error, exactly=exactly, beyond=beyond)
        result = replace(number, high=high, low=low, is_normal=False, error=error)
        self._keep_multiple(result, dividend, self.wide(divisor), divides=True)
        return result

    def _is_unknown_zero_times_infinity(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """Whether one of two numbers may be zero, or something else, beside an infinity.

        That is exp(-x) times an infinity: it is zero where x is infinite, and infinite elsewhere. A far number has a sign, a
        difference of two may have any.
        """
        doubt = None
        for part, other in () if self.is_usual else ((a, b), (b, a)):
            infinite = self.is_infinity(other) if self.follows_far and not part.error.is_relative else None
            if infinite is not None:
                doubt = either(doubt, except_where(infinite, either(self.keeps_sign(part), part.error.nan)))
            if not part.error.static or part.interval.smallest_magnitude > 0 or self.is_bounded(other.interval):
                continue
            if self._is_unseen(part.error.static):  # all large factors are in doubt
                continue
            is_small = self.less_equal_(self._magnitude(part), self._in_frame(part))
            is_infinite = self.equal_(self._magnitude(other), self.number(math.inf))
            doubt = either(doubt, both(is_small, is_infinite))
        return doubt

    def _is_unknown_zero_by_zero(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """Whether a number that may be zero, or something else, is divided by zero: exp(-1/x) / x is, and (cos(x) - 1) / x."""
        if a.error.is_relative or max(a.interval.smallest_magnitude, b.interval.smallest_magnitude) > 0:
            return None
        if b.high.operation == ops.ROW_LENGTH:
            return None
        is_zero = self.equal_(b.high, self.number(0.0))
        if not (self.extended or depends_on_elements(b.high)):  # it costs nothing, and the repair looks closer
            return is_zero
        reach = self._sum_of(a.error.absolute, self._in_frame(a) if a.error.static else None)
        assert reach is not None
        known = either(a.error.exactly, self.is_infinity(a))
        return except_where(both(self.less_equal_(self._magnitude(a), reach), is_zero), known)

    def _is_known_by_zero(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that the divisor is exactly zero, and the dividend known but for a relative error, or infinite."""
        zero = self.is_zero(b) if self.follows_exactness else None
        if zero is None or a.error.is_relative:
            return zero
        infinite = self.is_infinity(a)
        return both(zero, infinite)

    def divide(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        operands, b = (a, b), self._without_static_divisor(a, b)
        result, x, y = super().divide(a, b), a.error, b.error
        if not (x.is_known and y.is_known):
            return replace(result, error=UNKNOWN)
        least = x.least / y.largest if y.largest else 0.0
        largest = x.largest / y.least if y.least else math.inf
        in_range = self._frame_least(a) >= self.small * max(self._frame_largest(b), 1.0)
        divides_by_power = _is_power_of_two(b)
        unit = 0.0 if divides_by_power else self.unit if depends_on_elements(b.high) else 2 * self.unit
        relative = (x.relative + y.relative) * SLACK + unit
        static, absolute = 0.0, x.absolute
        doubt = either(x.doubt, y.doubt)
        of_divisor = self._is_unknown_zero_by_zero(a, b)
        zero = self._is_known_by_zero(a, b)
        if x.static:
            size = y.least if b.exponent is None else 0.0
            if size and x.static / size * SLACK <= self.next_to_nothing:
                static += x.static / size * SLACK
            elif self._is_unseen(x.static):
                static += x.static * MODERATE
                divisor = self.abs_(self._unscaled_high(b))
                of_divisor = self.less_(divisor, self.number(1 / MODERATE))
            else:
                absolute = self._sum_of(absolute, self._in_frame(a))
        doubt = either(doubt, of_divisor)
        if y.absolute is not None:
            absolute = self._plus(absolute, self._magnitude(result), y.absolute)
            uncertain = self.not_less(self.mul_(y.absolute, self.number(2.0**10)), self._magnitude(b), b)
            known = either(y.vast, zero, self.is_infinity(b), self._where_exact(b))
            doubt = either(doubt, except_where(uncertain, known))
        if absolute is not None and self.is_own:
            # By the reciprocal that the quotient has: infinite beside a divisor that it is not good for.
            reciprocal = self.abs_(self.div_(self.number(1.0), b.high))
            absolute = self.mul_(self.add_(absolute, self.number(self.lost)), reciprocal)
            absolute = self.mul_(absolute, self.number(1 + 2.0**-8))
        elif absolute is not None:
            room = self.number(1 + 2.0**-8)
            if self.is_usual and not depends_on_elements(b.high):
                absolute = self.mul_(absolute, self.div_(room, self._magnitude(b)))
            else:
                absolute = self.mul_(self.div_(absolute, self._magnitude(b)), room)
            absolute = absolute if zero is None else self.select_(zero, self.number(0.0), absolute)
        if not in_range and self.is_own:
            # The loss of a tiny dividend's rest is divided too, and is beside the quotient's power of two.
            static += LOST * MODERATE
            if result.exponent is not None:
                doubt = either(doubt, self.is_tiny_(self._magnitude(a), self.small))
            if not self._frame_least(b) > 1 / MODERATE:
                doubt = either(doubt, self.less_(self._magnitude(b), self.number(1 / MODERATE)))
        elif not in_range:
            if result.exponent is None:
                static += self.lost
            else:
                absolute = self._sum_of(absolute, self.number(self.lost))
            # So it is here, beside no power of two.
            if self.of_doubles and result.exponent is None and self._frame_least(b) < 1:
                is_tiny = self.is_tiny_(self._magnitude(a), self.small)
                loss = self.div_(self.number(self.lost), self._magnitude(b))
                absolute = self._sum_of(absolute, self.select_(is_tiny, loss, self.number(0.0)))
        keeps_sign, exactly = self._both_keep_signs(a, b), self._exactly_divided(result, a, b)
        if divides_by_power and in_range:
            exactly = self.are_exact(a)
        if self.follows_zeros and (static or absolute is not None):
            exactly = either(exactly, self._zero_of(a, b))
        found = beyond_range.of_quotient(self, result, a, b)
        if b.error.vast is not None and not self.follows_far:
            static += beyond_range.NEXT_TO_NOTHING
            if absolute is not None:
                absolute = self.select_(b.error.vast, self.number(0.0), absolute)
        self._keep_multiple(result, a, b, divides=True)
        beyond = ties.of_ratio(self, a, b, is_sure=not static and absolute is None) if self.extended else None
        error = Bound(relative, static, absolute, doubt, None, least, largest, keeps_sign, exactly, beyond)
        error = self._of_two(error, found, result, *operands)
        return self._made(result, error, infinite=self._infinite_product(a, b))

    def error_of_mantissa(self, a: DoubleWord) -> Bound:
        absolute = a.error.absolute
        if a.error.static:
            absolute = self._sum_of(absolute, self._in_frame(a))
        least, largest = a.mantissa.smallest_magnitude, a.mantissa.largest_magnitude
        return replace(a.error, static=0.0, absolute=absolute, least=least, largest=largest)

    def error_in_frame(self, a: DoubleWord) -> Bound:
        return replace(self.error_of_mantissa(a), least=0.0, largest=math.inf)

    def square_root(self, a: DoubleWord) -> DoubleWord:
        least, largest = math.sqrt(a.error.least), math.sqrt(a.error.largest)
        if self.of_doubles and a.exponent is not None:
            x, far = a.error, a.error.vast
            a = replace(a, error=replace(x, vast=None))
            root = self._root_of_scaled(a)  # of whose bound these are the mantissa's
            error = replace(root.error, least=least, largest=largest) if a.error.is_known else UNKNOWN
            if far is not None and root.exponent is not None:
                is_far = both(far, self.less_(self.number(beyond_range.FAR_POWER), self.abs_(root.exponent)))
                doubt = either(x.doubt, except_where(either(error.doubt, far), is_far))
                error = replace(error, vast=is_far, vast_exponent=x.vast_exponent, doubt=doubt)
            return replace(root, error=error)
        a = self.without_static(self.unscaled(a))
        result, x = super().square_root(a), a.error
        if not x.is_known:
            return replace(result, error=UNKNOWN)
        relative = x.relative / 2 * SLACK + self.unit
        absolute, doubt = None, x.doubt
        zero = self.is_zero(a) if self.of_doubles and self.follows_exactness else None
        loses_bits = self.extended and x.least < self.small  # what is left of the radicand underflows
        if result.low is not None and (zero is not None or not (loses_bits or a.interval.smallest_magnitude > 0)):
            is_zero = self.equal_(a.high, self.number(0.0)) if zero is None else zero
            low = self.select_(is_zero, self.number(0.0), result.low)  # which is 0/0
            result = replace(result, low=low)
        if loses_bits:
            doubt = either(doubt, except_where(self.less_(self._magnitude(a), self.number(self.small)), zero))
        if x.absolute is not None:
            uncertain = self.not_less(self.mul_(x.absolute, self.number(2.0**10)), self._magnitude(a), a)
            doubt = either(doubt, except_where(uncertain, either(zero, self.is_infinity(a), self._where_exact(a))))
            if self.is_own:  # by the reciprocal that the root's second word has
                reciprocal = self.div_(self.number(0.5), result.high)
                absolute = self.mul_(self.mul_(x.absolute, self.number(1 + 2.0**-8)), reciprocal)
            else:
                absolute = self.div_(self.mul_(x.absolute, self.number(0.5 + 2.0**-9)), result.high)
        exactly = None if self.follows_rests else self.of_one_word(a)
        if exactly is not None:
            rest = self.fma_(self.neg_(result.high), result.high, a.high)
            exactly = both(exactly, self.equal_(rest, self.number(0.0)))
        error = Bound(relative, 0.0, absolute, doubt, None, least, largest, exactly=exactly)
        if self.follows_nan:
            nan = either(x.nan, beyond_range.outside(self, a, below=0.0))
            error = replace(error, nan=nan, doubt=either(doubt, x.vast))
        return self._made(result, error, infinite=self.is_infinity(a))

    def select(self, condition: Expression, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        result, x, y = super().select(condition, a, b), a.error, b.error
        if not (x.is_known and y.is_known):
            return replace(result, error=UNKNOWN)
        absolute = None
        if x.absolute is not None or y.absolute is not None:
            zero = self.number(0.0)
            absolute = self.select_(condition, *(zero if e.absolute is None else e.absolute for e in (x, y)))
        error = Bound(
            max(x.relative, y.relative),
            max(x.static, y.static),
            absolute,
            either(self.doubt_of(condition), chosen(condition, x.doubt, y.doubt)),
            max(x.bits, y.bits) if x.bits and y.bits else None,
            min(x.least, y.least),
            max(x.largest, y.largest),
            keeps_sign=chosen(condition, self.keeps_sign(a), self.keeps_sign(b)) if self.extended else None,
            exactly=self._exactly_where(condition, a, b),
            beyond=ties.chosen(self, condition, ties.near(self, a), ties.near(self, b)) if self.extended else None,
            vast=chosen(condition, x.vast, y.vast),
            vast_exponent=beyond_range.least_exponent(a, b),
            nan=except_where(chosen(condition, x.nan, y.nan), self.doubt_of(condition)),
        )
        return self._made(result, error, infinite=self.is_infinity(result))

    def approximation(self, a: DoubleWord, share: float) -> DoubleWord:
        """The share is a part of the bound. Of the facts a sign and a zero hold for the number that is meant, too."""
        error = a.error
        if not error.is_known:
            return a
        is_zero = both(error.exactly, self.equal_(a.high, self.number(0.0)))
        relative = (error.relative + share) * SLACK
        return self.finished(a, replace(error, relative=relative, bits=None, exactly=is_zero, beyond=None))

    def threshold_step(self, near: DoubleWord, step: DoubleWord, count: DoubleWord) -> DoubleWord:
        """The sum f(t) of n squares has a second derivative of 2n at most, and a slope of -2 s, where s is about 1 or more.

        So f(t + d) is 1 + n d**2 at most where d is the step. The threshold lies within twice the step: from the left the
        step stays on the left, as f is convex, and another one is enough where n d is at most s / 2; from the right it
        is longer than the way. What is left is 4 n d**2 / (2 s) at most.
        """
        found = self.add(near, step)
        error = found.error
        if not error.is_known:
            return found
        step = self.unscaled(step)
        size, own, zero = self.abs_(step.high), self.total(step), self.number(0.0)
        if own is not None:
            own = own if step.error.exactly is None else self.select_(step.error.exactly, zero, own)
            size = self.mul_(self.add_(size, own), self.number(SLACK))
        reach = self.mul_(self.unscaled(count).high, size)
        left = self.mul_(self.mul_(reach, self.number(4.0)), size)
        exactly = both(error.exactly, self.equal_(left, zero))
        return self.finished(
            found,
            replace(
                error,
                absolute=left if error.absolute is None else self.add_(error.absolute, left),
                doubt=either(error.doubt, self.not_(self.less_(reach, self.number(0.25)))),
                bits=None,
                exactly=exactly,
                beyond=None,
            ),
        )

    def _exactly_where(self, condition: Expression, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that the chosen one of two numbers is exact."""
        are_exact = self.are_exact(a), self.are_exact(b)
        # Where one never is, the question costs more than it decides.
        return None if self.follows_rests and None in are_exact else chosen(condition, *are_exact)

    def unless(self, undecided: Expression | None, exactly: Expression | None) -> Expression | None:
        """Whether this is undecided and the number not exact. In float64 a branch costs less than to ask for all elements."""
        if undecided is None or exactly is None or not self.follows_rests or self.format is Format.F32:
            return except_where(undecided, exactly)
        return node(ops.SELECT_RARE, (undecided, opposite(exactly), nowhere()), None, Format.BIT)

    def error_of_choice(self, choice: DoubleWord, a: DoubleWord, b: DoubleWord) -> Bound:
        if not choice.error.is_known or a.exponent or b.exponent:
            return choice.error
        error = self.error_of_extreme(choice, a, b)
        is_nan = beyond_range.of_nan(a, b)
        if is_nan is None:
            return error
        # If an operand is NaN, the second number is chosen: it keeps its bound.
        absolute = error.absolute
        if absolute is not None:
            own = choice.error.absolute or self.number(0.0)
            absolute = self.select_(is_nan, own, absolute)
        return replace(error, nan=choice.error.nan, absolute=absolute)

    def doubted_by_sign(self, magnitude: DoubleWord, sign: DoubleWord) -> DoubleWord:
        return self.doubted(magnitude, self.doubt_of(self.compare(ops.LESS, sign, self.wide(0.0))))

    def error_of_extreme(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Bound:
        """The bound of the result, the larger or the smaller of two numbers without exponents.

        Their comparison need not be right.
        """
        x, y = a.error, b.error
        # Where the comparison is wrong, the numbers are nearly the same.
        relative = max(x.relative, y.relative) * (1 if x.is_exact or y.is_exact else SLACK)
        vast, exponent, doubt = beyond_range.of_extreme(self, result, a, b) or (None, 0, None)
        static = x.static + y.static
        runs = self.is_own and (x.absolute is not None or y.absolute is not None)
        return Bound(
            relative,
            0.0 if runs else static,
            self._absolute_of_extreme(result, a, b, static if runs else 0.0),
            either(x.doubt, y.doubt, doubt),
            max(x.bits, y.bits) if x.bits and y.bits else None,
            min(x.least, y.least),
            max(x.largest, y.largest),
            exactly=self._exactly_of_extreme(result, a, b),
            beyond=self._beyond_of_extreme(result, a, b),
            vast=vast,
            vast_exponent=exponent,
            nan=beyond_range.of_nan(a, b),
        )

    def _exactly_of_extreme(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that both are exact, or the result is an exact one that lies clearly beyond the other."""
        found = self.are_exact(a, b)
        are_known = a.error.is_known and b.error.is_known
        if not (self.extended and are_known) or (found is not None and not self.follows_exactness):
            return found
        if a.error.is_exact and b.error.is_exact:
            return found
        apart = self._are_apart(a, b)
        for part in (a, b):
            exactly = self.are_exact(part)
            if exactly is not None:
                found = either(found, both(exactly, both(apart, self.equal_(result.high, part.high))))
        return found

    def _are_apart(self, a: DoubleWord, b: DoubleWord) -> Expression:
        """Whether one of two numbers is clearly the larger one."""
        margin = self.mul_(self.add_(self.abs_(a.high), self.abs_(b.high)), self.number(2.0**-50))
        for part in (a, b):
            total = self.total(part)
            margin = margin if total is None else self.add_(margin, total)
        return self.less_(margin, self.abs_(self.sub_(a.high, b.high)))

    def _beyond_of_extreme(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Beyond | None:
        """The number that the one of two numbers lies beyond that is clearly the result."""
        if not (self.extended and a.error.is_known and b.error.is_known):
            return None
        nears = ties.near(self, a), ties.near(self, b)
        found = ties.chosen(self, self.equal_(result.high, a.high), *nears)
        if found is None:
            return None
        apart = self._are_apart(a, b)
        return replace(found, is_above=both(apart, found.is_above), is_below=both(apart, found.is_below))

    def _absolute_of_extreme(
        self, result: DoubleWord, a: DoubleWord, b: DoubleWord, static: float
    ) -> Expression | None:
        """The sum of two numbers' absolute bounds and their static ones: nothing where a constant is the result, and lies
        clearly beyond the other.

        Not in plain float64, where this would cost more than it spares: clamped numbers beyond 2**30 are repaired.
        """
        absolute = self._sum_of(a.error.absolute, b.error.absolute)
        if absolute is None or not self.extended:
            return absolute
        if static:
            absolute = self.add_(absolute, self.number(static))
        for exact, other in ((a, b), (b, a)):
            if exact.error.is_exact and exact.low is None and exact.high.operation is ops.CONSTANT:
                if self.is_own and exact.high.attribute:
                    continue  # beside another number than zero the bound is next to nothing
                margin = self._plus(self.add_(absolute, absolute), self._magnitude(other), 2.0**-40)
                assert margin is not None
                apart = self.less_(margin, self.abs_(self.sub_(other.high, exact.high)))
                is_clamped = both(self.equal_(result.high, exact.high), apart)
                absolute = self.select_(is_clamped, self.number(0.0), absolute)
        return absolute

    def doubt_limits(self, truth: Expression, *operands: DoubleWord) -> None:
        """A comparison that asks whether numbers are infinite or NaN: in doubt where the numbers are, or have no bound."""
        doubt = None
        for error in (operand.error for operand in operands):
            doubt = either(doubt, error.vast, error.doubt if error.is_known else self.always)
            if error.absolute is not None:
                doubt = either(doubt, self.not_(self.less_(error.absolute, self.number(math.inf))))
        if doubt is not None:
            self.doubts[truth] = doubt

    def negate(self, a: DoubleWord) -> DoubleWord:
        result, near = super().negate(a), a.error.beyond
        if near is None:
            return result
        beyond = Beyond(self.neg_(near.high), self.neg_(near.low), near.is_below, near.is_above)
        return replace(result, error=replace(result.error, beyond=beyond))

    def absolute(self, a: DoubleWord) -> DoubleWord:
        result, near = super().absolute(a), a.error.beyond
        if self.is_long and result.low is not None and not self.is_bounded(a.interval):
            low = self.low_part(replace(result, low_is_number=False))  # an infinity less itself is NaN
            result = replace(result, low=low)
        beyond = ties.of_magnitude(self, a, near) if near is not None and self.follows_exactness else None
        return replace(result, error=replace(result.error, beyond=beyond))

    def signed(self, a: DoubleWord) -> Expression:
        value = super().signed(a)
        if not self.is_long or a.error.beyond is None:
            return value
        is_positive, is_negative = ties.signs(self, a)
        size = self.abs_(value)
        return self.select_(is_positive, size, self.select_(is_negative, self.neg_(size), value))

    def copy_sign(self, magnitude: DoubleWord, sign: Expression) -> DoubleWord:
        keeps_sign = self.always if self.follows_exactness else None  # where it is not in doubt
        error = replace(magnitude.error, keeps_sign=keeps_sign, beyond=None)
        return replace(super().copy_sign(magnitude, sign), error=error)

    def compare(self, operation: Operation, a: DoubleWord, b: DoubleWord) -> Expression:
        a, b = self.compared(a, b)
        constants = [n.high for n in (a, b) if n.is_exact and n.high.operation is ops.CONSTANT]
        if self.is_own and any(n is self.number(0.0) for n in constants):
            # A first word is zero where its number is, and has its sign.
            truth = self._on_singles(operation, a.high, b.high)
        elif (
            self.is_own
            and constants
            and operation is not ops.EQUAL
            and not (a.is_exact and b.is_exact)
            and all(n.low is None or self.is_bounded(n.interval) for n in (a, b))  # beside an infinity it may be NaN
        ):
            truth = self._on_singles(operation, self._difference(a, b), self.number(0.0))
        else:
            truth = super().compare(operation, a, b)
        doubt = except_where(self._closeness(a, b), beyond_range.of_nan(a, b))
        if doubt is not None and self.is_long:
            is_larger, is_smaller = ties.order(self, a, b)
            known = either(is_larger, is_smaller)
            if known is not None:
                is_not, is_so = (known, None) if operation == ops.EQUAL else (is_larger, is_smaller)
                truth = either(except_where(truth, is_not), is_so)
                own = either(a.error.doubt, b.error.doubt)
                doubt = either(own, except_where(doubt, known)) or doubt
        if doubt is not None:
            known = self.doubts.get(truth)
            self.doubts[truth] = either(known, doubt) or doubt
            if a.error.static or b.error.static:
                self.may_underflow.add(truth)
        return truth

    def _closeness(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """Whether two numbers lie so close together that their order is in doubt."""
        doubt = either(a.error.doubt, b.error.doubt)
        if not (a.error.is_known and b.error.is_known):
            return self.always
        vast = either(a.error.vast, b.error.vast)
        if vast is not None and self.follows_far:  # beside zero: what is compared with others has no power of two
            a, b = (replace(n, error=replace(n.error, vast=None)) for n in (a, b))
            return either(doubt, except_where(self._closeness(a, b), vast))
        if vast is not None:
            ordinary = replace(a.error, vast=None), replace(b.error, vast=None)
            close = self._closeness(*(replace(n, error=error) for n, error in zip((a, b), ordinary, strict=True)))
            known = beyond_range.of_comparison(self, a, b)
            return either(doubt, except_where(close, vast), except_where(vast, known))
        if a.error.is_exact and b.error.is_exact:
            return doubt
        for one, other in ((a, b), (b, a)):  # the sign of a number whose relative error is known is
            if one.error.is_relative and one.error.relative < 1 and other.interval.low == other.interval.high == 0:
                return doubt
        room = max(a.interval.low - b.interval.high, b.interval.low - a.interval.high)
        if a.error.is_relative and b.error.is_relative and room > 0:
            most = a.error.relative * a.interval.largest_magnitude + b.error.relative * b.interval.largest_magnitude
            if most * 2 < room:
                return doubt
        if any(self._is_exact_beside(*pair) for pair in ((a, b), (b, a))):
            return doubt
        margin = self._sum_of(self.total(a), self.total(b))
        assert margin is not None
        margin, distance = self.widened(margin), self.abs_(self._difference(a, b))
        # Numbers without a difference and without an error are equal for certain.
        close = self.less_(distance, margin) if self.is_own else self.not_less(margin, distance, a, b)
        if self.is_own:
            for n in (a, b):  # the margin of next to nothing underflows
                if n.error.relative and n.error.least < NORMAL_MARGIN:
                    is_tiny = self.less_(distance, self.number(NORMAL_MARGIN))
                    close = either(close, except_where(is_tiny, self.is_zero(n))) or close
        follows = self.follows_exactness or self.follows_rests
        exactly = self.are_exact(a, b) if follows else self._where_exact(a, b)
        return either(doubt, self.unless(close, exactly))

    def _is_exact_beside(self, a: DoubleWord, b: DoubleWord) -> bool:
        """Whether a number is exact but where it is tiny, and the other no tiny one: products of operands beside limits."""
        x, exactly = a.error, a.error.exactly
        if not self.is_own or x.relative or x.absolute is not None or exactly is None or not b.error.is_exact:
            return False
        is_tiny_else = exactly.operation is ops.LESS and exactly.operands[0] is self.number(self.small)
        return is_tiny_else and x.static <= UNSEEN and b.interval.smallest_magnitude > 1 / MODERATE

    def _difference(self, a: DoubleWord, b: DoubleWord) -> Expression:
        """The difference of one number and another: where they are close, exactly but for a relative error."""
        if not self.is_own:
            return Arithmetic.add(self, a, self.negate(b)).high
        difference = a.high if b.high is self.number(0.0) else self.sub_(a.high, b.high)
        if a.low is not None and not (difference is a.high and a.is_normal):
            difference = self.add_(difference, self.low_part(a))
        return difference if b.low is None else self.sub_(difference, self.low_part(b))

    def widened(self, margin: Expression) -> Expression:
        """A bound with what its own rounding may have lost."""
        return self.mul_(margin, self.number(1 + 2.0**-30))

    def integral(self, operation: Operation, a: DoubleWord) -> DoubleWord:
        """A whole number is exact, or in doubt. A large one is the number itself, with a bound that is larger by one."""
        a = self.unscaled(a)
        x = a.error
        if not x.is_known:
            return replace(super().integral(operation, a), error=UNKNOWN)
        is_exact = x.is_exact and a.low is None
        result, doubt = super().integral(operation, a), None
        if self.is_long and a.low is not None:
            result, doubt = self._whole_of_two_words(operation, a)
        elif not is_exact:
            result, doubt = self._whole_of_one_word(operation, a, result)
        exactly = self.of_one_word(a) if self.follows_exactness or self.follows_rests else None
        doubt = either(x.doubt, x.vast, self.unless(doubt, exactly))
        small = replace(result, error=Bound(0.0, 0.0, None, doubt, x.bits, 1.0, x.largest + 1, nan=x.nan))
        most = self.largest_whole
        if is_exact or self.is_own or a.interval.within(-most, most):
            return self._made(small, small.error)
        absolute = self._sum_of(self.total(a), self.number(1.0))
        error = replace(x, relative=0.0, static=0.0, absolute=absolute, bits=None, exactly=None, beyond=None)
        large = replace(a, error=replace(error, largest=x.largest + 1), interval=result.interval)
        is_large = self.less_(self.number(most), self.abs_(a.high))
        found = self.select(is_large, large, small)
        if self.follows_rests:
            found = replace(found, error=replace(found.error, exactly=self.not_(is_large)))
        return found

    @property
    def largest_whole(self) -> float:
        """Beyond it a whole number has a bound of one more, which shows in few results."""
        return 2.0**75 if self.is_long else 2.0**40

    def _whole_of_one_word(
        self, operation: Operation, a: DoubleWord, result: DoubleWord
    ) -> tuple[DoubleWord, Expression | None]:
        """The whole number, and where the bound leaves open which it is."""
        value, total = self.single(a), self.total(a)
        margin = self.mul_(self.abs_(value), self.number(2.0**-52))
        margin = margin if total is None else self.fma_(total, self.number(1 + 2.0**-30), margin)
        ends = [self.make(operation, self.sub_(value, margin)), self.make(operation, self.add_(value, margin))]
        if self.is_long and a.error.beyond is not None:
            ends = ties.moved_to_integers(self, operation, ends, a.error.beyond)
            moved = self.select_(self.less_(result.high, ends[0]), ends[0], result.high)
            moved = self.select_(self.less_(ends[1], moved), ends[1], moved)
            are_same = node(ops.EQUAL, tuple(map(self.bits_, ends)), None, Format.BIT)
            is_zero = both(self.equal_(moved, self.number(0.0)), are_same)  # of the sign that is known
            result = replace(result, high=self.select_(is_zero, ends[0], moved))
        same = self.equal_(*ends)
        # Both ends may be zeros, of two signs.
        if operation in (ops.TRUNCATE, ops.ROUND_EVEN) and total is not None:
            same = node(ops.EQUAL, tuple(map(self.bits_, ends)), None, Format.BIT)
            same = either(same, self.equal_(margin, self.number(0.0)))
        return result, self.not_(same)

    def _whole_of_two_words(self, operation: Operation, a: DoubleWord) -> tuple[DoubleWord, Expression | None]:
        """The same of a number of two words, from 1 on by what both have behind the point; below 2**40 the first may decide alone."""
        result, doubt = self._whole_of_one_word(operation, a, super().integral(operation, a))
        total, zero = self.total(a), self.number(0.0)
        a = self.renormalised(a)
        base = self.make(ops.TRUNCATE, a.high)
        low = self.add_(self.sub_(a.high, base), self.low_part(a))
        margin = self.mul_(self.abs_(low), self.number(2.0**-50))
        margin = margin if total is None else self.fma_(total, self.number(1 + 2.0**-30), margin)
        below, above = self.sub_(low, margin), self.add_(low, margin)
        if operation is ops.TRUNCATE:  # of a large number this is the floor or the ceiling
            is_negative = self.less_(a.high, zero)
            floor, ceiling = ([self.make(way, end) for end in (low, below, above)] for way in (ops.FLOOR, ops.CEILING))
            whole, *ends = (self.select_(is_negative, c, f) for c, f in zip(ceiling, floor, strict=True))
        else:
            whole, *ends = (self.make(operation, end) for end in (low, below, above))
        is_open = self.not_(self.equal_(*ends))
        if operation is ops.ROUND_EVEN:  # of a tie the first word decides, too
            behind = self.sub_(self.abs_(low), self.make(ops.FLOOR, self.abs_(low)))
            is_open = either(is_open, self.equal_(behind, self.number(0.5)))
        size = self.abs_(a.high)
        is_decided = both(self.less_equal_(self.number(1.0), size), self.not_(is_open))
        takes = either(self.less_equal_(self.number(2.0**40), size), is_decided)
        high, rest = self.fast_two_sum(base, whole)
        is_zero = self.equal_(high, zero)  # next to 1 or -1: the sum has lost the sign
        high = self.select_(is_zero, self.make(ops.COPY_SIGN, zero, a.high), high)
        rest = self.select_(
            both(takes, self.not_(is_zero)), rest, self.number(-0.0)
        )  # beside a zero of either sign nothing
        found = DoubleWord(self.select_(takes, high, result.high), rest, interval=result.interval)
        return found, either(both(takes, is_open), both(self.not_(takes), doubt or nowhere()))

    def wide(self, value: Fraction | float) -> DoubleWord:
        result = super().wide(value)
        exact = float(value) if isinstance(value, float) or result.high.attribute == value else None
        if exact is not None:
            bits = Fraction(exact).numerator.bit_length() if math.isfinite(exact) else 1
            return replace(result, error=Bound(bits=max(bits, 1), least=abs(exact), largest=abs(exact)))
        size = abs(float(value))
        relative = self.rounding
        if self.extended and result.low is not None:
            parts = Fraction(result.high.attribute) + Fraction(result.low.attribute)
            relative = 0.0 if parts == value else relative
        return replace(result, error=Bound(relative, least=size * (1 - 2.0**-52), largest=size * (1 + 2.0**-52)))

    def scaled_error(self, error: Bound, exponent: Expression) -> Bound:
        if not error.is_known:
            return error
        # The result may underflow, and of double-word numbers the lower part.
        static = error.static if error.least >= self.small else error.static + self.lost
        absolute = None if error.absolute is None else self.scale_(error.absolute, exponent)
        exactly = None if self.follows_exactness else error.exactly
        beyond = ties.scaled(self, error.beyond, exponent)
        return replace(error, static=static, absolute=absolute, exactly=exactly, beyond=beyond)

    def unscaled(self, a: DoubleWord) -> DoubleWord:
        result = self.unscaled_result(a)
        if result is a or not a.error.is_known:
            return result
        if self.of_doubles and self.is_long and result.low is None and a.error.is_exact:
            return self.doubted_by_power(result, a)  # one exact word loses nothing else
        return self._made(result, result.error, infinite=self.is_infinity(a))

    def doubted_by_power(self, result: DoubleWord, a: DoubleWord) -> DoubleWord:
        """A number times its power of two, in doubt where that makes it infinite."""
        infinity = self.number(math.inf)
        overflows = both(self.equal_(self.abs_(result.high), infinity), self.less_(self.abs_(a.high), infinity))
        return self.doubted(result, overflows)

    def unscaled_result(self, a: DoubleWord) -> DoubleWord:
        """The number with its exponent multiplied in, infinite where float64 cannot hold it."""
        result = self._with_sign(self._exact_as(super().unscaled(a), a), a)
        if result is a or not self.follows_far:
            return result
        return replace(result, error=replace(result.error, vast=None))  # what is far is infinite, or next to zero

    def _with_sign(self, result: DoubleWord, a: DoubleWord) -> DoubleWord:
        """A number times a power of two, which lies beyond zero if it is not that: also where the power makes it zero."""
        if a.exponent is None or not (self.knows_infinities and a.error.is_known):
            return result
        beyond = Beyond(self.number(0.0), self.number(0.0), *ties.signs(self, a))
        if result.error.beyond is not None:
            beyond = ties.either_of(self, result.error.beyond, beyond)
        return replace(result, error=replace(result.error, beyond=beyond))

    def _partly_unscaled(self, a: DoubleWord) -> DoubleWord:
        result = super()._partly_unscaled(a)
        found = self._exact_as(result, a)
        if result is a or not (self.of_doubles and self.follows_exactness):
            return found
        # Numbers beside exponents are moderate: what is not, is in doubt, and the others lose next to nothing.
        size, zero = self.abs_(a.high), self.number(0.0)
        is_tiny = both(self.less_(zero, size), self.less_(size, self.number(2.0**-900)))
        relative = a.error.relative + (0.0 if a.low is None else 2.0**-114)
        return self.doubted(
            replace(found, error=replace(found.error, relative=relative, static=a.error.static)), is_tiny
        )

    def _exact_as(self, result: DoubleWord, a: DoubleWord) -> DoubleWord:
        """A number times a power of two, which is exact where the number is and both words have room."""
        exactly = self.are_exact(a) if self.follows_exactness and result is not a else None
        if exactly is None or result.error.is_exact:
            return result
        for scaled, part in ((result.high, a.high), (result.low, a.low)):
            if scaled is not None and part is not None:
                has_room = both(self._has_room(scaled), self.is_finite_(scaled))
                exactly = both(exactly, either(has_room, self.equal_(part, self.number(0.0))))
        return replace(result, error=replace(result.error, exactly=exactly))

    def finished(self, result: DoubleWord, error: Bound) -> DoubleWord:
        """The result of a rule, with its bound."""
        return self._made(result, error)

    # ---- doubts

    def doubt_of(self, truth: Expression) -> Expression | None:
        """The condition that a truth value may be the wrong one."""
        for current in walk(truth, operands=self._unknown_truths):  # without recursion
            if current not in self.doubts and current.operation in TRUTHS_OF_TRUTHS:
                self.known_doubts.setdefault(current, self._doubt_of_truths(current))
        return self._known_doubt(truth)

    def _doubt_of_truths(self, truth: Expression) -> Expression | None:
        """The doubt of a truth value made of others: none if a known one decides it."""
        doubts = [self._known_doubt(operand) for operand in truth.operands]
        found = either(*doubts)
        if not self.may_underflow.isdisjoint(truth.operands):
            self.may_underflow.add(truth)
        is_worth_it = self.follows_exactness or truth in self.may_underflow
        if found is None or not is_worth_it or truth.operation not in (ops.AND, ops.OR):
            return found
        for operand, doubt in zip(truth.operands, doubts, strict=True):
            decides = self.not_(operand) if truth.operation == ops.AND else operand
            found = except_where(found, except_where(decides, doubt))
        return found

    def _known_doubt(self, truth: Expression) -> Expression | None:
        return self.doubts.get(truth) or self.known_doubts.get(truth)

    def _unknown_truths(self, truth: Expression) -> Sequence[Expression]:
        is_known = truth in self.doubts or truth in self.known_doubts
        return truth.operands if truth.operation in TRUTHS_OF_TRUTHS and not is_known else ()

    def doubted(self, a: DoubleWord, doubt: Expression | None) -> DoubleWord:
        """The number with one more doubt."""
        return replace(a, error=replace(a.error, doubt=either(a.error.doubt, doubt)))

    # ---- signs

    def keeps_sign(self, a: DoubleWord, *, of_zeros: bool = False) -> Expression | None:
        """The condition that a number has the sign of the exact one; None for never. ``of_zeros``: only where it is zero."""
        has_one_sign = a.interval.low >= 0 or a.interval.high <= 0
        if (has_one_sign and not self.extended) or (a.error.is_relative and a.error.relative < 1):
            return self.always
        exactly = self.are_exact(a) if self.follows_vast or self.follows_rests else None
        found = either(a.error.keeps_sign, a.error.vast, exactly)
        if has_one_sign:  # the logarithm of what is rounded to 1 is 0, not -0
            is_negative = self.is_negative_(a.high)
            return either(found, is_negative if a.interval.high <= 0 else self.not_(is_negative))
        if self.extended and (a.exponent is None or self.of_doubles) and a.error.is_known and not of_zeros:
            is_near, frame = self._near_frame(a)
            total = self.total(frame)
            if total is not None:
                size = self.abs_(a.high)
                if self.of_doubles:  # asked of zeros in the first level, where twice a subnormal bound takes an assist
                    is_small = self.less_(total, self.mul_(size, self.number(0.5)))
                else:
                    is_small = self.less_(self.mul_(total, self.number(2.0)), size)
                found = either(found, is_small if is_near is None else both(is_near, is_small))
        return found

    def _near_frame(self, a: DoubleWord) -> tuple[Expression | None, DoubleWord]:
        """A number without its exponent, and the condition that its bound holds; None for always.

        The static part is a subnormal number: the first level of float64 multiplies no power of two to it, which takes an assist.
        """
        if a.exponent is None or not (self.of_doubles and not self.is_long and 0 < a.error.static <= TINY):
            return None, self.mantissa(a)
        frame = self.mantissa(replace(a, error=replace(a.error, static=0.0)))
        error = replace(frame.error, static=a.error.static * 2.0**NEAR)
        return self.less_(self.number(-NEAR), a.exponent), replace(frame, error=error)

    def without_power(self, a: DoubleWord) -> DoubleWord:
        is_near, frame = self._near_frame(a)
        return frame if is_near is None else self.doubted(frame, self.not_(is_near))

    def zero_of_unknown_sign(
        self, operation: Operation, result: DoubleWord, a: DoubleWord, b: DoubleWord
    ) -> Expression | None:
        """The condition that a product, a quotient, or the larger or smaller of two numbers is a zero of unknown sign.

        Before the repair the factor that is zero is not looked at: a number whose sign is not known has no bits either.
        """
        if a is b or not (a.error.is_known and b.error.is_known):
            return None
        if operation not in (ops.MULTIPLY, ops.DIVIDE):
            return self._zero_of_two_signs(result, a, b)
        found = None
        for edge, other in ((a, b), (b, a)) if operation is ops.MULTIPLY else ((b, a),):
            kept = self.keeps_sign(other)
            is_never = (
                edge.interval.smallest_magnitude > 0 if operation is ops.MULTIPLY else self.is_bounded(edge.interval)
            )
            if kept is self.always or is_never:
                continue
            if self.extended:
                limit = self.number(0.0 if operation is ops.MULTIPLY else math.inf)
                found = either(found, except_where(self.equal_(self.abs_(edge.high), limit), kept))
            elif other.error.absolute is not None:
                total = self.total(replace(other, error=replace(other.error, relative=0.0)))
                assert total is not None
                is_open = self.less_(self._magnitude(other), self.add_(total, total))
                found = either(found, self.unless(is_open, other.error.exactly))
        return found

    def _zero_of_two_signs(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that two numbers of different signs, of which one is chosen, may both be zero."""
        if (a.error.is_relative and b.error.is_relative) or max(n.interval.smallest_magnitude for n in (a, b)) > 0:
            return None
        # The larger one of 0 and a number is positive, unless that is -0, as a sum of an operand and what has underflowed may be.
        if a.error.absolute is None and b.error.absolute is None:
            for limit in (a.high, b.high):
                if limit is self.number(0.0) and result.interval.low >= 0:
                    return None
                if limit is self.number(-0.0) and result.interval.high <= 0:
                    return None
        a, b = self.unscaled(a), self.unscaled(b)
        found = self._differ_in_sign(a, b)
        for n in (a, b):
            total = self.total(n)
            found = both(found, self.less_equal_(self._magnitude(n), self.number(0.0) if total is None else total))
        return found

    def _differ_in_sign(self, a: DoubleWord, b: DoubleWord) -> Expression:
        bits = node(ops.EXCLUSIVE_OR, (self.bits_(a.high), self.bits_(b.high)), None, self.integer)
        return node(ops.LESS, (bits, self.whole(0)), None, Format.BIT)

    def _both_keep_signs(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        first, second = self.keeps_sign(a), self.keeps_sign(b)
        return both(first, second)

    def _keeps_sign_of_sum(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """A sum keeps its sign where both numbers have that: where an exact one has that of the other's interval."""
        for exact, other in ((a, b), (b, a)):
            if not (exact.error.is_exact and exact.low is None):
                continue
            negative = self.is_negative_(exact.high)
            if other.interval.high <= 0:
                return negative
            if other.interval.low >= 0:
                return self.not_(negative)
        return None

    # ---- exact results

    def _zero_of(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that a is exactly zero and b has a known sign: then product and quotient are that zero."""
        exactly = self.where_zero(a)
        if exactly is None:
            return None
        has_sign = either(*ties.signs(self, b))
        return both(exactly, both(has_sign, self.is_finite_(b.high)))

    def where_exact_quotient(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that the quotient of exact numbers without exponents has one word; None for never."""
        exactly = self._where_exact(b)
        both_exact = self.are_exact(a)
        if exactly is None or both_exact is None:
            return None
        high = self.div_(a.high, b.high)
        rest = self.add_(self.fma_(self.neg_(high), b.high, a.high), self.low_part(a))
        zero = self.number(0.0)
        has_room = either(self.less_(self.number(self.small), self.abs_(a.high)), self.equal_(a.high, zero))
        return both(both(exactly, both_exact), both(has_room, self.equal_(rest, zero)))

    def where_zero(self, a: DoubleWord) -> Expression | None:
        """The condition that a number is exactly zero; None for never."""
        exactly = self.are_exact(a)
        if exactly is None:
            return None
        if a.high.operation is ops.CONSTANT:
            return exactly if a.high.attribute == 0 and a.low is None else None
        is_zero = self.equal_(a.high, self.number(0.0))
        if a.low is not None:
            is_zero = both(is_zero, self.equal_(self.low_part(a), self.number(0.0)))
        return both(exactly, is_zero)

    def _where_exact(self, *operands: DoubleWord) -> Expression | None:
        """The condition that numbers are exact, whatever their bounds; None if that is not followed."""
        return self.of_one_word(*operands) if self.follows_zeros else None

    def _exactly_added(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that a sum of exact numbers is exact: of one word each, or no sum of lower parts is rounded."""
        exactly = self.are_exact(a, b)
        if self.follows_rests and exactly is not None:
            total = self.add_(a.high, b.high)
            rests = (self.equal_(self.sub_(total, x.high), y.high) for x, y in ((a, b), (b, a)))
            return reduce(both, rests, exactly)
        if not self.follows_exactness:
            return self.of_one_word(a, b)
        lows = [part for part in (a.low, b.low) if part is not None]
        if exactly is None or not lows:
            return exactly
        _, low = self.two_sum(a.high, b.high)
        for part in lows:
            low, rest = self.two_sum(low, part)
            exactly = both(exactly, self.equal_(rest, self.number(0.0)))
        return exactly

    def _has_room(self, value: Expression) -> Expression:
        """The condition that nothing of a product or quotient has underflowed."""
        least = self.small if self.extended else self.smallest_normal * 2.0**self.precision
        return self.less_(self.number(least), self.abs_(value))

    def _exactly_zero(self, result: DoubleWord, *operands: DoubleWord) -> Expression | None:
        """The condition that a product or quotient is zero because one of these is."""
        if not (self.follows_exactness or self.follows_rests):
            return None
        zero = either(*map(self.is_zero, operands))
        return both(zero, self.equal_(result.high, self.number(0.0)))

    def _exactly_divided(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that a quotient of numbers of one word is exact."""
        exactly = self.of_one_word(a, b) if self.follows_exactness or self.follows_rests else None
        if exactly is None and self.follows_rests:
            return None
        if exactly is not None:
            rest = self.fma_(self.neg_(result.high), b.high, a.high)
            has_room = both(self._has_room(result.high), self._has_room(a.high))
            exactly = both(
                both(exactly, self.is_finite_(result.high)), both(has_room, self.equal_(rest, self.number(0.0)))
            )
        return either(exactly, self._exactly_zero(result, a), self._exactly_by_infinity(result, a, b))

    def _infinite_product(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that a product or quotient is that of an infinity, with a known sign."""
        found = None
        for part, other in ((a, b), (b, a)):
            infinite = self.is_infinity(part)
            if infinite is not None:
                known = either(self.keeps_sign(other), self.is_infinity(other))
                found = either(found, both(infinite, known))
        return found

    def _exactly_by_infinity(self, result: DoubleWord, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The condition that a quotient is zero because the divisor is infinite."""
        infinite = self._infinite_product(a, b) if self.is_infinity(b) is not None else None
        return both(infinite, self.equal_(result.high, self.number(0.0)))

    # ---- parts of bounds

    def without_static(self, a: DoubleWord) -> DoubleWord:
        """The number with a bound that has no static part: what that says is put into the others."""
        error = a.error
        if not error.is_known or not error.static:
            return a
        if error.static > self.next_to_nothing:
            return replace(
                a, error=replace(error, static=0.0, absolute=self._sum_of(error.absolute, self._in_frame(a)))
            )
        size = self._magnitude(a) if a.exponent is None else self.abs_(self.scale_(a.high, a.exponent))
        uncertain = self.not_less(self.number(error.static / self.share_of_static), size, a)
        relative = error.relative + self.share_of_static
        exactly = self.are_exact(a) if self.follows_exactness else self._where_exact(a)
        doubt = either(error.doubt, except_where(uncertain, exactly))
        return replace(a, error=replace(error, relative=relative, static=0.0, doubt=doubt))

    def not_less(self, a: Expression, b: Expression, *numbers: DoubleWord) -> Expression:
        """Whether a bound is not below a size, and none of the numbers that both are made of is NaN.

        In first levels NaN is no doubt: it comes from the operands, from outside a domain, or from what has overflowed, which
        is in doubt before. The bound alone may be NaN next to an infinite operand.
        """
        if self.is_own:
            return self.less_equal_(b, a)
        found = self.not_(self.less_(a, b))
        if self.is_long:
            return found
        if numbers and all(n.error.absolute is None for n in numbers):
            return self.less_equal_(b, a)
        for n in numbers:
            if n.high.operation is not ops.CONSTANT:
                found = both(found, self.equal_(n.high, n.high))
        return found

    @property
    def is_own(self) -> bool:
        """Whether numbers are those of float64's own kernels."""
        return self.extended and not self.is_long

    def _is_unseen(self, static: float) -> bool:
        """Whether a static bound shows in no result of float64 but the very smallest, also if it grows once more."""
        return self.is_own and static * MODERATE <= UNSEEN

    def _unscaled_high(self, a: DoubleWord) -> Expression:
        return a.high if a.exponent is None else self.scale_(a.high, a.exponent)

    def _without_static_divisor(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        """A divisor whose bound has no static part. Where it is exactly zero that adds no doubt: the quotient is infinite."""
        divisor, zero = (
            self.without_static(b),
            self.is_zero(b) if self.follows_exactness and a.error.is_relative else None,
        )
        if divisor is b or zero is None:
            return divisor
        doubt = either(b.error.doubt, except_where(divisor.error.doubt, zero))
        return replace(divisor, error=replace(divisor.error, doubt=doubt))

    def _in_frame(self, a: DoubleWord) -> Expression:
        """The static part of a bound, without the exponent that is kept beside the number."""
        static = self.number(a.error.static)
        return static if a.exponent is None else self.scale_(static, self.neg_(a.exponent))

    def _frame_least(self, a: DoubleWord) -> float:
        """The smallest magnitude of the higher part, but zero."""
        return max(0.0 if a.exponent is not None else a.error.least, a.stored.smallest_magnitude)

    def _frame_largest(self, a: DoubleWord) -> float:
        return min(math.inf if a.exponent is not None else a.error.largest, a.stored.largest_magnitude)

    def _made(
        self,
        result: DoubleWord,
        error: Bound,
        factors: tuple[DoubleWord, ...] = (),
        infinite: Expression | None = None,
    ) -> DoubleWord:
        """The result with its bound: static parts of it as relative ones where that can be, and overflow in doubt.

        ``factors``: of which it is the product. ``infinite``: where it is made of an infinity and is no doubt therefore.
        """
        interval = result.interval
        least = max(error.least, interval.smallest_magnitude * (1 - 2.0**-20))
        largest = min(error.largest, interval.largest_magnitude * (1 + 2.0**-20))
        relative, static, doubt = error.relative, error.static, error.doubt
        if self.follows_exactness and error.exactly is not None and error.absolute is not None:
            error = replace(error, absolute=self.select_(error.exactly, self.number(0.0), error.absolute))
        if static and interval.smallest_magnitude > 0 and static / interval.smallest_magnitude < 2.0**-20:
            relative, static = relative + static / interval.smallest_magnitude * SLACK, 0.0
        if self.is_own and result.exponent is not None and not self.is_bounded(result.mantissa):
            # Next to a large operand the mantissa may overflow where the number does not.
            doubt = either(doubt, self.less_equal_(self.number(self.safe), self.abs_(result.high)))
        overflows = not largest < self.safe and result.exponent is None
        if overflows and not (self.is_result or (self.is_own and error.is_exact)):
            most, size = self.number(self.safe), self.abs_(result.high)
            # NaN is what IEEE arithmetic says, but for two words, which may be infinities that cancel.
            is_large = self.not_(self.less_(size, most)) if self.is_long else self.less_equal_(most, size)
            if self.follows_vast:
                return self._perhaps_vast(
                    result, replace(error, relative=relative, static=static, least=least), factors
                )
            doubt = either(doubt, except_where(is_large, infinite))
            largest = min(largest, self.safe)
        made = replace(error, relative=relative, static=static, doubt=doubt, least=least, largest=largest)
        return replace(result, error=made)

    def _perhaps_vast(self, result: DoubleWord, error: Bound, factors: tuple[DoubleWord, ...]) -> DoubleWord:
        """The result, which is vast where the machine's number is large; NaN is in doubt where that is not certain."""
        is_large = self.less_equal_(self.number(self.safe), self.abs_(result.high))
        if error.absolute is not None:
            certain = self.less_(self.mul_(error.absolute, self.number(2.0)), self.abs_(result.high))
            if factors:  # where the product overflows, its bound does, too
                first, second = (beyond_range.certain(self, factor) for factor in factors)
                certain = either(certain, both(first, second))
            is_large, in_doubt = both(is_large, certain), both(is_large, self.not_(certain))
            error = replace(error, doubt=either(error.doubt, except_where(in_doubt, error.vast)))
        is_nan = except_where(self.not_(self.equal_(result.high, result.high)), error.nan)
        exponent = beyond_range.FRESH if error.vast is None else min(error.vast_exponent, beyond_range.FRESH)
        doubt = either(error.doubt, is_nan)
        made = replace(error, doubt=doubt, largest=self.safe, vast=either(error.vast, is_large), vast_exponent=exponent)
        return replace(result, error=made)


def _may_be_zero(a: DoubleWord) -> bool:
    return (a.interval if a.exponent is None else a.mantissa).smallest_magnitude == 0


def _is_parameter(word: Expression) -> bool:
    """Whether a word is no constant and the same for all elements."""
    return word.operation is not ops.CONSTANT and not depends_on_elements(word)


def _is_power_of_two(a: DoubleWord) -> bool:
    return a.is_exact and a.error.is_exact and is_power_of_two(a.high)


def exact_operand(kind: ElementType) -> Bound:
    """The bound of an operand of an element type, which is none."""
    if not kind.is_float:
        return Bound(bits=kind.bits, least=1.0, largest=2.0**kind.bits)
    if kind.name == "float64":
        return replace(EXACT, bits=53, least=2.0**-1074, largest=sys.float_info.max)
    form = STORAGE[kind.name]
    return Bound(bits=form.precision, least=2.0 ** (2 - form.bias - form.precision), largest=2.0 ** (form.bias + 1))


def exact_parameter(form: Format) -> Bound:
    """The bound of a parameter that is rounded to a format."""
    return Bound(bits=53, least=2.0**-1074) if form is Format.F64 else exact_operand(ELEMENT_TYPES["float32"])
