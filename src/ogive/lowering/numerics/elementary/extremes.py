"""The larger and the smaller of two numbers, as IEEE 754 has maximum and minimum.

NaN in either gives NaN, and -0 is smaller than 0. The cases that a comparison leaves open, equal numbers and NaN, is settled
in their bits: ``a | b`` is NaN where one of them is, the number that both are, and of two zeros -0 if one is.

The remainder of a division whose quotient is rounded towards zero, of numbers of one word exactly.

One step takes a multiple of b from a, as many times as a quotient of the precision can say; what it leaves
is exact, because it is a multiple of the last bit of b and smaller than b. Where a is larger by more than
one step can take, the steps begin with b times a power of two. Quotients are rounded to nearest: a step may
leave a negative number, and the last one is set right.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.function_row import computed_by
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.numerics.truths import both, either


def larger(m: Arithmetic, a: DoubleWord, b: DoubleWord) -> DoubleWord:
    """The larger one; of two zeros 0 if one of them is."""
    interval = Interval(max(a.interval.low, b.interval.low), max(a.interval.high, b.interval.high))
    return replace(_extreme(m, a, b, larger=True), interval=interval)


def smaller(m: Arithmetic, a: DoubleWord, b: DoubleWord) -> DoubleWord:
    """The smaller one; of two zeros -0 if one of them is."""
    interval = Interval(min(a.interval.low, b.interval.low), min(a.interval.high, b.interval.high))
    return replace(_extreme(m, a, b, larger=False), interval=interval)


def _extreme(m: Arithmetic, a: DoubleWord, b: DoubleWord, *, larger: bool) -> DoubleWord:
    if not (a.is_exact and b.is_exact):
        if _wins_ties(m, b, larger=larger):
            a, b = b, a  # the first one is taken
        chosen = m.select(m.compare(ops.LESS, a, b) if larger else m.compare(ops.LESS, b, a), b, a)
        may_tie = a.interval.smallest_magnitude == b.interval.smallest_magnitude == 0
        if may_tie and not _wins_ties(m, a, larger=larger):
            chosen = m.select(_is_zero_of_other_sign(m, a, b, larger=larger), b, chosen)
        return m.select(m.equal_(b.high, b.high), chosen, b)
    x, y = m.single_of(a.high), m.single_of(b.high)
    if m.format is Format.F64 and x is not None and y is not None:  # on half as many registers
        return DoubleWord(m.converted(_extreme_of_exact(Machine(Format.F32), x, y, larger=larger), m.format))
    return DoubleWord(_extreme_of_exact(m, a.high, b.high, larger=larger))


def _wins_ties(m: Arithmetic, a: DoubleWord, *, larger: bool) -> bool:
    """Whether a number is never the smaller one of two zeros, or the larger one."""
    return a.high is m.number(0.0 if larger else -0.0) or (larger and a.high.operation is ops.ABSOLUTE)


def _is_zero_of_other_sign(m: Arithmetic, a: DoubleWord, b: DoubleWord, *, larger: bool) -> Expression:
    """Whether both are zero, and the second is the larger one, or the smaller one, if one of them is."""
    is_negative = m.is_negative_(a.high)
    are_zero = (m.equal_(n.high, m.number(0.0)) for n in (a, b))
    return reduce(both, are_zero, is_negative if larger else m.not_(is_negative))


def _extreme_of_exact(m: Machine, x: Expression, y: Expression, *, larger: bool) -> Expression:
    first = m.select_(m.less_(y, x) if larger else m.less_(x, y), x, y)
    differ = either(m.less_(x, y), m.less_(y, x))
    bits = m.bits_(x), m.bits_(y)
    tied = node(ops.OR, bits, None, m.integer)
    if larger:  # the sign bit of both, not of one of them
        magnitude = node(ops.AND, (tied, m.whole((1 << (m.bits - 1)) - 1)), None, m.integer)
        tied = node(ops.OR, (magnitude, node(ops.AND, bits, None, m.integer)), None, m.integer)
    return m.select_(differ, first, m.from_bits_(tied))


computed_by(functions.LARGER, larger)
computed_by(functions.SMALLER, smaller)


# ---- the remainder of a division whose quotient is rounded towards zero, exactly


def remainder(m: Arithmetic, x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """The rest of ``x`` when multiples of ``y`` are taken from it: smaller than y, with the sign of x."""
    x, y = m.unscaled(x), m.unscaled(y)
    if not (is_one_word(x) and is_one_word(y)):
        return computed_remainder(m, x, y)
    a, b = m.single_of(x.high), m.single_of(y.high)
    if m.format is Format.F64 and a is not None and b is not None:  # on half as many registers
        return DoubleWord(m.converted(_exactly(Machine(Format.F32), a, b), m.format))
    return DoubleWord(_exactly(m, x.high, y.high))


def is_one_word(a: DoubleWord) -> bool:
    """Whether a number is one of the format, and all of its words are exact where there is a bound."""
    return a.low is None and a.exponent is None and (not a.error.is_known or a.error.is_exact)


def computed_remainder(m: Arithmetic, x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """The remainder ``x - trunc(x / y) y`` of computed numbers without exponents, whose quotient may be in doubt."""
    quotient = m.integral(ops.TRUNCATE, m.divide(x, y))
    rest = m.subtract(x, m.multiply(quotient, y))
    # It has the sign of x, a zero, too. A smaller number is its own remainder, also by infinity.
    rest = m.copy_sign(m.doubted_by_sign(rest, x), m.single(x))
    if not m.bounded or m.is_long:
        # Where the quotient has no bits for its last integer, the rest of the rounded numbers is no larger than y at least.
        is_lost = m.less_equal_(m.number(m.largest_whole), m.abs_(quotient.high))
        rest = m.select(is_lost, DoubleWord(_exactly(m, m.single(x), m.single(y)), error=rest.error), rest)
    return m.select(m.compare(ops.LESS, m.absolute(x), m.absolute(y)), x, rest)


def _exactly(m: Machine, dividend: Expression, divisor: Expression) -> Expression:
    a, b = m.abs_(dividend), m.abs_(divisor)
    zero, infinity = m.number(0.0), m.number(math.inf)
    quotient = m.div_(a, b)
    rest = m.fma_(m.neg_(m.round_even_(quotient)), b, a)
    is_far = m.less_equal_(m.number(2.0 ** (m.precision - 1)), quotient)
    for condition in (m.less_(a, infinity), m.less_(zero, b)):
        is_far = both(is_far, condition)
    rest = m.select_rare_(is_far, _in_many_steps(m, a, b), rest)
    rest = m.select_(m.less_(rest, zero), m.add_(rest, b), rest)
    # A smaller number is its own remainder, also by infinity.
    rest = m.select_(m.less_(a, b), a, rest)
    return m.make(ops.COPY_SIGN, rest, dividend)


def _in_many_steps(m: Machine, a: Expression, b: Expression) -> Expression:
    """A remainder of a, not larger than b."""
    shift = m.precision - 1

    def exponent(number: Expression) -> Expression:
        field = m.shift_right_(m.bits_(number), shift)
        is_subnormal = node(ops.LESS, (field, m.whole(1)), None, Format.BIT)
        return m.select_(is_subnormal, m.whole(1), field)

    difference = node(ops.SUBTRACT, (exponent(a), exponent(b)), None, m.integer)
    divisor = m.scale_(b, in_format(difference, m.format))
    rest = a
    for _ in range(1 + math.ceil((2 * m.bias - 1) / shift)):
        rest = m.fma_(m.neg_(m.round_even_(m.div_(rest, divisor))), divisor, rest)
        smaller = m.mul_(divisor, m.number(2.0**-shift))
        divisor = m.select_(m.less_(smaller, b), b, smaller)
    return rest


computed_by(ops.REMAINDER, remainder)
