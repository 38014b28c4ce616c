"""The logarithm of the normal distribution function.

With the tail Q and the R of error_function.py:

    log_ndtr(x) = log1p(-Q(x))                 from -1 on
    log_ndtr(x) = log(R(a)) - a**2 / 2         below, a = -x

and far below, where R is 1 / (a sqrt(2 pi)) times a series in u = 1 / a**2,

    log_ndtr(x) = -a**2 / 2 - log(a) - log(2 pi) / 2 - u + 5/2 u**2 - 37/3 u**3 + ...
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

from ogive.graph import elementary_functions as functions
from ogive.graph.expression import Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double
from ogive.lowering.numerics.elementary.error_function import OF_TAILS, normal_tail, scaled_normal_tail
from ogive.lowering.numerics.elementary.function_row import computed_by
from ogive.lowering.numerics.elementary.logarithm import log, log1p
from ogive.lowering.numerics.interval import Interval

#: log(2 pi) / 2, to 200 bits.
HALF_LOG_TWO_PI = Fraction(0xEB3F8E4325F5A53494BC900144192023CFB08F8D13458B4DDE, 1 << 200)

#: The logarithm of the tail's asymptotic series, and from where on it is used: R is fitted to 39.03 and 15.5.
SERIES = (-1.0, 2.5, -37 / 3, 88.25, -816.2, 55205 / 6, -854197 / 7)
LONG_TERMS = 14
FAR = {Format.F64: 38.5, Format.F32: 15.0}


def log_ndtr(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``log(ndtr(x))``."""
    x = m.renormalised(m.unscaled(x))
    one, zero = m.number(1.0), m.number(0.0)
    a = m.absolute(x)
    far = m.number(FAR[m.goal])
    is_far = m.less_(far, a.high)
    bounded = m.clamped(a, 0.0, FAR[m.goal])
    # One logarithm serves both: of R, and of a.
    argument = m.select(is_far, a, scaled_normal_tail(m, bounded))
    logarithm = log(m, DoubleWord(argument.high, argument.low, interval=Interval(0.01, m.largest)))
    half_square = m.multiply(m.multiply(a, m.wide(Fraction(1, 2))), a)
    if m.is_long:
        series = _long_series(m, a)
    else:
        u = m.div_(one, m.mul_(a.high, a.high))
        series = DoubleWord(m.mul_(u, m.polynomial_(u, SERIES)), interval=Interval(-0.01, 0.0))
    asymptotic = m.subtract(series, m.wide(HALF_LOG_TWO_PI))
    asymptotic = m.subtract(asymptotic, logarithm)
    rest = m.select(is_far, asymptotic, logarithm)
    tail = m.subtract(DoubleWord(rest.high, rest.low, interval=Interval(-800.0, 0.0)), half_square)
    body = log1p(m, m.negate(m.unscaled(normal_tail(m, DoubleWord(x.high, x.low, interval=Interval(-1.0, math.inf))))))
    is_tail = m.less_(x.high, m.number(-1.0))
    result = m.select(is_tail, tail, body)
    result = DoubleWord(result.high, result.low, interval=Interval(-math.inf, 0.0))
    # Nothing follows from infinity but infinity and NaN.
    minus_infinity = m.number(-math.inf)
    is_infinite = m.equal_(x.high, minus_infinity)
    high = m.select_(is_infinite, minus_infinity, result.high)
    low = (
        None
        if result.low is None
        else m.select_(is_infinite, zero, m.low_part(DoubleWord(high, result.low, low_is_number=False)))
    )
    return DoubleWord(high, low, interval=Interval(-math.inf, 0.0), low_is_number=False)


def _long_series(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """The series in two right words, with as many terms as it takes."""
    number = double_double.of_number(m, a)
    one = double_double.single(m, m.number(1.0))
    reciprocal = double_double.over(m, one, number)
    u = double_double.times(m, reciprocal, reciprocal)
    value = double_double.times(m, u, double_double.polynomial(m, u, _logarithm_of_series(LONG_TERMS), 5))
    return DoubleWord(*value, interval=Interval(-0.01, 0.0), is_normal=True)


@cache
def _logarithm_of_series(count: int) -> tuple[Fraction, ...]:
    """The logarithm of 1 - u + 3 u**2 - 15 u**3 + ..., from the first power on."""
    numbers = [Fraction(1)]
    for k in range(1, count + 1):
        numbers.append(numbers[-1] * -(2 * k - 1))
    logarithm = [Fraction(0)]
    for k in range(1, count + 1):
        known = sum((j * logarithm[j] * numbers[k - j] for j in range(1, k)), Fraction(0))
        logarithm.append(numbers[k] - known / k)
    return tuple(logarithm[1:])


computed_by(functions.LOG_NDTR, log_ndtr, replace(OF_TAILS, nothing_beyond=None, cuts_off=False))
