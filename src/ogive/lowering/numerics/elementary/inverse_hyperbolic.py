"""asinh, acosh and atanh, for each level.

They are log1p of numbers in which nothing cancels. With a = abs(x) and t = x - 1:

    asinh(x) = sign(x) log1p(a + a**2 / (1 + sqrt(1 + a**2)))
    acosh(x) = log1p(t + sqrt(t (t + 2)))
    atanh(x) = sign(x) log1p(2 a / (1 - a)) / 2

asinh(x) and acosh(x) of large numbers are log(x) + log(2). Where float64 computes what is wanted in float32, atanh(x) is
half the logarithm of (1 + a) / (1 - a), with one division.

In pairs of float32 they are piecewise polynomials (piecewise.py).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from ogive.graph import elementary_functions as functions
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.derived_numbers import PIECEWISE
from ogive.lowering.numerics.elementary.exponential.exp import LOG_2
from ogive.lowering.numerics.elementary.function_row import (
    Function,
    InPairs,
    anywhere,
    computed_by,
    inside,
    inverse_squares,
    within,
)
from ogive.lowering.numerics.elementary.logarithm import half_log_of_quotient, log1p
from ogive.lowering.numerics.elementary.piecewise import Piecewise, evaluated, odd_in_pairs
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic
from ogive.lowering.numerics.interval import Interval

#: From here on log(2 x) is near enough. Numbers of a shorter format have squares that do not overflow.
LARGE = {Format.F32: 2.0**128, Format.F64: 2.0**60}


#: The limit of numbers of two right words.
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
    if m.goal is not m.format:
        high, low = log1p(m, number).high, None
    elif x.interval.within(-_large(m), _large(m)):
        return log1p(m, number)
    else:
        is_large = m.less_(m.number(_large(m)), x.high)
        finite = replace(m.clamped(x, 1.0, m.largest), interval=Interval(1.0, m.largest))
        result = log1p(m, m.select(is_large, finite, number))
        # The logarithm is much larger than log(2) where that is added.
        log2_high, log2_low = (
            m.select_(is_large, m.number(float.fromhex(part)), m.number(0.0)) for part in LOG_2[m.format]
        )
        high, low = m.fast_two_sum(result.high, log2_high)
        low = m.add_(m.add_(low, log2_low), m.low_part(result))
    if not m.is_bounded(x.interval):
        high = m.select_(m.equal_(x.high, m.number(math.inf)), m.number(math.inf), high)
    return DoubleWord(high, low, interval=Interval(0.0, math.inf))


# ---- in pairs of float32


#: acosh(w), asinh(w) and atanh(w).
ACOSH, ASINH, ATANH = (Piecewise(**PIECEWISE[name]) for name in ("ACOSH", "ASINH", "ATANH"))

#: The slope times 1, relative to the function, up to the last interval: it begins 0.0049 below 1.
OF_ATANH = 60.0

#: The beginning of the intervals of acosh.
LEAST_OF_ACOSH = 1.0625


def acosh_in_pairs(m: FloatFloatArithmetic, u: FloatFloat, *, is_result: bool, reaches_all: bool) -> FloatFloat:
    u = m.normalised(u)
    found = evaluated(m, ACOSH, u)
    where = replace(found.where, holds=(*found.where.holds, m.less_equal_(m.number(LEAST_OF_ACOSH), u.high)))
    return replace(found, interval=Interval(0.25, 4.0), is_nonzero=True, where=where)


# ---- the rows


def _slope_of_inverse_cosh(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    one = m.number(1.0)
    return m.div_(one, m.sqrt_(m.mul_(m.sub_(u, one), m.add_(u, one))))


def _above_one(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.sub_(u, m.number(1.0))


def _slope_of_inverse_tangent(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.div_(m.number(1.0), inverse_squares(m, u))


_LIMITS = (2.0**128, math.inf)

computed_by(
    functions.ASINH,
    asinh,
    Function(anywhere(1.0), limits=_LIMITS, largest=800.0, grows_as_operand=True),
    in_pairs=InPairs(partial(odd_in_pairs, ASINH, 4.0)),
)
computed_by(
    functions.ACOSH,
    acosh,
    Function((), _slope_of_inverse_cosh, _above_one, _LIMITS, largest=800.0, exact_at=1.0),
    in_pairs=InPairs(acosh_in_pairs),
)
computed_by(
    functions.ATANH,
    atanh,
    Function(
        within(0.5, 1.3),
        _slope_of_inverse_tangent,
        inside,
        (1 - 2.0**-50, math.inf),
        largest=800.0,
        has_sign_below=math.inf,
    ),
    in_pairs=InPairs(partial(odd_in_pairs, ATANH, 4.0, steepness=OF_ATANH)),
)
