"""erf, erfc and the tail of the normal distribution.

With a = abs(x), E(a) = exp(a**2) erfc(a), which is smooth and slow, and t = (a - K) / (a + K):

    erfc(a) = exp(-a**2) E(a),   (1 + 9/8 a) E(a) = polynomial in t

(9/8 is near 2 / sqrt(pi), which makes the product flat at zero, so that the error of t matters little), so the tail
keeps its relative accuracy down to the smallest number; a**2 is held as a sum of two, because the exponential magnifies
its error. erfc(x) = 2 - erfc(-x) for negative x. erf(x) is 1 - erfc(x), and near zero, where that cancels, a polynomial
in x**2. The polynomials are ERFC and ERF of the coefficients.

Where float64 computes what is wanted in float32, all of them are made of the normal distribution's upper tail, which
has no constant factors (NORMAL_TAIL of the coefficients):

    Q(a) = erfc(a / sqrt(2)) / 2 = exp(-a**2 / 2) R(a),   R(a) = quotient of polynomials in a

Where erf(x) is the result itself, in float32, it is x times a quotient of polynomials in x**2 (ERF_QUOTIENT).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import isqrt

from ogive.elementary.coefficients import ERF, ERF_QUOTIENT, ERFC, NORMAL_TAIL
from ogive.elementary.exponential import exp, exp_in_float64
from ogive.elementary.in_float64 import in_float64
from ogive.elementary.quotient import quotient
from ogive.expression import Format
from ogive.transform.interval import Interval
from ogive.transform.wide import Arithmetic, Wide

__all__ = ["erf", "erfc", "final_erf", "normal_tail"]

#: K, and where erfc is so small that its product with any number that comes with it is zero after rounding.
MIDDLE = {Format.F32: 3.0, Format.F64: 4.0}
ZERO = {Format.F32: 11.0, Format.F64: 27.5}

#: 2 / sqrt(pi), to 200 bits.
TWO_OVER_ROOT_PI = Fraction(0x120DD750429B6D11AE3A914FED7FD8688281341D7587CEA2E73, 1 << 200)

#: 1 / sqrt(2), to 200 bits.
ROOT_HALF = Fraction(isqrt(1 << 399), 1 << 200)

#: Where Q is zero in float32 even if the largest number comes with it, and exp(-a**2 / 2) still a normal number of
#: float64. (Its product with a is zero from 15.5 on, where NORMAL_TAIL ends.)
ZERO_IN_FLOAT64 = 37.0


def _erfc_of_magnitude(m: Arithmetic, a: Wide) -> Wide:
    """Erfc of a number that is not negative, with the power of two kept apart."""
    if not m.extended:
        tail = _normal_tail_of_magnitude(m, m.multiply(a, m.wide(1 / ROOT_HALF)))
        return m.multiply(tail, m.wide(Fraction(2)))
    a = m.clamped(a, 0.0, m.rounded(Fraction(ZERO[m.goal])))
    return m.multiply(exp(m, m.negate(m.multiply(a, a))), _scaled(m, a))


def _scaled(m: Arithmetic, a: Wide) -> Wide:
    """E(a)."""
    first_high, first_low, *rest = ERFC[m.format]
    middle = m.number(MIDDLE[m.format])
    # One division serves (a - K) / (a + K) and 1 / (1 + 9/8 a).
    denominator = m.add(m.wide(Fraction(1)), m.multiply(m.wide(Fraction(9, 8)), a))
    shifted = m.add_(a.high, middle)
    reciprocal = m.div_(m.number(1.0), m.mul_(shifted, denominator.high))
    difference, per_shifted = m.sub_(a.high, middle), m.mul_(denominator.high, reciprocal)
    t = m.mul_(difference, per_shifted)
    t = m.fma_(m.fma_(m.neg_(t), shifted, difference), per_shifted, t)
    high, low = m.fast_two_sum(m.number(first_high), m.mul_(t, m.polynomial_(t, tuple(rest))))
    inverse = m.mul_(shifted, reciprocal)
    quotient = m.mul_(high, inverse)
    missing = m.fma_(m.neg_(quotient), denominator.high, high)
    missing = m.add_(missing, m.add_(low, m.number(first_low)))
    if denominator.low is not None:
        missing = m.fma_(m.neg_(quotient), denominator.low, missing)
    return Wide(quotient, m.mul_(missing, inverse), interval=Interval(0.02, 1.01))


def _normal_tail_of_magnitude(m: Arithmetic, a: Wide) -> Wide:
    """Q of a number that is not negative."""
    if m.extended:
        return m.multiply(_erfc_of_magnitude(m, m.multiply(a, m.wide(ROOT_HALF))), m.wide(Fraction(1, 2)))
    bounded = m.clamped(a, 0.0, ZERO_IN_FLOAT64).high
    above, below = NORMAL_TAIL[m.goal]
    *_, first = above
    exponential = exp_in_float64(m, m.mul_(bounded, bounded), -0.5, times=first)
    tail = quotient(m, bounded, (tuple(c / first for c in above), below), exponential)
    return Wide(tail, interval=Interval(0.0, 0.51))


def _of_either_sign(m: Arithmetic, x: Wide, of_magnitude: Callable[[Arithmetic, Wide], Wide], whole: int) -> Wide:
    """A tail that is known of magnitudes: that of a negative number is what this leaves of the whole."""
    x = m.unscaled(x)
    if x.interval.low >= 0:
        return of_magnitude(m, x)
    tail = of_magnitude(m, m.absolute(x))
    other = m.subtract(m.wide(Fraction(whole)), tail)
    return replace(m.select(m.less_(x.high, m.number(0.0)), other, tail), interval=Interval(0.0, whole))


def normal_tail(m: Arithmetic, x: Wide) -> Wide:
    """``erfc(x / sqrt(2)) / 2``, accurate in both tails."""
    return _of_either_sign(m, x, _normal_tail_of_magnitude, 1)


def erfc(m: Arithmetic, x: Wide) -> Wide:
    """``1 - erf(x)``, accurate in both tails."""
    return _of_either_sign(m, x, _erfc_of_magnitude, 2)


def erf(m: Arithmetic, x: Wide) -> Wide:
    """The error function."""
    x = m.unscaled(x)
    a = m.absolute(x)
    far = m.subtract(m.wide(Fraction(1)), _erfc_of_magnitude(m, a))
    square = m.mul_(a.high, a.high)
    near = m.add(
        m.wide(TWO_OVER_ROOT_PI),
        Wide(m.mul_(square, m.polynomial_(square, ERF[m.goal])), interval=Interval(-0.1, 0.0)),
    )
    is_near = m.less_(a.high, m.number(0.5))
    magnitude = m.select(is_near, m.multiply(a, near), far)
    return m.copy_sign(replace(magnitude, interval=Interval(0.0, 1.0)), x.high)


def final_erf(m: Arithmetic, x: Wide) -> Wide:
    """The error function of an exact number in a third of the instructions, good to float32."""
    return _bounded_erf(m, m.clamped(x, -4.0, 4.0))  # beyond, the result is 1 after rounding


@in_float64
def _bounded_erf(m: Arithmetic, x: Wide) -> Wide:
    value = quotient(m, m.mul_(x.high, x.high), ERF_QUOTIENT[m.goal], x.high)
    return Wide(value, interval=Interval(-1.0, 1.0))
