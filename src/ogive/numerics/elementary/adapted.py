"""Polynomials in forms of shorter chains of instructions than Horner's rule, which wait for each other, and of fewer
multiplications.

What these forms lose of the precision (5 or 6 bits) does not show where float64 computes what is wanted in float32.
The coefficients come from those of the same polynomial by powers, in accuracy/derive_coefficients.py.
"""

from __future__ import annotations

from ogive.expression import Expression
from ogive.numerics.double_word import Arithmetic

__all__ = ["of_ninth_degree"]


def of_ninth_degree(
    m: Arithmetic, x: Expression, coefficients: tuple[float, ...], factor: float = 1.0, times: float = 1.0
) -> Expression:
    """p(factor x) times, of degree 9, in six multiplications and five additions beside them.

    The factor is a power of two or the negative of one; times is any positive number. With y = x + shift it begins with
    slope y + start, and each step, of two numbers a and b, makes ``v (y**2 - a) + b`` of v. Source: J. Eve, The evaluation
    of polynomials, Numerische Mathematik 6 (1964); D. Knuth, The Art of Computer Programming, volume 2, 4.6.4, theorem E.
    """
    shift, slope, start, *steps = coefficients
    square_of_factor = factor * factor
    scale = times * square_of_factor ** (len(steps) // 2)
    y = m.add_(x, m.number(shift / factor))
    square = m.mul_(y, y)
    value = m.fma_(y, m.number(slope * factor * scale), m.number(start * scale))
    for a, b in zip(steps[::2], steps[1::2], strict=True):
        scale /= square_of_factor
        value = m.fma_(value, m.add_(square, m.number(-a / square_of_factor)), m.number(b * scale))
    return value
