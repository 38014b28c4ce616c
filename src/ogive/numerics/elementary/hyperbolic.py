"""sinh, cosh and tanh.

With abs(x) = n log(2) + r, abs(r) <= log(2) / 2, and w = 4**-n, by the addition theorems:

    sinh(abs(x)) = 2**(n-1) ((1 - w) cosh(r) + (1 + w) sinh(r))
    cosh(x)      = 2**(n-1) ((1 + w) cosh(r) + (1 - w) sinh(r))
    sinh(r) = r + r**3 S(r**2),   cosh(r) = 1 + r**2 / 2 + r**4 C(r**2)

S and C are SINH and COSH of the coefficients: no division, and no cancellation near zero, where n is zero.

    tanh(x) = e / (e + 2),   e = expm1(2 x)

The last of abs(x), with the sign of x, where nothing may be lost near e = -1. With bounds in float64 tanh is a quotient of
its own (exponential.py).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ogive import elementary_functions as functions
from ogive.expression import Expression
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary import pairs, words
from ogive.numerics.elementary.derived_numbers import POLYNOMIALS, WORDS
from ogive.numerics.elementary.exponential import (
    FARTHEST,
    difference_of_powers,
    expm1,
    long_reduced,
    reduced_exponent,
    with_infinities,
)
from ogive.numerics.interval import Interval
from ogive.numerics.machine import LONG

__all__ = ["cosh", "sinh", "tanh"]

#: Beyond these sinh and cosh are infinite, even if they are multiplied by the smallest normal number.
INFINITE = 1400.0

#: The same where float64 computes with bounds: 2**n is a normal number up to there.
TANH_RANGE_IN_FLOAT64 = (-350.0, 350.0)

#: Beyond this tanh is 1 as a sum of two numbers: so ``1 + tanh(x)`` goes to zero.
SATURATED = 38.0


def sinh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The hyperbolic sine."""
    x = m.unscaled(x)
    exponent, sum_, difference, s, c = _parts(m, x)
    value = m.add(m.multiply(difference, c), m.multiply(sum_, s))
    largest = Interval(0.0, 2.2)
    magnitude = replace(value, exponent=exponent, interval=Interval(0.0, float("inf")), mantissa=largest)
    return m.copy_sign(with_infinities(m, m.abs_(x.high), magnitude), x.high)


def cosh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The hyperbolic cosine."""
    x = m.unscaled(x)
    exponent, sum_, difference, s, c = _parts(m, x)
    value = m.add(m.multiply(sum_, c), m.multiply(difference, s))
    found = replace(value, exponent=exponent, interval=Interval(1.0, float("inf")), mantissa=Interval(0.7, 2.2))
    return with_infinities(m, m.abs_(x.high), found)


def _parts(m: Arithmetic, x: DoubleWord) -> tuple[Expression, DoubleWord, DoubleWord, DoubleWord, DoubleWord]:
    """``n - 1, 1 + w, 1 - w, sinh(r), cosh(r)``."""
    clamped = m.clamped(m.absolute(x), 0.0, FARTHEST if m.of_doubles else INFINITE)
    if m.is_long:
        return _long_parts(m, clamped)
    n, r, lacking = reduced_exponent(m, clamped)
    one, half = m.number(1.0), m.number(0.5)
    exponent = m.sub_(n, one)
    w = m.scale_(one, m.mul_(n, m.number(-2.0)))
    s_interval, c_interval = Interval(-0.36, 0.36), Interval(1.0, 1.07)
    if not m.extended:
        square = m.mul_(r, r)
        s_factor = m.mul_(square, m.polynomial_(square, POLYNOMIALS["SINH"][LONG]))
        c_series = m.polynomial_(square, POLYNOMIALS["COSH"][LONG])
        s, c = m.fma_(r, s_factor, r), m.fma_(square, m.fma_(square, c_series, half), one)
        return exponent, DoubleWord(m.add_(one, w)), DoubleWord(m.sub_(one, w)), DoubleWord(s), DoubleWord(c)
    z = words.square(m, r, lacking)
    sine = words.odd(m, (r, lacking), z, words.numbers(m, WORDS["SINH"]))
    cosine = words.polynomial(m, *z, words.numbers(m, WORDS["COSH"]))
    sum_ = DoubleWord(*m.fast_two_sum(one, w), interval=Interval(1.0, 2.0))
    difference = DoubleWord(*m.fast_two_sum(one, m.neg_(w)), interval=Interval(0.0, 1.0))
    return (
        exponent,
        sum_,
        difference,
        DoubleWord(*sine, interval=s_interval),
        DoubleWord(*cosine, interval=c_interval),
    )


def _long_parts(m: Arithmetic, x: DoubleWord) -> tuple[Expression, DoubleWord, DoubleWord, DoubleWord, DoubleWord]:
    """The same of a magnitude, with right second words."""
    n, r = long_reduced(m, x)
    one = m.number(1.0)
    w = m.scale_(one, m.mul_(n, m.number(-2.0)))
    square = pairs.times(m, r, r)
    s = pairs.times(m, r, pairs.series(m, square, _of_sinh, 0.3467**2))
    c = pairs.series(m, square, _of_cosh, 0.3467**2)
    return (
        m.sub_(n, one),
        DoubleWord(*m.fast_two_sum(one, w), interval=Interval(1.0, 2.0), is_normal=True),
        DoubleWord(*m.fast_two_sum(one, m.neg_(w)), interval=Interval(0.0, 1.0), is_normal=True),
        DoubleWord(*s, interval=Interval(-0.36, 0.36), is_normal=True),
        DoubleWord(*c, interval=Interval(1.0, 1.07), is_normal=True),
    )


def _of_sinh(k: int) -> Fraction:
    return abs(pairs.of_sine(k))


def _of_cosh(k: int) -> Fraction:
    return abs(pairs.of_cosine(k))


def tanh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The hyperbolic tangent."""
    x, two = m.unscaled(x), m.wide(Fraction(2))
    if not m.extended:
        dividend, a, r, more, less = difference_of_powers(m, m.clamped(x, *TANH_RANGE_IN_FLOAT64).high, 2.0)
        divisor = m.fma_(m.neg_(less), r, m.mul_(more, a))
        return DoubleWord(m.div_(dividend, divisor), interval=Interval(-1.0, 1.0))
    magnitude = m.absolute(x)
    e = expm1(m, m.multiply(m.clamped(magnitude, 0.0, SATURATED), two))
    result = m.divide(e, m.add(e, two))
    result = m.select(m.less_(m.number(SATURATED), magnitude.high), m.wide(Fraction(1)), result)
    return m.copy_sign(result, x.high)


functions.SINH.lowering = sinh
functions.COSH.lowering = cosh
functions.TANH.lowering = tanh
