"""The inverse of the error function.

With w = -log(1 - x**2), erfinv(x) / x is a smooth function of w: polynomials in w and in sqrt(w) (ERFINV_NEAR and
ERFINV_FAR of the polynomials) are near to it, to about 24 bits. One step of Halley's iteration makes 70 of them:

    y - d / (1 + y d),   d = (erf(y) - x) sqrt(pi) / 2 exp(y**2)

The difference is taken where nothing cancels but what should: near 1 as (1 - x) - erfc(y), in two words. The start needs
fewer bits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ogive.graph import elementary_functions as functions
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS
from ogive.lowering.numerics.elementary.error_function import erf_near_zero, erfc
from ogive.lowering.numerics.elementary.exponential.exp import exp
from ogive.lowering.numerics.elementary.function_row import Function, computed_by, inside, within
from ogive.lowering.numerics.elementary.logarithm import log
from ogive.lowering.numerics.interval import Interval

#: A smaller operand is computed as if it were 2**300 times as large: the function is linear there.
SMALL, LIFT = 2.0**-400, 300.0


def erfinv(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The inverse of the error function."""
    x = m.renormalised(m.unscaled(x))
    one, zero = m.number(1.0), m.number(0.0)
    a = m.absolute(x)
    exponent = None
    if m.goal is m.format:
        is_small = m.less_(a.high, m.number(SMALL))
        factor = m.select_(is_small, m.number(2.0**LIFT), one)
        a = DoubleWord(m.mul_(a.high, factor), None if a.low is None else m.mul_(a.low, factor))
        exponent = m.select_(is_small, m.number(-LIFT), zero)
    below_one = 1 - 2.0**-53
    high = m.select_(m.less_(m.number(below_one), a.high), m.number(below_one), a.high)
    low = None if a.low is None else m.select_(m.equal_(high, a.high), m.low_part(a), zero)
    a = DoubleWord(high, low, interval=Interval(0.0, below_one))

    short = m if not m.extended else Arithmetic(Format.F64, goal=Format.F32)
    # Near zero w has few bits; but there it changes little. Near 1 the second word is as large as what is left.
    left = m.sub_(m.sub_(one, high), a.low) if m.is_long and a.low is not None else m.sub_(one, high)
    w = m.neg_(log(short, DoubleWord(m.mul_(left, m.add_(one, high)), interval=Interval(2.0**-54, 1.0))).high)
    root = m.sub_(m.sqrt_(w), m.number(4.0))
    near = m.polynomial_(w, POLYNOMIALS["ERFINV_NEAR"][Format.F64])
    far = m.polynomial_(root, POLYNOMIALS["ERFINV_FAR"][Format.F64])
    y = m.mul_(high, m.select_(m.less_(m.number(6.25), w), far, near))

    start = DoubleWord(y, interval=Interval(0.0, 6.0))
    difference = _difference(m, high, a, start)
    growth = m.unscaled(exp(m, DoubleWord(m.mul_(y, y), interval=Interval(0.0, 36.0)))).high
    d = m.mul_(m.single(difference), m.mul_(growth, m.number(math.sqrt(math.pi) / 2)))
    step = m.neg_(m.fma_(m.mul_(y, d), m.neg_(d), d))
    if m.is_long:
        result = _once_more(m, high, a, m.renormalised(DoubleWord(y, step, interval=Interval(0.0, 6.0))))
    elif m.extended:
        result = m.renormalised(DoubleWord(y, step, interval=Interval(0.0, 6.0)))
    else:
        result = DoubleWord(m.add_(y, step), interval=Interval(0.0, 6.0))
    if exponent is not None:
        result = DoubleWord(result.high, result.low, exponent, Interval(0.0, math.inf), Interval(0.0, math.inf))
    magnitude = m.absolute(x).high
    is_inside = m.less_(magnitude, one)
    limit = m.select_(m.equal_(magnitude, one), m.number(math.inf), m.number(math.nan))
    return m.copy_sign(m.select(is_inside, result, DoubleWord(limit, interval=Interval(0.0, math.inf))), x.high)


def _difference(m: Arithmetic, high: Expression, a: DoubleWord, y: DoubleWord) -> DoubleWord:
    """``erf(y) - a``, taken where nothing cancels but what should."""
    return m.select(
        m.less_(high, m.number(0.47)),
        m.subtract(erf_near_zero(m, y), a),
        m.subtract(m.subtract(m.wide(Fraction(1)), a), erfc(m, y)),
    )


def _once_more(m: Arithmetic, high: Expression, a: DoubleWord, y: DoubleWord) -> DoubleWord:
    """One step of Newton's method from a number that is good to 2**-66: what it leaves is below 2**-120."""
    y = replace(y, interval=Interval(0.0, 6.0))
    growth = m.unscaled(exp(m, DoubleWord(m.mul_(y.high, y.high), interval=Interval(0.0, 36.0)))).high
    step = m.mul_(m.mul_(m.single(_difference(m, high, a, y)), growth), m.number(-math.sqrt(math.pi) / 2))
    return m.renormalised(m.add(y, DoubleWord(step, interval=Interval(-1.0, 1.0))))


def _slope_of_inverse(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """The derivative, ``sqrt(pi) / 2 exp(y * y)``, is less than ``1 / (1 - abs(u))``: erfc(y) is less than exp(-y * y)."""
    return m.div_(m.number(1.0), inside(m, u, f))


computed_by(functions.ERFINV, erfinv, Function(within(0.5, 1.2), _slope_of_inverse, inside, largest=800.0))
