"""sinh, cosh and tanh, for each level.

With abs(x) = n log(2) + r, abs(r) <= log(2) / 2, and w = 4**-n, by the addition theorems:

    sinh(abs(x)) = 2**(n-1) ((1 - w) cosh(r) + (1 + w) sinh(r))
    cosh(x)      = 2**(n-1) ((1 + w) cosh(r) + (1 - w) sinh(r))
    sinh(r) = r + r**3 S(r**2),   cosh(r) = 1 + r**2 / 2 + r**4 C(r**2)

S and C are SINH and COSH of the polynomials: no division, and no cancellation near zero, where n is zero.

    tanh(x) = e / (e + 2),   e = expm1(2 x)

The last of abs(x), with the sign of x, where nothing may be lost near e = -1. Where float64 computes what is wanted in float32,
tanh is a quotient of its own, with the A of exponential/exp.py, and has no cancellation near zero:

    tanh(x / 2) = ((2**n - 1) A + (2**n + 1) r) / ((2**n + 1) A + (2**n - 1) r)

In float32, with F = exp(-2 abs(u)), which neither overflows nor loses digits:

    tanh(a)        = e / (e + 1),   e = expm1(2 a) / 2
    1 / cosh(u)**2 = F / (1/2 + F/2)**2

In pairs of float32 sinh is ``exp(x) / 2 - exp(-x) / 2``, and near zero its series; tanh is a piecewise polynomial
(piecewise.py).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, depends_on_elements, node
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.derived_numbers import PIECEWISE, POLYNOMIALS, WORDS
from ogive.lowering.numerics.elementary.exponential.exp import (
    FAR_IN_SINGLE,
    FARTHEST,
    LIMIT_OF_SLOPES,
    decay,
    difference_of_powers,
    exp_in_pairs,
    long_reduced,
    reduced_exponent,
    with_infinities,
)
from ogive.lowering.numerics.elementary.exponential.expm1 import expm1, expm1_over_in_single
from ogive.lowering.numerics.elementary.exponential.logistic import logistic_slope
from ogive.lowering.numerics.elementary.exponential.powers_of_two import HALVED, MOST, SIXTH
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    InSingle,
    alike,
    anywhere,
    computed_by,
    more_than_result,
    unit,
)
from ogive.lowering.numerics.elementary.own_errors import PAIRED
from ogive.lowering.numerics.elementary.piecewise import Piecewise, odd_in_pairs, with_sign
from ogive.lowering.numerics.elementary.trigonometric import of_cosine, of_sine
from ogive.lowering.numerics.float_float import SLACK, SMALLEST, Around, FloatFloat, FloatFloatArithmetic, U, low_of
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import LONG, Machine

#: Beyond these sinh and cosh are infinite, even if they are multiplied by the smallest normal number.
INFINITE = 1400.0

#: The limit where float64 computes with bounds: 2**n is a normal number up to there.
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
    z = two_words.square(m, r, lacking)
    sine = two_words.odd(m, (r, lacking), z, two_words.numbers(m, WORDS["SINH"]))
    cosine = two_words.polynomial(m, *z, two_words.numbers(m, WORDS["COSH"]))
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
    """The parts of a magnitude, with right second words."""
    n, r = long_reduced(m, x)
    one = m.number(1.0)
    w = m.scale_(one, m.mul_(n, m.number(-2.0)))
    square = double_double.times(m, r, r)
    s = double_double.times(m, r, double_double.series(m, square, _of_sinh, 0.3467**2))
    c = double_double.series(m, square, _of_cosh, 0.3467**2)
    return (
        m.sub_(n, one),
        DoubleWord(*m.fast_two_sum(one, w), interval=Interval(1.0, 2.0), is_normal=True),
        DoubleWord(*m.fast_two_sum(one, m.neg_(w)), interval=Interval(0.0, 1.0), is_normal=True),
        DoubleWord(*s, interval=Interval(-0.36, 0.36), is_normal=True),
        DoubleWord(*c, interval=Interval(1.0, 1.07), is_normal=True),
    )


def _of_sinh(k: int) -> Fraction:
    return abs(of_sine(k))


def _of_cosh(k: int) -> Fraction:
    return abs(of_cosine(k))


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


# ---- in float32: without a test, and with one


#: From here on tanh is 1 after rounding.
SATURATED_IN_SINGLE = 9.125


def tanh_in_single(m: Machine, a: Argument) -> Expression:
    """The hyperbolic tangent, at most 1 in magnitude."""
    saturated, w = m.number(SATURATED_IN_SINGLE), None
    if a.w is not None:
        assert not depends_on_elements(a.w)
        w = m.abs_(a.w)
        saturated = m.div_(saturated, w)
    x = m.abs_(a.x)
    x = m.select_(m.less_(x, saturated), x, saturated)
    return m.make(ops.COPY_SIGN, tanh_below_saturation(m, Argument(x, w)), a.value(m))


def tanh_below_saturation(m: Machine, a: Argument) -> Expression:
    """The same of a number between 0 and `SATURATED_IN_SINGLE`."""
    e = expm1_over_in_single(m, a, 2.0)
    return m.div_(e, m.add_(e, m.number(1.0)))


def cosh_in_single(m: Machine, a: Argument) -> Expression:
    """``(e + 1 / e) / 2`` for e = exp(-abs(a))."""
    e = decay(m, a)
    return m.fma_(e, m.number(0.5), m.div_(m.number(0.5), e))


def slope_of_tanh_in_single(m: Machine, a: Argument) -> Expression:
    """``4 * e / (1 + e)**2`` for e = exp(-2 abs(a))."""
    e = decay(m, a, 2.0)
    half = m.fma_(e, m.number(0.5), m.number(0.5))
    return m.div_(e, m.mul_(half, half))


def tested_tanh_in_single(x: SingleOperand, is_result: bool) -> Made:
    """The hyperbolic tangent of any number."""
    m, lies = x.m, x.u.interval.map(math.tanh)
    near = x.moved(-SATURATED_IN_SINGLE, SATURATED_IN_SINGLE).argument()
    low = near.low
    if low is not None:  # of the magnitude
        low = m.from_bits_(
            node(
                ops.EXCLUSIVE_OR,
                (m.bits_(low), m.bits_(m.make(ops.COPY_SIGN, m.number(0.0), x.u.high))),
                None,
                m.integer,
            )
        )
    size = replace(near, x=m.abs_(near.x), w=None if near.w is None else m.abs_(near.w), low=low)
    number = m.make(ops.COPY_SIGN, tanh_below_saturation(m, size), x.u.high)
    return number, Interval(max(lies.low, -1.0), min(lies.high, 1.0)), 0.0, None


# ---- in float32 for all numbers, where a processor has neither float64 nor fused multiply-add


def whole_tanh_in_single(m: Machine, a: Argument) -> Expression:
    """The hyperbolic tangent of an argument that may be anything."""
    y = a.value(m)
    size, saturated = m.abs_(y), m.number(SATURATED_IN_SINGLE)
    x = m.select_(m.less_(saturated, size), saturated, size)
    return m.make(ops.COPY_SIGN, tanh_below_saturation(m, Argument(x)), y)


# ---- in pairs of float32


#: tanh(w).
TANH = Piecewise(**PIECEWISE["TANH"])

#: Below this sinh is its series. Beyond it ``exp(-x) / 2`` is subtracted from ``exp(x) / 2``, which is larger.
LEAST_OF_SINH = 2.0**-5

#: 1/120.
HUNDRED_TWENTIETH = float.fromhex("0x1.111112p-7")


def cosh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """The hyperbolic cosine."""
    e = exp_in_pairs(m, m.absolute(u))
    return m.multiply(m.add(e, m.reciprocal(e)), m.constant(0.5))


def sinh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """The hyperbolic sine."""
    u = m.normalised(u)
    size = m.absolute(u)
    e = exp_in_pairs(m, size, window=HALVED)
    inverse = m.reciprocal(replace(e, interval=Interval(0.5, e.interval.high)))
    assert inverse.scale is not None
    quarter = m.mul_(inverse.high, m.number(0.25))
    high = m.sub_(e.high, quarter)
    low = m.add_(m.fma_(m.neg_(quarter), inverse.scale, low_of(e)), m.sub_(m.sub_(e.high, high), quarter))
    w = size.high
    square = m.mul_(w, w)
    series = m.mul_(m.mul_(square, w), m.fma_(square, m.number(HUNDRED_TWENTIETH), m.number(SIXTH)))
    if size.low is not None:
        series = m.add_(series, size.low)
    is_near = m.less_(w, m.number(LEAST_OF_SINH))
    # Errors are relative to exp(x) / 2, which is larger than the result, and near zero to x.
    share = max(e.share + inverse.share + U, LEAST_OF_SINH**2 / 6 + size.share) * SLACK
    far = e.relative + inverse.relative + (2 + m.roundings) * U * share
    near = PAIRED["sinh near zero"] + u.relative + (m.roundings + 1) * U * share
    found = FloatFloat(
        m.select_(is_near, w, high),
        low=m.select_(is_near, series, low),
        around=Around(m.select_(is_near, w, e.high), m.bound(max(far, near) * SLACK), m.number(0.0)),
        covered=m.roundings,
        interval=Interval(0.0, math.exp(MOST)),
        is_nonzero=u.is_nonzero,
        may_be_zero=u.may_be_zero,
        lost=1.25 * u.lost + 4 * SMALLEST,
        where=e.where,
    )
    return with_sign(m, found, u, is_result=is_result)


def tanh_slope(m: FloatFloatArithmetic, u: FloatFloat) -> FloatFloat:
    """``1 / cosh(u)**2``."""
    return m.multiply(logistic_slope(m, m.multiply(u, m.constant(2.0))), m.constant(4.0))


# ---- the rows


_OF_EXPONENTIALS = Function(anywhere(1410.0), more_than_result, unit, (1400.0, 1400.0), saturates=True)

computed_by(
    functions.SINH,
    sinh,
    replace(_OF_EXPONENTIALS, grows_as_operand=True),
    in_pairs=InPairs(sinh_in_pairs, is_limited=True),
)
computed_by(
    functions.COSH,
    cosh,
    _OF_EXPONENTIALS,
    in_pairs=InPairs(cosh_in_pairs, is_limited=True),
    in_single=InSingle(FAR_IN_SINGLE, cosh_in_single),
)
computed_by(
    functions.TANH,
    tanh,
    Function(anywhere(1.0), grows_as_operand=True, cuts_off=True),
    in_pairs=InPairs(partial(odd_in_pairs, TANH, 1.0)),
    in_single=InSingle(
        *(2.0**60, tanh_in_single, whole_tanh_in_single), tested=tested_tanh_in_single, of_product=2.0**-24
    ),
)
computed_by(
    functions.TANH_SLOPE,
    None,
    Function(),
    in_pairs=InPairs(alike(tanh_slope), is_limited=True),
    in_single=InSingle(LIMIT_OF_SLOPES / 2, slope_of_tanh_in_single),
)
