"""exp2, for each level.

With n the integer nearest to x, so that x - n is exact:

    exp2(x) = exp((x - n) log(2)) 2**n
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive.graph import elementary_functions as functions
from ogive.graph import irrational_numbers
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary import double_double
from ogive.lowering.numerics.elementary.exponential.exp import (
    EXACT_LOG_2,
    OF_LIMITED_POWERS,
    exp_of_rest,
    exponential_less_one,
    in_range,
    series_in_float64,
    whole_exp_in_pairs,
    with_infinities,
)
from ogive.lowering.numerics.elementary.function_row import InPairs, computed_by
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic
from ogive.lowering.numerics.interval import Interval

#: The limits for powers of two.
EXP2_RANGE = (-2200.0, 2020.0)
EXP2_RANGE_IN_FLOAT64 = (-1000.0, 1020.0)


def exp2(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """``2 ** x``, with the power of two kept apart where it may underflow; exact where x is an integer."""
    interval = x.interval.map(_exp2)
    log2_high, log2_low = map(m.number, map(float.fromhex, EXACT_LOG_2[m.format]))
    if not m.extended:
        bounded = m.clamped(x, *EXP2_RANGE_IN_FLOAT64).high
        shifted = m.add_(bounded, m.number(m.magic))
        r = m.mul_(m.sub_(bounded, m.sub_(shifted, m.number(m.magic))), log2_high)
        return DoubleWord(m.times_power_of_two_(series_in_float64(m, r), shifted), interval=interval)
    operand, x = x.high, in_range(m, x, *EXP2_RANGE)
    n = m.sub_(m.add_(x.high, m.number(m.magic)), m.number(m.magic))
    rest = m.sub_(x.high, n)
    if m.is_long:
        part = m.two_sum(rest, m.low_part(x))
        less_one = exponential_less_one(
            m, double_double.times(m, part, double_double.constant(m, irrational_numbers.LOG_2))
        )
        value = double_double.plus_smaller(m, double_double.single(m, m.number(1.0)), less_one)
        found = DoubleWord(*value, n, interval, Interval(0.7, 1.42), is_normal=True)
        return with_infinities(m, operand, found, 0.0)
    r = m.mul_(rest, log2_high)
    lacking = m.fma_(rest, log2_low, m.fma_(rest, log2_high, m.neg_(r)))
    if x.low is not None:
        lacking = m.fma_(m.low_part(x), log2_high, lacking)
    return m.renormalised(DoubleWord(*exp_of_rest(m, r, lacking), n, interval, Interval(0.7, 1.42)))


def _exp2(bound: float) -> float:
    return 0.0 if bound <= -1074 else math.inf if bound >= 1024 else 2.0**bound


def exp2_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    product = m.multiply(m.as_words(u), m.constant(irrational_numbers.LOG_2))
    return whole_exp_in_pairs(m, product, is_result=is_result, reaches_all=reaches_all)


computed_by(functions.EXP2, exp2, replace(OF_LIMITED_POWERS, limits=(1020.0, 2020.0)), in_pairs=InPairs(exp2_in_pairs))
