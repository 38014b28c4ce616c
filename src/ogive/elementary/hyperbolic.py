"""tanh, from expm1.

tanh(x) = sign(x) e / (e + 2),   e = expm1(2 abs(x))
"""

from __future__ import annotations

from fractions import Fraction

from ogive.elementary.exponential import expm1
from ogive.expression import Format
from ogive.transform.wide import Arithmetic, Wide

__all__ = ["tanh"]

#: Beyond these the result is 1 after rounding.
SATURATED = {Format.F32: 10.0, Format.F64: 20.0}


def tanh(m: Arithmetic, x: Wide) -> Wide:
    """The hyperbolic tangent."""
    x = m.unscaled(x)
    magnitude = m.clamped(m.absolute(x), 0.0, SATURATED[m.format])
    e = expm1(m, m.multiply(magnitude, m.wide(Fraction(2))))
    quotient = m.divide(e, m.add(e, m.wide(Fraction(2))))
    return m.copy_sign(quotient, x.high)
