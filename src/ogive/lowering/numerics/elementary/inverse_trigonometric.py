"""asin, acos, atan and atan2, for each level.

With abs(t) <= 1/2, and s = sqrt((1 - abs(x)) / 2) where abs(x) is larger:

    asin(t) = t + t**3 A(t**2),   asin(x) = pi/2 - 2 asin(s)
    acos(t) = pi/2 - asin(t),     acos(x) = 2 asin(s), or pi - 2 asin(s) for negative x

and with abs(t) <= tan(pi/8), which a rotation by pi/4 or pi/2 brings about:

    atan(t) = t + t**3 B(t**2),   atan(x) = pi/4 + atan((x - 1) / (x + 1)) = pi/2 + atan(-1 / x)

A and B are ASIN and ATAN of the coefficients. Where float64 computes what is wanted in float32, atan(t) is t times a
quotient of polynomials in t**2 for abs(t) <= 1 (ATAN_QUOTIENT), which needs no rotation by pi/4.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.derived_numbers import PIECEWISE, POLYNOMIALS, QUOTIENTS, TWO_OVER_PI, WORDS
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    anywhere,
    computed_by,
    inside,
    inverse_squares,
    within,
)
from ogive.lowering.numerics.elementary.piecewise import Piecewise, evaluated, less, odd_in_pairs
from ogive.lowering.numerics.elementary.trigonometric import long_cosine, long_sine
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic, low_of
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG
from ogive.lowering.numerics.truths import either

PI = 2 / TWO_OVER_PI

#: tan(pi / 8) and tan(3 pi / 8), in few bits: the polynomial is good a little further.
TAN_PI_8 = 0.4140625
TAN_3_PI_8 = 2.4140625

#: From here on atan is pi / 2, in two words.
LARGE = 2.0**120


def asin(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse sine."""
    x = _of_numbers(m, m.unscaled(x))
    is_large, part = _arcsine_of_part(m, m.absolute(x))
    other = _sum(m, m.wide(PI / 2), m.multiply(part, m.wide(-2.0)))
    return m.copy_sign(_result(m, m.select(is_large, other, part), 1.6), x.high)


def acos(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse cosine."""
    x = _of_numbers(m, m.unscaled(x))
    is_large, part = _arcsine_of_part(m, m.absolute(x))
    is_negative = m.less_(x.high, m.number(0.0))
    signed = m.copy_sign(part, x.high)
    term = m.select(is_large, m.multiply(signed, m.wide(2.0)), m.negate(signed))
    start = m.select(is_large, m.select(is_negative, m.wide(PI), m.wide(0.0)), m.wide(PI / 2))
    return _result(m, _sum(m, start, term), 3.2)


def _of_numbers(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """The number with zero for a lower word that is NaN, as that of the square root of zero."""
    return a if a.low is None else replace(a, low=m.low_part(a), low_is_number=True)


def _arcsine_of_part(m: Arithmetic, a: DoubleWord) -> tuple[Expression, DoubleWord]:
    """(whether a is larger than 1/2, asin of a or of sqrt((1 - a) / 2)). NaN where a is larger than 1."""
    is_large = m.less_(m.number(0.5), a.high)
    one, half = m.number(1.0), m.number(0.5)
    if a.low is None:  # then it is exact where it matters
        square = DoubleWord(m.mul_(m.sub_(one, a.high), half), interval=Interval(-math.inf, 0.5))
    else:
        square = m.multiply(m.subtract(m.wide(1.0), a), m.wide(0.5))
    root = _of_numbers(m, m.square_root(square))
    t = m.select(is_large, root, a)
    z = m.select_(is_large, square.high, m.mul_(a.high, a.high))
    factor = m.mul_(z, m.polynomial_(z, POLYNOMIALS["ASIN"][m.polynomials]))
    interval = Interval(0.0, 0.53)
    if not m.extended:
        return is_large, DoubleWord(m.fma_(t.high, factor, t.high), interval=interval)
    low = m.mul_(t.high, factor)
    if m.is_long:
        # One step of Newton's method, y + (t - sin(y)) / cos(y): what it leaves is below 2**-105.
        value = m.add_(t.high, low)
        number, (s, c) = double_double.of_number(m, t), _sine_and_cosine(m, value, 0.53)
        missing = double_double.plus(m, number, double_double.negative(m, s))
        found = double_double.plus_smaller(m, double_double.single(m, value), double_double.over(m, missing, c))
        return is_large, DoubleWord(*found, interval=interval, is_normal=True)
    number = t.high, m.low_part(t)
    table = two_words.numbers(m, WORDS["ASIN"])
    return is_large, DoubleWord(*two_words.odd(m, number, two_words.square(m, *number), table), interval=interval)


def atan(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse tangent."""
    x = m.unscaled(x)
    a = m.absolute(x)
    one = m.wide(1.0)
    if not m.extended:
        is_large = m.less_(one.high, a.high)
        t = m.divide(m.select(is_large, m.wide(-1.0), a), m.select(is_large, a, one))
        start = m.select(is_large, m.wide(PI / 2), m.wide(0.0))
        return m.copy_sign(_result(m, _sum(m, start, _arctangent_to_one(m, t)), 1.6), x.high)
    a = m.clamped(a, 0.0, LARGE)
    is_middle, is_large = (m.less_(m.number(limit), a.high) for limit in (TAN_PI_8, TAN_3_PI_8))
    middle = replace(m.subtract(a, one), interval=Interval(-1.0, 1.5)), m.add(a, one)
    dividend = m.select(is_large, m.wide(-1.0), m.select(is_middle, middle[0], a))
    divisor = m.select(is_large, a, m.select(is_middle, middle[1], one))
    t = m.divide(dividend, replace(divisor, interval=Interval(1.0, LARGE)))
    start = m.select(is_large, m.wide(PI / 2), m.select(is_middle, m.wide(PI / 4), m.wide(0.0)))
    return m.copy_sign(_result(m, _sum(m, start, _arctangent(m, t)), 1.6), x.high)


def _arctangent_to_one(m: Arithmetic, t: DoubleWord) -> DoubleWord:
    """The inverse tangent of a number within 1, good to float32."""
    square = m.mul_(t.high, t.high)
    return DoubleWord(m.quotient_(square, QUOTIENTS["ATAN_QUOTIENT"][LONG], t.high), interval=Interval(-0.8, 0.8))


def _arctangent(m: Arithmetic, t: DoubleWord) -> DoubleWord:
    """The inverse tangent of a number within tan(pi/8)."""
    square = m.mul_(t.high, t.high)
    factor = m.mul_(square, m.polynomial_(square, POLYNOMIALS["ATAN"][Format.F64]))
    interval = Interval(-0.4, 0.4)
    low = m.mul_(t.high, factor)
    if m.is_long:
        # The angle between the directions y and t is atan((t cos(y) - sin(y)) / (cos(y) + t sin(y))).
        value = m.add_(t.high, low)
        number, (s, c) = double_double.of_number(m, t), _sine_and_cosine(m, value, 0.4)
        missing = double_double.plus(m, double_double.times(m, number, c), double_double.negative(m, s))
        distance = double_double.plus(m, c, double_double.times(m, number, s))
        found = double_double.plus_smaller(m, double_double.single(m, value), double_double.over(m, missing, distance))
        return DoubleWord(*found, interval=interval, is_normal=True)
    number = t.high, m.low_part(t)
    table = two_words.numbers(m, WORDS["ATAN"])
    return DoubleWord(*two_words.odd(m, number, two_words.square(m, *number), table), interval=interval)


def _sine_and_cosine(m: Arithmetic, r: Expression, reach: float) -> tuple[double_double.Pair, double_double.Pair]:
    number = double_double.single(m, r)
    square = double_double.times(m, number, number)
    return long_sine(m, number, square, reach), long_cosine(m, square, reach)


def atan2(m: Arithmetic, y: DoubleWord, x: DoubleWord) -> DoubleWord:
    """The angle of the point (x, y): that of (larger, smaller) of the magnitudes, reflected."""
    if m.of_doubles and not (y.exponent is None and x.exponent is None):
        y, x, _ = m.with_common_exponent(y, x)
    y, x = m.renormalised(m.unscaled(y)), m.renormalised(m.unscaled(x))
    a, b = m.absolute(y), m.absolute(x)
    is_steep = m.less_(b.high, a.high)
    smaller, larger = _with_finite_quotient(m, m.select(is_steep, b, a), m.select(is_steep, a, b))
    is_middle = None
    if m.extended:
        is_middle = m.less_(m.mul_(larger.high, m.number(TAN_PI_8)), smaller.high)
        dividend = m.select(is_middle, m.subtract(smaller, larger), smaller)
        divisor = m.select(is_middle, m.add(smaller, larger), larger)
        part = _arctangent(m, replace(m.divide(dividend, divisor), low_is_number=True))
    else:
        part = _arctangent_to_one(m, m.divide(smaller, larger))
    # The sign bit, not the sign: at x = -0 the angle is pi.
    is_left = m.less_(m.make(ops.COPY_SIGN, m.number(1.0), x.high), m.number(0.0))
    is_reflected = node(ops.EXCLUSIVE_OR, (is_steep, is_left), None, Format.BIT)
    part = m.select(is_reflected, m.negate(part), part)
    start = m.select(is_steep, m.wide(PI / 2), m.select(is_left, m.wide(PI), m.wide(0.0)))
    if is_middle is not None:
        start = m.select(is_middle, m.select(is_left, m.wide(PI * 3 / 4), m.wide(PI / 4)), start)
    return m.copy_sign(_result(m, _sum(m, start, part), 3.2), y.high)


def _with_finite_quotient(m: Arithmetic, smaller: DoubleWord, larger: DoubleWord) -> tuple[DoubleWord, DoubleWord]:
    """Two numbers of the same quotient that overflow nowhere; 0 / 0 is 0 and inf / inf is 1."""
    zero, one, infinity = m.number(0.0), m.number(1.0), m.number(math.inf)
    is_end = either(m.equal_(larger.high, zero), m.equal_(larger.high, infinity))
    # A NaN stays NaN when it is multiplied by zero.
    at_end = m.select_(m.equal_(smaller.high, infinity), one, m.mul_(smaller.high, zero))
    smaller = m.select(is_end, DoubleWord(at_end, interval=Interval(0.0, 1.0)), smaller)
    larger = m.select(is_end, m.wide(1.0), larger)
    if m.goal is not m.format:  # numbers of a shorter format are far from the ends of this one
        return replace(smaller, interval=Interval(0.0, 2.0**200)), replace(
            larger, interval=Interval(2.0**-200, 2.0**200)
        )
    # Both are moved to where neither they nor their product's error underflow, unless the quotient is zero.
    is_huge, is_small = m.less_(m.number(2.0**900), larger.high), m.less_(larger.high, m.number(2.0**300))
    factor = m.select_(is_huge, m.number(2.0**-200), m.select_(is_small, m.number(2.0**600), one))

    def scaled(a: DoubleWord, interval: Interval) -> DoubleWord:
        low = None if a.low is None else m.mul_(m.low_part(a), factor)
        return DoubleWord(m.mul_(a.high, factor), low, interval=interval)

    return scaled(smaller, Interval(0.0, 2.0**900)), scaled(larger, Interval(2.0**-500, 2.0**900))


def _sum(m: Arithmetic, start: DoubleWord, part: DoubleWord) -> DoubleWord:
    """The sum of two numbers of which the first is larger or zero."""
    if not m.extended:
        return DoubleWord(m.add_(start.high, part.high))
    if m.is_long:
        first = start.high, m.number(0.0) if start.low is None else start.low
        return DoubleWord(*double_double.plus_smaller(m, first, double_double.of_number(m, part)), is_normal=True)
    high, low = m.fast_two_sum(start.high, part.high)
    for other in (part.low, start.low):
        if other is not None:
            low = m.add_(low, other)
    return DoubleWord(high, low)


def _result(m: Arithmetic, a: DoubleWord, largest: float) -> DoubleWord:
    return replace(m.renormalised(a), interval=Interval(0.0, largest))


# ---- in pairs of float32: piecewise polynomials (piecewise.py)


#: acos(w), asin(w) and atan(w).
ACOS, ASIN, ATAN = (Piecewise(**PIECEWISE[name]) for name in ("ACOS", "ASIN", "ATAN"))

#: The slope times 1, relative to the function, up to the last interval: it begins 0.0049 below 1.
OF_ASIN, OF_ACOS = 20.0, 104.0


def acos_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """acos(abs(u)), and pi less that for a negative number."""
    u = m.normalised(u)
    found = m.with_roundings(evaluated(m, ACOS, m.absolute(u), OF_ACOS), 1)
    assert found.around is not None
    pi = m.constant(PI)
    high, low = less(m, pi.high, found)
    is_below = m.less_(u.high, m.number(0.0))
    high = m.select_(is_below, high, found.high)
    low = m.select_(is_below, m.add_(low, low_of(pi)), low_of(found))
    around = replace(found.around, plus=m.number(2.0**-45))
    return replace(found, high=high, low=low, around=around, interval=Interval(2.0**-4, 3.15), is_nonzero=True)


# ---- the rows


def _slope_of_inverse_sine(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), m.sqrt_(inverse_squares(m, u)))


computed_by(
    functions.ASIN,
    asin,
    Function(within(0.5, 1.2), _slope_of_inverse_sine, inside, has_sign_below=math.inf),
    in_pairs=InPairs(partial(odd_in_pairs, ASIN, 1.6, steepness=OF_ASIN)),
)
computed_by(
    functions.ACOS, acos, Function((), _slope_of_inverse_sine, inside, exact_at=1.0), in_pairs=InPairs(acos_in_pairs)
)
computed_by(
    functions.ATAN,
    atan,
    Function(anywhere(1.0), grows_as_operand=True),
    in_pairs=InPairs(partial(odd_in_pairs, ATAN, 1.6)),
)
computed_by(functions.ATAN2, atan2)
