"""Powers and the cube root.

    x**y = exp(y log(abs(x))), with the sign of x where y is an odd integer

and the special cases of IEEE 754: 1 where x is 1 or y is 0, even if the other one is NaN.

For the cube root: with k such that v = x / 2**(3 q) lies between sqrt(1/8) and sqrt(8), a polynomial (CBRT_START of the polynomials) is
near to v**(-1/3). One step of Halley's iteration, which needs no division, makes z of it, good to 48 bits, and

    cbrt(v) = y + (v - y**3) z**2 / 3,   y = v z**2

with v - y**3 in two words.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS
from ogive.lowering.numerics.elementary.exponential.exp import exp
from ogive.lowering.numerics.elementary.function_row import Function, anywhere, computed_by, of_operand
from ogive.lowering.numerics.elementary.logarithm import is_ordinary, precise_log, reduced
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.truths import both, either


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
    is_odd = both(whole, m.not_(half_is_whole))
    result = m.copy_sign(size, m.select_(is_odd, x.high, one))

    is_negative = both(m.less_(x.high, zero), m.less_(m.neg_(infinity), x.high))
    nan = DoubleWord(m.number(math.nan))
    result = m.select(both(is_negative, m.not_(whole)), nan, result)
    # -1 to the power of an infinity is 1, too.
    is_unit = both(m.equal_(magnitude.high, one), m.equal_(m.abs_(y.high), infinity))
    is_base_one = m.equal_(x.high, one)
    if m.of_doubles and x.low is not None:
        is_base_one = both(is_base_one, m.equal_(x.low, zero))
    is_one = either(m.equal_(y.high, zero), is_base_one)
    return m.select(either(is_one, is_unit), m.wide(1.0), result)


def _is_integral(m: Arithmetic, a: DoubleWord, *, half: bool = False) -> Expression:
    """Whether a number, or half of it, is an integer: then both of its words are."""
    integral = None
    # Next to an infinity the lower word may be NaN.
    for word in (a.high, None if a.low is None else m.low_part(a)):
        if word is not None:
            value = m.mul_(word, m.number(0.5)) if half else word
            whole = m.equal_(m.make(ops.TRUNCATE, value), value)
            integral = whole if integral is None else both(integral, whole)
    assert integral is not None
    return integral


computed_by(functions.POWER, power)


# ---- the cube root


#: 2**(1/3) and its inverse.
ROOT, INVERSE_ROOT = float.fromhex("0x1.428a2f98d728bp+0"), float.fromhex("0x1.965fea53d6e3dp-1")


def cbrt(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The cube root, of negative numbers too."""
    if m.of_doubles and x.exponent is not None:
        return _root_of_scaled(m, x)
    x = m.renormalised(m.unscaled(x))
    magnitude = m.absolute(x)
    if m.goal is not m.format:  # even a subnormal number of a shorter format is normal in this one
        magnitude = DoubleWord(magnitude.high, interval=Interval(m.smallest_normal, m.largest))
    f, f_low, k = reduced(m, magnitude)
    one, third, magic = m.number(1.0), m.number(1 / 3), m.number(m.magic)
    q = m.sub_(m.fma_(k, third, magic), magic)
    rest = m.fma_(q, m.number(-3.0), k)  # -1, 0 or 1
    is_small, is_large = m.less_(rest, m.number(-0.5)), m.less_(m.number(0.5), rest)
    power = m.select_(is_small, m.number(0.5), m.select_(is_large, m.number(2.0), one))
    root = m.select_(is_small, m.number(ROOT), m.select_(is_large, m.number(INVERSE_ROOT), one))
    if f_low is None:
        mantissa = m.add_(f, one)  # exact
    else:
        mantissa, lost = m.fast_two_sum(one, f)
        f_low = m.add_(lost, f_low)
    v = m.mul_(mantissa, power)
    z = m.mul_(m.polynomial_(mantissa, POLYNOMIALS["CBRT_START"][Format.F64]), root)
    error = m.fma_(m.neg_(m.mul_(v, z)), m.mul_(z, z), one)
    z = m.fma_(m.mul_(z, error), m.fma_(error, m.number(2 / 9), third), z)
    square = m.mul_(z, z)
    y = m.mul_(v, square)
    y_square = m.mul_(y, y)
    cube = m.mul_(y_square, y)
    missing = m.sub_(m.sub_(v, cube), m.fma_(y_square, y, m.neg_(cube)))
    missing = m.fma_(m.neg_(m.fma_(y, y, m.neg_(y_square))), y, missing)
    if f_low is not None:
        missing = m.fma_(f_low, power, missing)
    low = m.mul_(missing, m.mul_(square, third))
    if not m.extended:
        y, low = m.add_(y, low), None  # type: ignore[assignment]
    found = m.renormalised(DoubleWord(m.scale_(y, q), None if low is None else m.scale_(low, q)))
    ordinary = is_ordinary(m, m.absolute(x))
    high = m.select_(ordinary, found.high, m.absolute(x).high)
    low_part = None if found.low is None else m.select_(ordinary, found.low, m.number(0.0))
    return m.copy_sign(DoubleWord(high, low_part, interval=abs(x.interval).map(math.cbrt), is_normal=True), x.high)


def _root_of_scaled(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The cube root of a number with a power of two beside it, of which a third is kept."""
    assert x.exponent is not None
    third = m.round_even_(m.mul_(x.exponent, m.number(1 / 3)))
    rest = m.fma_(third, m.number(-3.0), x.exponent)  # -1, 0 or 1
    lies = Interval(min(2 * x.mantissa.low, x.mantissa.low / 2), max(2 * x.mantissa.high, x.mantissa.high / 2))
    root = cbrt(m, m.unscaled(replace(m.mantissa(x), exponent=rest, interval=lies, mantissa=x.mantissa)))
    return replace(root, exponent=third, interval=x.interval.map(math.cbrt), mantissa=root.interval)


def _slope(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """Three times the derivative."""
    return m.div_(m.abs_(f), m.abs_(u))


computed_by(
    functions.CBRT, cbrt, Function(anywhere(1.0), _slope, of_operand, is_steep_at_zero=True, takes_exponents=True)
)
