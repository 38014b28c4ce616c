"""Powers.

    x**y = exp(y log(abs(x))), with the sign of x where y is an odd integer

and the special cases of IEEE 754: 1 where x is 1 or y is 0, even if the other one is NaN.
"""

from __future__ import annotations

import math

from ogive import elementary_functions as functions
from ogive import operations as ops
from ogive.expression import Expression, Format, node
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary.exponential import exp
from ogive.numerics.elementary.logarithm import precise_log
from ogive.numerics.interval import Interval

__all__ = ["power"]


def power(m: Arithmetic, x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """``x`` to the power of ``y``."""
    x, y = m.renormalised(m.unscaled(x)), m.renormalised(m.unscaled(y))
    zero, one, infinity = m.number(0.0), m.number(1.0), m.number(math.inf)
    magnitude = m.absolute(x)
    if m.goal is not m.format:  # even a subnormal number of a shorter format is normal in this one
        magnitude = DoubleWord(magnitude.high, interval=Interval(m.smallest_normal, m.largest))
    logarithm = precise_log(m, magnitude)
    # Infinity and NaN are their own logarithms.
    high = m.select_(m.less_(magnitude.high, infinity), logarithm.high, magnitude.high)
    high = m.select_(m.equal_(magnitude.high, zero), m.neg_(infinity), high)
    size = exp(m, m.multiply(y, DoubleWord(high, logarithm.low)))

    whole = _is_integral(m, y)
    half_is_whole = _is_integral(m, y, half=True)
    is_odd = _and(whole, m.not_(half_is_whole))
    result = m.copy_sign(size, m.select_(is_odd, x.high, one))

    is_negative = _and(m.less_(x.high, zero), m.less_(m.neg_(infinity), x.high))
    nan = DoubleWord(m.number(math.nan))
    result = m.select(_and(is_negative, m.not_(whole)), nan, result)
    # -1 to the power of an infinity is 1, too.
    is_unit = _and(m.equal_(magnitude.high, one), m.equal_(m.abs_(y.high), infinity))
    is_base_one = m.equal_(x.high, one)
    if m.of_doubles and x.low is not None:
        is_base_one = _and(is_base_one, m.equal_(x.low, zero))
    is_one = node(ops.OR, (m.equal_(y.high, zero), is_base_one), None, Format.BIT)
    return m.select(node(ops.OR, (is_one, is_unit), None, Format.BIT), m.wide(1.0), result)


def _is_integral(m: Arithmetic, a: DoubleWord, *, half: bool = False) -> Expression:
    """Whether a number, or half of it, is an integer: then both of its words are."""
    integral = None
    # Beside an infinity the lower word may be NaN.
    for word in (a.high, None if a.low is None else m.low_part(a)):
        if word is not None:
            value = m.mul_(word, m.number(0.5)) if half else word
            whole = m.equal_(m.make(ops.TRUNCATE, value), value)
            integral = whole if integral is None else _and(integral, whole)
    assert integral is not None
    return integral


def _and(a: Expression, b: Expression) -> Expression:
    return node(ops.AND, (a, b), None, Format.BIT)


functions.POWER.lowering = power
