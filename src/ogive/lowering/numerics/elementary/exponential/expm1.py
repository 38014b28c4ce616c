"""expm1, for each level.

With n the integer nearest to x / log(2) and r = x - n log(2), abs(r) <= log(2) / 2:

    expm1(x) = 2**n * (r + r**2 P(r)) + (2**n - 1)

P is EXP of the polynomials, and EXPM1 in float32. Where float64 computes what is wanted in float32 it is a quotient, with the A of
exp.py:

    expm1(x) = ((2**n - 1) A + (2**n + 1) r) / (A - r)

This has no cancellation near zero, where n is zero. expm1 would not divide otherwise; but a division waits for itself alone, beside
the multiplications of other elements.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double, two_words
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.elementary.derived_numbers import WORDS, numbers_in_single
from ogive.lowering.numerics.elementary.exponential.exp import (
    FAR_IN_SINGLE,
    difference_of_powers,
    in_range,
    long_less_one,
    reduced_exponent,
    reduced_in_single,
    whole_exp_in_single,
    with_infinities,
)
from ogive.lowering.numerics.elementary.exponential.powers_of_two import (
    FAR,
    NOTHING,
    POWERS,
    inside_of_rule,
    not_beyond,
    of_powers,
    reduced_in_pairs,
)
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    InSingle,
    anywhere,
    computed_by,
    more_than_result,
    unit,
)
from ogive.lowering.numerics.elementary.own_errors import PAIRED
from ogive.lowering.numerics.float_float import Around, FloatFloat, FloatFloatArithmetic, NoFloatFloat, U
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.machine import Machine

#: Below the first number expm1 is -1 to far more than the precision; above the second it is infinite, in float64 even
#: if it is multiplied by the smallest normal number.
EXPM1_RANGE = (-80.0, 1400.0)

#: Beyond this expm1 is exp, to more than the precision of two numbers of float64.
MUCH_MORE_THAN_1 = 80.0

EXPM1_RANGE_IN_FLOAT64 = (-700.0, 700.0)


def expm1(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``exp(x) - 1``. Where it may reach 2**128 it is computed at half its size; in float64 it is exp where it is large,
    with the power of two kept apart.
    """
    if not m.extended:
        return expm1_in_float64(m, x)
    operand, x = x.high, in_range(m, x, *EXPM1_RANGE)
    interval = x.interval.map(_expm1)
    if m.is_long:
        return with_infinities(m, operand, _long_expm1(m, x, interval))
    n, r, lacking = reduced_exponent(m, x)
    may_be_large = m.format is Format.F64 and x.interval.high > MUCH_MORE_THAN_1
    halved = not may_be_large and not m.is_bounded(interval)
    one = m.number(0.5 if halved else 1.0)
    scale = m.scale_(one, n)
    exponent = m.number(1.0) if halved else None
    # 1 - 2**n, not 2**n - 1: where it is zero, the sign of a zero r must survive the addition. It loses its
    # smaller part from n = 24 on in both directions.
    minus = m.neg_(scale)
    if x.interval.high <= 0:
        whole, lost = m.fast_two_sum(one, minus)
    elif x.interval.low >= 0:
        whole, lost = m.fast_two_sum(minus, one)
    else:
        whole, lost = m.two_sum(one, minus)
    whole, lost = m.neg_(whole), m.neg_(lost)
    # exp(r) - 1 is r exp1(r), and no smaller than a third of 2**n exp(r) - 1.
    of_r = two_words.polynomial(m, r, None, two_words.numbers(m, WORDS["EXP"][1:]))
    part, rest = two_words.times(m, (r, None), of_r)
    rest = m.fma_(lacking, m.add_(one, part), rest)
    value, error = m.fast_two_sum(whole, m.mul_(scale, part))
    low = m.fma_(scale, rest, m.add_(error, lost))
    if may_be_large:
        is_large = m.less_(m.number(MUCH_MORE_THAN_1), x.high)
        of_rest = m.fast_two_sum(one, part)
        of_rest = of_rest[0], m.add_(of_rest[1], rest)
        value, low = (m.select_(is_large, a, b) for a, b in zip(of_rest, (value, low), strict=True))
        power = m.select_(is_large, n, m.number(0.0))
        mantissa = Interval(-1.0, math.exp(MUCH_MORE_THAN_1 + 1))
        return m.renormalised(DoubleWord(value, low, power, interval, mantissa))
    result = m.renormalised(DoubleWord(value, low))
    half = Interval(interval.low / 2, min(interval.high / 2, m.largest))
    return replace(result, exponent=exponent, interval=interval, mantissa=half)


def _long_expm1(m: Arithmetic, x: DoubleWord, interval: Interval) -> DoubleWord:
    """``2**n expm1(r) + (2**n - 1)``, and ``2**n (1 + expm1(r))`` where that is large."""
    n, less_one = long_less_one(m, x)
    one, zero, most = m.number(1.0), m.number(0.0), m.number(MUCH_MORE_THAN_1)
    is_large = m.less_(most, x.high)
    # Where it is large the power of two is kept apart, and the other form is computed for n = 0.
    scale = m.scale_(one, m.select_(is_large, zero, n))
    whole = m.two_sum(scale, m.number(-1.0))
    sum_ = double_double.plus(m, whole, (m.mul_(scale, less_one[0]), m.mul_(scale, less_one[1])))
    power = double_double.plus_smaller(m, double_double.single(m, one), less_one)
    high, low = (m.select_(is_large, a, b) for a, b in zip(power, sum_, strict=True))
    high = m.select_(m.equal_(x.high, zero), x.high, high)  # 0 + -0 has forgotten the sign
    mantissa = Interval(-1.0, math.exp(MUCH_MORE_THAN_1 + 1))
    return DoubleWord(high, low, m.select_(is_large, n, zero), interval, mantissa, is_normal=True)


def expm1_in_float64(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``exp(x) - 1``."""
    bounded = m.clamped(x, *EXPM1_RANGE_IN_FLOAT64)
    interval = bounded.interval.map(_expm1)
    dividend, a, r, _, _ = difference_of_powers(m, bounded.high)
    return DoubleWord(m.div_(dividend, m.sub_(a, r)), interval=interval)


def _expm1(bound: float) -> float:
    return math.inf if bound >= 709 else math.expm1(bound)


# ---- in float32: without a test, and with one


def expm1_over_in_single(m: Machine, a: Argument, factor: float = 1.0) -> Expression:
    """``expm1(factor * a) / (factor * sign)``."""
    shifted, r = reduced_in_single(m, a, factor)
    k = factor * a.sign
    tail = m.polynomial_(
        r, tuple(c * k ** (i + 1) for i, c in enumerate(numbers_in_single("EXPM1", is_short=a.is_short)))
    )
    series = m.fma_(m.mul_(r, r), tail, r)
    power = m.times_power_of_two_(m.number(1.0), shifted)
    if k == 1:
        return m.fma_(power, series, m.sub_(power, m.number(1.0)))
    return m.fma_(power, series, m.fma_(power, m.number(1 / k), m.number(-1 / k)))


def expm1_in_single(m: Machine, a: Argument) -> Expression:
    """``exp(a) - 1``. The sum loses the sign of a zero."""
    value = expm1_over_in_single(m, a)
    if abs(a.sign) != 1:
        value = m.mul_(value, m.number(abs(a.sign)))
    return m.make(ops.COPY_SIGN, value, a.value(m))


#: Below this expm1 is -1 to more than float32 holds.
FAR_BELOW_ZERO_IN_SINGLE = -30.0


def tested_expm1_in_single(x: SingleOperand, is_result: bool) -> Made:
    """``exp(x) - 1`` of any number."""
    m = x.m
    near = x.moved(FAR_BELOW_ZERO_IN_SINGLE, FAR_IN_SINGLE)
    doubt = None if is_result and not m.is_wide else x.is_above(FAR_IN_SINGLE)
    return expm1_in_single(m, near.argument()), near.interval.map(math.expm1), 0.0, doubt


# ---- in float32 for all numbers, where a processor has neither float64 nor fused multiply-add


def whole_expm1_in_single(m: Machine, a: Argument) -> Expression:
    """``exp(a) - 1`` of an argument that may be anything."""
    y, interval = a.value(m), a.lies
    low, high = m.number(-32.0), m.number(80.0)
    x = m.select_(m.less_(y, low), low, y) if interval.low < -32.0 else y
    if interval.high > 80.0:
        x = m.select_(m.less_(high, x), high, x)
    found = expm1_in_single(m, Argument(x))
    if interval.high > 80.0:
        found = m.select_(m.less_(high, y), whole_exp_in_single(m, Argument(y, lies=interval)), found)
    return found


# ---- in pairs of float32


#: How often low words of expm1 are rounded that its error covers: here, in a product and in a result.
COVERED = 5

#: The bound of the error where T is small: the low word is at most U, and each of its roundings loses at most ``U * U``.
FAR_BELOW_ZERO = (COVERED + 2) * U * U


def expm1_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    """T - 1 first, which is exact where it cancels."""
    u = m.as_words(u)
    if u.lost and not u.is_nonzero:
        raise NoFloatFloat("underflow shows in an operand that may be zero")
    moved = not_beyond(m, u, -FAR) if reaches_all and u.is_nonzero else u
    is_moved = moved is not u
    core = reduced_in_pairs(m, moved)
    one = m.number(1.0)
    first = m.sub_(core.power, one)
    if u.interval.high <= 0:
        lost = m.sub_(core.power, m.add_(first, one))
    else:
        first, lost = m.two_sum(core.power, m.number(-1.0))
    high = m.fma_(core.power, core.r, first)
    rest = m.fma_(core.power, core.r, m.neg_(m.sub_(high, first)))
    low = m.add_(m.fma_(core.power, core.q, rest), lost)
    # The error is that of exp, and where T is 1 no more than a share of the result.
    among = POWERS[m.octave]
    error = core.relative + COVERED * U * among.share + FAR_BELOW_ZERO
    base, plus = core.power, m.number(0.0)
    if u.is_nonzero:
        plus = m.bound(FAR_BELOW_ZERO + (NOTHING if is_moved else 0.0))
    else:
        base = m.add_(base, m.bound(FAR_BELOW_ZERO / error))
        own = PAIRED["expm1 near zero" + of_powers(m.octave)]
        near_zero = max(own + u.relative, among.multiple_of_expm1 * error)
        base = m.smaller_(m.mul_(m.abs_(high), m.bound(near_zero / error)), base)
        high = m.make(ops.COPY_SIGN, high, u.high)
    around = Around(base, m.bound(error), plus)
    return FloatFloat(
        high,
        low=low,
        around=around,
        covered=COVERED - 1,
        interval=inside_of_rule(u).map(math.expm1),
        is_nonzero=u.is_nonzero,
        may_be_zero=high,
        where=core.where,
    )


computed_by(
    functions.EXPM1,
    expm1,
    Function(
        *(anywhere(1410.0), more_than_result, unit, (700.0, 1400.0)),
        is_limited_above=True,
        saturates=True,
        grows_as_operand=True,
    ),
    in_pairs=InPairs(expm1_in_pairs, is_limited=True),
    in_single=InSingle(
        *(FAR_IN_SINGLE, expm1_in_single, whole_expm1_in_single),
        tested=tested_expm1_in_single,
        of_product=2.0**-24,
        reach=FAR_IN_SINGLE,
    ),
)
