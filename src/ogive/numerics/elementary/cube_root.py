"""The cube root.

With k such that v = x / 2**(3 q) lies between sqrt(1/8) and sqrt(8), a polynomial (CBRT_START of the coefficients) is
near to v**(-1/3). One step of Halley's iteration, which needs no division, makes z of it, good to 48 bits, and

    cbrt(v) = y + (v - y**3) z**2 / 3,   y = v z**2

with v - y**3 in two words.
"""

from __future__ import annotations

import math

from ogive import elementary_functions as functions
from ogive import operations as ops
from ogive.expression import Format, node
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.elementary.derived_numbers import POLYNOMIALS
from ogive.numerics.elementary.logarithm import reduced
from ogive.numerics.interval import Interval

__all__ = ["cbrt"]

#: 2**(1/3) and its inverse.
ROOT, INVERSE_ROOT = float.fromhex("0x1.428a2f98d728bp+0"), float.fromhex("0x1.965fea53d6e3dp-1")


def cbrt(m: Arithmetic, x: DoubleWord) -> DoubleWord:
    """The cube root, of negative numbers too."""
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
    mantissa = m.add_(f, one)
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
    zero = m.number(0.0)
    ordinary = node(
        ops.AND, (m.less_(zero, magnitude.high), m.less_(magnitude.high, m.number(math.inf))), None, Format.BIT
    )
    high = m.select_(ordinary, found.high, m.absolute(x).high)
    low_part = None if found.low is None else m.select_(ordinary, found.low, zero)
    return m.copy_sign(DoubleWord(high, low_part, interval=abs(x.interval).map(math.cbrt), is_normal=True), x.high)


functions.CBRT.lowering = cbrt
