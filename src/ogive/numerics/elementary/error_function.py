"""erf, erfc and the tail of the normal distribution.

With a = abs(x), E(a) = exp(a**2) erfc(a), which is smooth and slow, and t = (a - K) / (a + K):

    erfc(a) = exp(-a**2) E(a),   (1 + 9/8 a) E(a) = polynomial in t

(9/8 is near 2 / sqrt(pi), which makes the product flat at zero, so that the error of t matters little), so the tail
keeps its relative accuracy down to the smallest number; a**2 is held as a sum of two, because the exponential magnifies
its error. erfc(x) = 2 - erfc(-x) for negative x. erf(x) is 1 - erfc(x), and near zero, where that cancels, a polynomial
in x**2. The polynomials are ERFC and ERF of the coefficients.

Where float64 computes what is wanted in float32, all of them are made of the normal distribution's upper tail, which
has no constant factors (NORMAL_TAIL of the quotients):

    Q(a) = erfc(a / sqrt(2)) / 2 = exp(-a**2 / 2) R(a),   R(a) = quotient of polynomials in a
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import factorial, isqrt

from ogive import elementary_functions as functions
from ogive.expression import Expression
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary import pairs, words
from ogive.numerics.elementary.derived_numbers import POLYNOMIALS, QUOTIENTS, SECOND_LEVEL, WORDS
from ogive.numerics.elementary.exponential import FARTHEST, exp, exp_as_quotient
from ogive.numerics.elementary.quotient import quotient
from ogive.numerics.interval import Interval
from ogive.numerics.machine import LONG

__all__ = ["erf", "erf_near_zero", "erfc", "normal_tail", "scaled_normal_tail"]

#: K, and where erfc is so small that its product with any number that comes with it is zero after rounding.
MIDDLE = 4.0
ZERO = 27.5

#: Beyond this erfc is nothing for the second level of float64: less than 2**-700,000.
FAR_TAIL = 700.0

#: The odd double factorials (2 k - 1)!!, of an asymptotic series that loses less than 2**-105 beyond ZERO; and how many of them
#: are taken in two words.
FAR_SERIES = tuple(Fraction(factorial(2 * k), 2**k * factorial(k)) for k in range(16))
FAR_SHORT = 9

#: How many coefficients of the second level's polynomial are in two words.
ERFC_SHORT = sum(len(parts) == 2 for parts in SECOND_LEVEL["ERFC"])

#: Of the coefficients of float64's own polynomial, for operands up to 27.5.
RISING = words.rising(WORDS["ERFC"], -11 / 12, 24.75 / 30.5)

#: 2 / sqrt(pi), to 200 bits.
TWO_OVER_ROOT_PI = Fraction(0x120DD750429B6D11AE3A914FED7FD8688281341D7587CEA2E73, 1 << 200)

#: 1 / sqrt(2), to 200 bits.
ROOT_HALF = Fraction(isqrt(1 << 399), 1 << 200)

#: Where Q is zero in float32 even if the largest number comes with it, and exp(-a**2 / 2) still a normal number of
#: float64. (Its product with a is zero from 15.5 on, where NORMAL_TAIL ends.)
ZERO_IN_FLOAT64 = 37


def _erfc_of_magnitude(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """Erfc of a number that is not negative, with the power of two kept apart."""
    if not m.extended:
        # Not by the square of a number that was rounded: the exponential magnifies that.
        bounded = m.clamped(a, 0.0, m.rounded(ZERO_IN_FLOAT64 * ROOT_HALF)).high
        larger = m.mul_(bounded, m.number(m.rounded(1 / ROOT_HALF)))
        return DoubleWord(_tail(m, larger, m.mul_(bounded, bounded), -1.0, 2.0), interval=Interval(0.0, 1.01))
    if not m.of_doubles:
        a = m.clamped(a, 0.0, ZERO)
        return m.multiply(exp(m, m.negate(m.multiply(a, a))), _scaled(m, a))
    # Beyond ZERO it is less than all numbers, and nothing unless it is multiplied: that the second level computes.
    end = FAR_TAIL if m.is_long else ZERO
    magnitude, near, a = a.high, m.clamped(a, 0.0, ZERO), m.clamped(a, 0.0, end)
    scaled = _scaled(m, near)
    if m.is_long:
        scaled = m.select(m.less_(m.number(ZERO), magnitude), _far_scaled(m, a), scaled)
    found = m.multiply(exp(m, m.negate(m.multiply(a, a))), scaled)
    exponent = m.number(0.0) if found.exponent is None else found.exponent
    is_nothing = m.less_(m.number(end), magnitude)
    return replace(found, exponent=m.select_(is_nothing, m.number(-FARTHEST), exponent))


def _far_scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a) beyond ZERO, by the asymptotic series of ``a sqrt(pi) exp(a**2) erfc(a)`` in ``1 / (2 a**2)``: the first term that
    is left out is more than what is lost.
    """
    number = pairs.of_number(m, m.clamped(a, ZERO, FAR_TAIL))
    z = pairs.over(m, pairs.single(m, m.number(-0.5)), pairs.times(m, number, number))
    value = pairs.polynomial(m, z, FAR_SERIES, FAR_SHORT)
    value = pairs.times(m, value, pairs.constant(m, TWO_OVER_ROOT_PI / 2))
    return DoubleWord(*pairs.over(m, value, number), interval=Interval(0.0, 0.03), is_normal=True)


def _scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a)."""
    if m.is_long:
        return _long_scaled(m, a)
    one, number = m.number(1.0), (a.high, m.low_part(a))
    # One division serves (a - 11/4) / (a + 3) and 1 / (1 + 3/4 a).
    slope = m.mul_(a.high, m.number(0.75))
    product = slope, m.fma_(a.high, m.number(0.75), m.neg_(slope))
    product = product[0], m.fma_(number[1], m.number(0.75), product[1])
    denominator = words.sum_of_any(m, one, product)
    shifted, difference = (words.sum_of_any(m, m.number(middle), number) for middle in (3.0, -2.75))
    reciprocal = m.div_(one, m.mul_(shifted[0], denominator[0]))
    t = words.over(m, difference, shifted, m.mul_(denominator[0], reciprocal))
    value = words.polynomial(m, *t, words.numbers(m, WORDS["ERFC"]), RISING)
    quotient = words.over(m, value, denominator, m.mul_(shifted[0], reciprocal))
    return DoubleWord(*quotient, interval=Interval(0.02, 1.01))


@cache
def erfc_numbers() -> tuple[Fraction, ...]:
    """The coefficients of the polynomial in t, as they are stored."""
    return tuple(sum(map(Fraction, parts), Fraction(0)) for parts in SECOND_LEVEL["ERFC"])


def _long_scaled(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """E(a) in two right words."""
    number, middle = pairs.of_number(m, a), pairs.single(m, m.number(MIDDLE))
    t = pairs.over(m, pairs.plus(m, number, pairs.negative(m, middle)), pairs.plus_smaller(m, middle, number))
    value = pairs.polynomial(m, t, erfc_numbers(), ERFC_SHORT, falls=False)
    slope = pairs.times(m, number, pairs.single(m, m.number(9 / 8)))
    high, low = pairs.over(m, value, pairs.plus(m, pairs.single(m, m.number(1.0)), slope))
    return DoubleWord(high, low, interval=Interval(0.02, 1.01), is_normal=True)


def _normal_tail_of_magnitude(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """Q of a number that is not negative."""
    if m.extended:
        return m.multiply(_erfc_of_magnitude(m, m.multiply(a, m.wide(ROOT_HALF))), m.wide(Fraction(1, 2)))
    bounded = m.clamped(a, 0.0, float(ZERO_IN_FLOAT64)).high
    return DoubleWord(_tail(m, bounded, m.mul_(bounded, bounded), -0.5), interval=Interval(0.0, 0.51))


def _tail(m: Arithmetic, a: Expression, exponent: Expression, factor: float, times: float = 1.0) -> Expression:
    """``times exp(factor exponent) R(a)``."""
    above, below = QUOTIENTS["NORMAL_TAIL"][LONG]
    dividend, divisor = exp_as_quotient(m, exponent, factor)
    scaled = tuple(c * times for c in above)
    return m.div_(m.mul_(dividend, m.polynomial_(a, scaled)), m.mul_(divisor, m.polynomial_(a, below)))


def scaled_normal_tail(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """R of a number that is not negative: below 39, or 15.5 for float32."""
    if m.extended:
        return m.multiply(_scaled(m, m.multiply(a, m.wide(ROOT_HALF))), m.wide(Fraction(1, 2)))
    return DoubleWord(quotient(m, a.high, QUOTIENTS["NORMAL_TAIL"][LONG], m.number(1.0)), interval=Interval(0.02, 0.51))


def _of_either_sign(
    m: Arithmetic, x: DoubleWord, of_magnitude: Callable[[Arithmetic, DoubleWord], DoubleWord], whole: int
) -> DoubleWord:
    """A tail that is known of magnitudes: that of a negative number is what this leaves of the whole."""
    x = m.unscaled(x)
    if x.interval.low >= 0:
        return of_magnitude(m, x)
    tail = of_magnitude(m, m.absolute(x))
    other = m.subtract(m.wide(Fraction(whole)), tail)
    return replace(m.select(m.less_(x.high, m.number(0.0)), other, tail), interval=Interval(0.0, whole))


def normal_tail(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``erfc(x / sqrt(2)) / 2``, accurate in both tails."""
    return _of_either_sign(m, x, _normal_tail_of_magnitude, 1)


def erfc(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``1 - erf(x)``, accurate in both tails."""
    return _of_either_sign(m, x, _erfc_of_magnitude, 2)


def erf(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The error function."""
    x = m.unscaled(x)
    a = m.absolute(x)
    far = m.subtract(m.wide(Fraction(1)), _erfc_of_magnitude(m, a))
    is_near = m.less_(a.high, m.number(0.5))
    magnitude = m.select(is_near, erf_near_zero(m, a), far)
    return m.copy_sign(replace(magnitude, interval=Interval(0.0, 1.0)), x.high)


def erf_near_zero(m: Arithmetic, a: DoubleWord) -> DoubleWord:
    """The error function from 0 to 1/2."""
    if m.is_long:
        number = pairs.of_number(m, a)
        of_square = pairs.series(m, pairs.times(m, number, number), of_error_function, 0.2501)
        factor = pairs.times(m, of_square, pairs.constant(m, TWO_OVER_ROOT_PI))
        return DoubleWord(*pairs.times(m, number, factor), interval=Interval(0.0, 0.53), is_normal=True)
    if m.extended:
        word = a.high, m.low_part(a)
        of_word = words.polynomial(m, *words.square(m, *word), words.numbers(m, WORDS["ERF"]))
        return DoubleWord(*words.times(m, word, of_word), interval=Interval(0.0, 0.53))
    square = m.mul_(a.high, a.high)
    series = m.mul_(square, m.polynomial_(square, POLYNOMIALS["ERF"][LONG]))
    return m.multiply(a, m.add(m.wide(TWO_OVER_ROOT_PI), DoubleWord(series, interval=Interval(-0.1, 0.0))))


def of_error_function(k: int) -> Fraction:
    """erf(a) sqrt(pi) / (2 a) in a**2."""
    return Fraction((-1) ** k, factorial(k) * (2 * k + 1))


functions.ERF.lowering = erf
functions.ERFC.lowering = erfc
functions.NORMAL_TAIL.lowering = normal_tail
