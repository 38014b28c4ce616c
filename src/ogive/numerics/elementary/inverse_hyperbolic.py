"""asinh, acosh and atanh, from log1p of numbers that nothing cancels in.

With a = abs(x) and t = x - 1:

    asinh(x) = sign(x) log1p(a + a**2 / (1 + sqrt(1 + a**2)))
    acosh(x) = log1p(t + sqrt(t (t + 2)))
    atanh(x) = sign(x) log1p(2 a / (1 - a)) / 2

asinh(x) and acosh(x) of large numbers are log(x) + log(2). Where float64 computes what is wanted in float32, atanh(x) is
half the logarithm of (1 + a) / (1 - a), with one division.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive import elementary_functions as functions
from ogive.expression import Format
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary.exponential import LOG_2
from ogive.numerics.elementary.logarithm import half_log_of_quotient, log1p
from ogive.numerics.interval import Interval

__all__ = ["acosh", "asinh", "atanh"]

#: From here on log(2 x) is near enough. Numbers of a shorter format have squares that do not overflow.
LARGE = {Format.F32: 2.0**128, Format.F64: 2.0**60}


#: The same in two right words.
LONG_LARGE = 2.0**120


def _large(m: Arithmetic) -> float:
    return LONG_LARGE if m.is_long else LARGE[m.goal]


def asinh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse hyperbolic sine."""
    x = m.unscaled(x)
    magnitude = m.absolute(x)
    a, one = m.clamped(magnitude, 0.0, _large(m)), m.wide(1.0)
    square = m.multiply(a, a)
    root = replace(m.square_root(m.add(one, square)), low_is_number=True)
    rest = m.divide(square, m.add(one, root))
    return m.copy_sign(_log1p(m, magnitude, m.add(a, rest)), x.high)


def acosh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse hyperbolic cosine."""
    x = m.unscaled(x)
    # Negative operands are clamped to 0: it is below the domain too, and gives NaN.
    t = m.subtract(m.clamped(x, 0.0, _large(m)), m.wide(1.0))
    root = m.square_root(m.multiply(t, m.add(t, m.wide(2.0))))
    return _log1p(m, x, replace(m.add(t, root), interval=Interval(0.0, 2 * _large(m))))


def atanh(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse hyperbolic tangent."""
    x = m.unscaled(x)
    a = m.absolute(x)
    if not m.extended:
        one, infinity, nan = (m.number(value) for value in (1.0, math.inf, math.nan))
        at_end = m.select_(m.equal_(a.high, one), infinity, nan)
        value = m.select_(m.less_(a.high, one), half_log_of_quotient(m, a.high), at_end)
        return m.copy_sign(DoubleWord(value, interval=Interval(0.0, math.inf)), x.high)
    quotient = m.divide(m.multiply(a, m.wide(2.0)), m.subtract(m.wide(1.0), a))
    return m.copy_sign(m.multiply(log1p(m, quotient), m.wide(0.5)), x.high)


def _log1p(m: Arithmetic, x: DoubleWord, number: DoubleWord) -> DoubleWord:
    """log1p of a number that is nearly ``2 x`` where that is large, and infinity at infinity."""
    infinity, zero = m.number(math.inf), m.number(0.0)
    if m.goal is not m.format:
        high, low = log1p(m, number).high, None
    else:
        is_large = m.less_(m.number(_large(m)), x.high)
        finite = replace(m.clamped(x, 1.0, m.largest), interval=Interval(1.0, m.largest))
        result = log1p(m, m.select(is_large, finite, number))
        # The logarithm is much larger than log(2) where that is added.
        log2_high, log2_low = (m.select_(is_large, m.number(float.fromhex(part)), zero) for part in LOG_2[m.format])
        high, low = m.fast_two_sum(result.high, log2_high)
        low = m.add_(m.add_(low, log2_low), m.low_part(result))
    high = m.select_(m.equal_(x.high, infinity), infinity, high)
    return DoubleWord(high, low, interval=Interval(0.0, math.inf))


functions.ASINH.lowering = asinh
functions.ACOSH.lowering = acosh
functions.ATANH.lowering = atanh
