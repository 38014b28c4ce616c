"""Results of float64 with the rounding test: both ends of the interval that a number lies in round alike, or it is undecided.

The first level computes in words (elementary/two_words.py), whose bounds leave so few elements open. In the second, which
repairs them, powers of two are kept apart from the operands on: nothing overflows or underflows on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce

from ogive.common.dtypes import ElementType
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, Expression, Format, Operation, is_extreme, node, walk
from ogive.lowering.numerics import ties
from ogive.lowering.numerics.bounded import UNSEEN, Bounded
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.error_function import TWO_OVER_ROOT_PI
from ogive.lowering.numerics.elementary.propagation import bounded, rule_of
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.rounded_results import to_subnormal
from ogive.lowering.numerics.truths import both, chosen, either, except_where, nowhere
from ogive.lowering.tested import ROUNDED_TWICE, SUMS, TestedReals, differ, has_rule
from ogive.lowering.untested_elements import UntestedElements, is_sum

#: So near to zero f(u) is u, but for this share of it.
LINEAR = 2.0**-110

#: The second word of a number that is no smaller is good to 2**-68 of the number.
SMALL = 2.0**-1005

#: Up to which power of two a constant is multiplied as it is.
MODERATE_POWER = 64

#: Nothing is lost of terms that are larger than this and than so many times what is lost of their sum: their error is more.
LARGE, OF_LOST = 2.0**-900, 2.0**100

#: Choices between two numbers, and the operations of which each operand says whether the result is zero.
CHOICES = frozenset({functions.LARGER, functions.SMALLER})
ZERO_BY_ALL = frozenset({ops.MULTIPLY, *SUMS, *CHOICES})

#: The operations of IEEE 754 that round.
ARITHMETIC = frozenset({*SUMS, ops.MULTIPLY, ops.DIVIDE, ops.SQUARE_ROOT})


def _zero_by(n: Expression) -> Sequence[Expression]:
    """The operands that say whether a number is zero; of a choice what is chosen among."""
    if n.operation is ops.SELECT:
        return n.operands[1:]
    return n.operands if n.operation in ZERO_BY_ALL else n.operands[:1]


def _every(truths: Sequence[Expression | None]) -> Expression | None:
    """Whether all of these are true."""
    known = [truth for truth in truths if truth is not None]
    return reduce(both, known) if len(known) == len(truths) else None


class OnceRounded(TestedReals):
    """Numbers of float64 beside a power of two, which are rounded once: also where a result is subnormal."""

    little, beside_zero = 2.0**-1074, 0.0

    def _rounded_once(self, framed: DoubleWord, exponent: Expression | None) -> tuple[Expression, Expression]:
        """A number times a power of two, rounded, and where both ends of its interval are rounded to two numbers."""
        ends = (self._in_place(end, exponent) for end in self._ends(framed, framed.error))
        return self._in_place(self.beyond(framed, framed.error), exponent), differ(*ends)

    def _end_within(
        self, number: DoubleWord, share: float, reach: Expression | None, *, of_domain: bool = False
    ) -> tuple[Expression, Expression]:
        """An end of the interval that a share of a number and its reach allow, rounded, and where the other end is rounded to
        another number. A zero keeps its sign. ``of_domain``: not where both are NaN.
        """
        m, high = self.m, number.high
        low = m.number(0.0) if number.low is None else number.low if number.is_normal else m.low_part(number)
        own, by = high, -share
        if reach is not None or of_domain:
            own, by = m.abs_(high), share
        if reach is not None:
            own, by = m.fma_(own, m.number(share), reach), 1.01
        ends = m.sub_(high, m.fma_(own, m.number(by), m.neg_(low))), m.add_(high, m.fma_(own, m.number(by), low))
        return ends[0], m.less_(*ends) if of_domain else m.not_(m.equal_(*ends))

    def _next_to(self, high: Expression, low: Expression, side: int) -> tuple[Expression, Expression]:
        """A number of two words is a tie of float64 where its second one is a power of two: the next number is none."""
        m = self.m
        is_towards_zero = m.less_(low, m.number(0.0)) if side > 0 else m.less_(m.number(0.0), low)
        share = m.select_(is_towards_zero, m.number(1 - 2.0**-53), m.number(1 + 2.0**-52))
        return m.fast_two_sum(high, m.select_(m.is_power_of_two_(low), m.mul_(low, share), low))

    def _in_place(self, number: DoubleWord, exponent: Expression | None) -> Expression:
        """A number times a power of two, rounded once."""
        m = self.m
        number = m.renormalised(number)
        if exponent is None:
            return number.high
        return m.scale_(number.high, exponent) if m.is_own else to_subnormal(m, replace(number, exponent=exponent))


class TestedDoubles(OnceRounded, UntestedElements):
    """Elements of float64: rounded as without a test, and tested by the bound of what was rounded."""

    def __init__(self, arithmetic: Bounded, inputs: tuple[ElementType, ...], parameters: Format) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.follows_signs = self._splits_operands
        # The first level looks at results (`_zero_without_sign`).
        self.takes_zeros = not self._splits_operands and not arithmetic.extended
        self.undecided_as_nan: set[Expression] = set()
        """The parts of results that are undecided where they are NaN."""

    # ---- results

    def _is_exact_zero(
        self, root: Expression, value: Expression | None = None, *, of_operands: bool = False
    ) -> Expression | None:
        """Whether a number is zero and has not underflowed: a product where a factor is zero, a quotient where the dividend is.

        What cancels is taken for an exact zero, too, but for ``of_operands``: its result has a test of its own. ``value``: the
        number rounded.
        """
        found = dict[Expression, Expression | None]()
        operands = partial(self._of_zero, of_operands=of_operands)
        for n in walk(root, operands=operands):
            high = value if n is root and value is not None else self.number(n).high
            found[n] = self._is_zero_by(n, high, [found[operand] for operand in operands(n)], of_operands=of_operands)
        return found[root]

    def _of_zero(self, n: Expression, *, of_operands: bool) -> Sequence[Expression]:
        """The operands that are asked for it: none where nothing has underflowed, as the bound says."""
        if not of_operands and _is_certain(self.number(n)):
            return ()
        asks = of_operands or n.operation is ops.SELECT or self.number(n).error.static
        return _zero_by(n) if asks else ()

    def _is_zero_by(
        self, n: Expression, high: Expression, are_zero: Sequence[Expression | None], *, of_operands: bool
    ) -> Expression | None:
        """The same of a node, given its number and where the operands that are asked are such zeros."""
        m, operation = self.m, n.operation
        if operation is ops.SELECT and are_zero:
            return chosen(self.truth(n.operands[0]), *are_zero)
        if operation is ops.CONSTANT:
            return None if n.attribute else m.always
        if self.number(n).stored.smallest_magnitude > 0:
            return None
        is_zero = m.equal_(high, m.number(0.0))
        if not are_zero:
            return is_zero
        if operation in SUMS or operation in CHOICES:
            if of_operands:
                return _every(are_zero)
            if operation in SUMS:  # of two terms that cancel one is asked: a number of one word
                term = min(n.operands, key=lambda operand: not self.number(operand).is_exact)
                clear = either(self._is_large(term, beside=n), _every(are_zero))
            else:  # the other one is clearly on one side of zero
                pairs = zip(are_zero, n.operands, strict=True)
                clear = _every([either(zero, self._is_large(other, beside=n)) for zero, other in pairs])
            return both(is_zero, clear)
        return None if operation.at_zero else either(*are_zero)  # what has another value there is zero elsewhere

    def _is_large(self, n: Expression, beside: Expression) -> Expression | None:
        """Whether what is lost of a number and of its sum with another does not show beside it; None for never."""
        m, number = self.m, self.number(n)
        limit = max(LARGE, self.number(beside).error.static * OF_LOST)
        if number.interval.smallest_magnitude >= limit:
            return m.always
        return None if n.operation is ops.CONSTANT else m.less_(m.number(limit), m.abs_(m.unscaled(number).high))

    def _truth(self, root: Expression) -> Expression:
        """A comparison with zero is in no doubt where a number is exactly zero: arrays have many zeros."""
        truth = super()._truth(root)
        doubt = self.m.doubts.get(truth)
        if doubt is None or self._splits_operands or root.operation not in COMPARISONS:
            return truth
        for number, other in (root.operands, root.operands[::-1]):
            is_beside_zero = other.operation is ops.CONSTANT and other.attribute == 0
            factor_is_zero = self._is_exact_zero(number, of_operands=True) if is_beside_zero else None
            if factor_is_zero is not None:
                is_zero = both(factor_is_zero, self.m.equal_(self.number(number).high, self.m.number(0.0)))
                self.m.doubts[truth] = except_where(doubt, is_zero)
        return truth

    def _condition(self, root: Expression) -> Expression:
        """Between a number and a constant the rounded numbers choose, which is shorter."""
        chosen = self._choice_after_rounding(root) if self._is_beside_constant(root) else None
        return super()._condition(root) if chosen is None else chosen

    def _doubt_of_choice(self, root: Expression, condition: Expression) -> Expression | None:
        """The larger one of a number and a constant that nearly agree is right to float64, whichever: only doubts count."""
        if not self._is_beside_constant(root):
            return super()._doubt_of_choice(root, condition)
        errors = [self.number(n).error for n in root.operands[1:]]
        return either(*(error.doubt if error.is_known else self.m.always for error in errors))

    def _is_beside_constant(self, root: Expression) -> bool:
        """Whether this is the larger or smaller one of a number and a constant of float64.

        What is compared with zero may be wrong in its sign, but for sums with a constant.
        """
        constants = [n.attribute for n in root.operands[1:] if n.operation is ops.CONSTANT]
        if not is_extreme(root) or not constants or float(constants[0]) != constants[0]:
            return False
        return constants[0] != 0 or any(map(is_sum, root.operands[1:]))

    def _tested_float(self, root: Expression, storage: Format) -> tuple[Expression, Expression | None]:
        """A number rounded to float64, and where that is undecided."""
        m, value = self.m, self.finish(root)
        if self._is_one_operation(root):
            return value, None
        number = self._with_bound(root)
        error = number.error
        if root.operation in ARITHMETIC if self._splits_operands else has_rule(root.operation):
            value = m.single(number)
        if not error.is_known or error.doubt is m.always:
            return value, m.always  # no rule has a bound of it
        doubt = error.doubt
        reach = error.absolute
        if reach is not None and reach.operation is ops.CONSTANT and reach.attribute <= UNSEEN:
            reach = None
        if error.static > (0.0 if self._splits_operands else UNSEEN):
            static = m.number(error.static)
            static = static if number.exponent is None else m.scale_(static, m.neg_(number.exponent))
            reach = static if reach is None else m.add_(reach, static)
        is_certain = reach is None and error.relative == 0
        splits = number.exponent is not None and self._splits_operands
        if number.exponent is not None and not splits and (not is_certain or self._has_factors(root)):
            is_zero = self._is_exact_zero(root, of_operands=True)
            without_sign = None if is_zero is None else self._zero_without_sign(root, number, value)
            is_tiny = m.less_(m.abs_(value), m.number(2.0**-1021))
            doubt = either(doubt, except_where(self._may_lose_bits(number, is_tiny), is_zero), without_sign)
        are_apart, has_domain = None, _has_domain(root)
        if is_certain and number.low is not None and not splits and not m.is_bounded(number.interval):
            doubt = either(doubt, self._where_overflown(root, value))  # a sum times a power of two
        if not is_certain:
            # Outside of a function's domain both ends are NaN. There, and at its poles, the result is decided.
            end, are_apart = self._end_within(number, error.relative + ROUNDED_TWICE, reach, of_domain=has_domain)
            keeps = self._splits_operands or has_domain or number.is_normal or number.exponent is not None
            value = value if keeps else end
            if error.nan is None and not (self._splits_operands or has_domain):
                self.undecided_as_nan.add(root)
        if self._loses_bits_of_small(root, number):
            unseen = error.static if error.static <= UNSEEN else 0.0  # what is more is a part of the reach
            is_small = m.less_(m.abs_(number.high), m.number(max(SMALL, unseen * 2.0**62)))
            is_small = except_where(is_small, self._is_exact_zero(root, value))
            doubt = either(doubt, is_small, self._zero_without_sign(root, number, value))
        if are_apart is None:
            return (to_subnormal(m, number) if splits else value), doubt
        lies_beyond = self._splits_operands and error.beyond is not None
        if splits or lies_beyond:
            if splits:
                framed = replace(number, exponent=None, interval=number.stored, error=m.error_of_mantissa(number))
            else:
                framed = replace(number, error=replace(error, static=0.0, absolute=reach))
            once, is_open = self._rounded_once(m.renormalised(framed), number.exponent)
            is_nothing = except_where(self._is_nothing(number), are_apart) if splits else None
            is_rare = except_where(m.less_(m.abs_(value), m.number(2.0**-1021)), is_nothing) if splits else nowhere()
            if lies_beyond:  # that decides ties, and no others are looked at
                may_be_tie = both(m.is_finite_(number.high), are_apart)
                is_rare = either(is_rare, except_where(may_be_tie, is_nothing))
            value = m.select_rare_(is_rare, once, value)
            are_apart = node(ops.SELECT_RARE, (is_rare, is_open, are_apart), None, Format.BIT)
        if self._splits_operands:  # the ends of an infinite number are NaN, but it is right where nothing is in doubt
            are_apart = except_where(are_apart, m.equal_(m.abs_(number.high), m.number(math.inf)))
        known = either(error.exactly, error.vast) if m.follows_exactness else None
        undecided = either(except_where(are_apart, known), doubt)
        return value, except_where(undecided, either(error.nan, self._nan_of_nan(root, value)))

    def _canonical(self, root: Expression, value: Expression) -> Expression:
        choices = [n for n in walk(root, operands=self._chosen_among) if n.operation is ops.SELECT]
        parts = [(n, part) for n in choices for part in self._chosen_among(n)] or [(root, root)]
        return value if all(self._is_decided_number(*pair) for pair in parts) else super()._canonical(root, value)

    def _is_decided_number(self, choice: Expression, part: Expression) -> bool:
        """Whether what is chosen is no NaN where it is decided: no number that compares with another is."""
        if part.operation is ops.SELECT or part in self.undecided_as_nan:
            return True
        condition = choice.operands[0] if choice is not part and part is choice.operands[1] else part
        return condition.operation in COMPARISONS and any(n is part for n in condition.operands)

    def _may_lose_bits(self, number: DoubleWord, is_tiny: Expression) -> Expression:
        """Where a tiny number with an exponent may have lost bits on the way.

        Not where its size is less than 2**-1076: whatever it has lost, it is a zero of its sign.
        """
        m, sizes, exponent = self.m, number.mantissa, number.exponent
        assert exponent is not None
        if not number.error.is_relative or number.error.relative > 0.25:
            return is_tiny
        if 0 < sizes.smallest_magnitude < sizes.largest_magnitude < 2.0**64:
            lowest = math.floor(-1077 - math.log2(sizes.largest_magnitude))
            highest = math.ceil(-1021 - math.log2(sizes.smallest_magnitude))
            distance = m.sub_(exponent, m.number((lowest + highest) / 2))
            return m.less_(m.abs_(distance), m.number((highest - lowest) / 2))
        return except_where(is_tiny, self._is_nothing(number))

    def _is_nothing(self, number: DoubleWord) -> Expression:
        """Where a number beside a power of two is less than 2**-1077 for certain."""
        m, exponent = self.m, number.exponent
        assert exponent is not None
        return both(m.less_(exponent, m.number(-1077.0 - 32)), m.less_(m.abs_(number.high), m.number(2.0**32)))

    def _where_overflown(self, root: Expression, value: Expression) -> Expression:
        """Where a result is infinite, and no operand of its arithmetic is."""
        m, infinity = self.m, self.m.number(math.inf)
        chooses = any(n.operation in (ops.SELECT, ops.COPY_SIGN) for n in walk(root))
        if chooses:  # the result need not be of the operand that is infinite
            return m.equal_(m.abs_(value), infinity)
        operands = (self.number(n).high for n in self._operands(root) if self.inputs[n.attribute].is_float)
        are_infinite = either(*(m.equal_(m.abs_(x), infinity) for x in operands))
        return except_where(m.equal_(m.abs_(value), infinity), are_infinite) or nowhere()

    def _nan_of_nan(self, root: Expression, value: Expression) -> Expression | None:
        """Where a result is NaN, and so is an operand: arithmetic keeps it, which the last level does not ask either."""
        if not self._splits_operands:
            return None
        m = self.m
        operands = (self.number(n).high for n in self._operands(root) if self.inputs[n.attribute].is_float)
        return both(m.not_(m.equal_(value, value)), either(*(m.not_(m.equal_(x, x)) for x in operands)) or nowhere())

    def _zero_without_sign(self, root: Expression, number: DoubleWord, value: Expression) -> Expression | None:
        """Where a result is zero and nobody knows its sign: both terms of a sum may have underflowed."""
        m, kept = self.m, self.m.keeps_sign(number, of_zeros=True)
        if kept is m.always or not any(self.inputs[n.attribute].is_float for n in self._operands(root)):
            return None
        return except_where(m.equal_(value, m.number(0.0)), either(kept, self._zero_by_operands(root)))

    def _operands(self, root: Expression) -> list[Expression]:
        return [n for n in walk(root) if n.operation == ops.INPUT]

    def _has_factors(self, root: Expression) -> bool:
        """Whether a product of operands may underflow to zero."""
        return len(self._operands(root)) > 1

    def _loses_bits_of_small(self, root: Expression, number: DoubleWord) -> bool:
        """Whether small results have lost bits of the second word, or all: ``x * 0.5 * 2`` is 0 of the smallest number."""
        if self._splits_operands or number.exponent is not None or (number.low is None and not number.error.static):
            return False
        if root.operation.is_linear_at_zero and self.number(root.operands[0]).is_exact:
            return False  # it returns its operand
        return number.interval.smallest_magnitude < SMALL

    def _with_bound(self, root: Expression) -> DoubleWord:
        """The number of a root; that it overflows is no doubt of a result."""
        operation = root.operation
        if has_rule(root.operation):
            operands = [self.number(operand) for operand in root.operands]
            return self._beside_zero(operation, operands, bounded(operation, is_result=True)(self.m, *operands))
        if operation not in ARITHMETIC:
            return self.number(root)
        for operand in root.operands:  # before: that these overflow is one
            self.number(operand)
        self.m.is_result = self.m.is_own
        number = self._operated(root)
        self.m.is_result = False
        return self._with_sign_of_zero(root, number)

    def _is_one_operation(self, root: Expression) -> bool:
        """Whether a result of float64 is one operation of IEEE 754 on exact numbers (`UntestedElements._finished`)."""
        operands, operation = root.operands, root.operation
        if operation in (ops.NEGATE, ops.ABSOLUTE):
            return self._is_one_operation(operands[0])
        if operation in ARITHMETIC:
            numbers = list(map(self.number, operands))
            if all(map(_is_certain, numbers)):
                return True
            if operation in SUMS:
                for product, other in (operands, operands[::-1]):
                    if product.operation is ops.MULTIPLY:
                        parts = [self.number(n) for n in (*product.operands, other)]
                        if all(map(_is_certain, parts)):
                            return True
            return False
        return _is_certain(self.number(root))

    def _zero_by_numbers(self, root: Expression, are_zero: Sequence[Expression | None]) -> Expression | None:
        if root.operation is ops.CONSTANT:
            return None if root.attribute else self.m.always
        if root.operation is ops.SELECT and _is_certain(self.number(root)):
            return self.m.equal_(self.number(root).high, self.m.number(0.0))
        return super()._zero_by_numbers(root, are_zero)

    # ---- numbers

    def _number(self, root: Expression) -> DoubleWord:
        if root.operation in ARITHMETIC and self._splits_operands:
            return self._with_sign_of_zero(root, self._operated(root))
        if root.operation == ops.CONSTANT and isinstance(root.attribute, Fraction) and self._splits_operands:
            return self._constant(root.attribute)
        number = super()._number(root)
        if root.operation == ops.MULTIPLY and root.operands[0] is root.operands[1]:
            return replace(number, interval=abs(number.interval))
        return number

    def _operated(self, root: Expression) -> DoubleWord:
        """A sum, product, quotient or root."""
        m, operation = self.m, root.operation
        numbers = list(map(self.number, root.operands))
        if self._splits_operands and operation in SUMS:
            a, b = numbers
            return m.sum_of_scaled(a, b if operation == ops.ADD else m.negate(b))
        is_ratio = operation in (ops.MULTIPLY, ops.DIVIDE)
        if self._splits_operands and is_ratio:
            numbers = list(map(m.with_moderate_size, numbers))
        found: DoubleWord = getattr(m, operation)(*numbers)
        return self._perhaps_exact(root, found) if self._splits_operands and is_ratio else found

    def _function(self, root: Expression, operands: Sequence[DoubleWord]) -> DoubleWord:
        """Functions multiply the powers of two of their operands in; near zero the result keeps them instead."""
        m, found = self.m, super()._function(root, operands)
        if root.operation is functions.LOG1P and self._splits_operands and operands[0].interval.high > 1 / LINEAR:
            # The one is next to nothing beside what may be too large for a number without an exponent.
            logarithm = rule_of(m, functions.LOG)(m, *operands)
            error = replace(logarithm.error, relative=logarithm.error.relative + LINEAR)
            is_vast = m.less_(m.number(1 / LINEAR), m.unscaled(operands[0]).high)
            found = m.select(is_vast, replace(logarithm, error=error), found)
        return self._beside_zero(root.operation, operands, found)

    def _beside_zero(self, operation: Operation, operands: Sequence[DoubleWord], found: DoubleWord) -> DoubleWord:
        """The value of a function with its power of two kept apart where that is next to nothing."""
        m, near = self.m, self._near_zero(operation, operands) if self._splits_operands else None
        if near is None or near.exponent is None:
            return found
        is_tiny = m.less_(m.number(0.0), operands[1].high) if operation is functions.ATAN2 else None
        return beside_zero(m, near, found, is_tiny)

    def _near_zero(self, operation: Operation, operands: Sequence[DoubleWord]) -> DoubleWord | None:
        """The result of a function where that is next to nothing, but for a share `LINEAR`."""
        if operation.is_linear_at_zero:
            beyond = ties.beside_value(self.m, operation.name, operands[0])
            return replace(operands[0], error=replace(operands[0].error, beyond=beyond))
        if operation is functions.ERF:
            return self.m.multiply(self.m.with_moderate_size(operands[0]), self.m.wide(TWO_OVER_ROOT_PI))
        if operation is functions.ERFINV:
            return self.m.divide(self.m.with_moderate_size(operands[0]), self.m.wide(TWO_OVER_ROOT_PI))
        if operation is functions.LOG_NDTR:  # where the upper tail is next to nothing
            return self.m.negate(rule_of(self.m, functions.NORMAL_TAIL)(self.m, *operands))
        return self.m.divide(*operands) if operation is functions.ATAN2 else None

    @property
    def _splits_operands(self) -> bool:
        """Whether powers of two are kept apart from the first: nothing leaves the range on the way, whatever it is."""
        return self.m.of_doubles and self.m.is_long

    def _input(self, root: Expression) -> DoubleWord:
        number = super()._input(root)
        if not self._splits_operands or self.inputs[root.attribute].name != "float64":
            return number
        return self.m.with_exponent(number)

    def _constant(self, value: Fraction) -> DoubleWord:
        """A constant with its power of two kept apart, where that is large."""
        m, power = self.m, value.numerator.bit_length() - value.denominator.bit_length()
        if abs(power) < MODERATE_POWER:
            return m.wide(value)
        number = m.wide(value / Fraction(2) ** power)
        interval = Interval.around(float(value)) if abs(power) < m.bias else EVERYTHING
        return replace(number, exponent=m.number(float(power)), interval=interval, mantissa=number.interval)


def beside_zero(m: Bounded, near: DoubleWord, found: DoubleWord, where: Expression | None = None) -> DoubleWord:
    """The value of a function: another number where that is next to nothing, with its power of two kept apart."""
    is_tiny = m.less_(m.abs_(m.unscaled(near).high), m.number(LINEAR))
    is_tiny = is_tiny if where is None else both(is_tiny, where)
    error = m.error_of_mantissa(near)
    # The operand may be exact; the function is so at zero alone.
    near = replace(near, error=replace(error, relative=error.relative + LINEAR, exactly=m.is_zero(near)))
    found = replace(found, error=m.error_of_mantissa(replace(found, mantissa=found.stored)))
    return replace(m.select(is_tiny, near, found), interval=found.interval)


def _is_certain(number: DoubleWord) -> bool:
    """Whether this is the exact number, in one word."""
    return number.is_exact and number.error.is_exact and number.error.doubt is None


def _has_domain(root: Expression) -> bool:
    """Whether this is a function of an operand, which is NaN outside of a domain alone."""
    return root.operation.domain != (-math.inf, math.inf) and root.operands[0].operation is ops.INPUT
