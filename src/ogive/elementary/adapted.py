"""Polynomials in forms that take fewer multiplications than Horner's rule, and as many more additions.

Processors add and multiply in different units, and a loop of fused multiplications leaves half of them idle. What
these forms lose of the precision (5 or 6 bits) does not show where float64 computes what is wanted in float32.
The coefficients come from those of the same polynomial by powers (accuracy/derive_coefficients.py).
"""

from __future__ import annotations

from ogive.expression import Expression
from ogive.transform.wide import Arithmetic

__all__ = ["by_quadratics", "of_sixth_degree"]


def by_quadratics(
    m: Arithmetic, x: Expression, coefficients: tuple[float, ...], factor: float = 1.0, times: float = 1.0
) -> Expression:
    """p(factor x) times: of degree 2 k + 1 in k + 2 multiplications; both are powers of two or their negatives.

    With t = x + c and y = t**2, from v = a + b t on ``v = v (y - d) + e`` for each pair (d, e). Source: J. Eve, The
    evaluation of polynomials, Numerische Mathematik 6 (1964).
    """
    c, a, b, *pairs = coefficients
    t = m.add_(x, m.number(c / factor))
    y = m.mul_(t, t)
    scale = times * factor ** len(pairs)
    value = m.fma_(t, m.number(b * factor * scale), m.number(a * scale))
    for d, e in zip(pairs[::2], pairs[1::2], strict=True):
        scale /= factor**2
        value = m.fma_(value, m.sub_(y, m.number(d / factor**2)), m.number(e * scale))
    return value


def of_sixth_degree(m: Arithmetic, x: Expression, coefficients: tuple[float, ...], factor: float = 1.0) -> Expression:
    """p(factor x) / factor**6 of degree 6, whose first coefficient is 1, in three multiplications; factor is a power
    of two, and one that is not 1 takes a fourth.

    With z = (x + a) x + b and w = (x + c) z + d it is (w + z + e) w + f. Source: D. Knuth, The Art of Computer
    Programming, volume 2, 4.6.4, equation 11.
    """
    powers = (1, 2, 1, 3, 3, 6)
    a, b, c, d, e, f = (m.number(value / factor**power) for value, power in zip(coefficients, powers, strict=True))
    z = m.fma_(m.add_(x, a), x, b)
    w = m.fma_(m.add_(x, c), z, d)
    rest = m.add_(z, e) if factor == 1 else m.fma_(z, m.number(1 / factor), e)
    return m.fma_(m.add_(w, rest), w, f)
